"""Plans: a call that has passed its shape rule, ready to be computed as often as wanted.

A plan is called with arrays in the order of the op's inputs. It is the one way in which outputs are
allocated and a kernel or the reference implementation is called: eager calls, sessions and the studio all
compute by it. Its base class `Executable` is native code, so that a small call does not enter Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from backblocks.dtypes import NAMES
from backblocks.errors import BackblocksError, OpError, described
from backblocks.ops import _memory
from backblocks.ops._declaration import KernelFunction
from backblocks.ops._inputs import Array
from backblocks.ops._kernels import Executable, all_row_major
from backblocks.ops._spec import Spec, shape_text
from backblocks.ops._values import (
    Value,
    as_row_major,
    bytes_of,
    each_value,
    flat,
    floats_as_row_major,
    owned,
    owned_each,
    why_not_out,
)

if TYPE_CHECKING:
    from backblocks.ops._op import Op

_MOVING = ("array", "control_flow", "data_flow", "state")
"""Groups of ops that pass elements on, or change each by itself: they take views as they are."""


class Plan(Executable):
    """What comes out of a call, and how it is computed: `plan(*arrays)`, which gives the output.

    Several outputs come as a list. NumPy's warnings of infinities and NaN are the caller's to silence.
    """

    def __init__(
        self,
        op: Op,
        attrs: dict[str, Any],
        inputs: Sequence[Value],
        specs: tuple[Value, ...],
        reference: Callable[..., Any],
        kernel: KernelFunction | None,
        warns: bool,
        empty: bool,
        needs: int,
    ) -> None:
        """`reference` computes where there is no `kernel`: the op's own, in chunks if arrays are large.

        `warns` says that NumPy would warn of infinities and NaN in the kernel, `needs` how many bytes
        the results take and what is computed on the way to them.
        """
        self.op = op
        self.attrs = attrs
        self.specs = specs
        self.reference = reference
        self.kernel = kernel
        self.warns = warns
        self.empty = empty
        self.needs = needs
        self.large = needs > _memory.SMALL
        self.single = len(specs) == 1 and not isinstance(specs[0], tuple)
        """Whether there is one output, which is no list."""
        self._takes_views = op.group in _MOVING
        self._lone = self.single and len(op.writes) <= 1
        """Whether the reference implementation gives the value of the output, and nothing else."""
        further = op.writes[len(specs) :]
        self._kinds = (
            *specs,
            *(spec for pin, spec in zip(op.inputs, inputs, strict=True) if pin.name in further),
        )
        """The Specs of the outputs, then of variables that are no output, whose dtype their values have."""
        allocators = tuple(_memory.allocator(s.sizes, s.dtype) for s in specs if kernel)
        super().__init__(kernel, allocators, not self.large)

    def compute(self, *arrays: Value) -> Any:
        """The output, or a list of several, where native code alone cannot compute it."""
        values = self._values(arrays, len(self.specs))
        return values[0] if len(values) == 1 else values

    def outputs(
        self, arrays: Sequence[Value], out: Sequence[Value] | None = None
    ) -> Sequence[Value]:
        """An array for each output, and a tuple of them for an output that is a list.

        They are computed into those in `out` if there are any, which must have passed `checked_out`.
        """
        return self._values(arrays, len(self.specs), out)

    def new_values(self, arrays: Sequence[Value]) -> Sequence[Array]:
        """The new value of every variable that the op writes."""
        return self._values(arrays, len(self.op.writes))

    def _values(
        self, arrays: Sequence[Value], count: int, out: Sequence[Value] | None = None
    ) -> Sequence[Value]:
        """The first values that the op gives: its outputs, then variables that are no output."""
        op = self.op
        try:
            if self.large:
                self._refuse_what_cannot_fit(out is not None)
            if self.kernel is not None:
                rows = tuple(each_value(as_row_major, arrays))
                one = len(self.specs) == 1
                found = self.execute(rows, out if out is None or not one else out[0])
                return [found] if one else found
            if self.empty:
                empty = each_value(lambda spec: np.zeros(spec.sizes, spec.dtype), self.specs)
                return empty if out is None else out
            if not (self._takes_views or all_row_major(tuple(arrays))):
                arrays = each_value(floats_as_row_major, arrays)
            results = self.reference(*arrays, **self.attrs)
            if self._lone and out is None:
                return [owned(results, self.specs[0].dtype, arrays)]
            results = op.values(results)[:count]
            if out is not None:
                return self._copied(results, out)
            return owned_each(results, self._kinds, arrays)
        except BackblocksError as error:
            error.op = error.op or op.name
            raise
        except Exception as error:
            op.rethrow(error, arrays, self.attrs, self.specs)

    def _copied(self, results: Sequence[Any], out: Sequence[Value]) -> Sequence[Value]:
        for array, result in zip(flat(out), flat(results), strict=True):
            if self.op.data_dependent_shape and array.shape != np.shape(result):
                raise OpError(
                    f"must have the shape of the result, {shape_text(np.shape(result))}",
                    arg="out",
                    got=described(shape_text(array.shape)),
                    hint="Leave it out: the size is known only after the call.",
                )
            if not isinstance(result, np.ndarray):
                # By itself NumPy would cut the zero bytes off the end of a text.
                result = np.asarray(result, array.dtype)
            np.copyto(array, result, casting="unsafe")
        return out

    def _refuse_what_cannot_fit(self, given: bool) -> None:
        """Refuses a call whose results, unless arrays were given for them, and temporaries need too much."""
        results = known_bytes(self.specs) if given else 0
        rule = "the result and what is computed on the way to it need"
        text = ", ".join(map(str, flat(self.specs))) or "inputs of this size"
        pins = self.op.outputs or self.op.inputs
        _memory.refuse_bytes(self.needs - results, rule, text, pins[0].name)

    def checked_out(self, arrays: Sequence[Array], out: Any) -> Sequence[Value]:
        """The arrays that a caller gives for the outputs, if the outputs fit in them exactly.

        None of them may lie in one of `arrays`: the inputs, and what they were converted from.
        """
        specs = list(flat(self.specs))
        one = len(self.op.outputs) == 1 and not isinstance(self.specs[0], tuple)
        if not specs:
            hint = "Leave it out; the op gives nothing."
            raise OpError(
                "has no output to hold", arg="out", got=described(type(out).__name__), hint=hint
            )
        given = [out] if one else list(flat(out)) if isinstance(out, list | tuple) else []
        if len(given) != len(specs):
            raise OpError(
                f"must be a list of {len(specs)} arrays, one for each output",
                arg="out",
                got=described(type(out).__name__ if not given else f"{len(given)} arrays"),
                hint="Leave it out to get new arrays.",
            )
        others = list(arrays)
        for array, spec in zip(given, specs, strict=True):
            if rule := why_not_out(array, spec, others):
                got = about(array) if isinstance(array, np.ndarray) else ""
                raise OpError(
                    rule,
                    arg="out",
                    got=described(f"{type(array).__name__} {got}".removeprefix("ndarray ").strip()),
                    hint=f"Make one for it: np.empty({list(spec.shape or ())}, {NAMES[spec.dtype]!r}).",
                )
            others.append(array)
        if one:
            return given
        left = iter(given)
        return each_value(lambda spec: next(left), self.specs)


@dataclass(frozen=True, slots=True)
class CopyKernel:
    """A kernel that copies the elements of the first input in row-major order, where a view would do."""

    shape: tuple[int, ...]
    """The shape of the input."""

    def __call__(self, x: Array, *others: Array) -> None:
        others[-1].reshape(self.shape)[...] = x


def is_open(spec: Spec) -> bool:
    return spec.shape is None or None in spec.shape


def known_bytes(specs: Sequence[Value]) -> int:
    return sum(bytes_of(spec) for spec in flat(specs) if not is_open(spec))


def one_line(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 3]}..."


def about(value: Any) -> str:
    """A value in a few words, for an error."""
    try:
        if isinstance(value, tuple | list) and any(hasattr(each, "dtype") for each in value):
            return f"[{', '.join(map(about, value))}]"
        if isinstance(value, np.ndarray):
            return str(Spec.of(value)) if value.dtype in NAMES else f"{value.dtype} {value.shape}"
        return str(value) if isinstance(value, Spec) else one_line(repr(value), 100)
    except Exception:  # it is only told of
        return type(value).__name__
