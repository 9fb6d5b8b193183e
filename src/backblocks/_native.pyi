from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A kernel made ready for one geometry. Takes the input arrays, then those of the results, which are
# overwritten and share no memory with any other. All are C-contiguous. A wrong array is a TypeError.
class Prepared:
    def __call__(self, *arrays: NDArray[Any]) -> None: ...
    # The same for callers that have more arrays: it takes those at these places.
    def taking(self, *places: int) -> Prepared: ...
    # Which algorithm it runs.
    def explain(self) -> Choice: ...

# The algorithm that a kernel has chosen for its geometry, why, and how it divides the work.
class Choice:
    isa: str
    algorithm: str
    reason: str
    details: list[tuple[str, str]]
    chunks: int
    threads: int

# Call key: what calls must have in common to share a plan. Only arrays of these dtypes have one.
class CallKey:
    def __init__(self, dtypes: Sequence[Any]) -> None: ...

# A planned call: the allocator of each output, and the kernel that fills them. Called with the inputs it
# gives the output, or a list of several. What it cannot compute is left to the method compute: there is no
# kernel, it is not direct, an input is no array in row-major order, or memory is short.
class Executable:
    def __init__(
        self,
        kernel: Callable[..., None] | None,
        allocators: tuple[Callable[[], NDArray[Any]], ...],
        direct: bool,
    ) -> None: ...
    def __call__(self, *inputs: Any) -> Any: ...
    # Has the kernel fill new arrays, or those given. One output is an array, several are a list.
    def execute(self, inputs: tuple[Any, ...], outputs: Any) -> Any: ...

# Whether all are arrays in row-major order without gaps.
def all_row_major(arrays: tuple[Any, ...]) -> bool: ...

# Cached call: a call like an earlier one, whose plan is known. The inputs are taken from the arguments by
# their names, but for those that are constants. A call that is not direct, that has an out, or that the plan
# does not compute by itself is left to execute(plan, inputs, out, replaced), where the last are the arguments
# that constants stand for.
class CachedCall:
    def __init__(
        self,
        plan: Executable,
        names: tuple[str, ...],
        constants: dict[str, Any],
        direct: bool,
        execute: Callable[..., Any],
    ) -> None: ...

# Call cache: the cached calls of an op by their keys, which tell shape and dtype of arrays, and of those
# named in by_value the numbers too. With more than `most`, the oldest is dropped.
class CallCache:
    by_value: set[str]
    def __init__(self, key: CallKey, most: int) -> None: ...
    def key(self, given: dict[str, Any]) -> bytes | None: ...  # None if an argument has none
    def put(self, key: bytes, call: CachedCall) -> None: ...
    def clear(self) -> None: ...
    def __len__(self) -> int: ...

# Dispatcher: answers a call by the cached call of its key, unless there are graph builders. Every other is
# handed to the method call_uncached(args, given, key). The arguments named may be given by position.
class Dispatcher:
    def __init__(
        self, cache: CallCache, names: tuple[str, ...], builders: Callable[[], tuple[Any, ...]]
    ) -> None: ...
    def __call__(self, *args: Any, **arguments: Any) -> Any: ...

# Instruction: computes an output from the values in the slots of inputs, and stores it in those of outputs.
# function is an Executable, or any callable of the inputs. An output that is preallocated as a buffer is
# overwritten in every run.
class Instruction:
    plan: Any  # the Executable, or None
    buffer: NDArray[Any] | None
    def __init__(
        self, function: Callable[..., Any], inputs: tuple[int, ...], outputs: tuple[int, ...]
    ) -> None: ...
    def __call__(self, slots: list[Any]) -> None: ...

# Serial executor: runs steps in the order in which they were added. compute takes the slots, and is None for
# a value that is there already; the slots in dropped are cleared after it. A listener is called with the
# number of each step before it runs; position is that of the step which is under way or failed.
class SerialExecutor:
    position: int
    def __init__(self) -> None: ...
    def add(
        self, compute: Callable[[list[Any]], None] | None, dropped: tuple[int, ...], number: int
    ) -> None: ...
    def run(
        self, slots: list[Any], stop: Stop, listener: Callable[[int], object] | None
    ) -> None: ...

# A kernel was told to stop.
class Stopped(Exception): ...

# Tells kernels to stop: those that are run by a function which it calls with `during`.
class Stop:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    def clear(self) -> None: ...
    def is_set(self) -> bool: ...
    def during(self, function: Callable[..., Any], /, *args: Any) -> Any: ...

# Output allocator: makes arrays of the shape and dtype of a prototype, in row-major order, uninitialised.
class OutputAllocator:
    def __init__(self, prototype: NDArray[Any]) -> None: ...
    def __call__(self) -> NDArray[Any]: ...

# Memory that begins a cache line, with anything in it. When it dies it is kept for the next.
class Buffer:
    def __init__(self, bytes: int) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

# How many bytes are kept for blocks to come, how many may be, and giving them back.
def kept_bytes() -> int: ...
def most_kept_bytes() -> int: ...
def set_most_kept_bytes(bytes: int) -> None: ...
def trim_memory() -> int: ...

# What a kernel reads and writes is left in the processor's cache if it has no more bytes than this.
def cache_bytes() -> int: ...
def set_cache_bytes(bytes: int) -> None: ...

# The bits of a bfloat16 array of another library, which NumPy cannot read through DLPack.
def bfloat16_bits(array: Any) -> NDArray[np.uint16]: ...

# How many threads a kernel may use, the calling one included.
def num_threads() -> int: ...
def set_num_threads(count: int) -> None: ...

# The instruction set in use, and all that this machine has, the least first.
def isa() -> str: ...
def isas() -> list[str]: ...

# The yardsticks of the benchmark. Reads all bytes of the inputs and overwrites the output.
def stream(
    inputs: Sequence[NDArray[np.uint8]], output: NDArray[np.uint8], around_cache: bool
) -> None: ...

# Multiplies and adds on every thread; gives the number of operations.
def multiply_add(doubles: bool, steps: int) -> float: ...

# The tensors of each kernel, by its name: "x, dy -> dx".
KERNELS: dict[str, str]

# What stands below is generated by tools/generate.py from native/kernels.def; do not edit. Each function
# prepares a kernel. Wrong geometry is a ValueError.
def max_pool(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> Prepared: ...  # x -> y
def max_pool_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> Prepared: ...  # x, dy -> dx
def max_pool_grad_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> Prepared: ...  # x, ddx -> ddy
def avg_pool(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> Prepared: ...  # x -> y
def avg_pool_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> Prepared: ...  # dy -> dx
def max_pool_with_argmax(
    dtype: str,
    index: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    of_batch: bool,
) -> Prepared: ...  # x -> y, argmax
def max_pool_grad_with_argmax(
    dtype: str,
    index: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    of_batch: bool,
) -> Prepared: ...  # dy, argmax -> dx
def max_pool_grad_grad_with_argmax(
    dtype: str,
    index: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    of_batch: bool,
) -> Prepared: ...  # ddx, argmax -> ddy
def conv(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # x, w -> y
def conv_input_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # w, dy -> dx
def conv_filter_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # x, dy -> dw
def depthwise_conv(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # x, w -> y
def depthwise_conv_input_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # w, dy -> dx
def depthwise_conv_filter_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # x, dy -> dw
def dilation(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # x, f -> y
def dilation_input_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # x, f, dy -> dx
def dilation_filter_grad(
    dtype: str,
    input_shape: Sequence[int],
    output_shape: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
    channels_first: bool,
) -> Prepared: ...  # x, f, dy -> df
def matmul(
    dtype: str,
    rows: int,
    inner: int,
    columns: int,
    a_transposed: bool,
    b_transposed: bool,
    batch: Sequence[tuple[int, bool, bool]],
) -> Prepared: ...  # a, b -> c
