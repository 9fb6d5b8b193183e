"""Optimisers over several runs, with the variables that they keep beside each variable."""

import numpy as np
import pytest

import backblocks as bb

raw = bb.raw_ops


def numbers(**values):
    return {name: np.float64(value) for name, value in values.items()}


ADAM = numbers(beta1_power=0.9, beta2_power=0.99, lr=0.1, beta1=0.9, beta2=0.99, epsilon=0.01)
MOMENTUM = numbers(lr=0.1, momentum=0.9)
# The variable after three steps in a session of TensorFlow 2.21, then those beside it.
STEPS = {
    "momentum": (
        *(raw.ApplyMomentum, {"accum": 0.0}, MOMENTUM),
        [[0.19412499999999994, -2.0], [3.7837500000000004, 0.0]],
    ),
    "momentum by Nesterov": (
        *(raw.ApplyMomentum, {"accum": 0.0}, {**MOMENTUM, "use_nesterov": True}),
        [[-0.10561212500000006, -2.0], [3.6045375, 0.0]],
    ),
    "Adagrad": (
        *(raw.ApplyAdagrad, {"accum": 0.1}, numbers(lr=0.1)),
        [[0.7776786732078376, -2.0], [6.462668058247961, 0.1]],
    ),
    "RMSProp": (
        raw.ApplyRMSProp,
        {"ms": 0.0, "mom": 0.0},
        numbers(lr=0.1, rho=0.9, momentum=0.5, epsilon=0.01),
        [[-0.029030467019395934, -2.0], [0.47985376842577654, 0.0], [0.3504272325905793, 0.0]],
    ),
    "Adam": (
        *(raw.ApplyAdam, {"m": 0.0, "v": 0.0}, ADAM),
        [[0.6271015761769414, -2.0], [0.3911735289407259, 0.0], [0.06224788057903597, 0.0]],
    ),
    "Adam by Nesterov": (
        *(raw.ApplyAdam, {"m": 0.0, "v": 0.0}, {**ADAM, "use_nesterov": True}),
        [[0.4536636264506657, -2.0], [0.3805343068284823, 0.0], [0.059197806322078786, 0.0]],
    ),
    "Ftrl": (
        raw.ApplyFtrl,
        {"accum": 0.1, "linear": 0.0},
        numbers(lr=0.1, l1=0.01, l2=0.02, lr_power=-0.5),
        [
            [0.573489476101587, -0.16109362255040177],
            [5.889592689746102, 2.008176441899757],
            [-13.950659202392284, 2.2993037617616334],
        ],
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_three_steps_lead_where_tensorflows_lead(name):
    apply, beside, how, want = STEPS[name]
    with bb.Scope() as page:
        w = bb.variable(np.array([1.0, -2.0]))
        slots = {slot: bb.variable(np.full(2, start)) for slot, start in beside.items()}
        grad = bb.ops.add_v2(bb.ops.mul(w, 0.5), 1.0)
        step = apply(var=w, **slots, **how, grad=grad)
    session = bb.Session(page)
    for _ in range(3):
        session.run([], targets=[step])
    got = [session.value(v) for v in (w, *slots.values())]
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_rows_change_in_the_order_of_the_blocks():
    with bb.Scope() as page:
        v = bb.variable([1.0, 2.0, 3.0])
        raw.ScatterAdd(ref=v, indices=[0, 0], updates=[10.0, 20.0], name="add")
        raw.ScatterUpdate(ref=v, indices=[2, 2], updates=[5.0, 6.0], name="update")
    session = bb.Session(page)
    session.run([], targets=["add", "update"])
    assert session.value(v).tolist() == [31, 2, 6]


def test_an_index_that_is_known_only_in_the_run_is_checked_there():
    with bb.Scope() as page:
        v = bb.variable([1.0, 2.0])
        at = bb.placeholder([None], "int32")
        step = raw.ScatterUpdate(ref=v, indices=at, updates=9.0, name="step")
    session = bb.Session(page)
    with pytest.raises(bb.OpError, match=r'block "step": .*must lie in \[0, 2\)'):
        session.run(step, {at: [0, 2]})
    assert session.value(v).tolist() == [1, 2]
    assert session.run(step, {at: [1]}).tolist() == [1, 9]


def test_whether_a_variable_has_a_value():
    with bb.Scope() as page:
        with_start = bb.variable(1.0)
        without = raw.VariableV2(shape=[], dtype="float32")
        asked = [raw.IsVariableInitialized(ref=v) for v in (with_start, without)]
        load = raw.Assign(ref=without, value=2.0)
    session = bb.Session(page)
    for _ in range(2):
        assert session.run(asked) == [True, False]
    session.run(load)
    assert session.run(asked) == [True, True]
    session.reset()
    assert session.run(asked) == [True, False]
