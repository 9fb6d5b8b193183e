"""Queues in sessions: kept from run to run, filled before they are emptied, whole after a failure."""

import numpy as np
import pytest

import backblocks as bb

ops = bb.ops
FLOAT = ["float32"]


class Line:
    """A page with a queue, a block that fills it and one that takes from it, made in a given order."""

    def __init__(self, order="put take size", **how):
        with bb.Scope() as self.page:
            self.queue = ops.fifo_queue_v2(component_types=FLOAT, name="queue", **how)
            self.x = bb.placeholder(None, name="x")
            for what in order.split():
                getattr(self, f"add_{what}")()
        self.session = bb.Session(self.page)

    def add_put(self):
        self.put = ops.queue_enqueue_v2(self.queue, [self.x], name="put")

    def add_take(self):
        (self.take,) = ops.queue_dequeue_v2(self.queue, component_types=FLOAT, name="take")

    def add_size(self):
        self.size = ops.queue_size_v2(self.queue, name="size")

    def fill(self, *values):
        for value in values:
            self.session.run([], {self.x: np.float32(value)}, [self.put])

    def held(self):
        return self.session.run(self.size)


def test_a_queue_lives_in_the_session():
    line = Line()
    line.fill(1, 2, 3)
    assert line.held() == 3
    assert line.session.run(line.take) == 1
    assert line.session.run(line.take) == 2
    assert line.held() == 1
    other = bb.Session(line.page)
    assert other.run(line.size) == 0
    line.session.reset()
    assert line.held() == 0


@pytest.mark.parametrize("order", ["put take size", "take size put", "size take put"])
def test_a_queue_is_filled_before_others_take_from_it(order):
    line = Line(order)
    got, size = line.session.run([line.take, line.size], {line.x: np.float32(5)}, [line.put])
    assert got == 5
    assert size == 1, "what was put in is there for all who look, and what is taken is still there"
    assert line.held() == 0


def test_who_decides_what_is_put_in_sees_the_queue_before():
    with bb.Scope() as page:
        queue = ops.fifo_queue_v2(component_types=["int32"])
        (got,) = ops.queue_dequeue_v2(queue, component_types=["int32"])
        size = ops.queue_size_v2(queue)
        put = ops.queue_enqueue_v2(queue, [ops.add_v2(size, 100)])
        twice = ops.queue_enqueue_v2(queue, [ops.mul(size, 2)])
    session = bb.Session(page)
    assert session.run([size, got], targets=[put, twice]) == [0, 100]
    assert session.run([size, got], targets=[put]) == [1, 0]
    assert session.run(got) == 101


def test_an_order_that_was_asked_for_overrides_the_rule():
    with bb.Scope() as page:
        queue = ops.fifo_queue_v2(component_types=FLOAT, capacity=1)
        (got,) = ops.queue_dequeue_v2(queue, component_types=FLOAT)
        with page.running_after(got):
            put = ops.queue_enqueue_v2(queue, [7.0])
        with page.running_after(put):
            after = ops.queue_size_v2(queue)
        first = ops.queue_enqueue_v2(queue, [3.0], name="first")
    session = bb.Session(page)
    session.run([], targets=[first])
    assert session.run([got, after]) == [3, 1]
    assert session.run([got, after]) == [7, 1]


def test_a_run_that_fails_leaves_the_queue_alone():
    line = Line(capacity=2)
    line.fill(1, 2)
    full = r'block "put": QueueEnqueueV2\.handle: .* got 2 elements of at most 2'
    with pytest.raises(bb.OpError, match=full):
        line.fill(3)
    with line.page:
        x = bb.placeholder([None], "int32", name="sizes")
        with line.page.running_after(line.take):
            fails = ops.reshape(np.zeros(6), x)
    with pytest.raises(bb.OpError, match="Reshape"):
        line.session.run([line.take, fails], {x: [5]})
    assert line.held() == 2
    assert line.session.run(line.take) == 1


def test_nobody_waits():
    line = Line()
    with pytest.raises(bb.OpError, match=r'block "take": .* at least 1 element.*no block waits'):
        line.session.run(line.take)


def test_several_take_in_the_order_of_the_blocks():
    with bb.Scope() as page:
        queue = ops.fifo_queue_v2(component_types=FLOAT, shapes=[[]])
        second = ops.queue_dequeue_many_v2(queue, 2, component_types=FLOAT)[0]
        third = ops.queue_dequeue_v2(queue, component_types=FLOAT)[0]
        put = ops.queue_enqueue_many_v2(queue, [[1.0, 2, 3, 4]])
        closed = ops.queue_is_closed_v2(queue)
        close = ops.queue_close_v2(queue)
        rest = ops.queue_dequeue_up_to_v2(queue, 5, component_types=FLOAT)[0]
    session = bb.Session(page)
    assert second.shape == (2,)
    assert third.shape == ()
    assert rest.shape == (None,)
    values = session.run([second, third, rest, closed], targets=[put, close])
    assert [v.tolist() for v in values] == [[1, 2], 3, [4], False]
    assert session.run(closed)


def test_what_went_in_stays_as_it_was():
    line = Line()
    fed = np.ones(2, np.float32)
    line.session.run([], {line.x: fed}, [line.put])
    fed[:] = 9
    copy = line.session.value("queue")
    (got,) = ops.queue_dequeue_v2(copy, component_types=FLOAT)
    got[:] = 9
    assert line.held() == 1, "taken from the copy alone"
    np.testing.assert_array_equal(line.session.run(line.take), [1, 1])


def test_a_handle_is_neither_fetched_nor_fed_nor_kept_elsewhere():
    line = Line()
    with pytest.raises(bb.OpError, match=r'block "queue": FIFOQueueV2\.handle: is a handle'):
        line.session.run(line.queue)
    with pytest.raises(bb.OpError, match=r'block "queue": FIFOQueueV2\.handle: .* cannot be fed'):
        line.session.run(line.size, {line.queue: 0})
    handle = ops.fifo_queue_v2(component_types=FLOAT)
    with line.page, pytest.raises(bb.OpError, match="inside the graph"):
        ops.queue_size_v2(handle)
    with line.page, pytest.raises(bb.OpError, match=r"VariableV2\.dtype"):
        bb.variable(line.queue)
    with line.page, pytest.raises(bb.OpError, match="that holds a state; got <Placeholder"):
        ops.queue_enqueue_v2(line.x, [1.0])


def test_elements_are_checked_when_the_block_is_made():
    with bb.Scope():
        queue = ops.fifo_queue_v2(component_types=FLOAT, shapes=[[2]])
        with pytest.raises(bb.OpError, match="here float32; got int32"):
            ops.queue_enqueue_v2(queue, [bb.placeholder([2], "int32")])
        with pytest.raises(bb.OpError, match="the shape of the queue"):
            ops.queue_enqueue_v2(queue, [bb.placeholder([3])])


def test_calls_on_arrays_change_the_queue_itself():
    queue = ops.fifo_queue_v2(component_types=FLOAT)
    ops.queue_enqueue_v2(queue, [1.0])
    ops.queue_enqueue_v2(queue, [[2.0, 3]])
    assert ops.queue_size_v2(queue) == 2
    assert ops.queue_dequeue_v2(queue, component_types=FLOAT)[0] == 1
    assert ops.queue_close_v2(queue) is None
    assert bb.raw_ops.QueueIsClosedV2(handle=queue)
    assert repr(queue).startswith("array((<queue of float32, closed: [2.0, 3.0]>,)")
