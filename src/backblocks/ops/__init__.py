"""Tensor ops with TensorFlow's meaning, on NumPy arrays, by their Python names.

Every op of the registry is here under its snake_case name: `ops.max_pool_3d_grad`. A file in one of the
group folders is found by being there.
"""

import importlib
import os

from backblocks.errors import nearest
from backblocks.ops._op import REGISTRY, Op

_GROUPS = (
    *("array", "control_flow", "data_flow", "io", "logging", "math", "nn", "parsing", "random"),
    *("sparse", "state", "string", "training"),
)

for _group in _GROUPS:
    _package = importlib.import_module(f"backblocks.ops.{_group}")
    for _file in sorted(os.listdir(_package.__path__[0])):  # pkgutil takes longer to import
        if _file.endswith(".py") and not _file.startswith("_"):
            importlib.import_module(f"{_package.__name__}.{_file.removesuffix('.py')}")

globals().update({op.snake_name: op for op in REGISTRY.values()})
__all__ = ["REGISTRY", *sorted(op.snake_name for op in REGISTRY.values())]


def __getattr__(name: str) -> Op:
    """Finds ops that were declared after this package was imported."""
    for op in REGISTRY.values():
        if op.snake_name == name:
            return op
    near = nearest(name, [op.snake_name for op in REGISTRY.values()])
    hint = f"; did you mean {near}?" if near else ""
    raise AttributeError(f"there is no op {name!r} in backblocks.ops{hint}")
