"""Adds TensorFlow's answers to the legal calls in tests/ops/bad_calls.

    python tools/record_bad_calls.py
    python tools/record_bad_calls.py --onednn

run where TensorFlow is installed, after compact_bad_calls.py. The second asks TensorFlow's other
kernels, which can do more, for answers to calls that its own refuse and ours takes.

Answers that ours is meant not to give are left out: some read memory that TensorFlow does not own.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

# With AVX2 the other kernels give wrong values now and then.
os.environ |= {
    "TF_ENABLE_ONEDNN_OPTS": str(int("--onednn" in sys.argv)),
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ops"))

import numpy as np
import tensorflow as tf
from bad_calls import facts
from bad_calls.differences import STRICTER, WIDER, find

ONEDNN = "--onednn" in sys.argv
DILATED_GRADIENT = "SURVEY-17 case 1"


def tensor(fact):
    values = fact["values"] if "values" in fact else [fact["fill"]] * np.prod(fact["shape"])
    return tf.constant(values, fact["dtype"], fact["shape"])


def fact(output):
    array = output.numpy()
    # The shortest text that reads back as the same float32.
    values = [float(str(v)) if array.dtype.kind == "f" else int(v) for v in array.reshape(-1)]
    return {"dtype": output.dtype.name, "shape": list(array.shape), "values": values}


def answer(call):
    if call.name == DILATED_GRADIENT:
        return dilated_gradient(call)
    args = {k: tensor(v["tensor"]) if isinstance(v, dict) else v for k, v in call.args.items()}
    if "GradGrad" in call.op:
        # These look for orig_output in orig_input, and the facts' orig_output is not in it.
        windows = {k: args[k] for k in ("ksize", "strides", "padding")}
        windows |= {
            k: v.numpy().reshape(-1).tolist() for k, v in windows.items() if tf.is_tensor(v)
        }
        pool = tf.raw_ops.MaxPool3D if "3D" in call.op else tf.raw_ops.MaxPool
        args["orig_output"] = pool(input=args["orig_input"], **windows)
    outputs = getattr(tf.raw_ops, call.op)(**args)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return tuple(map(fact, outputs))


def dilated_gradient(call):
    """The gradient that the op should give: its kernel takes the dilations and does not use them."""
    sizes, filters, dy = (
        tensor(call.args[name]["tensor"]) for name in ("input_sizes", "filter", "out_backprop")
    )
    with tf.GradientTape() as tape:
        x = tf.zeros(sizes)
        tape.watch(x)
        how = call.args["strides"], call.args["padding"]
        y = tf.nn.depthwise_conv2d(x, filters, *how, dilations=call.args["dilations"][1:3])
    return (fact(tape.gradient(y, x, dy)),)


def wanted(call):
    if ONEDNN:
        return not call.advisory and find(WIDER, call.op, call.name)
    if call.name == DILATED_GRADIENT:
        return True
    return call.tensorflow == "ok" and not find(STRICTER, call.op, call.name)


def recorded(call):
    try:
        return replace(call, answer=answer(call))
    except tf.errors.OpError:
        if not ONEDNN:
            raise
        return call


def main():
    for op in facts.ops():
        calls = facts.read(op)
        facts.write(op, [recorded(call) if wanted(call) else call for call in calls])


if __name__ == "__main__":
    main()
