"""The pages that come with the package: each runs, and gives what its note says."""

import json
import re

import numpy as np
import pytest

import backblocks as bb
from backblocks import examples
from backblocks.cli import main
from backblocks.pages.text import text_of


@pytest.fixture
def run(capsys):
    def run(name, *arguments):
        assert main(["run", str(examples.path(name)), "--json", *arguments]) == 0
        document = json.loads(capsys.readouterr().out)
        return {name: np.array(each["value"]) for name, each in document["fetched"].items()}

    return run


@pytest.mark.parametrize("name", examples.names())
def test_examples_are_whole(name):
    page = bb.open_page(examples.path(name))
    assert page.check() == []
    assert page.source == text_of(page), "written as pages are"
    assert page.title
    assert page.about
    assert page.run.fetch
    assert page.monitors
    assert any(len(note.text) > 100 for note in page.notes.values())
    assert page.layout.blocks.keys() == page.blocks.keys()
    assert page.layout.monitors.keys() == page.monitors.keys()
    places = [tuple(place) for place in page.layout.blocks.values()]
    assert len(set(places)) == len(places)
    for name, frame in page.frames.items():
        left, top, width, height = page.layout.frames[name]
        around = {
            block
            for block, (x, y) in page.layout.blocks.items()
            if left <= x <= left + width and top <= y <= top + height
        }
        assert around == set(frame.blocks), "a frame is around its own blocks"


def test_matrix_product(run):
    assert run("matrix_product")["product:product"].tolist() == [[19], [-3]]


def test_max_pool_3d_grad(run):
    back = np.zeros(32)
    back[[14, 15, 30, 31]] = 3, 4, 5, 6
    assert run("max_pool_3d_grad")["back:output"].reshape(-1).tolist() == back.tolist()


def test_avg_pool_3d_grad(run):
    back = run("avg_pool_3d_grad")["back:output"].reshape(2, 8, 2)
    assert (back == np.array([[[0.125, 0.25]], [[0.375, 0.5]]])).all()


def test_max_pool_grad_grad(run):
    assert run("max_pool_grad_grad")["again:output"].reshape(-1).tolist() == [7, 8, 15, 16]


def test_conv_3d_backprop_input(run):
    values = run("conv_3d_backprop_input")
    assert values["conv:output"].reshape(-1).tolist() == [2856, 2992, 6952, 7344]
    back = values["back:output"].reshape(2, 16)
    assert back[:, 0].tolist() == [8840, 21640]
    assert back[:, -1].tolist() == [184280, 450520]
    assert (np.diff(back) == np.array([[11696], [28592]])).all()


def test_linear_regression(run):
    values = run("linear_regression")
    np.testing.assert_allclose(values["W:z"], [[1], [2], [3]], atol=1e-3)
    np.testing.assert_allclose(values["b:z"], [[5]], atol=1e-3)


@pytest.mark.parametrize("name", ["xor", "xor_gradients"])
def test_xor(run, name):
    np.testing.assert_allclose(run(name)["out:y"], [[0], [1], [1], [0]], atol=0.01)


def test_both_pages_of_xor_learn_the_same(run):
    by_hand, added = run("xor", "--steps", "50"), run("xor_gradients", "--steps", "50")
    np.testing.assert_allclose(by_hand["out:y"], added["out:y"], rtol=1e-5)


def test_spheres_and_cubes_are_wired_as_the_gradient_says():
    page = bb.open_page(examples.path("spheres_and_cubes"))
    graph = page.graph()
    variables = ["w1", "b1", "w2", "b2", "w3", "b3"]
    with bb.Scope(graph):
        slopes = bb.gradients(graph.symbol("loss"), [graph.symbol(name) for name in variables])
    by_hand = [f"d_{name}" for name in variables]
    values = bb.Session(graph).run([*slopes, *by_hand])
    for name, added, wired in zip(variables, values[:6], values[6:], strict=True):
        np.testing.assert_allclose(wired, added, rtol=1e-3, atol=1e-6, err_msg=name)


def test_spheres_and_cubes_are_told_apart(run):
    values = run("spheres_and_cubes")
    assert values["lately:output_ref"] > 0.97


def test_what_is_learned_follows_from_the_seed(run):
    settings = ["seed.value=7", "seed.value=7", "seed.value=8"]
    few = ["--steps", "3"]
    runs = [run("spheres_and_cubes", *few, "--set", each)["loss:output"] for each in settings]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("name", examples.names())
def test_examples_can_be_copied(name, tmp_path, capsys):
    path = tmp_path / "copy.page.json"
    assert main(["new", str(path), "--from", name]) == 0
    assert main(["check", str(path)]) == 0
    assert main(["diff", str(examples.path(name)), str(path)]) == 0
    told = capsys.readouterr().out
    assert "no problems" in told
    assert told.endswith("both do the same\n")


def test_every_example_is_named_in_the_list(capsys):
    assert main(["new", "--list"]) == 0
    listed = re.findall(r"^\w+", capsys.readouterr().out, re.MULTILINE)
    assert listed == examples.names()
