"""What an op is, and the one place where ops are registered.

An op is declared by one decorated function, its reference implementation in plain NumPy:

    @op("MaxPool", "T -> T", T=REALS)
    def max_pool(input, *, ksize: Window, ...): ...

Positional parameters are tensors, keyword-only ones attributes; the docstring has a formula in it (see
`ops/_formulas.py`). The declaration is completed, in the same file, by a shape rule, a gradient, the cells
that belong together, faster kernels, worked cases, refusals and differences from TensorFlow. Everything
else (raw_ops, stubs, documentation, tests) is read off the registry.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property, partial, wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np

from backblocks.dtypes import BY_NAME, NAMES, DType
from backblocks.errors import (
    BackblocksError,
    Fix,
    InternalError,
    OpError,
    OpMemoryError,
    change_constant,
    described,
    insert,
    nearest,
)
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._chunks import ELEMENT_COST, MAX_CHUNK_COST
from backblocks.ops._declaration import OF_EVERY_OP, REQUIRED, Declaration, KernelFunction
from backblocks.ops._help import docstring
from backblocks.ops._inputs import Array, as_array, as_integers, from_weak, is_weak
from backblocks.ops._interruptible import as_interruptible, as_plain, interruptible_function
from backblocks.ops._kernels import CachedCall, CallCache, CallKey, Dispatcher, Prepared, Stopped
from backblocks.ops._pins import Pin
from backblocks.ops._plan import (
    Plan,
    about,
    is_open,
    known_bytes,
    one_line,
)
from backblocks.ops._spec import Spec, check_rank
from backblocks.ops._values import (
    Value,
    each_value,
    flat,
    refuse_what_cannot_fit,
)
from backblocks.ops._workspace import temporary_bytes

__all__ = [
    "REGISTRY",
    "Attrs",
    "KernelFunction",
    "Op",
    "Plan",
    "Value",
    "builders",
    "op",
    "zero_gradient",
]

REGISTRY: dict[str, Op] = {}

builders: ContextVar[tuple[Any, ...]] = ContextVar("builders", default=())
"""Who takes over every call, the last one first: inside a scope, ops add blocks and compute nothing."""

Attrs = dict[str, Any]

MOST_CACHED_CALLS = 256
"""The most cached calls of one op."""
# The elements of strings are not in their arrays, so they have no key.
_CALL_KEY = CallKey([dtype for dtype in NAMES if not dtype.hasobject])


_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def _guarded(
    method: Callable[Concatenate[Op, _Given], _Found],
) -> Callable[Concatenate[Op, _Given], _Found]:
    """A method of Op out of which only errors of the library come, with the op's name."""

    @wraps(method)
    def guarded(self: Op, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Found:
        try:
            return method(self, *args, **kwargs)
        except BackblocksError as error:
            error.op = error.op or self.name
            raise
        except Exception as error:
            self.rethrow(error, *args[:2])

    return guarded


class Op(Declaration):
    # One op: its reference implementation and all that is declared with it. Call it on arrays or on symbols.
    # Not a docstring: `help` asks the class for one, and is answered for the op.

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return docstring(self, self.snake_name, self.__signature__)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.call_cache = CallCache(_CALL_KEY, MOST_CACHED_CALLS)
        """Its `by_value` are the inputs whose numbers decide plans, and not their shapes alone."""
        Dispatcher.__init__(self, self.call_cache, tuple(p.name for p in self.inputs), builders.get)
        self._specs = [partial(Spec.of, looked=self._note_read(pin)) for pin in self.inputs]
        if self.name in REGISTRY:
            raise TypeError(f"op {self.name!r} is declared twice")
        REGISTRY[self.name] = self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _registered, (self.name,)

    @cached_property
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
                *(inspect.Parameter(n, by_name, default=d) for n, d in (*attrs, *OF_EVERY_OP)),
            ]
        )

    # -- calling ------------------------------------------------------------------------

    def call_uncached(
        self, args: Sequence[Any], given: dict[str, Any], key: bytes | None = None
    ) -> Any:
        """Answers a call that the cache has no plan for; what is left in `args` could not be named.

        `key` is the call's, unless there is none, or a graph builder takes the call over.
        """
        try:
            out = None
            if "out" in given:
                given = dict(given)
                out = given.pop("out")
            inputs, attrs, name = self.bind(args, given)
            # Symbols and lazy arrays take the call over, and so does a scope.
            for value in (*flat(inputs), *builders.get()[-1:]):
                if hasattr(type(value), "__apply_op__"):
                    if out is not None:
                        hint = "Leave it out; each run of a graph makes new arrays."
                        rule = "takes arrays, and the inputs are symbols"
                        raise OpError(rule, arg="out", hint=hint)
                    return value.__apply_op__(self, inputs, attrs, name)
            arrays = self.arrays(inputs)
            looked_at = len(self.call_cache.by_value)
            plan = self.plan(self._specs_of(arrays), attrs)
            if key is not None:
                self._cache(plan, given, arrays, key, looked_at)
            return self.execute(plan, arrays, out, [] if out is None else inputs)
        except BackblocksError as error:
            error.op = error.op or self.name
            raise

    def execute(self, plan: Plan, arrays: Sequence[Value], out: Any, given: Sequence[Value]) -> Any:
        """What an eager call gives. Arrays that were converted were so from what is in `given`."""
        try:
            # Infinities and NaN are answers, as in TensorFlow.
            if out is None:
                with np.errstate(all="ignore"):
                    outputs = plan(*arrays)
                if plan.single:
                    return outputs
                return self.result([outputs] if len(plan.specs) == 1 else outputs)
            # It must not lie in what the caller gave, converted or not.
            into = plan.checked_out(_arrays_in([*arrays, *given]), out)
            with np.errstate(all="ignore"):
                return self.result(plan.outputs(arrays, into))
        except BackblocksError as error:
            error.op = error.op or self.name
            raise
        except Exception as error:
            self.rethrow(error, arrays, plan.attrs, plan.specs)

    @_guarded
    def _cache(
        self,
        plan: Plan,
        given: dict[str, Any],
        arrays: Sequence[Value],
        key: bytes,
        looked_at: int,
    ) -> None:
        """Keeps the plan for calls with the same key, if the key tells all that the plan rests on.

        `looked_at` is how many inputs had their numbers in the key: if there are more now, it is made anew.
        """
        by_value = self.call_cache.by_value
        by_value.update(n for n in self.attrs if isinstance(given.get(n), np.ndarray))
        constants = {}
        for pin, array in zip(self.inputs, arrays, strict=True):
            value = given.get(pin.name)
            if array is None or array is not value:
                if isinstance(value, np.ndarray) and pin.name not in by_value:
                    return  # it was converted, and another one's numbers may not allow that
                constants[pin.name] = array
        if len(by_value) > looked_at:
            longer = self.call_cache.key(given)
            if longer is None:
                return
            key = longer
        names = tuple(pin.name for pin in self.inputs)
        direct = not plan.warns and len(self.outputs) == 1
        self.call_cache.put(key, CachedCall(plan, names, constants, direct, self.execute))

    @_guarded
    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Value], Attrs, str]:
        """Sorts what was given into inputs, parsed attributes and the block's name."""
        given = self._by_name(args, kwargs)
        self._refuse_strays(given)
        inputs = [self._take(pin, given) for pin in self.inputs]
        attrs, data_format = {}, given.get("data_format")
        for attr in self.attrs.values():
            if attr.name in given:
                attrs[attr.name] = self._parse(attr, given.pop(attr.name), data_format)
            elif attr.required:
                raise OpError("must be given", arg=attr.name, hint=attr.kind.about)
            else:
                attrs[attr.name] = self._defaults[attr.name]
        name = given.pop("name", None)
        if name is not None and not isinstance(name, str):
            raise OpError(
                "must be text", arg="name", got=name, hint="Leave it out, or name the block."
            )
        return inputs, attrs, name or ""

    def _refuse_strays(self, given: Mapping[str, Any]) -> None:
        """Refuses arguments that the op does not have, first of all: one that is missing may be misspelt."""
        known = [*(p.name for p in self.inputs), *self.attrs, "name"]
        for stray in given:
            if stray not in known:
                near = nearest(stray, [n for n in known if n not in given]) or nearest(stray, known)
                hint = f"Did you mean {near}?" if near else f"It takes {', '.join(known)}."
                raise OpError("is not an argument of this op", arg=stray, hint=hint)

    @_guarded
    def arrays(self, inputs: Sequence[Value]) -> list[Value]:
        """The inputs as arrays; those without a dtype of their own take the one that fits the others."""
        bound: dict[str, DType] = {}

        def read(pin: Pin, value: Any, weak: bool) -> Any:
            return self._array(pin, value, weak, bound) if is_weak(value) == weak else value

        arrays: list[Value] = list(inputs)
        for weak in (False, True):
            for i, pin in enumerate(self.inputs):
                if pin.is_list:
                    arrays[i] = tuple([read(pin, value, weak) for value in arrays[i]])
                elif arrays[i] is not None:
                    arrays[i] = read(pin, arrays[i], weak)
        return arrays

    @_guarded
    def infer(self, inputs: Sequence[Value], attrs: Attrs) -> tuple[Value, ...]:
        """Checks Specs of the inputs and says what comes out. No kernel runs unless this has passed.

        Gives a Spec for each output, and a tuple of them for an output that is a list.
        """
        _check_ranks(self.inputs, inputs)
        inputs = each_value(_with_interruptible_value, inputs)
        known = BY_NAME | attrs | self._bind_dtypes(inputs)
        if self.shape_rule is None:
            raise TypeError(f"{self.name} has no shape rule")
        shapes = self.shape_rule(*inputs, **attrs)
        specs = tuple(
            _output_spec(pin, known[pin.dtype], shape)
            for pin, shape in zip(self.outputs, self._each_output(shapes), strict=True)
        )
        _check_ranks(self.outputs, specs)
        if specs:
            refuse_what_cannot_fit(self.outputs[0].name, list(flat(specs)))
        return self._with_value(specs, inputs, attrs)

    @_guarded
    def access_maps(
        self, inputs: Sequence[Value], attrs: Attrs, outputs: Sequence[Value] | None = None
    ) -> list[AccessMap]:
        """Which cells of inputs and outputs belong together (see _access_maps.py); none if nobody has said.

        Some ops take inputs by their values: give Specs that have them, also of outputs if there are.
        """
        if self.cell_rule is None:
            return []
        specs = self.infer(inputs, attrs) if outputs is None else outputs
        return self.cell_rule(
            specs[0] if len(specs) == 1 else self.Result(*specs), *inputs, **attrs
        )

    def _with_value(
        self, specs: tuple[Value, ...], inputs: Sequence[Value], attrs: Attrs
    ) -> tuple[Value, ...]:
        value = None if self.value_rule is None else self.value_rule(*inputs, **attrs)
        return specs if value is None else (Spec(specs[0].shape, specs[0].dtype, as_plain(value)),)

    def run(
        self, arrays: Sequence[Value], attrs: Attrs, kernel: str = "", out: Any = None
    ) -> Sequence[Value]:
        """Checks and computes. `kernel` asks for one by name; "reference" is the NumPy one.

        Gives an array for each output, and a tuple of them for an output that is a list.
        """
        plan = self.plan(self._specs_of(arrays), attrs, kernel)
        into = None if out is None else plan.checked_out(_arrays_in(arrays), out)
        with np.errstate(all="ignore"):
            return plan.outputs(arrays, into)

    @_guarded
    def new_values(self, given: Mapping[str, Any]) -> list[Array]:
        """Checks a call, and computes the new value of every variable that it changes."""
        inputs, attrs, _ = self.bind((), given)
        arrays = self.arrays(inputs)
        plan = self.plan(self._specs_of(arrays), attrs)
        with np.errstate(all="ignore"):
            return list(plan.new_values(arrays))

    def result(self, outputs: Sequence[Value]) -> Any:
        """Outputs as callers get them: alone or in a named tuple, and lists as lists; None of none."""
        if not outputs:
            return None
        values = [list(value) if isinstance(value, tuple) else value for value in outputs]
        return values[0] if len(values) == 1 else self.Result(*values)

    # -- the parts of a call --------------------------------------------------------------

    def _each_output(self, given: Any) -> Any:
        """What a function gave for every output; with one output it gives just that."""
        return (given,) if len(self.outputs) == 1 else given or ()

    def values(self, given: Any) -> Any:
        """The values that the reference implementation returned: one for each output and further variable."""
        return (given,) if max(len(self.outputs), len(self.writes)) == 1 else given or ()

    def _by_name(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name, those by position first."""
        if len(args) > len(self.inputs):
            raise OpError(
                f"takes at most {len(self.inputs)} tensors by position",
                got=len(args),
                hint="Give attributes by name.",
            )
        by_place = {pin.name: value for pin, value in zip(self.inputs, args, strict=False)}
        for twice in by_place.keys() & kwargs.keys():
            raise OpError(
                "was given twice, by position and by name",
                arg=twice,
                hint="Leave out one of the two.",
            )
        return {**by_place, **kwargs}

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

    def _array(self, pin: Pin, value: Any, weak: bool, bound: dict[str, DType]) -> Array:
        variable = pin.dtype in self._dtypes
        allowed = self._dtypes[pin.dtype] if variable else (BY_NAME[pin.dtype],)
        try:
            array: Array
            if hasattr(
                type(value), "__apply_op__"
            ):  # a symbol has a dtype, and no value to convert
                array = value
            elif weak:
                dtype = bound.get(pin.dtype) if variable else BY_NAME[pin.dtype]
                array = from_weak(value, dtype, allowed)
            else:
                array = as_array(value, "string" in self.dtypes.get(pin.dtype, (pin.dtype,)))
                if not variable:
                    array = as_integers(array, BY_NAME[pin.dtype])
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
            for i, spec in enumerate(flat((value,))):
                if spec.dtype not in allowed:
                    raise OpError(
                        f"must be {' or '.join(NAMES[d] for d in allowed)}",
                        arg=pin.name,
                        got=described(NAMES[spec.dtype]),
                        hint=_convert(spec, next((d for d in _USUAL if d in allowed), allowed[0])),
                        fixes=_conversions(
                            pin, i, spec, next((d for d in _USUAL if d in allowed), allowed[0])
                        ),
                    )
                if pin.count == "mixed list":
                    bound[pin.dtype] = (*bound.get(pin.dtype, ()), spec.dtype)
                    continue
                if bound.setdefault(pin.dtype, spec.dtype) != spec.dtype:
                    raise OpError(
                        f"must have the dtype of the other {pin.dtype} inputs, {NAMES[bound[pin.dtype]]}",
                        arg=pin.name,
                        got=described(NAMES[spec.dtype]),
                        hint=_convert(spec, bound[pin.dtype]),
                        fixes=_conversions(pin, i, spec, bound[pin.dtype]),
                    )
        return bound

    def _specs_of(self, arrays: Sequence[Value]) -> list[Value]:
        pairs = zip(self._specs, arrays, strict=True)
        return [each_value(spec, (value,))[0] for spec, value in pairs]

    @_guarded
    def plan(self, inputs: Sequence[Value], attrs: Attrs, wanted: str = "") -> Plan:
        """Checks a call on inputs of these Specs, of known shape, and makes a kernel ready for it."""
        inputs = each_value(_with_interruptible_value, inputs)
        specs = self.infer(inputs, attrs)
        kernel, warns, reference = None, True, self.reference_on((*inputs, *specs))
        if (self.data_dependent_shape or self.fed) and any(map(is_open, flat(specs))):
            needs = known_bytes(specs) + temporary_bytes(self, inputs, specs)
            return Plan(self, attrs, inputs, specs, reference, None, warns, False, needs)
        pure = not (self.stateful or self.writes)
        empty = pure and all(0 in spec.sizes for spec in flat(specs))
        if not empty:
            for each in self.kernels:
                if kernel is None and wanted in ("", each.name):
                    kernel, warns = each.plan(*inputs, **attrs), each.warns
        if (
            kernel is not None
            and not isinstance(kernel, Prepared)
            and reference is not self.reference
        ):
            # It is made of NumPy's functions, as the reference implementation is.
            kernel = interruptible_function(kernel)
        needs = known_bytes(specs)
        if kernel is None and not empty:
            needs += temporary_bytes(self, inputs, specs)
        return Plan(self, attrs, inputs, specs, reference, kernel, warns, empty, needs)

    def reference_on(self, values: Sequence[Value]) -> Callable[..., Any]:
        """The reference implementation; an interruptible one if one of the inputs and outputs is large."""
        sizes = (math.prod(n or 0 for n in v.shape or ()) for v in flat(values))
        large = any(size * ELEMENT_COST > MAX_CHUNK_COST for size in sizes)
        return interruptible_function(self.reference) if large else self.reference

    def _note_read(self, pin: Pin) -> Callable[[], None]:
        """Notes that plans of this op rest on the numbers in an input, and not on its shape alone."""
        return lambda: self.call_cache.by_value.add(pin.name)

    def rethrow(
        self, error: Exception, inputs: Any = (), attrs: Any = None, specs: Any = ()
    ) -> NoReturn:
        """Raises what a caller gets for an exception that is none of the library's own.

        `inputs`, `attrs` and `specs` of outputs are told as far as they are known.
        """
        if isinstance(error, Stopped):
            raise error
        if isinstance(error, MemoryError):
            raise OpMemoryError(
                "needs more memory than there is",
                op=self.name,
                arg=self.outputs[0].name if self.outputs else "",
                got=described(", ".join(map(str, flat(specs))) or "a call that does not fit"),
                hint="Use smaller tensors or a smaller type.",
            ) from None
        if isinstance(error, OSError):
            raise OpError(
                "cannot read or write",
                op=self.name,
                got=described(error.strerror or str(error)),
                hint="Look after the file or stream that it uses.",
            ) from error
        own = self.group == "own"
        raise InternalError(
            f"failed by a fault of {'its declaration' if own else 'backblocks'}, not of the call",
            op=self.name,
            got=described(f"{type(error).__name__}: {one_line(str(error), 300)}"),
            hint=f"Please report it{' to whoever declared the op' if own else ''}, with this line and the "
            f"traceback: {one_line(self._call_text(inputs, attrs), 1000)}.",
        ) from error

    def _call_text(self, inputs: Any, attrs: Any) -> str:
        """Shapes, dtypes and attributes of a call, and the versions it was made with, for a report."""
        given = dict(inputs) if isinstance(inputs, Mapping) else {}
        if not given and isinstance(inputs, list | tuple):
            given = dict(zip((pin.name for pin in self.inputs), inputs, strict=False))
        given |= attrs if isinstance(attrs, Mapping) else {}
        told = [f"{name}={about(value)}" for name, value in given.items()]
        versions = f"NumPy {np.__version__}, Python {sys.version.split()[0]} on {sys.platform}"
        return f"{self.name}({', '.join(told)}), {versions}"


def op(
    name: str,
    signature: str,
    *,
    attrs: Callable[..., Any] | None = None,
    version: int = 1,
    beyond: tuple[str, ...] = (),
    slope_range: tuple[float, float] = (-2.0, 2.0),
    stateful: bool = False,
    data_dependent_shape: bool = False,
    writes: tuple[str, ...] = (),
    replaces: bool = False,
    fills: bool = False,
    holds: bool = False,
    files: str = "",
    fed: bool = False,
    aliases: tuple[str, ...] = (),
    **dtypes: tuple[str, ...],
) -> Callable[[Callable[..., Any]], Op]:
    """Declares an op; see the module's docstring.

    `attrs` is a function whose keyword-only parameters are attributes that several ops share; the op's
    own function takes them as `**windows`, say, and hands them on. `beyond` names the attributes that
    TensorFlow does not have. `slope_range` is where tests draw the numbers for finite differences
    from. `stateful` says that the same inputs may give another answer next time. `data_dependent_shape`
    says that sizes of the results may be known only when they are computed. `writes` names the inputs that
    are variables and get a new value: the function gives these values, the first of which are the outputs,
    and the session keeps them; `replaces` says that their old values do not matter. The state behind a
    handle is changed in place, so that a session hands in a copy of it; `fills` says that the op puts into
    it what other ops take out. `holds` says that a session keeps the output from one run to the next: a
    variable, or a handle. `files` says that the op "reads" or "writes" files, which the user of a page is
    asked to allow. `fed` says that the output has no value unless it is fed. `aliases` are other names
    that it is found by. `version` is raised when what it computes changes.
    """
    return lambda function: Op(
        name,
        signature,
        dtypes,
        function,
        attrs,
        version,
        beyond,
        slope_range,
        stateful,
        data_dependent_shape,
        writes,
        replaces,
        fills,
        holds,
        files,
        fed,
        aliases,
    )


def _registered(name: str) -> Op:
    return REGISTRY[name]


def zero_gradient(dy: Any, y: Any, *inputs: Any, **attrs: Any) -> list[None]:
    """The gradient of an op whose output does not change when its inputs change a little."""
    return [None] * len(inputs)


def _arrays_in(values: Sequence[Value]) -> list[Array]:
    return [x for x in flat(values) if isinstance(x, np.ndarray)]


def _with_interruptible_value(spec: Spec) -> Spec:
    """The Spec with an interruptible array for its value, if that is large."""
    if spec.known is None or as_interruptible(spec.known) is spec.known:
        return spec
    return Spec(spec.shape, spec.dtype, as_interruptible(spec.known), spec.looked)


def _check_ranks(pins: Sequence[Pin], specs: Sequence[Value]) -> None:
    for pin, value in zip(pins, specs, strict=True):
        for spec in flat((value,)):
            if spec.shape is not None:
                check_rank(len(spec.shape), pin.name)


def _output_spec(pin: Pin, dtype: Any, shape: Any) -> Value:
    if not pin.is_list:
        return Spec(shape, dtype)
    dtypes = dtype if pin.count == "mixed list" else [dtype] * len(shape)
    return tuple(Spec(s, d) for s, d in zip(shape, dtypes, strict=True))


_USUAL = (BY_NAME["float32"], BY_NAME["int32"])


def _conversions(pin: Pin, nth: int, spec: Spec, dtype: DType) -> list[Fix]:
    """Fixes that give the nth tensor of an input another dtype, where a Cast does."""
    if "O" in (dtype.kind, spec.dtype.kind):
        return []
    arg = f"{pin.name}[{nth}]" if pin.is_list else pin.name
    return [change_constant(arg, dtype=NAMES[dtype]), insert(arg, "Cast", DstT=NAMES[dtype])]


def _convert(spec: Spec, dtype: DType) -> str:
    if dtype == BY_NAME["resource"]:
        return "Use a handle, as the block that holds the state gives it."
    if dtype.kind == "O":
        return "Write it as text first: bb.ops.as_string(x)."
    if spec.dtype.kind == "O":
        return "Read the numbers in it first: bb.ops.string_to_number(x)."
    if spec.looked is None:  # a symbol
        return f"Convert it by a Cast block: bb.ops.cast(x, DstT={NAMES[dtype]!r})."
    return f"Convert it: x.astype({NAMES[dtype]!r})."
