"""The docstring of an op as `help` and editors show it: signature, description, parameters, results."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable

from backblocks.ops._declaration import Attr, Declaration
from backblocks.ops._pins import Pin

_OF_EVERY_OP = """\
name : str, optional
    The name of the block, where the call adds one to a graph.
out : array or list of arrays, optional
    Where to write the results, instead of into new arrays."""


def docstring(op: Declaration, name: str, signature: inspect.Signature) -> str:
    """The sections of a NumPy docstring; nothing in them is written by hand for one op."""
    parameters = [*map(_pin, op.inputs), *map(_attribute, op.attrs.values()), _OF_EVERY_OP]
    sections = [f"{name}{signature}", op.description, _section("Parameters", parameters)]
    if op.outputs:
        sections.append(_section("Returns", map(_pin, op.outputs)))
    if op.dtypes:
        dtypes = (f"{name} : {', '.join(names)}" for name, names in op.dtypes.items())
        sections.append(_section("Types", dtypes))
    return "\n\n".join(sections)


def _section(title: str, entries: Iterable[str]) -> str:
    return "\n".join([title, "-" * len(title), *entries])


def _pin(pin: Pin) -> str:
    kind = "list of tensors" if pin.is_list else "tensor"
    return f"{pin.name} : {kind} of {pin.dtype}{', optional' * (pin.count == 'optional')}"


def _attribute(attr: Attr) -> str:
    default = "" if attr.required else f", default {attr.default!r}"
    line = f"{attr.name} : {attr.kind.type_text}{default}"
    return f"{line}\n{textwrap.indent(attr.kind.about, '    ')}"
