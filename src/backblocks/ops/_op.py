"""What an op is, and the one place where ops are registered.

An op is declared by one decorated function, which is its meaning in plain NumPy:

    @op("MaxPool", "T -> T", T=REALS)
    def max_pool(input, *, ksize: Window, ...): ...

Positional parameters are tensors, keyword-only ones attributes. The declaration is completed, in the
same file, by a shape rule, a gradient, faster kernels, worked cases, refusals and differences from
TensorFlow. Everything else (raw_ops, stubs, documentation, tests) is read off the registry.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, NAMES, DType
from backblocks.errors import OpError, OpMemoryError, described
from backblocks.ops import _memory
from backblocks.ops._inputs import Array, as_array, as_integers, from_weak, is_weak
from backblocks.ops._pins import Pin, read_signature
from backblocks.ops._spec import Shape, Spec, shape_text
from backblocks.ops.attrs import Kind

REGISTRY: dict[str, Op] = {}

Attrs = dict[str, Any]
Value = Any
"""An array, a Spec or a symbol; a tuple of them for a list pin; None for one that was left out."""


REQUIRED: Any = inspect.Parameter.empty
"""The default of an attribute that has none."""


@dataclass(frozen=True)
class Attr:
    """An attribute: its kind, and what it is when not given."""

    name: str
    kind: Kind
    default: Any
    beyond_tensorflow: bool

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@dataclass(frozen=True)
class Case:
    """A call with a known answer: documentation, regression test and demo at once."""

    about: str
    args: dict[str, Any]
    out: Any


@dataclass(frozen=True)
class Refusal:
    """A call that must be refused, and words that its error must contain."""

    about: str
    args: dict[str, Any]
    error: str


@dataclass(frozen=True)
class Difference:
    """Where the op departs from TensorFlow's CPU kernel, and how to make it agree."""

    topic: str
    tensorflow: str
    ours: str
    agree: str = ""


@dataclass(frozen=True)
class Kernel:
    """A faster way to the same answer, for the calls it accepts."""

    name: str
    function: Callable[..., Any]
    accepts: Callable[[Sequence[Value], Attrs], bool]


@dataclass(eq=False, repr=False)
class Op:
    """One op: its meaning and everything that hangs on it. Call it on arrays or on symbols."""

    name: str
    signature: str
    dtypes: Mapping[str, tuple[str, ...]]
    meaning: Callable[..., Any]
    shared_attrs: Callable[..., Any] | None = None
    version: int = 1
    beyond: tuple[str, ...] = ()
    slope_range: tuple[float, float] = (-2.0, 2.0)
    stateful: bool = False
    shape_rule: Callable[..., Any] | None = None
    gradient: Callable[..., Any] | None = None
    no_gradient_because: str = ""
    kernels: list[Kernel] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def __post_init__(self) -> None:
        tensors, own = _parameters(self.meaning)
        shared = _parameters(self.shared_attrs)[1] if self.shared_attrs else {}
        self.inputs, self.outputs = read_signature(self.signature, tensors)
        attributes = [
            Attr(name, self._kind(name, annotation), default, name in self.beyond)
            for name, (annotation, default) in {**shared, **own}.items()
        ]
        attributes.sort(key=lambda a: a.beyond_tensorflow)
        self.attrs = {a.name: a for a in attributes}
        self._defaults = {
            a.name: self._parse(a, a.default) for a in self.attrs.values() if not a.required
        }
        self._dtypes = {v: tuple(BY_NAME[n] for n in names) for v, names in self.dtypes.items()}
        self.snake_name = snake(self.name)
        self.group = _group_of(self.meaning.__module__)
        self.__doc__ = inspect.getdoc(self.meaning)
        if self.name in REGISTRY:
            raise TypeError(f"op {self.name!r} is declared twice")
        REGISTRY[self.name] = self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _registered, (self.name,)

    @functools.cached_property
    def Result(self) -> Any:
        """The named tuple of an op with several outputs, which is to be found in raw_ops."""
        names = [pin.name for pin in self.outputs]
        return namedtuple(f"{self.name}Result", names, module="backblocks.raw_ops")

    @property
    def __signature__(self) -> inspect.Signature:
        tensors = [(p.name, None if p.count == "optional" else REQUIRED) for p in self.inputs]
        attrs = [(a.name, a.default) for a in self.attrs.values()]
        by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [
                *(inspect.Parameter(name, by_place, default=default) for name, default in tensors),
                *(inspect.Parameter(n, by_name, default=d) for n, d in (*attrs, ("name", None))),
            ]
        )

    # -- what completes a declaration ---------------------------------------------------

    def shape(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The shape rule: Specs of the inputs and the attributes in, the shape of each output out."""
        self.shape_rule = rule
        return rule

    def grad(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The gradient, written with ops: (dy, y, *inputs, **attrs) in, one for each input out."""
        self.gradient = rule
        return rule

    def no_gradient(self, because: str) -> None:
        """Says why asking for a gradient through this op is an error."""
        self.no_gradient_because = because

    def kernel(
        self, name: str, accepts: Callable[[Sequence[Value], Attrs], bool]
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A faster kernel for the calls that `accepts(inputs, attrs)` says it can take."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.kernels.append(Kernel(name, function, accepts))
            return function

        return add

    def case(self, about: str, *, out: Any, **args: Any) -> None:
        """A worked case. `out` is a tuple when there are several outputs."""
        self.cases.append(Case(about, args, out))

    def fails(self, about: str, *, error: str, **args: Any) -> None:
        """A call that must be refused with these words."""
        self.refusals.append(Refusal(about, args, error))

    def differs(self, topic: str, *, tensorflow: str, ours: str, agree: str = "") -> None:
        """A difference from TensorFlow's CPU kernel."""
        self.differences.append(Difference(topic, tensorflow, ours, agree))

    # -- calling ------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            inputs, attrs, name = self.bind(args, kwargs)
            for value in flat(inputs):  # symbols and lazy arrays take the call over
                if hasattr(value, "__apply_op__"):
                    return value.__apply_op__(self, inputs, attrs, name)
            arrays = self.arrays(inputs)
            return self.result(self.run(arrays, attrs))
        except OpError as error:
            error.op = error.op or self.name
            raise

    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Value], Attrs, str]:
        """Sorts what was given into inputs, parsed attributes and the block's name."""
        if len(args) > len(self.inputs):
            raise OpError(
                f"takes at most {len(self.inputs)} tensors by position",
                got=len(args),
                hint="Give attributes by name.",
            )
        given = dict(kwargs)
        for pin, value in zip(self.inputs, args, strict=False):
            if pin.name in given:
                raise OpError(
                    "was given twice, by position and by name",
                    arg=pin.name,
                    hint="Leave out one of the two.",
                )
            given[pin.name] = value
        inputs = [self._take(pin, given) for pin in self.inputs]
        attrs = {}
        for attr in self.attrs.values():
            if attr.name in given:
                attrs[attr.name] = self._parse(attr, given.pop(attr.name))
            elif attr.required:
                raise OpError("must be given", arg=attr.name, hint=attr.kind.about)
            else:
                attrs[attr.name] = self._defaults[attr.name]
        name = given.pop("name", None)
        if not isinstance(name, str | None):
            raise OpError(
                "must be text", arg="name", got=name, hint="Leave it out, or name the block."
            )
        for unknown in given:
            import difflib  # only mistakes pay for it

            known = [*(p.name for p in self.inputs), *self.attrs, "name"]
            near = difflib.get_close_matches(unknown, known, 1)
            hint = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(known)}."
            raise OpError("is not an argument of this op", arg=unknown, hint=hint)
        return inputs, attrs, name or ""

    def arrays(self, inputs: Sequence[Value]) -> list[Value]:
        """The inputs as arrays; those without a dtype of their own take the one that fits the others."""
        bound: dict[str, DType] = {}
        arrays: list[Value] = list(inputs)
        for weak in (False, True):
            for i, pin in enumerate(self.inputs):
                if inputs[i] is None:
                    continue
                values = inputs[i] if pin.is_list else (inputs[i],)
                read = list(arrays[i]) if pin.is_list else [arrays[i]]
                for j, value in enumerate(values):
                    if is_weak(value) == weak:
                        read[j] = self._array(pin, value, weak, bound)
                arrays[i] = tuple(read) if pin.is_list else read[0]
        return arrays

    def infer(self, inputs: Sequence[Value], attrs: Attrs) -> tuple[Value, ...]:
        """Checks Specs of the inputs and says what comes out. No kernel runs unless this has passed.

        Gives a Spec for each output, and a tuple of them for an output that is a list.
        """
        try:
            known = BY_NAME | attrs | self._bind_dtypes(inputs)
            if self.shape_rule is None:
                raise TypeError(
                    f"{self.name} has no shape rule"
                )  # a fault of ours, not of the caller
            shapes = self.shape_rule(*inputs, **attrs)
            specs = tuple(
                _output_spec(pin, known[pin.dtype], shape)
                for pin, shape in zip(self.outputs, self._each_output(shapes), strict=True)
            )
            refuse_what_cannot_fit(self.outputs[0].name, list(flat(specs)))
            return specs
        except OpError as error:
            error.op = error.op or self.name
            raise

    def run(self, arrays: Sequence[Value], attrs: Attrs, kernel: str = "") -> tuple[Value, ...]:
        """Checks and computes. `kernel` asks for one by name; "meaning" is the NumPy one.

        Gives an array for each output, and a tuple of them for an output that is a list.
        """
        specs = self.infer(each_value(Spec.of, arrays), attrs)
        if all(0 in spec.shape for spec in flat(specs)):  # nothing to compute
            return tuple(each_value(lambda spec: np.zeros(_known(spec.shape), spec.dtype), specs))
        compute = self._choose(arrays, attrs, kernel)
        try:
            with np.errstate(all="ignore"):  # infinities and NaN are answers, as in TensorFlow
                results = self._each_output(compute(*arrays, **attrs))
                taken = {id(x) for x in flat(arrays)}
                return tuple(_owned(r, spec, taken) for r, spec in zip(results, specs, strict=True))
        except MemoryError:
            raise OpMemoryError(
                "needs more memory than there is",
                op=self.name,
                arg=self.outputs[0].name,
                got=described(", ".join(map(str, flat(specs)))),
                hint="Use smaller tensors or a smaller type.",
            ) from None

    def result(self, outputs: Sequence[Value]) -> Any:
        """Outputs as callers get them: alone or in a named tuple, and lists as lists."""
        values = [list(value) if isinstance(value, tuple) else value for value in outputs]
        return values[0] if len(values) == 1 else self.Result(*values)

    # -- the parts of a call --------------------------------------------------------------

    def _each_output(self, given: Any) -> Any:
        """What a function gave for every output; with one output it gives just that."""
        return (given,) if len(self.outputs) == 1 else given

    def _take(self, pin: Pin, given: dict[str, Any]) -> Value:
        value = given.pop(pin.name, None)
        if value is None and pin.count != "optional":
            raise OpError("must be given", arg=pin.name, hint=f"Pass an array: {pin.name}=x.")
        if pin.is_list and not isinstance(value, list | tuple):
            raise OpError(
                "must be a list of tensors",
                arg=pin.name,
                got=described(type(value).__name__),
                hint=f"Put it in brackets: {pin.name}=[x].",
            )
        return tuple(value) if pin.is_list else value

    def _kind(self, attribute: str, annotation: Any) -> Kind:
        kind = getattr(annotation, "__metadata__", [None])[0]
        if not isinstance(kind, Kind):
            raise TypeError(
                f"attribute {attribute!r} of {self.name} needs a kind from ops/attrs.py as its "
                "annotation"
            )
        return kind

    def _parse(self, attr: Attr, value: Any) -> Any:
        try:
            return attr.kind.parse(value)
        except OpError as error:
            error.arg = attr.name
            raise

    def _array(self, pin: Pin, value: Any, weak: bool, bound: dict[str, DType]) -> Array:
        variable = pin.dtype in self._dtypes
        try:
            array: Array
            if hasattr(value, "__apply_op__"):  # a symbol has a dtype, and no value to convert
                array = value
            elif weak:
                dtype = bound.get(pin.dtype) if variable else BY_NAME[pin.dtype]
                allowed = self._dtypes[pin.dtype] if variable else (BY_NAME[pin.dtype],)
                array = from_weak(value, dtype, allowed)
            elif variable:
                array = as_array(value)
            else:
                array = as_integers(as_array(value), BY_NAME[pin.dtype])
        except OpError as error:
            error.arg = error.arg or pin.name
            raise
        if variable and pin.count != "mixed list":
            bound.setdefault(pin.dtype, array.dtype)
        return array

    def _bind_dtypes(self, inputs: Sequence[Value]) -> dict[str, Any]:
        """The dtype each variable stands for; all dtypes of a list whose tensors have their own."""
        bound: dict[str, Any] = {}
        for pin, value in zip(self.inputs, inputs, strict=True):
            allowed = self._dtypes.get(pin.dtype) or (BY_NAME[pin.dtype],)
            for spec in flat((value,)):
                if spec.dtype not in allowed:
                    raise OpError(
                        f"must be {' or '.join(NAMES[d] for d in allowed)}",
                        arg=pin.name,
                        got=described(NAMES[spec.dtype]),
                        hint=_convert(next((d for d in _USUAL if d in allowed), allowed[0])),
                    )
                if pin.count == "mixed list":
                    bound[pin.dtype] = (*bound.get(pin.dtype, ()), spec.dtype)
                    continue
                if bound.setdefault(pin.dtype, spec.dtype) != spec.dtype:
                    raise OpError(
                        f"must have the dtype of the other {pin.dtype} inputs, {NAMES[bound[pin.dtype]]}",
                        arg=pin.name,
                        got=described(NAMES[spec.dtype]),
                        hint=_convert(bound[pin.dtype]),
                    )
        return bound

    def _choose(self, arrays: Sequence[Value], attrs: Attrs, wanted: str) -> Callable[..., Any]:
        for kernel in self.kernels:
            if wanted in ("", kernel.name) and kernel.accepts(arrays, attrs):
                return kernel.function
        return self.meaning


def op(
    name: str,
    signature: str,
    *,
    attrs: Callable[..., Any] | None = None,
    version: int = 1,
    beyond: tuple[str, ...] = (),
    slope_range: tuple[float, float] = (-2.0, 2.0),
    stateful: bool = False,
    **dtypes: tuple[str, ...],
) -> Callable[[Callable[..., Any]], Op]:
    """Declares an op; see the module's docstring.

    `attrs` is a function whose keyword-only parameters are attributes that several ops share; the op's
    own function takes them as `**windows`, say, and hands them on. `beyond` names the attributes that
    TensorFlow does not have. `slope_range` is where tests draw the numbers for finite differences
    from. `stateful` says that the same inputs may give another answer next time. `version` is raised
    when the meaning changes.
    """
    return lambda function: Op(
        name, signature, dtypes, function, attrs, version, beyond, slope_range, stateful
    )


def _parameters(function: Callable[..., Any]) -> tuple[list[str], dict[str, tuple[Any, Any]]]:
    """Names of the positional parameters; annotation and default of each keyword-only one.

    Read off the code object: inspect.signature would take half the time of importing all ops.
    """
    function = inspect.unwrap(function)
    code, defaults = function.__code__, function.__kwdefaults__ or {}
    names, count = code.co_varnames, code.co_argcount
    keywords = names[count : count + code.co_kwonlyargcount]
    return [name.rstrip("_") for name in names[:count]], {
        name: (function.__annotations__.get(name), defaults.get(name, REQUIRED))
        for name in keywords
    }


def snake(name: str) -> str:
    """MaxPool3DGrad as Python writes it: max_pool_3d_grad."""
    name = re.sub(r"\d[Dd](?=[A-Z]|$)|V\d$", lambda found: f"_{found[0].lower()}_", name)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"_+", "_", name).strip("_").lower()


def _registered(name: str) -> Op:
    return REGISTRY[name]


def _group_of(module: str) -> str:
    """TensorFlow's group, which is the folder; ops declared outside the package are a group apart."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["backblocks", "ops"] else "own"


def nothing(dy: Any, y: Any, *inputs: Any, **attrs: Any) -> list[None]:
    """The gradient of an op whose output does not change when its inputs change a little."""
    return [None] * len(inputs)


def flat(values: Sequence[Value]) -> Iterator[Any]:
    """Every single value, with lists opened and those that were left out passed over."""
    for value in values:
        if isinstance(value, tuple):
            yield from value
        elif value is not None:
            yield value


def each_value(function: Callable[[Any], Any], values: Sequence[Value]) -> list[Value]:
    return [
        None if v is None else tuple(map(function, v)) if isinstance(v, tuple) else function(v)
        for v in values
    ]


def _known(shape: Shape) -> tuple[int, ...]:
    if shape is None or None in shape:
        raise TypeError(f"a shape rule left {shape_text(shape)} open although all inputs are known")
    return shape  # type: ignore[return-value]


def _output_spec(pin: Pin, dtype: Any, shape: Any) -> Value:
    if not pin.is_list:
        return Spec(shape, dtype)
    dtypes = dtype if pin.count == "mixed list" else [dtype] * len(shape)
    return tuple(Spec(s, d) for s, d in zip(shape, dtypes, strict=True))


def _owned(result: Any, spec: Value, taken: set[int]) -> Value:
    """The result as an array in row-major order that shares no memory with an input or another."""
    if isinstance(spec, tuple):
        return tuple(_owned(r, s, taken) for r, s in zip(result, spec, strict=True))
    array = np.asarray(result, spec.dtype)
    if array.base is not None or not array.flags.c_contiguous or id(array) in taken:
        array = array.copy("C")
    taken.add(id(array))
    return array


_USUAL = (BY_NAME["float32"], BY_NAME["int32"])


def _convert(dtype: DType) -> str:
    return f"Convert it: x.astype({NAMES[dtype]!r})."


def refuse_what_cannot_fit(arg: str, specs: Sequence[Spec]) -> None:
    total = 0
    for spec in specs:
        if spec.shape is None:
            continue
        count = math.prod(n for n in spec.shape if n is not None)
        if math.prod(n for n in spec.shape if n) >= 2**63 // spec.dtype.itemsize:
            raise OpMemoryError(
                "the result has more elements than can be counted",
                arg=arg,
                got=described(shape_text(spec.shape)),
                hint="Use smaller sizes.",
            )
        total += count * spec.dtype.itemsize
    if total > _memory.SMALL and total > _memory.available_bytes():
        raise OpMemoryError(
            f"the result needs {total / 2**30:.1f} GiB and only "
            f"{_memory.available_bytes() / 2**30:.1f} GiB are free",
            arg=arg,
            got=described(", ".join(map(str, specs))),
            hint="Use smaller tensors or a smaller type.",
        )
