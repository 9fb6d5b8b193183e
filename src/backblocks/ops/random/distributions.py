"""Random numbers of several distributions: TensorFlow's, to the bit, for the same seeds."""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import FLOATS, REALS, VALUES
from backblocks.errors import OpError, described
from backblocks.ops._chunks import SORT_COST, chunks
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op, op, zero_gradient
from backblocks.ops._spec import (
    Shape,
    Spec,
    agreed,
    ranked,
    scalar_value,
    shape_text,
    sizes_from,
)
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import Seed, dtype_of
from backblocks.ops.random._sampling import (
    RESERVED,
    Draw,
    fractions_at,
    normal,
    place_of,
    reserve,
    start,
    truncated_normal,
    uniform,
    whole,
    words_at,
)

FloatType = Annotated[Any, dtype_of(*FLOATS)]


_UNSEEDED = "Without a seed they follow from the seed of the session, or are new every time."


def _shape(shape: Spec, **attrs: Any) -> Shape:
    (rank,) = ranked("shape", shape, 1)
    return None if rank is None else sizes_from("shape", shape, [rank])


def _count(shape: Array) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _stateful(name: str, draw: Draw, *aliases: str) -> Op:
    """An op that draws on from run to run."""

    def reference(shape: Array, *, dtype: FloatType, seed: Seed = 0, seed2: Seed = 0) -> Array:
        place = reserve(seed, seed2, _count(shape) * RESERVED)
        return draw(place, _count(shape), dtype).reshape(shape)

    reference.__doc__ = f"{_DOCS[draw]}\n\n{_UNSEEDED}"
    each = op(name, "T -> output: dtype", stateful=True, aliases=aliases, T=INDEX)(reference)
    each.shape(_shape)
    return each


def _two_seeds(seed: Spec) -> None:
    agreed("seed", seed, (2,), "two entries", "Use two whole numbers: seed=[1, 2].")


def _stateless(name: str, draw: Draw) -> Op:
    """An op whose numbers follow from the seed that it is given."""

    def reference(shape: Array, seed: Array, *, dtype: FloatType = "float32") -> Array:
        return draw(place_of(seed), _count(shape), dtype).reshape(shape)

    def rule(shape: Spec, seed: Spec, **attrs: Any) -> Shape:
        _two_seeds(seed)
        return _shape(shape)

    reference.__doc__ = (
        f"{_DOCS[draw]}\n\nThey follow from `seed` alone, whatever was drawn before."
    )
    each = op(name, "T, Tseed -> output: dtype", T=INDEX, Tseed=INDEX)(reference)
    each.shape(rule)
    return each


_DOCS: dict[Draw, str] = {
    uniform: (
        "Numbers from 0 up to but without 1, each equally likely.\n\n"
        "output[…] ~ uniform from 0 up to but without 1"
    ),
    normal: (
        "Numbers of the normal distribution, with mean 0 and deviation 1.\n\n"
        "output[…] ~ normal: x with density exp(-x² / 2) / √(2 · π)"
    ),
    truncated_normal: (
        "Numbers of the normal distribution between -2 and 2; others are drawn again.\n\n"
        "output[…] ~ normal: x with density exp(-x² / 2) / √(2 · π), again unless -2 < x < 2"
    ),
}
_FLOATS = [
    _stateful("RandomUniform", uniform, "rand", "np.random.rand"),
    _stateful("RandomStandardNormal", normal, "randn", "gaussian", "normal", "np.random.randn"),
    _stateful("TruncatedNormal", truncated_normal),
]
_STATELESS = [
    _stateless("StatelessRandomUniform", uniform),
    _stateless("StatelessRandomNormal", normal),
    _stateless("StatelessTruncatedNormal", truncated_normal),
]


# -- whole numbers ------------------------------------------------------------------------------------


def _limits(shape: Spec, minval: Spec, maxval: Spec, **attrs: Any) -> Shape:
    sizes = _shape(shape)
    low, high = scalar_value("minval", minval), scalar_value("maxval", maxval)
    # Where nothing is drawn, nothing has to lie between them.
    draws = sizes is not None and None not in sizes and 0 not in sizes
    if draws and low is not None and high is not None and low >= high:
        raise OpError(
            f"must be above minval, {low}",
            arg="maxval",
            got=high,
            hint="Numbers are drawn from minval up to but without maxval.",
        )
    return sizes


@op("RandomUniformInt", "T, Tout, Tout -> output: Tout", stateful=True, T=INDEX, Tout=INDEX)
def random_uniform_int(
    shape: Array, minval: Array, maxval: Array, *, seed: Seed = 0, seed2: Seed = 0
) -> Array:
    """Whole numbers from `minval` up to but without `maxval`.

    output[…] ~ uniform over minval, minval + 1, …, maxval - 1

    They are as likely as each other but for a part in 2**32 (2**64 for int64). Without a seed they follow
    from the seed of the session, or are new every time.
    """
    place = reserve(seed, seed2, _count(shape) * RESERVED)
    return whole(place, _count(shape), minval, maxval).reshape(shape)


@op(
    "StatelessRandomUniformInt",
    "T, Tseed, dtype, dtype -> output: dtype",
    T=INDEX,
    Tseed=INDEX,
    dtype=INDEX,
)
def stateless_random_uniform_int(shape: Array, seed: Array, minval: Array, maxval: Array) -> Array:
    """Whole numbers from `minval` up to but without `maxval`.

    output[…] ~ uniform over minval, minval + 1, …, maxval - 1

    They follow from `seed` alone, whatever was drawn before.
    """
    return whole(place_of(seed), _count(shape), minval, maxval).reshape(shape)


@stateless_random_uniform_int.shape
def _(shape: Spec, seed: Spec, minval: Spec, maxval: Spec) -> Shape:
    _two_seeds(seed)
    return _limits(shape, minval, maxval)


random_uniform_int.shape(_limits)


# -- an order, and choices ------------------------------------------------------------------------------


@op(
    "RandomShuffle",
    "T -> output: T",
    aliases=("permutation", "shuffle"),
    stateful=True,
    T=VALUES,
)
def random_shuffle(value: Array, *, seed: Seed = 0, seed2: Seed = 0) -> Array:
    """The rows of `value` in another order.

    output[i, …] = value[order[i], …]
    where order is one of all orders of the rows, each equally likely

    Without a seed it follows from the seed of the session, or is new every time.
    """
    if value.ndim == 0 or len(value) <= 1 or value.size <= 1:
        return value.copy()
    rows = len(value)
    words = words_at(reserve(seed, seed2, -(-(rows - 1) // 4)), rows - 1)
    steps = words % np.arange(rows, 1, -1)
    order = list(range(rows))
    # Each row changes places with itself or one of those behind it.
    for part in chunks(rows - 1, (rows - 1) * SORT_COST):
        for i, step in enumerate(steps[part].tolist(), part.start):
            order[i], order[i + step] = order[i + step], order[i]
    return np.asarray(value[np.array(order)])


@random_shuffle.shape
def _(value: Spec, *, seed: int, seed2: int) -> Shape:
    return value.shape


@op("Multinomial", "T, int32 -> output: output_dtype", stateful=True, T=REALS)
def multinomial(
    logits: Array,
    num_samples: Array,
    *,
    seed: Seed = 0,
    seed2: Seed = 0,
    output_dtype: Annotated[Any, dtype_of(*INDEX)] = "int64",
) -> Array:
    """Numbers of classes, drawn for each row by its logits: class i is drawn in proportion to exp(logit i).

    output[i, j] ~ class c with probability exp(logits[i, c]) / Σ over k of exp(logits[i, k])
    where 0 ≤ j < num_samples, and classes whose logit is not finite are left out

    Classes whose logit is no finite number are never drawn. Without a seed the draw follows from the seed
    of the session, or is new every time.
    """
    rows, count = len(logits), num_samples.item()
    place = reserve(seed, seed2, -(-count // 4) * 4 * rows * 2 * RESERVED)
    chances = fractions_at(place, rows * count)
    x = logits.astype(np.float64)
    finite = np.isfinite(x)
    largest = np.where(finite, x, -np.inf).max(1, keepdims=True)
    totals = np.cumsum(np.where(finite, np.exp(x - largest), 0), 1)
    drawn = chances.reshape(rows, count) * totals[:, -1:]
    pairs = zip(totals, drawn, strict=True)
    return np.array([np.searchsorted(total, x, "right") for total, x in pairs]).reshape(rows, count)


@multinomial.shape
def _(logits: Spec, num_samples: Spec, **attrs: Any) -> Shape:
    rows, classes = ranked("logits", logits, 2, "rows, classes")
    count = scalar_value("num_samples", num_samples)
    if classes == 0:
        raise OpError(
            "must have at least 1 class",
            arg="logits",
            got=described(shape_text(logits.shape)),
            hint="Give every row a logit for each class.",
        )
    if count is not None and count < 0:
        hint = "Use 0 to draw none."
        raise OpError("must not be negative", arg="num_samples", got=count, hint=hint)
    return (rows, count)


# -- what they have in common -----------------------------------------------------------------------------

for _each in (*_FLOATS, random_uniform_int, random_shuffle, multinomial):
    _each.rng_state(start)
    _each.differs(
        "eager calls",
        tensorflow="Outside a graph, calls with the same seeds draw on from each other.",
        ours="Each call draws the first numbers. In a session, runs draw on from each other.",
    )
for _each in (*_FLOATS, *_STATELESS):
    _each.differs(
        "float64",
        tensorflow="Logarithm, sine and cosine are those of the C library.",
        ours="They are NumPy's. On some machines the last bit of a normal number differs.",
    )
stateless_random_uniform_int.differs(
    "ranges",
    tensorflow="Where nothing is drawn, limits of any shape are taken.",
    ours="Limits are scalars, always.",
)
for _each in (*_FLOATS, *_STATELESS, random_uniform_int, stateless_random_uniform_int):
    _each.grad(zero_gradient)
random_shuffle.grad(zero_gradient)
multinomial.grad(zero_gradient)

# As TensorFlow draws them.
_drawn = (
    [0.40639674663543, 0.85759961605072, 0.05539584159851],
    [-1.04677927494049, 0.83970457315445, 1.23583638668060],
    [-1.04677927494049, 0.83970457315445, 1.23583638668060],
)
_drawn_by_mixed_seeds = (
    [0.84406042098999, 0.19204533100128, 0.99622321128845],
    [0.54411011934280, 0.20738030970097, 0.07356432080269],
    [0.54411011934280, 0.20738030970097, 0.07356432080269],
)
_seeds: dict[str, Any] = {"seed": 1, "seed2": 2}
for _each, _numbers in zip(_FLOATS, _drawn, strict=True):
    _each.case(
        "three",
        shape=np.array([3]),
        dtype="float32",
        **_seeds,
        out=np.array(_numbers, np.float32),
    )
    _each.case("none", shape=np.array([2, 0]), dtype="float64", out=np.zeros((2, 0)))
    _each.fails("a size below 0", shape=[-1], dtype="float32", error="not be negative")
    _each.fails("a size in a table", shape=[[2]], dtype="float32", error="1 dimension")
for _each, _numbers in zip(_STATELESS, _drawn_by_mixed_seeds, strict=True):
    _each.case(
        "three",
        shape=np.array([3]),
        seed=np.array([1, 2]),
        out=np.array(_numbers, np.float32),
    )
    _each.case("none", shape=np.array([0]), seed=np.array([1, 2]), dtype="float64", out=np.zeros(0))
    _each.fails("a size below 0", shape=[-1], seed=[1, 2], error="not be negative")
    _each.fails("one seed", shape=[3], seed=[1], error="two entries")
random_uniform_int.case(
    "below 100",
    shape=np.array([4]),
    minval=np.int32(0),
    maxval=np.int32(100),
    **_seeds,
    out=np.array([99, 15, 2, 9], np.int32),
)
random_uniform_int.case(
    "no choice", shape=np.array([2]), minval=np.array(-5), maxval=np.array(-4), out=[-5, -5]
)
random_uniform_int.case(
    "nothing drawn", shape=np.array([2, 0]), minval=3, maxval=3, out=np.zeros((2, 0), np.int32)
)
random_uniform_int.fails("no numbers", shape=[2], minval=3, maxval=3, error="above minval")
stateless_random_uniform_int.case(
    "no choice",
    shape=np.array([2]),
    seed=np.array([1, 2]),
    minval=np.array(-5),
    maxval=np.array(-4),
    out=[-5, -5],
)
stateless_random_uniform_int.case(
    "below 100",
    shape=np.array([4]),
    seed=np.array([1, 2]),
    minval=np.int32(0),
    maxval=np.int32(100),
    out=np.array([40, 49, 94, 79], np.int32),
)
stateless_random_uniform_int.case(
    "nothing drawn", shape=[0], seed=[1, 2], minval=3, maxval=1, out=np.zeros(0, np.int32)
)
stateless_random_uniform_int.fails(
    "no numbers", shape=[2], seed=[1, 2], minval=3, maxval=3, error="above minval"
)
stateless_random_uniform_int.fails(
    "one seed", shape=[2], seed=[1], minval=3, maxval=4, error="two entries"
)
random_shuffle.case(
    "six rows", value=np.arange(6)[:, None], **_seeds, out=np.array([5, 1, 4, 0, 3, 2])[:, None]
)
random_shuffle.case("one row", value=np.array([[1.0, 2]]), out=np.array([[1.0, 2]]))
random_shuffle.case("a scalar", value=np.array(3.0), out=np.array(3.0))
multinomial.case(
    "three classes",
    logits=np.zeros((1, 3)),
    num_samples=5,
    **_seeds,
    out=np.array([[0, 1, 0, 0, 2]]),
)
multinomial.case(
    "classes that cannot be",
    logits=np.array([[-np.inf, 0.0, -np.inf]]),
    num_samples=2,
    out=np.array([[1, 1]]),
)
multinomial.case("no draws", logits=np.zeros((2, 3)), num_samples=0, out=np.zeros((2, 0), np.int64))
multinomial.fails("no classes", logits=np.zeros((2, 0)), num_samples=1, error="at least 1 class")
multinomial.fails("fewer than none", logits=np.zeros((2, 3)), num_samples=-1, error="negative")
multinomial.fails("a list", logits=np.zeros(3), num_samples=1, error="2 dimensions")
multinomial.differs(
    "threads",
    tensorflow="With many rows the numbers depend on how many threads there are.",
    ours="They are those of one thread.",
)
