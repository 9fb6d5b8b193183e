"""The declaration of an op: reference implementation, rules, kernels, worked cases and documentation."""

from __future__ import annotations

import inspect
import keyword
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from backblocks.dtypes import BY_NAME
from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._formulas import set_apart, with_formula
from backblocks.ops._handles import fresh
from backblocks.ops._kernels import Dispatcher
from backblocks.ops._pins import read_signature
from backblocks.ops.attrs import Kind

REQUIRED: Any = inspect.Parameter.empty
"""The default of an attribute that has none."""

_BY_AXIS = ("window", "strides", "dilations")
"""Kinds of attribute that have an entry for each axis of an image or volume."""

OF_EVERY_OP = (("name", None), ("out", None))
"""What every op takes besides its own arguments, and what it is when not given."""


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
    """A worked case, a call with a known answer: documentation, regression test and demo at once."""

    about: str
    given: dict[str, Any]
    out: Any
    leaves: Mapping[str, str]
    """What handles stand for afterwards, as text."""

    @property
    def args(self) -> dict[str, Any]:
        """The arguments; handles of states that nobody has changed yet."""
        return {name: fresh(value) for name, value in self.given.items()}


@dataclass(frozen=True)
class Refusal:
    """A call that must be refused, and words that its error must contain."""

    about: str
    args: dict[str, Any]
    error: str


@dataclass(frozen=True)
class Doctest:
    """An example at Python's prompt (a doctest), for an op that a case of arrays cannot show."""

    because: str
    lines: str


Affects = Literal[
    "", "nan", "later nan", "nan wins", "inf wins", "-inf", "padded -inf", "tie", "padding", "no cell",
    "orig_output", "cut", "below 0", "half", "later image", "apart", "channel windows", "layout", "dilated",
]  # fmt: skip
"""The rule by which the studio marks the elements that a difference from TensorFlow changes; empty where
the difference is about which calls are accepted. `web/src/model/difference-rules.ts` has the rules.
"""


@dataclass(frozen=True)
class Difference:
    """Where the op departs from TensorFlow's CPU kernel, and how to make it agree."""

    topic: str
    tensorflow: str
    ours: str
    agree: str = ""
    at: Affects = ""


KernelFunction = Callable[..., None]
"""Computes into arrays: takes the inputs, each in row-major order, then the outputs."""


@dataclass(frozen=True)
class Kernel:
    """A faster implementation than the reference, which it is tested against.

    `plan` takes the Specs of the inputs and the attributes, after the shape rule has passed, and gives
    the function that computes such calls, or None if this kernel cannot.
    """

    name: str
    plan: Callable[..., KernelFunction | None]
    warns: bool = False
    """Whether NumPy would warn of infinities and NaN in it."""


@dataclass(eq=False, repr=False)
class Declaration(Dispatcher):
    """What is said of an op in its file. What it does when it is called is in `_op.py`.

    A class in native code allows one base, so that the dispatcher of calls is that of the declaration.
    """

    name: str
    signature: str
    dtypes: Mapping[str, tuple[str, ...]]
    reference: Callable[..., Any]
    shared_attrs: Callable[..., Any] | None = None
    version: int = 1
    beyond: tuple[str, ...] = ()
    slope_range: tuple[float, float] = (-2.0, 2.0)
    stateful: bool = False
    data_dependent_shape: bool = False
    writes: tuple[str, ...] = ()
    replaces: bool = False
    fills: bool = False
    holds: bool = False
    files: str = ""
    fed: bool = False
    aliases: tuple[str, ...] = ()
    shape_rule: Callable[..., Any] | None = None
    value_rule: Callable[..., Any] | None = None
    initial_rng_state: Callable[..., Any] | None = None
    gradient: Callable[..., Any] | None = None
    no_gradient_because: str = ""
    cell_rule: Callable[..., list[AccessMap]] | None = None
    kernels: list[Kernel] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    doctest: Doctest | None = None

    def __post_init__(self) -> None:
        tensors, own = _parameters(self.reference)
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
        for reserved in {"name", "out"} & {*tensors, *self.attrs}:
            raise TypeError(f"{self.name} has an argument {reserved!r}, which every op has")
        self._dtypes = {v: tuple(BY_NAME[n] for n in names) for v, names in self.dtypes.items()}
        handles = {pin.name for pin in self.inputs if pin.dtype == "resource"}
        self.gives_back = tuple(name for name in self.writes if name not in handles)
        """The inputs whose new values are its first outputs; behind a handle, nothing is given back."""
        self.snake_name = snake(self.name)
        self.group, self.group_title = _group_of(self.reference.__module__)
        results = {*self.writes, *(pin.name for pin in self.outputs)}
        self.description, self.formula = set_apart(inspect.getdoc(self.reference) or "", results)

    def same_formula(self, other: Declaration, **names: str) -> None:
        """Takes the formula of another op, which computes the same, with these words in place of others."""
        formula = other.formula
        for word, new in names.items():
            formula = re.sub(rf"\b{word}\b", new, formula)
        self.formula, self.description = formula, with_formula(self.description, formula)

    def shape(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The shape rule: Specs of the inputs and the attributes in, the shape of each output out."""
        self.shape_rule = rule
        return rule

    def static_value(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The statically known value of the only output, or None: Specs and attributes in."""
        self.value_rule = rule
        return rule

    def rng_state(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The RNG state that a block has before its first run: two seed words and the attributes in.

        Three words. While the op computes they are in `ops/_rng_state.py`, for it to read and change.
        """
        self.initial_rng_state = rule
        return rule

    def grad(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The gradient, written with ops: (dy, y, *inputs, **attrs) in, one for each input out."""
        self.gradient = rule
        return rule

    def no_gradient(self, because: str) -> None:
        """Says why asking for a gradient through this op is an error."""
        self.no_gradient_because = because

    def cells(self, rule: Callable[..., list[AccessMap]]) -> Callable[..., list[AccessMap]]:
        """The access maps, which cells belong together: (y, *inputs, **attrs) in, all Specs, AccessMaps out.

        `y` is the Spec of the output, or a named tuple of them. The shape rule has passed.
        """
        self.cell_rule = rule
        return rule

    def kernel(
        self, name: str, warns: bool = False
    ) -> Callable[[Callable[..., KernelFunction | None]], Callable[..., Any]]:
        """A faster kernel; the function plans a call, see Kernel."""

        def add(plan: Callable[..., KernelFunction | None]) -> Callable[..., Any]:
            self.kernels.append(Kernel(name, plan, warns))
            return plan

        return add

    def case(self, about: str, *, out: Any, leaves: Any = None, **args: Any) -> None:
        """A worked case. `out` is a tuple when there are several outputs, and empty when there is none.

        `leaves` says in words, by name, what handles among the inputs stand for after the call.
        """
        self.cases.append(Case(about, args, out, leaves or {}))

    def in_use(self, because: str, lines: str) -> None:
        """Shows it in a session or with files, as typed at Python's prompt: `bb` and `np` are there."""
        self.doctest = Doctest(because, inspect.cleandoc(lines))

    def fails(self, about: str, *, error: str, **args: Any) -> None:
        """A call that must be refused with these words."""
        self.refusals.append(Refusal(about, args, error))

    def differs(
        self, topic: str, *, tensorflow: str, ours: str, agree: str = "", at: Affects = ""
    ) -> None:
        """A difference from TensorFlow's CPU kernel, and at which cells it shows."""
        self.differences.append(Difference(topic, tensorflow, ours, agree, at))

    def _kind(self, attribute: str, annotation: Any) -> Kind:
        kind = getattr(annotation, "__metadata__", [None])[0]
        if not isinstance(kind, Kind):
            raise TypeError(
                f"attribute {attribute!r} of {self.name} needs a kind from ops/attrs.py as its "
                "annotation"
            )
        return kind

    def _parse(self, attr: Attr, value: Any, data_format: Any = None) -> Any:
        """The value of an attribute; `data_format` is the one of the call, if it has any."""
        try:
            return attr.kind.parse(value)
        except OpError as error:
            error.arg = attr.name
            layout = self.attrs.get("data_format")
            if attr.kind.name in _BY_AXIS and layout and isinstance(value, int | np.integer):
                axes = data_format if data_format in layout.kind.options else layout.default
                size = int(value) if 0 < value < 2**31 else 2
                entries = [1 if axis in "NC" else size for axis in axes]
                error.hint = f"Write one entry for each of {axes}: {attr.name}={entries}."
            raise


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
    """MaxPool3DGrad as Python writes it: max_pool_3d_grad. Words of the language get a line below."""
    name = re.sub(r"\d[Dd](?=[A-Z]|$)|V\d$", lambda found: f"_{found[0].lower()}_", name)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    name = re.sub(r"_+", "_", name).strip("_").lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def _group_of(module: str) -> tuple[str, str]:
    """The group of an op, which is the package of its module, and the title, the first line of its docstring.

    Ops that are declared outside of this package are a group of their own.
    """
    parts = module.split(".")
    if parts[:2] != ["backblocks", "ops"]:
        return "own", "Own ops"
    doc = sys.modules[".".join(parts[:3])].__doc__ or parts[2]
    return parts[2], doc.splitlines()[0].rstrip(".")
