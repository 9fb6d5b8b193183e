"""Records how TensorFlow calls the ops of the tables: argument names, defaults, outputs and types.

    make vectors

runs this file after record_tf_vectors.py, in the same environment. It writes tests/ops/tf_signatures.json.
"""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.python.framework import op_def_registry
from vectors import TABLE

TARGET = Path(__file__).parents[1] / "tests" / "ops" / "tf_signatures.json"


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
        "fixed types": {
            arg.name: tf.dtypes.as_dtype(arg.type).name for arg in op_def.input_arg if arg.type
        },
        "types": {
            attr.name: sorted(tf.dtypes.as_dtype(t).name for t in attr.allowed_values.list.type)
            for attr in op_def.attr
            if attr.type == "type"
        },
    }


def main() -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(facts_of(name))}" for name in sorted(TABLE))
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
