"""Draws calls of ops: legal ones with a few mistakes, and some that were never right.

A call depends on its op and its seed alone, so that it can be made again.
"""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from bad_calls import child, facts
from recorded import RECORDED, recorded

from backblocks import raw_ops
from backblocks.dtypes import BY_NAME
from backblocks.ops import REGISTRY
from backblocks.ops._handles import RESOURCE, fresh
from backblocks.ops._op import Op
from backblocks.ops._pins import Pin
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value, flat
from fuzz import arrays
from fuzz.arrays import Rng

MOST_CELLS = 1 << 16
"""Larger recorded calls take too long to be made again and again."""


@dataclass
class Call:
    """Arguments of a call by name, and in words what was done to those of a legal one."""

    op: Op
    args: dict[str, Any]
    by_position: bool = False
    changes: list[str] = field(default_factory=list)

    def __call__(self) -> Any:
        if not self.by_position:
            return getattr(raw_ops, self.op.name)(**self.args)
        args, names = dict(self.args), [pin.name for pin in self.op.inputs]
        leading = []
        while names and names[0] in args:
            leading.append(args.pop(names.pop(0)))
        return self.op(*leading, **args)

    def __str__(self) -> str:
        words = ", ".join(f"{name}={short(value)}" for name, value in self.args.items())
        return f"{self.op.name}({words})" + "".join(f"; {change}" for change in self.changes)


def short(value: Any) -> str:
    """A value in a few words, whatever it is."""
    if isinstance(value, np.ndarray):
        kind = "" if type(value) is np.ndarray else f"{type(value).__name__} "
        shape = ",".join(map(str, value.shape))
        if value.ndim > 8:
            shape = f"{value.ndim} axes, {value.size} elements"
        few = value.size <= 4 and not value.dtype.hasobject and value.dtype.names is None
        cells = f" {value.ravel().tolist()}" if few else ""
        return f"{kind}{value.dtype}[{shape}]{cells}"
    if isinstance(value, list | tuple):
        if len(value) <= 8 and not any(isinstance(x, list | tuple | dict) for x in value):
            return f"{type(value).__name__}({', '.join(map(short, value))})"
        return f"a {type(value).__name__} of {len(value)}"
    try:
        text = re.sub(" at 0x[0-9a-f]+", "", ascii(value))
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) < 80 else f"{text[:77]}..."


def draw(op: Op, seed: int) -> tuple[Call, Rng]:
    """The call of a seed, and what draws the rest of it."""
    rng = np.random.default_rng([zlib.crc32(op.name.encode()), seed])
    from_nothing = rng.random() < 0.15 or not known(op)
    args = _made_up(op, rng) if from_nothing else _copied(known(op)[rng.integers(len(known(op)))]())
    call = Call(op, args, bool(rng.random() < 0.2))
    with warnings.catch_warnings():  # of what casts lose
        warnings.simplefilter("ignore")
        for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 2, 3])):
            mutation = MUTATIONS[rng.integers(len(MUTATIONS))]
            try:
                call.changes.append(mutation(call, rng) or "")
            except Exception:  # NumPy has no such array, which it tells in many ways
                call.changes.append(f"not {mutation.__name__}")
    call.changes = [change for change in call.changes if change]
    return call, rng


# -- legal calls ----------------------------------------------------------------------------------


@cache
def known(op: Op) -> list[Callable[[], dict[str, Any]]]:
    """Calls whose outcome is known: worked cases, refusals, recorded ones and those of `bad_calls`."""
    found: list[Callable[[], dict[str, Any]]] = []
    found += [lambda case=case: case.args for case in op.cases]
    found += [lambda refusal=refusal: refusal.args for refusal in op.refusals]
    if op.name in RECORDED:
        for call in recorded(op.name):
            args = {k: v for k, v in (call["inputs"] | call["attrs"]).items() if v is not None}
            inputs = [tuple(v) if isinstance(v, list) else v for v in args.values()]
            if sum(x.size for x in flat(inputs) if isinstance(x, np.ndarray)) <= MOST_CELLS:
                found.append(lambda args=args: args)
    if op.name in facts.ops():
        found += [lambda call=call: _of_facts(call) for call in facts.read(op.name)]
    return found


def _of_facts(call: facts.Call) -> dict[str, Any]:
    return {
        name: child.array(value["tensor"]) if isinstance(value, dict) else value
        for name, value in call.args.items()
    }


def _copied(args: dict[str, Any]) -> dict[str, Any]:
    def copy(value: Any) -> Any:
        if isinstance(value, np.ndarray) and not arrays.is_virtual(value):
            handle = value.dtype == RESOURCE and value.shape == ()
            return fresh(value) if handle else np.array(value)
        return [copy(x) for x in value] if isinstance(value, list | tuple) else value

    return {name: copy(value) for name, value in args.items()}


def _made_up(op: Op, rng: Rng) -> dict[str, Any]:
    """Arguments of the right kinds, which belong together only by chance."""
    shape = arrays.shape(rng)
    bound: dict[str, Any] = {}

    def one(pin: Pin) -> Any:
        names = op.dtypes.get(pin.dtype, (pin.dtype,))
        dtype = bound.setdefault(pin.dtype, BY_NAME[str(rng.choice(names))])
        if dtype == RESOURCE:
            return _handle(rng)
        return arrays.cells(rng, shape if rng.random() < 0.6 else arrays.shape(rng), dtype)

    args = {
        pin.name: [one(pin) for _ in range(rng.integers(4))] if pin.is_list else one(pin)
        for pin in op.inputs
        if pin.count != "optional" or rng.integers(2)
    }
    for attr in op.attrs.values():
        if attr.required or rng.random() < 0.4:
            args[attr.name] = _attribute(attr.kind, rng)
    return args


@cache
def _handles() -> list[Any]:
    cases = (case for op in REGISTRY.values() for case in op.cases)
    values = (value for case in cases for value in case.args.values())
    return [v for v in values if isinstance(v, np.ndarray) and v.dtype == RESOURCE]


def _handle(rng: Rng) -> Any:
    if rng.random() < 0.1:
        return np.empty(arrays.shape(rng, 1), RESOURCE)  # of nothing
    return fresh(_handles()[rng.integers(len(_handles()))])


def _attribute(kind: Any, rng: Rng) -> Any:
    """A value of this kind of attribute."""
    sizes = [int(n) for n in rng.choice([0, 1, 1, 1, 2, 2, 3, 5], rng.choice([0, 1, 2, 4, 4, 5]))]
    match kind.name:
        case "choice" | "dtype":
            return str(rng.choice(kind.options))
        case "dtypes":
            return [str(rng.choice(kind.options)) for _ in range(rng.integers(4))]
        case "flag":
            return bool(rng.integers(2))
        case "int" | "seed":
            return int(rng.choice([-2, -1, 0, 1, 2, 3, 7, 2**31 - 1, -(2**31)]))
        case "float":
            return float(rng.choice([0, 0.5, 1, -1, 1e-3, 1e30, np.nan, np.inf]))
        case "floats":
            return [float(n) for n in rng.choice([1.0, 1.4, 1.5, 2.0], len(sizes))]
        case "text":
            return str(rng.choice(["", "a", " ", ",", "%d", "\0", "ü😀", "x" * 300]))
        case "shape":
            return [int(n) for n in rng.choice([-1, 0, 1, 2, 3, 2**40], len(sizes))]
        case "shapes":
            return [sizes, sizes[:1]]
        case "tensor":
            return arrays.cells(rng, arrays.shape(rng), arrays.OURS[rng.integers(len(arrays.OURS))])
    return sizes


# -- mistakes -------------------------------------------------------------------------------------


@cache
def _deep(levels: int, inner: Any = 1) -> Any:
    for _ in range(levels):
        inner = [inner]
    return inner


def _self_containing() -> Any:
    itself: list[Any] = [1]
    itself.append(itself)
    return itself


class Raising:
    """Says that it is an array, and then is none."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no array after all")

    def __index__(self) -> int:
        raise OverflowError("no index after all")

    def __repr__(self) -> str:
        raise ZeroDivisionError("no text after all")


class NoArray:
    """Gives something else than an array where an array is asked for."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return "text"


WRONG: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: -1, lambda: 2**31, lambda: 2**63, lambda: 2**64, lambda: -(2**70),
    lambda: 10**5000, lambda: 1.5, lambda: float("nan"), lambda: float("-inf"), lambda: 1j, lambda: "",
    lambda: "text", lambda: "float32", lambda: "\ud800", lambda: "\0", lambda: b"\xff", lambda: b"SAME",
    lambda: [], lambda: (), lambda: [[]], lambda: [1, 2, 3], lambda: [1, "a"], lambda: [[1], [2, 3]],
    lambda: [None], lambda: [1.5, float("nan")], lambda: [2**40, 2**40], lambda: [2**70], lambda: [-1, -1],
    lambda: ["\ud800"], lambda: [b"a", "b", 1], lambda: ["float32"], lambda: [["a"], ["b"]],
    lambda: _deep(70), lambda: _deep(3000), lambda: _deep(100_000), lambda: _deep(70, "text"),
    _self_containing, lambda: {}, lambda: {"a": 1}, lambda: {1, 2}, lambda: object(), lambda: len,
    lambda: int, lambda: ..., lambda: iter([1, 2]), lambda: range(3), lambda: slice(3), lambda: Raising(),
    lambda: NoArray(), lambda: [Raising()], lambda: memoryview(b"abcd"), lambda: bytearray(b"abcd"),
    lambda: np.dtype("f4"), lambda: np.float32, lambda: np.float32(2), lambda: np.int8(-1),
    lambda: np.array(["a", "ü"]), lambda: np.array([b"a\0", b""]), lambda: np.array(None),
    lambda: np.array([1, "a", None], object), lambda: np.array([b"a", "\ud800"], object),
    lambda: np.datetime64("2020-01-01"), lambda: np.array([[1, 2]]).view(np.matrix),
    lambda: np.ma.masked_array([1.0, 2], [True, False]), lambda: [np.zeros(2, "f4"), np.ones(3, "f4")],
    lambda: [np.float32(1), np.float64(2)], lambda: [np.zeros((1,) * 40)], lambda: np.zeros((1,) * 64),
    lambda: np.zeros((0, 2**30, 2**30), "i1"), lambda: np.empty((), RESOURCE), lambda: np.longdouble(1) / 3,
]  # fmt: skip
"""What no argument should be, but for a few that some take."""


def _wrong(rng: Rng) -> Any:
    return WRONG[rng.integers(len(WRONG))]()


def _input(call: Call, rng: Rng) -> tuple[Any, Callable[[Any], None]] | None:
    """An array among the arguments that is not virtual, and how to put another in its place."""
    places: list[tuple[Any, Callable[[Any], None]]] = []
    for name, value in call.args.items():
        if isinstance(value, np.ndarray):
            places.append((value, lambda new, name=name: call.args.__setitem__(name, new)))
        elif isinstance(value, list | tuple) and name in [pin.name for pin in call.op.inputs]:
            pin = next(pin for pin in call.op.inputs if pin.name == name)
            if pin.is_list:
                held = call.args[name] = list(value)
                places += [
                    (x, lambda new, held=held, i=i: held.__setitem__(i, new))
                    for i, x in enumerate(held)
                ]
            else:
                places.append((value, lambda new, name=name: call.args.__setitem__(name, new)))
        elif name in [pin.name for pin in call.op.inputs]:
            places.append((value, lambda new, name=name: call.args.__setitem__(name, new)))
    places = [(value, put) for value, put in places if not arrays.is_virtual(value)]
    if not places:
        return None
    value, put = places[rng.integers(len(places))]
    if not isinstance(value, np.ndarray):
        try:
            made = np.asarray(value)
            value = made.astype(np.float32) if made.dtype == np.float64 else made
        except Exception:  # it was wrong already
            value = np.zeros(2, np.float32)
    return value, put


def another_dtype(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None or found[0].dtype == RESOURCE:
        return None
    choices = arrays.OURS if rng.integers(2) else arrays.FOREIGN
    dtype = choices[rng.integers(len(choices))]
    cast = arrays.cast(found[0], dtype)
    if cast is not None:
        found[1](cast)
    return f"an input as {dtype}"


def another_byte_order(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None or found[0].dtype.hasobject:
        return None
    if found[0].dtype in arrays.OURS:
        found[1](found[0].astype(found[0].dtype.newbyteorder()))
    return "an input in the other byte order"


def another_shape(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None:
        return None
    found[1](arrays.reshaped(rng, found[0]))
    return "an input in another shape"


def another_layout(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None or found[0].dtype == RESOURCE:
        return None
    name = str(rng.choice(list(arrays.LAYOUTS)))
    found[1](arrays.LAYOUTS[name](rng, found[0]))
    return f"an input {name}"


def another_class(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None or found[0].dtype == RESOURCE:
        return None
    name = str(rng.choice(list(arrays.SUBCLASSES)))
    found[1](arrays.SUBCLASSES[name](found[0]))
    return f"an input that is {name}"


def a_virtual_array(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None or found[0].dtype == RESOURCE:
        return None
    found[1](arrays.virtual(rng, found[0].dtype))
    return "an input that is a view of one element"


def other_values(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None or found[0].dtype == RESOURCE or not found[0].size:
        return None
    array = np.array(found[0])
    choices = arrays.extremes(array.dtype)
    with np.errstate(all="ignore"):
        for _ in range(rng.integers(1, 4)):
            try:
                array.reshape(-1)[rng.integers(array.size)] = choices[rng.integers(len(choices))]
            except (TypeError, ValueError, OverflowError):  # a type that has no such value
                return None
    found[1](array)
    return "other values in an input"


def a_list(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None or found[0].dtype == RESOURCE:
        return None
    if found[0].size > 10_000:
        return None
    found[1](found[0].tolist())
    return "an input as a list"


def a_wrong_input(call: Call, rng: Rng) -> str | None:
    if (found := _input(call, rng)) is None:
        return None
    value = _wrong(rng)
    found[1](value)
    return "a wrong input"


def the_same_twice(call: Call, rng: Rng) -> str | None:
    names = [pin.name for pin in call.op.inputs if pin.name in call.args]
    if len(names) < 2:
        return None
    one, other = rng.choice(names, 2)
    call.args[str(one)] = call.args[str(other)]
    return f"{other} for {one}"


def another_handle(call: Call, rng: Rng) -> str | None:
    for pin in call.op.inputs:
        if pin.dtype == "resource" and not pin.is_list:
            call.args[pin.name] = _handle(rng)
            return "another handle"
    return another_attribute(call, rng)


def another_attribute(call: Call, rng: Rng) -> str | None:
    if not call.op.attrs:
        return None
    attr = list(call.op.attrs.values())[rng.integers(len(call.op.attrs))]
    call.args[attr.name] = _attribute(attr.kind, rng)
    return f"another {attr.name}"


def a_wrong_attribute(call: Call, rng: Rng) -> str | None:
    if not call.op.attrs:
        return None
    attr = list(call.op.attrs.values())[rng.integers(len(call.op.attrs))]
    old = call.args.get(attr.name)
    call.args[attr.name] = _wrong(rng)
    if isinstance(old, list | tuple) and old and rng.integers(2):  # one entry of it
        entries = list(old)
        entries[rng.integers(len(entries))] = _wrong(rng)
        call.args[attr.name] = entries
    return f"a wrong {attr.name}"


def another_list(call: Call, rng: Rng) -> str | None:
    pins = [pin.name for pin in call.op.inputs if pin.is_list]
    if not pins or not isinstance(call.args.get(pins[0]), list | tuple):
        return another_shape(call, rng)
    items = list(call.args[pins[0]])
    match int(rng.integers(5)):
        case 0:
            items = []
        case 1:
            items = items * 2
        case 2:
            items = items[:-1]
        case 3:
            items = [items]
        case 4:
            items = items[:1] * 1000
    call.args[pins[0]] = items
    return f"{pins[0]} as a list of {len(items)}"


def a_missing_argument(call: Call, rng: Rng) -> str | None:
    if not call.args:
        return None
    name = str(rng.choice(list(call.args)))
    del call.args[name]
    return f"no {name}"


def a_stray_argument(call: Call, rng: Rng) -> str:
    names = ["nonsense", "ksizes", "self", "input_", "op", "args", "\ud800", "a b", ""]
    name = str(rng.choice([*names, *(f"{arg}s" for arg in call.args)]))
    call.args[name] = _wrong(rng)
    return f"a stray {name!a}"


def a_name(call: Call, rng: Rng) -> str:
    call.args["name"] = _wrong(rng) if rng.integers(2) else "a name"
    return "a name"


def an_output(call: Call, rng: Rng) -> str | None:
    """`out=`, right or wrong in every way."""
    specs = outputs_of(call)
    lone = len(call.op.outputs) == 1 and not call.op.outputs[0].is_list
    if specs is None or rng.random() < 0.1:
        call.args["out"] = _wrong(rng)
        return "a wrong out"
    outs = [_an_output(spec) for spec in specs]
    name = "right"
    if outs and rng.random() < 0.8:
        i = int(rng.integers(len(outs)))
        name = str(rng.choice(list(OUTPUTS)))
        outs[i] = OUTPUTS[name](call, rng, outs[i])
    call.args["out"] = outs[0] if lone and outs else outs
    if rng.random() < 0.1:
        call.args["out"] = [outs, (outs, outs), outs[:-1], [*outs, *outs], iter(outs)][
            rng.integers(5)
        ]
        name += ", in a wrong list"
    return f"an out that is {name}"


def outputs_of(call: Call) -> list[Spec] | None:
    """What comes out of the call, as far as its rule says so."""
    try:
        given = {name: value for name, value in call.args.items() if name != "out"}
        inputs, attrs, _ = call.op.bind((), given)
        if any(arrays.is_virtual(x) for x in flat(inputs)):
            return None
        values = call.op.arrays(inputs)
        return list(flat(call.op.infer(each_value(Spec.of, values), attrs)))
    except Exception:  # what is wrong with it is found when it is called
        return None


def _an_output(spec: Spec) -> Any:
    shape = tuple(n or 0 for n in spec.shape or ())
    if np.prod(shape, dtype=float) > 2**24:
        return np.zeros(1, spec.dtype)
    return np.zeros(shape, spec.dtype)


def _from_inputs(call: Call, rng: Rng, out: Any) -> Any:
    held = [x for x in call.args.values() if isinstance(x, np.ndarray)]
    return held[rng.integers(len(held))] if held else out


def _within_input(call: Call, rng: Rng, out: Any) -> Any:
    """An output whose memory is also that of an input."""
    for name, value in call.args.items():
        if type(value) is np.ndarray and value.nbytes >= out.nbytes and not value.dtype.hasobject:
            held = np.zeros(value.nbytes + 64, np.uint8)
            view = held[: value.nbytes].view(value.dtype).reshape(value.shape)
            view[...] = value
            call.args[name] = view
            if out.dtype.hasobject or not out.nbytes:
                return out
            return held[: out.nbytes].view(out.dtype).reshape(out.shape)
    return out


OUTPUTS: dict[str, Callable[[Call, Rng, Any], Any]] = {
    "of another shape": lambda call, rng, out: arrays.reshaped(rng, out),
    "of another dtype": lambda call, rng, out: out.astype(
        rng.choice(["f4", "f8", "i4", "i8", ">f4", "O", "c8", "?"])
    ),
    "in the other byte order": lambda call, rng, out: (
        out.astype(out.dtype.newbyteorder()) if out.dtype in arrays.OURS else out
    ),
    "not writeable": lambda call, rng, out: arrays.LAYOUTS["read-only"](rng, out),
    "of another layout": lambda call, rng, out: arrays.LAYOUTS[
        str(rng.choice(list(arrays.LAYOUTS)))
    ](rng, out),
    "of another class": lambda call, rng, out: arrays.SUBCLASSES[
        str(rng.choice(list(arrays.SUBCLASSES)))
    ](out),
    "an input": _from_inputs,
    "in the memory of an input": _within_input,
    "no array": lambda call, rng, out: _wrong(rng),
    "a scalar": lambda call, rng, out: out.reshape(-1)[0] if out.size else out,
    "a buffer": lambda call, rng, out: bytearray(out.nbytes),
    "virtual": lambda call, rng, out: arrays.virtual(rng, out.dtype),
}  # fmt: skip

MUTATIONS = [
    another_dtype, another_dtype, another_byte_order, another_shape, another_shape, another_layout,
    another_layout, another_class, a_virtual_array, other_values, other_values, a_list, a_wrong_input,
    the_same_twice, another_handle, another_attribute, a_wrong_attribute, a_wrong_attribute, another_list,
    a_missing_argument, a_stray_argument, a_name, an_output, an_output,
]  # fmt: skip
