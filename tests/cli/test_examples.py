"""The pages that come with the package: each runs, and gives what its note says."""

import json
import re

import numpy as np
import pytest

import backblocks as bb
from backblocks import examples
from backblocks.cli import main
from backblocks.pages.serialization import serialize


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
    assert page.source == serialize(page), "written as pages are"
    assert page.title
    assert page.about
    assert page.run.fetch
    assert page.monitors
    assert any(len(note.text) > 100 for note in page.notes.values())
    boxes = (*page.frames.values(), *page.monitors.values())
    titles = [page.titles, *(box.titles for box in boxes if box.title)]
    for texts in (*titles, page.abouts, *(note.texts for note in page.notes.values())):
        assert re.search("[가-힣]", texts["ko"]), "in Korean too"
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


def test_max_pooling_keeps_the_largest_and_sends_back_to_it(run):
    page = bb.open_page(examples.path("lesson_max_pool"))
    volume = np.array(page.blocks["volume"].attrs["value"]["value"]).reshape(4, 4, 4)
    values = run("lesson_max_pool")
    boxes = volume.reshape(2, 2, 2, 2, 2, 2).transpose(0, 2, 4, 1, 3, 5).reshape(8, 8)
    assert values["pool:output"].reshape(-1).tolist() == boxes.max(1).tolist()
    back = values["back:output"].reshape(4, 4, 4)
    assert [back[volume == largest].item() for largest in boxes.max(1)] == list(range(1, 9))
    assert np.count_nonzero(back) == 8


def test_a_tie_is_paid_once_or_to_all(run):
    values = run("lesson_ties")
    assert values["first:output"].reshape(-1).tolist() == [0, 1, 0, 0]
    assert values["all:output"].reshape(-1).tolist() == [0, 1, 1, 0]
    assert (values["sum_first:output"], values["sum_all:output"]) == (1, 2)


def test_average_pooling_at_an_edge_counts_what_exists(run):
    back = run("lesson_avg_pool_edge")["back:output"]
    np.testing.assert_allclose(back.sum(), 16, rtol=1e-6)
    corner, inner = back[0, 0, 0, 0], back[0, 1, 1, 0]
    np.testing.assert_allclose(corner, 1 / 4 + 2 / 6 + 1 / 9, rtol=1e-6)
    np.testing.assert_allclose(inner, 1 / 4 + 4 / 6 + 4 / 9, rtol=1e-6)


def test_a_convolution_and_its_gradients_are_one_sum(run):
    values = run("lesson_convolution")
    grad = np.zeros((3, 3))
    grad[1, 1], grad[2, 2] = 1, 2
    image = np.pad(np.array([[1, 1, 1], [1, 2, 1], [1, 1, 1]]), 1)
    weights = np.outer([1, 2, 1], [1, 0, -1])
    total = (values["conv:output"].reshape(3, 3) * grad).sum()
    assert (values["back_image:output"].reshape(5, 5) * image).sum() == total
    assert (values["back_filter:output"].reshape(3, 3) * weights).sum() == total


def test_strides_and_dilations_leave_so_many_windows(run):
    values = run("lesson_strides")
    assert [value.shape[1:3] for value in values.values()] == [(5, 5), (3, 3), (3, 3), (1, 1)]
    assert (values["plain:output"][:, ::2, ::2] == values["stride_2:output"]).all()


def test_the_second_gradient_picks_the_winners(run):
    page = bb.open_page(examples.path("lesson_second_gradient"))
    volume, wish = (
        np.array(page.blocks[name].attrs["value"]["value"]).reshape(2, 2, 2, 2, 2)
        for name in ("volume", "wish")
    )
    boxes, wishes = (each.transpose(1, 3, 0, 2, 4).reshape(4, 8) for each in (volume, wish))
    wanted = wishes[np.arange(4), boxes.argmax(1)]
    again = run("lesson_second_gradient")["again:output"].reshape(-1)
    np.testing.assert_allclose(again, wanted, rtol=1e-6)


def test_both_layouts_pool_to_the_same_numbers(run):
    values = run("lesson_layouts")
    assert not values["difference:z"].any()
    assert (values["last:output"].transpose(0, 4, 1, 2, 3) == values["first:output"]).all()


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
