"""Every op answers as TensorFlow's CPU kernel does, but for the differences that it declares.

A recorded call carries tags; one that has a tag named like a difference of its op ("nan", "ties", "empty"
...) may disagree, any other must not. A declared difference that no call shows is a fault as well.
"""

import numpy as np
import pytest
from recorded import RECORDED, SUPPORT, recorded

from backblocks import OpError, raw_ops
from backblocks.dtypes import NAMES, SMALL, is_half, wider
from backblocks.ops import REGISTRY

# Ops whose results are cells of their inputs: there is nothing to round.
SELECTING = {
    *("MaxPool", "MaxPoolV2", "MaxPoolWithArgmax", "MaxPool3D", "FractionalMaxPool", "TopKV2"),
    *("MaxPoolGradGrad", "MaxPoolGradGradV2", "MaxPool3DGradGrad", "Relu", "Relu6", "Neg"),
    *("Reshape", "ExpandDims", "Identity", "BroadcastTo", "Transpose", "Pack", "Unpack"),
    *("ZerosLike", "OnesLike", "SelectV2", "GatherNd", "ConcatV2", "Concat", "Split", "SplitV"),
    *("Slice", "StridedSlice", "StridedSliceGrad", "Pad", "PadV2", "GatherV2", "Gather", "Tile"),
    *("Fill", "Squeeze", "Const", "PlaceholderWithDefault", "EnsureShape", "StopGradient"),
    *(
        "PreventGradient",
        "CheckNumerics",
        "Bitcast",
        "Unique",
        "UniqueWithCounts",
        "OneHot",
        "Select",
        "Merge",
        "Print",
    ),
    *("RandomUniform", "StatelessRandomUniform"),
}
# Ops of so many steps, of which TensorFlow rounds each to the half type, that errors add up.
STEPWISE = {"ApplyAdadelta", "Selu"}
# How far results may be apart, as a part of the largest: sums are not taken in the same order. Half types
# of the ops above, as a part of 1 at least.
ROUNDING = {
    "bfloat16": 2**-6,
    "float16": 2**-8,
    "float32": 1e-5,
    "float64": 1e-12,
    "complex64": 1e-5,
    "complex128": 1e-12,
}


def disagreement(name, call, **more):
    """How our answer differs from the recorded one; nothing if it does not."""
    try:
        ours = getattr(raw_ops, name)(**call["inputs"], **call["attrs"], **more)
    except OpError as error:
        return "" if "error" in call else f"refused: {error}"
    if "error" in call:
        return f"not refused; TensorFlow raises {call['error']}"
    ours = ours if isinstance(ours, list | tuple) else [ours]
    if len(ours) != len(call["outputs"]):
        return f"{len(ours)} outputs; TensorFlow has {len(call['outputs'])}"
    texts = (different(name, *pair) for pair in zip(ours, call["outputs"], strict=True))
    return "; ".join(filter(None, texts))


def different(name, ours, theirs):
    if theirs is None:
        return ""
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        return f"{described(ours)}; TensorFlow has {described(theirs)}"
    if ours.dtype.hasobject and any(type(cell) is not bytes for cell in ours.flat):
        return "cells that are no bytes"
    a, b = (x.astype(np.float32 if is_half(x.dtype) else wider(x.dtype)) for x in (ours, theirs))
    part = 0 if name in SELECTING else ROUNDING.get(NAMES[ours.dtype], 0)
    if not part:
        equal = a == b
        if a.dtype.kind in "fc":
            equal |= (a != a) & (b != b)
    else:
        stepwise = is_half(ours.dtype) and name in STEPWISE
        largest = np.abs(b[np.isfinite(b)]).max(initial=1.0 if stepwise else 0.0)
        equal = np.isclose(a, b, rtol=0, atol=part * largest, equal_nan=True)
    if equal.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~equal)[0])
    return f"{a[at]} at {list(at)}, TensorFlow has {b[at]} ({(~equal).sum()} of {equal.size} cells)"


def topics(name):
    """The differences from TensorFlow that an op declares."""
    return {difference.topic for difference in REGISTRY[name].differences}


def described(value):
    if isinstance(value, list):
        return f"[{', '.join(map(described, value))}]"
    return f"{NAMES[value.dtype]} {list(value.shape)}"


def line(index, name, call, how):
    """The call and what came of it, on one line."""
    inputs = (f"{arg}={described(value)}" for arg, value in call["inputs"].items())
    attrs = (f"{arg}={value!r}" for arg, value in call["attrs"].items())
    return (
        f"recorded({name!r})[{index}] {call['tags']}: {name}({', '.join([*inputs, *attrs])}): {how}"
    )


def report(faults):
    return "\n".join([f"{len(faults)} calls:", *faults[:10]])


@pytest.mark.parametrize("name", RECORDED)
def test_answers_as_tensorflow_does(name):
    shown, shown_by, faults = set(), set(), []
    for i, call in enumerate(recorded(name)):
        how = disagreement(name, call)
        allowed = topics(name) & set(call["tags"])
        shown_by |= allowed
        uninitialised = any(output is None for output in call.get("outputs", []))
        if len(allowed) == 1 and (how or uninitialised):
            shown |= allowed
        if how and not allowed:
            faults.append(line(i, name, call, how))
    assert not faults, report(faults)
    assert shown_by == shown, f"no call shows the difference in {shown_by - shown}"


@pytest.mark.parametrize("name", RECORDED)
def test_half_types_are_tensorflows_to_the_bit_or_declared(name):
    """A cell in a hundred may be apart: what is computed in float32 may fall on either side of a half."""
    apart = cells = 0
    for call in recorded(name):
        if "error" in call or topics(name) & set(call["tags"]) or disagreement(name, call):
            continue
        ours = getattr(raw_ops, name)(**call["inputs"], **call["attrs"])
        ours = ours if isinstance(ours, list | tuple) else [ours]
        for a, b in zip(ours, call["outputs"], strict=True):
            if isinstance(b, np.ndarray) and is_half(b.dtype):
                x, y = a.astype(np.float32), b.astype(np.float32)
                apart += int(((x != y) & ((x == x) | (y == y))).sum())
                cells += x.size
    assert apart <= cells / 100 or any("half" in topic for topic in topics(name)), (
        f"{apart} of {cells} cells are rounded otherwise, and no difference says so"
    )


@pytest.mark.parametrize("name", RECORDED)
def test_formats_that_only_ours_takes_are_declared(name):
    kind = REGISTRY[name].attrs.get("data_format")
    taken = {layout for layouts in SUPPORT[name]["accepts"].values() for layout in layouts}
    if kind is not None and taken and set(kind.kind.options) - taken - {"NCHW_VECT_C"}:
        assert topics(name) & {"formats", "types"}, f"TensorFlow takes {taken} only"


def test_counts_ties_in_volumes_as_tensorflow_does_when_asked_to():
    faults = []
    for i, call in enumerate(recorded("MaxPool3DGrad")):
        how = disagreement("MaxPool3DGrad", call, ties="tensorflow-cpu")
        if how and "half sums" not in call["tags"]:
            faults.append(line(i, "MaxPool3DGrad", call, how))
    assert not faults, report(faults)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_op_has_recorded_answers(name):
    assert name in SUPPORT, "add it to a table in tools/vectors and run: make vectors"
    assert (name in RECORDED) == bool(SUPPORT[name]["accepts"])


# Types of which TensorFlow has kernels for some ops that move elements, and not for others.
SOMETIMES = {*SMALL, "string"}


def asked(name):
    """Those of these types with which TensorFlow was called."""
    support = SUPPORT[name]
    return SOMETIMES & {*support["accepts"], *(what.split()[0] for what in support["refuses"])}


@pytest.mark.parametrize("name", [name for name in RECORDED if asked(name)])
def test_takes_strings_and_small_types_where_tensorflow_does(name):
    op = REGISTRY[name]
    options = [attr.kind.options for attr in op.attrs.values() if attr.kind.name == "dtype"]
    declared = {each for types in (*op.dtypes.values(), *options) for each in types}
    pins = {pin.dtype for pin in (*op.inputs, *op.outputs)}
    assert (declared | pins) & asked(name) == SOMETIMES & set(SUPPORT[name]["accepts"])
