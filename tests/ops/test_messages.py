"""What ops say on the terminal, in TensorFlow's words."""

import numpy as np
import pytest

import backblocks as bb
from backblocks.dtypes import BY_NAME
from backblocks.ops.logging.assert_and_print import summary

RAMP = np.arange(8)


@pytest.mark.parametrize(
    ("tensor", "most", "words"),
    [
        (RAMP[:5], -1, "0 1 2 3 4"),
        (RAMP[:5], 5, "0 1 2 3 4"),
        (RAMP[:5], 3, "0 1 2..."),
        (RAMP[:5], 0, "..."),
        (RAMP[:6].reshape(2, 3), 2, "[0 1...]..."),
        (RAMP[:6].reshape(2, 3), 3, "[0 1 2]..."),
        (RAMP[:6].reshape(2, 3), 4, "[0 1 2][3...]..."),
        (RAMP[:6].reshape(2, 3), 6, "[0 1 2][3 4 5]"),
        (RAMP.reshape(2, 2, 2), 3, "[[0 1][2...]]..."),
        (RAMP.reshape(2, 2, 2), 4, "[[0 1][2 3]]..."),
        (RAMP.reshape(2, 2, 2), 5, "[[0 1][2 3]][[4...]]..."),
        (RAMP[:3].reshape(3, 1), 1, "[0]..."),
        (np.array(3), 3, "3"),
        (np.array(3), 0, "..."),
        (np.zeros((2, 0)), 3, ""),
        (np.zeros((0, 2)), 3, ""),
        (np.float32([0.1, 1 / 3, 1e20, 123456789]), -1, "0.1 0.333333343 1e+20 123456792"),
        (np.float32([-0.0, np.inf, -np.inf, np.nan]), -1, "-0 inf -inf nan"),
        (np.float64([0.1, 1 / 3, 1e300]), -1, "0.1 0.33333333333333331 1e+300"),
        (np.float16([0.1, 65504]), -1, "0.0999755859 65504"),
        (np.array([0.1, 1e20]).astype(BY_NAME["bfloat16"]), -1, "0.100097656 9.97277101e+19"),
        (np.array([True, False]), -1, "1 0"),
        (np.array([1 + 2.5j]), -1, "(1,2.5)"),
        (np.array([b"a'\"\x00\n\t\\ \xc3\xa9?"], object), -1, "a\\'\\\"\\000\\n\\t\\\\ \u00e9?"),
    ],
)
def test_tensors_are_written_as_tensorflow_writes_them(tensor, most, words):
    assert summary(tensor, most) == words


def test_text_goes_where_it_is_told(capsys):
    bb.raw_ops.PrintV2(input="hello")
    bb.raw_ops.PrintV2(input="there", output_stream="stdout", end="!")
    bb.raw_ops.PrintV2(input=b"log", output_stream="log(info)")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("there!", "hello\nlog\n")


def test_an_assertion_stops_the_run_and_leaves_the_variables():
    with bb.Scope() as page:
        x = bb.placeholder([])
        v = bb.variable(1.0)
        good = bb.ops.less(x, 5.0)
        check = bb.raw_ops.Assert(condition=good, data=["too large:", x], name="check")
        with page.running_after(check):
            bb.ops.assign(v, x, name="load")
    session = bb.Session(page)
    session.run([], {x: 2.0}, targets=["load"])
    with pytest.raises(bb.OpError, match='block "check": Assert') as caught:
        session.run([], {x: 7.5}, targets=["load"])
    assert "It says: [too large:] [7.5]." in str(caught.value)
    assert session.value(v) == 2


def test_printing_hands_the_value_on_and_stops_after_the_first_runs(capsys):
    with bb.Scope() as page:
        x = bb.placeholder([2])
        y = bb.ops.print(x, [x, "so"], message="x is ", first_n=2, name="say")
        (dx,) = bb.gradients([y], [x], [[3.0, 4.0]])
    session = bb.Session(page)
    for i in range(3):
        assert session.run(y, {x: [i, 2.5]}).tolist() == [i, 2.5]
    assert capsys.readouterr().err == "x is [0 2.5][so]\nx is [1 2.5][so]\n"
    assert session.run(dx, {x: [0.0, 0.0]}).tolist() == [3, 4]
    session.reset()
    session.run(y, {x: [7.0, 8.0]})
    assert capsys.readouterr().err == "x is [7 8][so]\n"
    for _ in range(2):
        bb.raw_ops.Print(input=1.0, data=[1.0], first_n=1)
    assert capsys.readouterr().err == "[1]\n[1]\n"
