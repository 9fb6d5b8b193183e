"""The call cache and the executor in native code: no misuse from Python may harm the process."""

import sys

import numpy as np
import pytest

from backblocks import _native
from backblocks._native import (
    CachedCall,
    CallCache,
    CallKey,
    Dispatcher,
    Executable,
    Instruction,
    OutputAllocator,
    Prepared,
    SerialExecutor,
    Stop,
)


def blank(kind):
    """An object of a native class whose __init__ was never called."""
    return kind.__new__(kind)


def allocators(*shapes):
    return tuple(OutputAllocator(np.empty(shape, np.float32)) for shape in shapes)


KEY = CallKey([np.dtype(np.float32)])
MISUSES = {
    "a kernel without __init__": lambda: Executable(blank(Prepared), allocators(2), True),
    "an allocator without __init__": lambda: Executable(len, (blank(OutputAllocator),), True),
    "a kernel without an output": lambda: Executable(len, (), True),
    "a plan without __init__": lambda: blank(Executable)(),
    "a plan that Python cannot compute": lambda: Executable(None, (), True)(1),
    "an instruction with a blank plan": lambda: Instruction(blank(Executable), (0,), (0,)),
    "an instruction without __init__": lambda: blank(Instruction)([1]),
    "an input behind the slots": lambda: Instruction(abs, (5,), (0,))([1]),
    "an input before the slots": lambda: Instruction(abs, (-2,), (0,))([1]),
    "an output behind the slots": lambda: Instruction(abs, (0,), (3,))([1]),
    "an output before the slots": lambda: Instruction(abs, (0,), (-3,))([1]),
    "slots that are no list": lambda: Instruction(abs, (0,), (0,))((1,)),
    "a slot that is no number": lambda: Instruction(abs, ("a",), (0,)),
    "a blank step": lambda: SerialExecutor().add(blank(Instruction), (), 0),
    "a call of a blank plan": lambda: CachedCall(blank(Executable), (), {}, True, len),
    "a call of no plan": lambda: CachedCall(3, (), {}, True, len),
    "a blank key": lambda: CallCache(blank(CallKey), 3),
    "a cache of no calls": lambda: CallCache(KEY, 3).put(b"", 3),
    "a cache of blank calls": lambda: CallCache(KEY, 3).put(b"", blank(CachedCall)),
    "a blank cache": lambda: Dispatcher(blank(CallCache), (), tuple),
    "a blank dispatcher": lambda: blank(Dispatcher)(),
    "a dispatcher that Python cannot help": lambda: Dispatcher(CallCache(KEY, 3), (), tuple)(1),
}


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES)
def test_misuse_is_an_error(misuse):
    with pytest.raises((TypeError, ValueError, IndexError, AttributeError, RuntimeError)):
        misuse()


def half(x, out):
    np.divide(x, 2, out)


class Halves(Executable):
    def __init__(self, direct=True):
        super().__init__(half, allocators(3), direct)
        self.left = 0

    def compute(self, x):
        self.left += 1
        return np.asarray(x) / 2


def test_an_executable_leaves_to_python_what_it_cannot_take_as_it_is():
    x, plan = np.arange(3, dtype=np.float32), Halves()
    for given in (x, x[::-1], [1, 2, 3], x.astype(np.float64)[::2]):
        np.testing.assert_array_equal(plan(given), np.asarray(given) / 2)
    assert plan.left == 3
    assert Halves(direct=False)(x).tolist() == [0, 0.5, 1]


def test_several_outputs_are_a_list():
    def both(x, low, high):
        low[...], high[...] = x.min(), x.max()

    plan = Executable(both, allocators((), 1), True)
    assert [y.tolist() for y in plan(np.arange(3.0))] == [0, [2]]
    given = [np.zeros((), np.float32), np.zeros(1, np.float32)]
    assert plan.execute((np.arange(4.0),), given) is given
    assert given[1] == 3


def test_errors_of_a_kernel_are_raised_as_they_are():
    def broken(x, out):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        Executable(broken, allocators(1), True)(np.ones(1))


def executor(*steps):
    made = SerialExecutor()
    for compute, dropped, number in steps:
        made.add(compute, dropped, number)
    return made


def test_an_executor_runs_steps_in_order_and_drops_values():
    plan, told = Halves(), []
    run = executor(
        (Instruction(plan, (0,), (1,)), (0,), 7),
        (None, (), 8),
        (Instruction(plan, (1,), (2, 3)), (1,), 9),
        (lambda slots: slots.append("after"), (), 10),
    )
    slots = [np.full(3, 8, np.float32), None, None, None]
    run.run(slots, Stop(), told.append)
    assert slots[:2] == [None, None]
    assert slots[2] is slots[3]
    assert slots[2].tolist() == [2, 2, 2]
    assert slots[4] == "after"
    assert told == [7, 8, 9, 10]


def test_an_executor_knows_the_step_that_failed_and_stops_when_told():
    stop = Stop()
    run = executor((lambda slots: stop.set(), (), 0), (lambda slots: 1 / 0, (), 1))
    with pytest.raises(_native.Stopped):
        run.run([], stop, None)
    assert run.position == 1
    stop.clear()
    run = executor((lambda slots: None, (), 0), (lambda slots: 1 / 0, (), 1))
    with pytest.raises(ZeroDivisionError):
        run.run([], stop, None)
    assert run.position == 1


def test_a_buffer_is_written_to_in_every_run():
    instruction = Instruction(Halves(), (0,), (1,))
    instruction.buffer = buffer = np.zeros(3, np.float32)
    for value in (2, 4):
        slots = [np.full(3, value, np.float32), None]
        instruction(slots)
        assert slots[1] is buffer
        assert buffer.tolist() == [value / 2] * 3


def test_calls_keep_no_references():
    x, plan = np.ones(3, np.float32), Halves()
    instruction, slots = Instruction(plan, (0,), (1,)), [x, None]
    held = [x, plan, slots, instruction]
    before = [sys.getrefcount(each) for each in held]
    for _ in range(100):
        plan(x)
        plan(x[::-1])
        instruction(slots)
    assert [sys.getrefcount(each) for each in held] == before


def test_the_oldest_cached_call_is_dropped():
    plan = Halves()
    cache = CallCache(KEY, 2)
    for key in (b"a", b"b", b"c"):
        cache.put(key, CachedCall(plan, ("x",), {}, True, len))
    assert len(cache) == 2
    cache.clear()
    assert len(cache) == 0


def test_out_is_no_part_of_a_key():
    cache, x = CallCache(KEY, 2), np.ones(3, np.float32)
    assert cache.key({"x": x}) == cache.key({"x": x, "out": x}) == cache.key({"out": 3, "x": x})
    assert cache.key({"x": x}) != cache.key({"x": x, "outer": 3})
    assert cache.key({"x": x.astype(np.float64)}) is None
    cache.by_value.add("x")
    assert cache.key({"x": x}) != cache.key({"x": 2 * x})
