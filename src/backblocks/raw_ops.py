"""TensorFlow's raw ops under their own names and keyword arguments: `raw_ops.MaxPool3DGrad(...)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from backblocks.errors import OpError, described, nearest
from backblocks.ops import REGISTRY
from backblocks.ops._help import docstring
from backblocks.ops._kernels import Dispatcher
from backblocks.ops._op import Op, builders
from backblocks.ops._rng_state import seed_words, using_rng_state


class RawOp(Dispatcher):
    # An op called as `tf.raw_ops` calls it: every argument by its name, and `name=` accepted.
    # Not a docstring: `help` asks the class for one, and is answered for the op.

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return docstring(self.op, self.op.name, self.__signature__)

    def __init__(self, op: Op) -> None:
        super().__init__(op.call_cache, (), builders.get)
        self.op = op
        self.__name__ = op.name

    def call_uncached(self, args: Sequence[Any], given: dict[str, Any], key: bytes | None) -> Any:
        """Answers a call that the cache has no plan for."""
        if args:
            raise OpError(
                "takes its arguments by name only",
                op=self.op.name,
                got=described(f"{len(args)} by position"),
                hint=f"Write {self.op.name}({next(iter(signature(self.op).parameters))}=...).",
            )
        return self.op.call_uncached(args, given, key)

    def new_values(self, /, **arguments: Any) -> list[Any]:
        """What an op that changes variables leaves in each of them; a call gives its outputs only."""
        return self.op.new_values(arguments)

    def from_step_to_step(self) -> Callable[..., Any]:
        """The op with an RNG state that continues from call to call, as in a session."""
        words: Any = None

        def call(**arguments: Any) -> Any:
            nonlocal words
            if words is None:
                _, attrs, _ = self.op.bind((), arguments)
                words = (
                    self.op.initial_rng_state(seed_words(), **attrs)
                    if self.op.initial_rng_state
                    else None
                )
            with using_rng_state(words) as state:
                result = self(**arguments)
            words = state.words
            return result

        return call

    def __repr__(self) -> str:
        return f"<raw op {self.op.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return RawOp, (self.op,)

    @property
    def __signature__(self) -> inspect.Signature:
        return signature(self.op)


def signature(op: Op) -> inspect.Signature:
    """The keyword arguments of a raw op: TensorFlow's own, `name`, then what we add, `out` last."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    attrs = list(op.attrs.values())
    own = [
        *(
            inspect.Parameter(p.name, keyword)
            if p.count != "optional"
            else inspect.Parameter(p.name, keyword, default=None)
            for p in op.inputs
        ),
        *(
            inspect.Parameter(a.name, keyword, default=a.default)
            for a in attrs
            if not a.beyond_tensorflow
        ),
        inspect.Parameter("name", keyword, default=None),
    ]
    ours = [
        inspect.Parameter(a.name, keyword, default=a.default) for a in attrs if a.beyond_tensorflow
    ]
    out = inspect.Parameter("out", keyword, default=None)
    return inspect.Signature([*own, *ours, out])


globals().update({name: RawOp(op) for name, op in REGISTRY.items()})
__all__ = sorted(REGISTRY)


def __getattr__(name: str) -> Any:
    """Finds ops that were declared after this module was imported, and the classes of results."""
    if name in REGISTRY:
        return RawOp(REGISTRY[name])
    if name.removesuffix("Result") in REGISTRY:
        return REGISTRY[name.removesuffix("Result")].Result
    near = nearest(name, REGISTRY)
    hint = f"; did you mean {near}?" if near else ""
    raise AttributeError(f"there is no op {name!r} in backblocks.raw_ops{hint}")
