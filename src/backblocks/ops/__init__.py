"""TensorFlow's raw ops on NumPy arrays, as snake_case functions.

Every op of the registry is here under its snake_case name: `ops.max_pool_3d_grad`. A package in this folder
is a group of ops, titled by the first line of its docstring, and every module in it declares ops; both are
found by being there.

A module whose name begins with an underscore declares no op; the underscore keeps it out of this namespace,
which is the user's. Other packages of backblocks build on `_op`, `_plan`, `_spec`, `_pins`, `_inputs`,
`_values`, `_handles`, `_kernels`, `_memory` and `_rng_state`. `_elementwise`, `_interruptible`, `_philox` and
`_workspace` serve the ops of this package alone, as import-linter checks.
"""

import importlib
import os
from collections.abc import Iterator

from backblocks.errors import nearest
from backblocks.ops._op import REGISTRY, Op


def _declarations(folder: str) -> Iterator[str]:
    """The modules that declare ops, as `group.module`, in order. pkgutil takes longer to import."""
    for group in sorted(os.listdir(folder)):
        files = os.path.join(folder, group)
        if not group.startswith("_") and os.path.isfile(os.path.join(files, "__init__.py")):
            for file in sorted(os.listdir(files)):
                if file.endswith(".py") and not file.startswith("_"):
                    yield f"{group}.{file.removesuffix('.py')}"


for _module in _declarations(os.path.dirname(__file__)):
    importlib.import_module(f"{__name__}.{_module}")

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
