"""Records TensorFlow's answers to a table of calls, for tests/ops/test_vectors.py to compare with.

    make vectors
    make vectors OPS="Tanh Exp"    only these

builds an environment with TensorFlow of its own (.venv-tf: TensorFlow is no dependency of the library
or of its tests) and runs this file in it. It writes into tests/ops/vectors:

    <Op>.npz        two arrays of bytes. `calls` is JSON, one object for each call:
                      inputs   name -> [dtype, shape, where its bytes begin in `cells`]; a list of these
                               for a list of tensors. Strings stand in place of the last, as Latin-1.
                      attrs    name -> value; types by their TensorFlow names
                      tags     what is special about the call: "ties", "nan", "empty" ...
                      outputs  as inputs, without names; null for an output that TensorFlow leaves
                               uninitialised
                      error    instead of outputs: the class of TensorFlow's error
                    `cells` holds the cells of all tensors, in row-major order and little-endian.
    support.json    for each op, which types and formats TensorFlow's CPU kernel accepts, and with what
                    error it refuses the others

The kernels are those without oneDNN, on one thread, so that every run gives the same files. The calls
are made in the modules beside this one, in vectors/.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

os.environ |= {
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
}

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry
from vectors import TABLE
from vectors.data import QUANTIZED, Array, Call, Codes

VERSION = "2.21.0"
TARGET = Path(__file__).parents[1] / "tests" / "ops" / "vectors"

# A refused call is kept when only its values can be the reason: ours may well have an answer there.
VALUES = {"empty", "nan", "inf", "very small images"}
FEATURES = {"dilations", "groups", "inference"}


def main() -> None:
    if tf.__version__ != VERSION:
        sys.exit(f"needs TensorFlow {VERSION}, not {tf.__version__}; run: make vectors")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    TARGET.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or list(TABLE)
    for op in wanted:
        if op not in TABLE:
            sys.exit(f"{op} is in no table of tools/vectors: say there which calls to record")
    support_file = TARGET / "support.json"
    support = json.loads(support_file.read_text()) if sys.argv[1:] and support_file.exists() else {}
    for op in wanted:
        file, support[op], refused = File(), Support(op), []
        dtypes, calls = TABLE[op]
        for dtype in dtypes:
            for call in calls(op, dtype):
                answer = answers(op, call)
                support[op].note(dtype, call, answer)
                if isinstance(answer, str):
                    refused.append((dtype, call, answer))
                else:
                    file.add(call, answer)
        for dtype, call, answer in refused:
            tags = set(call.tags)
            if support[op].accepts(dtype, call) and tags & VALUES and not tags & FEATURES:
                file.add(call, answer)
        support[op].simplify()
        path = TARGET / f"{op}.npz"
        if support[op]["accepts"]:
            file.write(path)
            print(f"{op:45} {len(file.calls):5} calls {path.stat().st_size:8} bytes")
        else:
            path.unlink(missing_ok=True)
            print(f"{op:45} refused: {support[op]['refuses']}")
    lines = (f"{json.dumps(op)}: {json.dumps(support[op])}" for op in sorted(support))
    support_file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


# -- asking TensorFlow -------------------------------------------------------------------------------


def answers(op: str, call: Call) -> list[Any] | str:
    """The outputs, with None for those that are not the same every time; or the error's class."""
    first = ask(op, call)
    if isinstance(first, str):
        return first
    first = [None if i in call.unwritten else a for i, a in enumerate(first)]
    for pattern in (0x5A, 0xA5):
        # Nothing to compute is where TensorFlow forgets to write: it must not find clean blocks then.
        blocks = 64 if "empty" in call.tags else 4
        leave_behind(pattern, first, blocks)
        again = ask(op, call)
        first = [
            a if a is not None and cells(a) == cells(b) else None
            for a, b in zip(first, again, strict=True)
        ]
    return first


def ask(op: str, call: Call) -> list[Any] | str:
    declared = op_def_registry.get(op)
    variables = {arg.name for arg in declared.input_arg if arg.is_ref}
    draws_on = declared.is_stateful and any(attr.name == "seed2" for attr in declared.attr)
    if variables or (draws_on and not op.startswith("Fractional")):
        return ask_in_a_graph(op, call, variables)
    inputs = {
        name: [tensor(v) for v in value] if isinstance(value, list) else tensor(value)
        for name, value in call.inputs.items()
    }
    try:
        result = constant(**call.attrs) if op == "Const" else raw(op)(**inputs, **call.attrs)
    except tf.errors.OpError as error:
        return type(error).__name__
    except UnicodeDecodeError:  # TensorFlow cannot say what is wrong with bytes that are no text
        return "InvalidArgumentError"
    return [array(t) for t in (result if isinstance(result, list | tuple) else [result])]


def raw(op: str) -> Any:
    return getattr(tf.raw_ops, op)


def constant(value: Any, dtype: str) -> tf.Tensor:
    """What Const gives, which takes no eager calls."""
    proto = tf.make_tensor_proto(value, dtype)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        result = session.run(tf.raw_ops.Const(value=proto, dtype=dtype))
    return tf.constant(result)


def ask_in_a_graph(op: str, call: Call, variables: set[str]) -> list[Any] | str:
    """Asks an op that changes variables, which must be inside a graph, or one that draws on."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        try:
            inputs = {name: tf.constant(value) for name, value in call.inputs.items()}
            for name in variables:
                value = inputs[name]
                inputs[name] = tf.raw_ops.VariableV2(shape=value.shape, dtype=value.dtype)
                session.run(tf.raw_ops.Assign(ref=inputs[name], value=value))
            result = session.run(getattr(tf.raw_ops, op)(**inputs, **call.attrs))
        except (tf.errors.OpError, TypeError, ValueError) as error:
            return type(error).__name__
    # A scalar of bytes would be cut at its zero bytes.
    return [np.array(result, object) if isinstance(result, bytes) else np.asarray(result)]


def leave_behind(pattern: int, outputs: list[Any], count: int) -> None:
    """Fills and frees memory of the outputs' sizes, for an op to find if it does not write its own."""
    for size in {plain(output).nbytes for output in outputs if output is not None}:
        blocks = [tf.fill([size], tf.constant(pattern, tf.uint8)) for _ in range(count)]
        del blocks


def tensor(value: Array | Codes) -> tf.Tensor:
    if isinstance(value, Codes):
        return tf.bitcast(tf.constant(value.array), value.dtype)
    return tf.constant(value, tf.string if value.dtype.kind == "O" else None)


def array(result: tf.Tensor) -> Array | Codes:
    name = result.dtype.name
    if name in QUANTIZED:
        return Codes(tf.bitcast(result, QUANTIZED[name]).numpy(), name)
    return np.asarray(result.numpy(), object if result.dtype == tf.string else None)


def cells(value: Array | Codes) -> Any:
    """What is in a tensor, to the bit; the cells of text lie elsewhere."""
    x = plain(value)
    return x.tolist() if x.dtype.kind == "O" else x.tobytes()


def plain(value: Array | Codes) -> Array:
    return value.array if isinstance(value, Codes) else value


# -- keeping the answers -----------------------------------------------------------------------------


class File:
    """The calls of one op and the cells of their tensors; equal tensors are kept once."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.cells = bytearray()
        self.places: dict[bytes, int] = {}

    def add(self, call: Call, answer: list[Any] | str) -> None:
        record: dict[str, Any] = {
            "inputs": {name: self.place(value) for name, value in call.inputs.items()},
            "attrs": call.attrs,
            "tags": list(call.tags),
        }
        if isinstance(answer, str):
            record["error"] = answer
        else:
            record["outputs"] = [None if a is None else self.place(a) for a in answer]
        self.calls.append(record)

    def place(self, value: Any) -> list[Any]:
        if isinstance(value, list):
            return [self.place(v) for v in value]
        x = plain(value)
        if x.dtype.kind == "O":
            return ["string", list(x.shape), [cell.decode("latin-1") for cell in x.flat]]
        cells = x.astype(x.dtype.newbyteorder("<"), copy=False).tobytes()
        if cells not in self.places:
            self.places[cells] = len(self.cells)
            self.cells += cells
        return [
            value.dtype if isinstance(value, Codes) else x.dtype.name,
            list(x.shape),
            self.places[cells],
        ]

    def write(self, path: Path) -> None:
        lines = ",\n".join(json.dumps(call, separators=(",", ":")) for call in self.calls)
        # As np.savez_compressed, but with the method that makes these a third smaller.
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
            for name, data in (("calls", f"[{lines}]".encode()), ("cells", bytes(self.cells))):
                array = io.BytesIO()
                np.lib.format.write_array(array, np.frombuffer(data, np.uint8))
                file.writestr(zipfile.ZipInfo(f"{name}.npy"), array.getvalue(), zipfile.ZIP_LZMA)


class Support(dict[str, Any]):
    """What an op's kernel accepts, by type and format, and how it refuses the rest."""

    def __init__(self, op: str) -> None:
        super().__init__(accepts={}, refuses={})
        attrs = op_def_registry.get(op).attr
        self.default = next(
            (a.default_value.s.decode() for a in attrs if a.name == "data_format"), ""
        )

    def note(self, dtype: str, call: Call, answer: list[Any] | str) -> None:
        layout = call.attrs.get("data_format", self.default)
        if isinstance(answer, str):
            reasons = (tag for tag in call.tags if tag in VALUES | FEATURES)
            self["refuses"].setdefault(" ".join(filter(None, (dtype, layout, *reasons))), answer)
        else:
            layouts = self["accepts"].setdefault(dtype, [])
            if layout and layout not in layouts:
                layouts.append(layout)

    def accepts(self, dtype: str, call: Call) -> bool:
        layout = call.attrs.get("data_format", self.default)
        return dtype in self["accepts"] and (not layout or layout in self["accepts"][dtype])

    def simplify(self) -> None:
        """Drops the refusals that a wider one covers: float16 with dilations, if any float16 is refused."""
        wide = [f"{what} " for what in self["refuses"]]
        self["refuses"] = {
            what: error
            for what, error in self["refuses"].items()
            if not any(what.startswith(w) for w in wide)
        }


if __name__ == "__main__":
    main()
