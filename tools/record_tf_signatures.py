"""Records how TensorFlow's raw ops are called: argument names, defaults, outputs and types.

Run where TensorFlow 2.21 is installed (`make vectors` makes such an environment), with the names of the
ops on standard input:

    python tools/record_tf_signatures.py < names > tests/ops/tf_signatures.json
"""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry


def default_of(parameter: inspect.Parameter) -> Any:
    value = parameter.default
    if value is inspect.Parameter.empty:
        return "required"
    return value.name if isinstance(value, tf.DType) else value


def facts_of(name: str) -> dict[str, Any]:
    op_def = op_def_registry.get(name)
    arguments = inspect.signature(getattr(tf.raw_ops, name)).parameters.values()
    return {
        "arguments": {p.name: default_of(p) for p in arguments},
        "inputs": [arg.name for arg in op_def.input_arg],
        "outputs": [arg.name for arg in op_def.output_arg],
        "types": {
            attr.name: sorted(tf.dtypes.as_dtype(t).name for t in attr.allowed_values.list.type)
            for attr in op_def.attr
            if attr.type == "type"
        },
    }


def main() -> None:
    facts = {name: facts_of(name) for name in sorted(sys.stdin.read().split())}
    lines = [f"{json.dumps(name)}: {json.dumps(fact)}" for name, fact in facts.items()]
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
