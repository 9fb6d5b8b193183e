"""Pages as graphs: what they compute, what is wrong with them, and graphs made in Python as pages."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import page_strategies
import pytest
from hypothesis import given
from hypothesis import strategies as st

import backblocks as bb
from backblocks.pages.from_graph import page_blocks, wire_to
from backblocks.pages.model import PageBlock, Port
from backblocks.pages.page import Page
from backblocks.pages.serialization import parse, serialize


def page_of(**blocks):
    return parse(json.dumps({"format": 1, "blocks": blocks}).encode(), Page)


def run(page, *fetches, **feeds):
    return bb.Session(page.graph()).run(list(fetches), feeds)


def constant(value, dtype="float32"):
    return {"op": "Const", "attrs": {"value": {"dtype": dtype, "value": value}}}


# -- what pages compute ---------------------------------------------------------------------------


def test_a_matrix_product():
    page = page_of(
        A=constant([[3, 2], [-1, 0]]),
        b=constant([[3, 5]]),
        product={"op": "MatMul", "in": {"a": "A:output", "b": "b"}, "attrs": {"transpose_b": True}},
    )
    np.testing.assert_array_equal(run(page, "product:product")[0], [[19], [-3]])


def test_blocks_may_stand_in_any_order():
    page = page_of(
        y={"op": "Neg", "in": {"x": "x"}}, x=constant(2), z={"op": "Neg", "in": {"x": "y:y"}}
    )
    assert run(page, "z", "y") == [2, -2]


def test_numbers_take_the_dtype_of_their_neighbours():
    page = page_of(
        x=constant([1, 2], "bfloat16"),
        y={"op": "Mul", "in": {"x": "x", "y": 0.5}},
        s={"op": "Sum", "in": {"input": "y", "axis": [0]}, "attrs": {"keep_dims": True}},
    )
    assert page.graph().symbol("s").shape == (1,)
    assert run(page, "s")[0] == 1.5


def test_lists_of_inputs_and_outputs():
    page = page_of(
        x=constant([1, 2, 3, 4]),
        parts={"op": "Split", "in": {"axis": 0, "value": "x"}, "attrs": {"num_split": 2}},
        y={"op": "ConcatV2", "in": {"values": ["parts:output[1]", [9], "parts"], "axis": 0}},
    )
    assert run(page, "y")[0].tolist() == [3, 4, 9, 1, 2]


def test_variables_start_from_their_initial_value_and_keep_what_they_are_given():
    page = page_of(
        w={"op": "VariableV2", "initial": 1, "attrs": {"dtype": "float64"}},
        v={"op": "VariableV2", "initial": "w2"},
        w2=constant([5, 6]),
        step={"op": "AssignAdd", "in": {"ref": "w:ref", "value": 1}},
        late={"op": "Identity", "in": {"input": "w"}, "after": ["step"]},
    )
    session = bb.Session(page.graph())
    assert session.run(["w", "late"]) == [1, 2]
    assert session.run("w").dtype == np.float64
    assert session.run("v").tolist() == [5, 6]


def test_gradients_are_one_block_on_the_page():
    page = page_of(
        x=constant([1, 2]),
        w={"op": "VariableV2", "initial": {"dtype": "float32", "value": [3, 4]}},
        y={"op": "Mul", "in": {"x": "x", "y": "w"}},
        g={"op": "gradients", "in": {"ys": ["y:z"], "xs": ["w:ref", "x"], "grad_ys": [[1, 10]]}},
        twice={"op": "gradients", "in": {"ys": ["g:dx[0]"], "xs": ["x"]}},
    )
    values = run(page, "g:dx[0]", "g:dx[1]", "g", "twice:dx[0]")
    assert [value.tolist() for value in values] == [[1, 20], [3, 40], [1, 20], [1, 10]]
    graph = page.graph()
    assert {graph.page_block_of[name] for name in graph.blocks if name.startswith("g/")} == {"g"}


def layer(folder, **changes):
    blocks = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [None]}},
        "scale": {"op": "PlaceholderWithDefault", "in": {"input": 2.0}, "attrs": {"shape": []}},
        "w": {"op": "VariableV2", "initial": {"dtype": "float32", "value": 0}},
        "count": {"op": "AssignAdd", "in": {"ref": "w", "value": 1}},
        "y": {"op": "Mul", "in": {"x": "x", "y": "scale"}, "after": ["count"]},
    } | changes
    ports = {
        "inputs": {
            "x": {"pin": "x:output", "dtype": "float32", "shape": [None]},
            "scale": {"pin": "scale:output", "dtype": "float32", "shape": []},
        },
        "outputs": {"y": {"pin": "y:z", "dtype": "float32", "shape": [None]}},
    }
    (folder / "layer.page.json").write_text(
        json.dumps({"format": 1, "blocks": blocks, "ports": ports})
    )


def test_a_page_is_a_block_of_another(tmp_path):
    layer(tmp_path)
    use = {"op": "page", "attrs": {"page": "layer.page.json"}}
    page = page_of(
        x=constant([1, 2]),
        first=use | {"in": {"x": "x"}},
        second=use | {"in": {"x": "first:y", "scale": 10}},
    )
    page.path = tmp_path / "a.page.json"
    assert page.check() == []
    session = bb.Session(page.graph())
    assert session.run("second:y").tolist() == [20, 40]
    assert session.value("first/w") == 1, "each use has variables of its own"
    assert session.graph.page_block_of["first/y"] == "first"
    assert session.graph.symbol("first:y").shape == (2,)


def counting(folder, **changes):
    """A page of a page and of gradients, and something that they run before or after."""
    layer(folder)
    blocks = {
        "n": {"op": "VariableV2", "initial": {"dtype": "float32", "value": 0}},
        "tick": {"op": "AssignAdd", "in": {"ref": "n", "value": 1}},
        "x": constant([1, 2]),
        "part": {"op": "page", "in": {"x": "x"}, "attrs": {"page": "layer.page.json"}},
        "y": {"op": "Square", "in": {"x": "n"}},
        "slope": {"op": "gradients", "in": {"ys": ["y"], "xs": ["n"]}},
    }
    for name, change in changes.items():
        blocks[name] = blocks.get(name, {}) | change
    page = page_of(**blocks)
    page.path = folder / "a.page.json"
    return page


@pytest.mark.parametrize("name", ["part", "slope"])
def test_a_block_that_is_no_op_can_be_a_target(tmp_path, name):
    page = counting(tmp_path)
    page.run.targets = [name]
    assert page.check() == []
    session = page.session()
    runner = bb.Runner(session, ["n"], targets=page.run.targets)
    runner.run(steps=3)
    assert session.value("part/w") == (3 if name == "part" else 0)


def test_a_block_can_run_after_one_that_is_no_op(tmp_path):
    late = {"op": "NoOp", "after": ["part", "slope"]}
    page = counting(tmp_path, late=late)
    assert page.check() == []
    session = page.session()
    session.run([], targets=["late"])
    assert session.value("part/w") == 1, "all of the page runs first"
    after = {block.name for block in session.graph["late"].after}
    assert {"part/count", "part/y"} <= after
    assert any(name.startswith("slope/") for name in after)


@pytest.mark.parametrize("name", ["part", "slope"])
def test_a_block_that_is_no_op_can_run_after_others(tmp_path, name):
    page = counting(tmp_path, **{name: {"after": ["tick"]}})
    assert page.check() == []
    session = page.session()
    session.run(f"{name}")
    assert session.value("n") == 1
    session.reset()
    assert session.value("part/w") == 0, "what a variable starts from waits for nothing"
    assert session.value("n") == 0
    waiting = {block.op.name for block in session.graph.expansions[name] if block.after}
    assert waiting, "but what runs does"
    assert not waiting & {"Const", "VariableV2"}


@pytest.mark.parametrize("name", ["part", "slope"])
def test_a_block_that_is_no_op_cannot_run_after_what_is_not_there(tmp_path, name):
    (problem,) = counting(tmp_path, **{name: {"after": ["tock"]}}).check()
    assert (problem.block, problem.arg) == (name, "after")
    assert "must come from a block of the page; got 'tock'" in str(problem)


def test_a_page_that_stands_between_two_blocks_keeps_their_order(tmp_path):
    (tmp_path / "empty.page.json").write_text(json.dumps({"format": 1}))
    part = {"op": "page", "attrs": {"page": "empty.page.json"}, "after": ["tick"]}
    page = counting(tmp_path, empty=part, late={"op": "NoOp", "after": ["empty"]})
    session = page.session()
    session.run([], targets=["late"])
    assert session.value("n") == 1


def test_pages_cannot_stand_on_themselves(tmp_path):
    layer(tmp_path, again={"op": "page", "attrs": {"page": "b.page.json"}})
    other = page_of(a={"op": "page", "in": {"x": [1]}, "attrs": {"page": "layer.page.json"}})
    bb.save_page(other, tmp_path / "b.page.json")
    (problem,) = bb.open_page(tmp_path / "b.page.json").check()
    assert problem.block == "a/again"
    assert "must be another page; got 'b.page.json'" in str(problem)


def test_pages_that_multiply_are_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("backblocks.pages.builder.MAX_BLOCKS", 100)
    blocks = {f"b{i}": constant(i) for i in range(9)}
    for depth in range(4):
        (tmp_path / f"{depth}.page.json").write_text(json.dumps({"format": 1, "blocks": blocks}))
        use = {"op": "page", "attrs": {"page": f"{depth}.page.json"}}
        blocks = {f"b{i}": use for i in range(9)}
    (problem,) = bb.open_page(tmp_path / "3.page.json").check()
    assert "at most 100 blocks" in str(problem)


def test_the_page_of_the_guide_finds_its_line(tmp_path):
    guide = (Path(__file__).resolve().parents[2] / "docs/pages.md").read_text()
    (text,) = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    code = "\n".join(re.findall(r"```python\n(.*?)```", guide, re.DOTALL))
    (tmp_path / "line.page.json").write_text(text)
    assert serialize(bb.open_page(tmp_path / "line.page.json")).decode() == text
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    problems, values, changes, *scripts = done.stdout.split("\n")
    assert (problems, changes) == ("[]", "")
    found = [float(number) for number in re.findall(r"array\(\[*([-+.e0-9]+)", values)]
    np.testing.assert_allclose(found, [0, 2, 3], atol=1e-3)
    assert sum("Resource" in line for line in scripts) == 2


def test_thousands_of_blocks_are_checked_in_a_moment():
    page = page_of(x=constant([1, 2]))
    for i in range(5000):
        page.blocks[f"b{i}"] = PageBlock(
            "AddV2", inputs={"x": f"b{i - 1}" if i else "x", "y": i % 7}
        )
    begun = time.process_time()
    assert parse(serialize(page), Page).check() == []
    assert time.process_time() - begun < 1.5, "0.2 seconds are the goal, on a machine that is idle"


def test_blocks_that_touch_files_need_a_yes(tmp_path):
    page = page_of(
        name={"op": "Const", "attrs": {"value": {"dtype": "string", "value": "words.txt"}}},
        words={"op": "ReadFile", "in": {"filename": "name"}},
    )
    (tmp_path / "words.txt").write_text("hello")
    bb.save_page(page, tmp_path / "a.page.json")
    assert page.touches() == {"words": "reads"}
    assert page.session(allow_files=True).run("words") == b"hello"
    with pytest.raises(bb.OpError, match="words"):
        page.session().run("words")
    page.path = None
    with pytest.raises(bb.OpError, match="words"):
        page.session().run("words")


def test_the_seed_of_a_page_is_that_of_its_session():
    page = page_of(r={"op": "RandomUniform", "in": {"shape": [3]}, "attrs": {"dtype": "float32"}})
    page.run.seed = 5
    first, second = (page.session().run("r").tolist() for _ in range(2))
    assert first == second


# -- what is wrong with pages ---------------------------------------------------------------------


def wrong(**blocks):
    return [str(problem) for problem in page_of(**blocks).check()]


ROW = {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [8, 3]}}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            {"op": "Relux"},
            'block "b": Relux: is no op that is known here, so it cannot run. Did you mean Relu?',
        ),
        ({"op": "Relu", "version": 9}, "Relu: is known here up to version 1; got 9"),
        ({"op": "Relu"}, 'block "b": Relu.features: must be wired. Wire an output to it'),
        ({"op": "Relu", "in": {"features": "y"}}, "must come from a block of the page; got 'y'"),
        (
            {"op": "Relu", "in": {"features": "x:out"}},
            "must come from an output of its block; got 'x:out'. x has output.",
        ),
        (
            {"op": "Relu", "in": {"features": "x", "featurs": 1}},
            "Relu.featurs: is no input that is known here. Did you mean features?",
        ),
        (
            {"op": "Relu", "in": {"features": "x"}, "attrs": {"k": 1}},
            "Relu.k: is no attribute that is known here.",
        ),
        (
            {"op": "Relu", "in": {"features": "x"}, "after": ["q"]},
            "Relu.after: must come from a block of the page; got 'q'",
        ),
        (
            {"op": "Relu", "in": {"features": {"dtype": "float99", "value": 1}}},
            "Relu.features: must have a dtype; got 'float99'",
        ),
        (
            {"op": "Relu", "in": {"features": {"dtype": "float32", "value": [[1], [2, 3]]}}},
            "must have rows of one length",
        ),
        (
            {"op": "Relu", "in": {"features": {"dtype": "float32", "value": ["1"]}}},
            "must have elements of float32",
        ),
        (
            {"op": "Relu", "in": {"features": {"dtype": "float32", "value": [1e300]}}},
            "must have elements of float32",
        ),
        (
            {"op": "Relu", "in": {"features": {"dtype": "int8", "value": [300]}}},
            "must have elements of int8",
        ),
        ({"op": "Relu", "in": {"features": {"dtype": "float32"}}}, "must have a value or a file"),
        ({"op": "Relu", "in": {"features": True}}, "Relu.features: must be"),
        ({"op": "MatMul", "in": {"a": "x", "b": "x"}}, 'block "b": MatMul.b'),
        (
            {"op": "AddV2", "in": {"x": "x", "y": {"dtype": "int32", "value": 1}}},
            "AddV2.y: must have the dtype of the other T inputs",
        ),
        (
            {"op": "ConcatV2", "in": {"values": "x", "axis": 0}},
            "ConcatV2.values: must be a list of wires; got 'x'",
        ),
        ({"op": "Const"}, "Const.value: must be given"),
        ({"op": "Const", "attrs": {"value": "text"}}, "Const.value: must be numbers"),
        (
            {"op": "Const", "attrs": {"value": {"dtype": "int8", "value": 1}, "dtype": "int32"}},
            "must be int32, as dtype is; got int8",
        ),
        ({"op": "Const", "attrs": {"value": 1, "dtype": "float3"}}, "must be of a known dtype"),
        (
            {"op": "Const", "attrs": {"value": 1, "shape": []}, "in": {"x": 1}},
            "Const.shape: is no attribute",
        ),
        ({"op": "VariableV2"}, "VariableV2.shape: must be given"),
        (
            {"op": "VariableV2", "initial": 1, "attrs": {"shape": [2]}},
            "VariableV2.initial: must have the shape of the variable, [2]; got []",
        ),
        (
            {"op": "VariableV2", "initial": "x", "attrs": {"dtype": "int32"}},
            "must be int32, as the variable is; got float32",
        ),
        ({"op": "Assign", "in": {"ref": "x", "value": 1}}, "Assign.ref: must be a variable"),
        ({"op": "gradients"}, "gradients.ys: must be a list of wires; got none"),
        (
            {"op": "gradients", "in": {"ys": ["x"], "xs": ["x"], "zs": []}, "attrs": {"k": 1}},
            "gradients.zs: is no input",
        ),
        (
            {"op": "gradients", "in": {"ys": ["x"], "xs": ["x"], "grad_ys": [[1, 2]]}},
            'block "b": gradients.grad_ys: must have the shape of its y, [8, 3]; got [2]',
        ),
        ({"op": "page"}, "page.page: cannot be found: the page has no folder yet"),
    ],
)
def test_a_problem_names_the_block_and_the_pin(block, words):
    problems = wrong(x=ROW, b=block)
    assert any(words in problem for problem in problems), problems


def test_a_name_must_be_one_of_its_own():
    problems = wrong(**{"a b": ROW, "x": constant(1), "": ROW})
    assert len(problems) == 2
    assert "must begin with a letter or digit" in problems[0]


def test_all_problems_are_found_and_what_hangs_on_them_is_not_blamed():
    page = page_of(
        x=ROW,
        bad={"op": "NewOp", "in": {"x": "x"}},
        hangs={"op": "Relu", "in": {"features": "bad:y"}},
        pool={
            "op": "MaxPool",
            "in": {"input": "x"},
            "attrs": {"ksize": [0], "strides": "no", "paddin": "SAME"},
        },
        fine={"op": "Relu", "in": {"features": "x"}},
        waits={"op": "Relu", "in": {"features": "fine"}, "after": ["bad"]},
    )
    found = [(problem.block, problem.arg) for problem in page.check()]
    assert sorted(found) == [
        ("bad", ""), ("pool", "ksize"), ("pool", "paddin"), ("pool", "padding"), ("pool", "strides"),
    ]  # fmt: skip
    with pytest.raises(bb.PageError, match="has 5 problems") as error:
        page.graph()
    assert len(error.value.problems) == 5


def test_blocks_that_nobody_needs_may_be_unfinished():
    page = page_of(
        x=constant([-1, 2]),
        y={"op": "Relu", "in": {"features": "x"}},
        unfinished={"op": "OneHot"},
        later={"op": "Relu", "in": {"features": "unfinished"}},
    )
    assert bb.Session(page.graph(only=["y:activations"])).run("y").tolist() == [0, 2]
    with pytest.raises(bb.PageError, match="OneHot"):
        page.graph(only=["later:activations"])


def test_each_cycle_is_reported_once():
    problems = wrong(
        a={"op": "Relu", "in": {"features": "c"}},
        b={"op": "Relu", "in": {"features": "a"}},
        c={"op": "Relu", "in": {"features": "b"}},
        self={"op": "Relu", "in": {"features": "self"}},
        hangs={"op": "Relu", "in": {"features": "c"}},
    )
    assert len(problems) == 2
    assert "must not depend on itself; got a needs c needs b needs a" in problems[0]
    assert "got self needs self" in problems[1]


def test_control_dependencies_may_name_blocks_that_follow_and_no_cycle():
    late = {"op": "NoOp", "after": ["later"]}
    graph = page_of(late=late, later={"op": "NoOp"}).graph()
    assert graph["late"].after == (graph["later"],)
    (problem,) = wrong(late=late, later={"op": "NoOp", "after": ["late"]})
    assert "must not depend on itself; got late needs later needs late" in problem


def test_what_else_is_wrong_in_a_circle_and_behind_it_is_told(tmp_path):
    page = page_of(
        a={"op": "Relu", "in": {"features": "b", "wrong": 1}},
        b={"op": "Relu", "in": {"features": "a"}, "attrs": {"k": 1}},
        behind={"op": "MaxPool", "in": {"input": "a"}, "attrs": {"ksize": [0]}},
        slope={"op": "gradients", "in": {"ys": ["behind"], "xs": ["none"], "zs": []}},
        start={"op": "VariableV2", "initial": "b", "in": {"x": 1}},
        new={"op": "NewOp", "in": {"x": "b"}},
        apart={"op": "Relux"},
    )
    found = {(problem.block, problem.arg) for problem in page.check()}
    assert found >= {
        ("a", "in"), ("a", "wrong"), ("b", "k"), ("behind", "ksize"), ("slope", "zs"), ("slope", "xs"),
        ("start", "x"), ("new", ""), ("apart", ""),
    }  # fmt: skip
    assert not any("must be wired" in str(problem) for problem in page.check())


def test_a_gradient_that_is_none_cannot_be_wired():
    problems = wrong(
        x=ROW,
        z=ROW,
        y={"op": "Relu", "in": {"features": "x"}},
        g={"op": "gradients", "in": {"ys": ["y"], "xs": ["z", "x"]}},
        bad={"op": "Neg", "in": {"x": "g:dx[0]"}},
        fine={"op": "Neg", "in": {"x": "g:dx[1]"}},
    )
    assert len(problems) == 1
    assert "Neg.x: has no value, as ys do not depend on z; got 'g:dx[0]'" in problems[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run": {"fetch": ["q"]}}, "Page.run.fetch: must come from a block of the page; got 'q'"),
        ({"run": {"until": "x:q"}}, "Page.run.until: must come from an output"),
        ({"run": {"targets": ["q"]}}, "Page.run.targets: must come from a block"),
        ({"run": {"feeds": {"x": {"dtype": "int8", "value": 1}}}}, "Page.run.feeds.x: must be float32"),
        ({"monitors": {"m": {"kind": "number", "shows": [{"pin": "x", "element": [8, 0]}]}}},
         "Page.monitors.m: must be an element of x, which has shape [8, 3]; got [8, 0]"),
        ({"frames": {"f": {"blocks": ["q"]}}}, "Page.frames.f: must come from a block"),
        ({"ports": {"outputs": {"y": {"pin": "x", "dtype": "int8"}}}}, "Page.ports.outputs.y: must be int8"),
        ({"ports": {"outputs": {"y": {"pin": "x", "dtype": "float32", "shape": [1, 3]}}}},
         "Page.ports.outputs.y: must have the shape of the port, [1, 3]; got [8, 3]"),
    ],
)  # fmt: skip
def test_settings_that_name_what_is_not_there(change, words):
    page = parse(json.dumps({"format": 1, "blocks": {"x": ROW}} | change).encode(), Page)
    (problem,) = page.check()
    assert words in str(problem)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"in": {}}, "page.x: must be wired"),
        ({"in": {"x": "ints"}}, "page.x: must be float32, as the port is; got int32"),
        ({"in": {"x": [[1]]}}, "page.x: must have the shape of the port, [?]; got [1, 1]"),
        ({"in": {"x": [1], "z": 1}}, "page.z: is no input that is known here. It takes x, scale."),
        ({"in": {"x": [1]}, "attrs": {"page": "none.page.json"}}, "page.page: must exist"),
        (
            {"in": {"x": [1]}, "attrs": {"page": "layer.page.json", "k": 1}},
            "page.k: is no attribute",
        ),
    ],
)
def test_ports_are_typed(tmp_path, block, words):
    layer(tmp_path)
    use = {"op": "page", "attrs": {"page": "layer.page.json"}} | block
    page = page_of(ints=constant([1], "int32"), use=use)
    page.path = tmp_path / "a.page.json"
    assert any(words in str(problem) for problem in page.check()), page.check()


def test_problems_inside_a_page_that_is_used_have_its_name_before_theirs(tmp_path):
    layer(tmp_path, bad={"op": "NewOp"})
    page = page_of(use={"op": "page", "in": {"x": [1]}, "attrs": {"page": "layer.page.json"}})
    page.path = tmp_path / "a.page.json"
    assert [problem.block for problem in page.check()] == ["use/bad"]
    page.ports.inputs["x"] = Port("q", "float32")
    assert "Page.ports.inputs.x" in str(page.check()[-1])


@pytest.mark.parametrize(
    ("ports", "words"),
    [
        ({"outputs": {"y": {"pin": 3}}}, "page.page: ports.outputs.y.pin of part.json must be text"),
        ({"inputs": ["x"]}, "page.page: ports.inputs of part.json must be an object"),
        ({"outputs": {"y": {}}}, "page.page: ports.outputs.y.pin of part.json must be given"),
        ({"outputs": {"y": {"pin": "q", "dtype": "int8"}}}, "page.y: must come from a block"),
        ({"outputs": {"y": {"pin": "x", "dtype": "real"}}}, "page.y: must be of a known dtype"),
        ({"inputs": {"x": {"pin": "x", "dtype": "real"}}}, "page.x: must be of a known dtype"),
    ],
)  # fmt: skip
def test_ports_that_are_wrong_in_themselves_are_told_with_their_file(tmp_path, ports, words):
    blocks = {"x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [1]}}}
    (tmp_path / "part.json").write_text(json.dumps({"format": 1, "blocks": blocks, "ports": ports}))
    inputs = {name: [1] for name in ports.get("inputs", ())}
    page = page_of(use={"op": "page", "in": inputs, "attrs": {"page": "part.json"}})
    page.path = tmp_path / "a.page.json"
    (problem,) = page.check()
    assert words in str(problem)
    assert "of part.json" in str(problem)


# -- graphs made in Python ------------------------------------------------------------------------


@st.composite
def graphs(draw):
    """A scope with a graph of many kinds of block, and outputs that can be fetched."""
    counted = []  # what changes a variable has no gradient
    with bb.Scope() as scope:
        symbols = [bb.constant(np.float32([[1, 2], [3, 4]]), name="x")]
        for i in range(draw(st.integers(1, 12))):
            x, y = (draw(st.sampled_from(symbols)) for _ in range(2))
            kind = draw(st.integers(0, 8))
            if kind == 0:
                symbols.append(x + y)
            elif kind == 1:
                symbols.append(bb.ops.relu(x, name=f"relu{i}"))
            elif kind == 2:
                symbols.append(x * draw(st.floats(-2, 2, width=32)))
            elif kind == 3:
                value = np.float32(
                    draw(st.lists(st.floats(-2, 2, width=32), min_size=2, max_size=2))
                )
                symbols.append(bb.variable(np.stack([value] * 2)))
            elif kind == 4:
                with scope.child("inner"), scope.running_after(y):
                    symbols.append(bb.ops.mat_mul(x, y, transpose_b=draw(st.booleans())))
            elif kind == 5:
                symbols.append(bb.ops.concat_v2([x, y], 0, name="both"))
                symbols[-1:] = bb.ops.split(0, symbols[-1], num_split=2)
            elif kind == 6:
                symbols.append(bb.ops.sum(x, [1], keep_dims=True) + y)
            elif kind == 7:
                symbols += [g for g in bb.gradients([x * y], [y]) if g is not None]
            else:
                counted.append(bb.ops.assign_add(bb.variable(x, name="counter"), y))
    return scope, symbols + counted


def test_a_constant_that_another_block_runs_after_is_a_block_of_the_page():
    with bb.Scope() as scope:
        one = bb.constant(1.0)
        y = bb.ops.neg(one)
        with scope.running_after(one):
            bb.ops.abs(y, name="late")
    page = Page(blocks=page_blocks(scope.graph))
    assert page.blocks["late"].after == [one.block.name]
    assert one.block.name in page.blocks
    assert page.check() == []


@page_strategies.unhurried
@given(graphs())
def test_graphs_made_in_python_are_pages(made):
    scope, symbols = made
    page = Page(blocks=page_blocks(scope.graph))
    text = serialize(page)
    again = parse(text, Page)
    assert again.check() == []
    graph = again.graph()
    assert serialize(Page(blocks=page_blocks(graph))) == text
    kept = [symbol for symbol in symbols if symbol.block.name in page.blocks]
    assert kept
    ours, theirs = bb.Session(scope), bb.Session(graph)
    for _ in range(2):
        expected = ours.run(kept)
        for value, wanted in zip(theirs.run([wire_to(s) for s in kept]), expected, strict=True):
            np.testing.assert_array_equal(value, wanted)


def test_attributes_that_are_what_they_are_anyway_are_not_written():
    with bb.Scope() as scope:
        x = bb.placeholder([None, 4, 4, 1], name="x")
        bb.ops.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool")
    assert page_blocks(scope.graph)["pool"] == PageBlock(
        "MaxPool",
        inputs={"input": "x:output"},
        attrs={"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    )
