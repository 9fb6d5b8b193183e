"""Tensor arrays in sessions: new in every run, ordered by their flow, with gradients."""

import numpy as np
import pytest

import backblocks as bb

ops = bb.ops
FLOAT = {"dtype": "float32"}


def test_a_tensor_array_is_new_in_every_run():
    with bb.Scope() as page:
        x = bb.placeholder([2], name="x")
        array, flow = ops.tensor_array_v3(2, **FLOAT)
        flow = ops.tensor_array_write_v3(array, 0, x, flow)
        flow = ops.tensor_array_write_v3(array, 1, ops.neg(x), flow)
        rows = ops.tensor_array_gather_v3(array, [1, 0], flow, **FLOAT)
        size = ops.tensor_array_size_v3(array, flow)
    session = bb.Session(page)
    for first in (1.0, 5.0):
        got, count = session.run([rows, size], {x: [first, 2]})
        np.testing.assert_array_equal(got, [[-first, -2], [first, 2]])
        assert count == 2


def test_the_labels_of_the_tutorial():
    """Row numbers beside labels, as places of a sparse tensor: two writes, a gather, a transpose."""
    with bb.Scope() as page:
        labels = bb.placeholder([None], "int32")
        array, flow = ops.tensor_array_v3(2, dtype="int32")
        rows = ops.squeeze(ops.where(ops.greater_equal(labels, 0)), axis=[1])
        flow = ops.tensor_array_write_v3(array, 0, ops.cast(rows, DstT="int32"), flow)
        flow = ops.tensor_array_write_v3(array, 1, labels, flow)
        places = ops.transpose(
            ops.tensor_array_gather_v3(array, [0, 1], flow, dtype="int32"), [1, 0]
        )
        hot = ops.sparse_to_dense(places, [3, 10], np.float32(1), np.float32(0))
    got = bb.Session(page).run(hot, {labels: [5, 0, 4]})
    np.testing.assert_array_equal(got, np.eye(10)[[5, 0, 4]])


def test_mistakes_name_the_block():
    with bb.Scope() as page:
        array, flow = ops.tensor_array_v3(2, **FLOAT)
        flow = ops.tensor_array_write_v3(array, 0, 1.0, flow)
        flow = ops.tensor_array_write_v3(array, 0, 2.0, flow, name="again")
        got = ops.tensor_array_read_v3(array, 0, flow, **FLOAT)
    with pytest.raises(bb.OpError, match=r'block "again": .* not have been written yet; got 0'):
        bb.Session(page).run(got)


def test_a_handle_of_another_kind_is_refused():
    queue = ops.fifo_queue_v2(component_types=["float32"])
    with pytest.raises(bb.OpError, match="handle of a tensor array; got <queue of float32"):
        ops.tensor_array_size_v3(queue, 0.0)


def test_a_size_that_nobody_could_fill_is_refused():
    array, flow = ops.tensor_array_v3(2**31 - 1, element_shape=[1 << 20], **FLOAT)
    with pytest.raises(bb.OpError, match="GiB"):
        ops.tensor_array_concat_v3(array, flow, **FLOAT)


def slopes(build, x0):
    """The gradient of build(x) and the slope by finite differences, and the same of the gradient."""
    with bb.Scope() as page:
        x = bb.placeholder(x0.shape, "float64", name="x")
        y = build(x)
        (dx,) = bb.gradients(y, x)
        (again,) = bb.gradients(y, x)
        (ddx,) = bb.gradients(dx, x)
    session = bb.Session(page)
    got, twin = session.run([dx, again], {x: x0})
    np.testing.assert_array_equal(got, twin, err_msg="gradients of two calls do not mix")
    eps, want = 1e-6, np.zeros_like(x0)
    for i in np.ndindex(x0.shape):
        step = np.zeros_like(x0)
        step[i] = eps
        up, down = (session.run(y, {x: x0 + s}).sum() for s in (step, -step))
        want[i] = (up - down) / (2 * eps)
    second, again = session.run(ddx, {x: x0}), np.zeros_like(x0)
    for i in np.ndindex(x0.shape):
        step = np.zeros_like(x0)
        step[i] = eps
        up, down = (session.run(dx, {x: x0 + s}).sum() for s in (step, -step))
        again[i] = (up - down) / (2 * eps)
    return (got, want), (second, again)


def written(x, rows):
    array, flow = ops.tensor_array_v3(rows, dtype="float64", clear_after_read=False)
    for i in range(rows):
        flow = ops.tensor_array_write_v3(array, i, ops.mul(x, np.float64(i + 2)), flow)
    return array, flow


def by_reading(x):
    array, flow = written(x, 3)
    reads = [ops.tensor_array_read_v3(array, i, flow, dtype="float64") for i in (2, 0, 2)]
    return ops.add_n([ops.square(r) for r in reads])


def by_gathering(x):
    array, flow = written(x, 3)
    rows = ops.tensor_array_gather_v3(array, [2, 1], flow, dtype="float64")
    return ops.square(rows)


def by_scattering(x):
    array, flow = ops.tensor_array_v3(4, dtype="float64", element_shape=[2])
    flow = ops.tensor_array_scatter_v3(array, [3, 0], ops.pack([x, ops.square(x)]), flow)
    rows = ops.tensor_array_gather_v3(array, [0, 1, 3], flow, dtype="float64", element_shape=[2])
    return ops.square(rows)


def by_splitting(x):
    array, flow = ops.tensor_array_v3(2, dtype="float64")
    flow = ops.tensor_array_split_v3(array, ops.square(x), [0, 2], flow)
    joined = ops.tensor_array_concat_v3(array, flow, dtype="float64", element_shape_except0=[])
    return ops.square(joined.value)


@pytest.mark.parametrize("build", [by_reading, by_gathering, by_scattering, by_splitting])
def test_gradients_flow_through(build):
    for got, want in slopes(build, np.array([0.5, -1.5])):
        np.testing.assert_allclose(got, want, rtol=1e-5)
