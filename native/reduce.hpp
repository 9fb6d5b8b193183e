// Window reduction: from the elements of a window to one result, for pools and all kernels with one result a window.
//
// The elements of a window are reduced in registers, in the order of memory, and nothing is stored but
// results. Vectors run over the channels or, where windows are one element apart or there is one channel
// only, over all full windows of a row (see vectors_over).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "parallel.hpp"
#include "pool.hpp"
#include "simd.hpp"

namespace backblocks::ISA {

// The result of a window reduction.
enum class Reduction {
    sum,
    max,
    max_with_argmax,  // the first of the largest, and its index
    argmax,           // the index in the window of the first of the largest
    value_at_argmax,  // the value that another array has at the argmax
};

template <Reduction reduction>
constexpr bool kIndexed =
    reduction == Reduction::max_with_argmax || reduction == Reduction::argmax;

// The raw bits of numbers of T.
template <class T>
using Raw = SameSizeInt<T>;
template <class T>
using RawVector = Vector<Raw<T>>;

template <class T>
constexpr bool kHalf = !std::is_same_v<T, Wide<T>>;

// The accumulator type of a reduction: of a max of halves, their bits.
template <Reduction reduction, class T>
using Reduced = std::conditional_t<kHalf<T> && reduction != Reduction::sum &&
                                       reduction != Reduction::max_with_argmax,
                                   Raw<T>, Wide<T>>;
// The type in which results are stored, and elements loaded.
template <Reduction reduction, class T>
using Stored = std::conditional_t<std::is_integral_v<Reduced<reduction, T>>, Raw<T>, T>;

template <class T>
constexpr Raw<T> kInfinity = std::is_same_v<T, Float16> ? 0x7c00 : 0x7f80;

// Numbers to compare in place of those with these bits: of halves integers in the same order, of which NaN is largest.
template <class T>
BACKBLOCKS_INLINE auto comparable(const RawVector<T>& bits) {
    if constexpr (kHalf<T>) {
        const RawVector<T> size = bits & Raw<T>{0x7fff};
        return size > kInfinity<T> ? broadcast(Raw<T>{0x7fff}) : copy_sign(size, bits);
    } else {
        return (Vector<T>)bits;
    }
}

// The accumulator of a reduction.
template <class N>
struct State {
    Vector<N> value;
    Vector<SameSizeInt<N>> index;
    Vector<N> picked;  // the other array's value at the argmax
    Vector<N> sum;     // of a max, to see NaN: it is NaN if an element is
    Vector<std::make_unsigned_t<SameSizeInt<N>>> least, most;  // of a max of halves, their bits
};

// Reduces one more element into a state.
template <Reduction reduction, class N, bool indexed = kIndexed<reduction>>
BACKBLOCKS_INLINE void accumulate(State<N>& a, const Vector<N>& element, SameSizeInt<N> index,
                                  const Vector<N>& other) {
    if constexpr (reduction == Reduction::sum) {
        a.value += element;
    } else if constexpr (reduction == Reduction::max && std::is_integral_v<N>) {
        const auto bits = (Vector<std::uint16_t>)element;
        a.value = a.value > element ? a.value : element;
        a.least = a.least < bits ? a.least : bits;
        a.most = a.most > bits ? a.most : bits;
    } else if constexpr (reduction == Reduction::max) {
        // In this form, which a NaN in a leaves with the element, it is one instruction, if compilers
        // do not join it with the line after.
        const Vector<N> larger = in_register(a.value > element ? a.value : element);
        a.value = a.value != a.value ? a.value : larger;
    } else {
        const auto better = element > a.value;
        a.value = better ? element : a.value;
        if constexpr (!std::is_integral_v<N>) a.sum += element;
        if constexpr (indexed) a.index = better ? broadcast(index) : a.index;
        if constexpr (reduction == Reduction::value_at_argmax) a.picked = better ? other : a.picked;
    }
}

// The same for a window that may have a NaN: the first one wins.
template <Reduction reduction, class N, bool indexed = kIndexed<reduction>>
BACKBLOCKS_INLINE void accumulate_nan(State<N>& a, const Vector<N>& element, SameSizeInt<N> index,
                                      const Vector<N>& other) {
    const auto better = ~(element <= a.value) & (a.value == a.value);
    a.value = better ? element : a.value;
    if constexpr (indexed) a.index = better ? broadcast(index) : a.index;
    if constexpr (reduction == Reduction::value_at_argmax) a.picked = better ? other : a.picked;
}

// Begins a max of halves with an element, and ends it: of negative halves the largest has the least
// bits, but NaN wins, whose bits are above those of the infinity with its sign.
template <class T>
BACKBLOCKS_INLINE void begin_max(State<Raw<T>>& a, const RawVector<T>& element) {
    a.value = element;
    a.least = a.most = (Vector<std::uint16_t>)element;
}
template <class T>
BACKBLOCKS_INLINE void end_max(State<Raw<T>>& a) {
    const auto infinity = static_cast<std::uint16_t>(kInfinity<T> | 0x8000);
    a.value = a.value < 0 ? (RawVector<T>)a.least : a.value;
    a.value = a.most > infinity ? (RawVector<T>)a.most : a.value;
}

// What an index counts from: the window's first element, padding included, or the image's.
enum class Indexing { in_window, in_image };

// The position of a row of windows or of elements.
struct RowPosition {
    std::int64_t image, d, h;

    // Its number among all rows of windows.
    std::int64_t row(const Pool& pool) const {
        return (image * pool.axes[0].out + d) * pool.axes[1].out + h;
    }
};

// Whether an element a is the argmax rather than an element b: the larger one is, of equal ones that of lower index.
struct Better {
    template <class V, class Indices>
    BACKBLOCKS_INLINE Indices operator()(const V& a, const Indices& index_of_a, const V& b,
                                         const Indices& index_of_b) const {
        return (a > b) | ((a == b) & (index_of_a < index_of_b));
    }
};
// The same where elements may be NaN, of which the first is the argmax.
struct BetterOrNan {
    template <class V, class Indices>
    BACKBLOCKS_INLINE Indices operator()(const V& a, const Indices& index_of_a, const V& b,
                                         const Indices& index_of_b) const {
        return ((b == b) & ((a != a) | Better{}(a, index_of_a, b, index_of_b))) |
               ((a != a) & (b != b) & (index_of_a < index_of_b));
    }
};

template <class T>
struct ReduceInputs {
    const T* x;
    const T* other;  // the array of value_at_argmax
};

// The real elements of a window, or of the first of some adjacent windows that are reduced together.
struct WindowBox {
    std::int64_t first;                    // offset in the input
    std::int64_t depth, height, width;     // elements
    std::int64_t plane, row, element;      // strides of the input
    std::int64_t index;                    // of the first element, in its window or image
    std::int64_t per_plane, per_row;       // strides of the index
    std::int64_t length;                   // results: those of all windows that are reduced together
    std::int64_t stride;                   // elements from one window to the next

    // The elements of a row of windows that are in the first column.
    WindowBox(const Pool& pool, const RowPosition& position, Indexing indexing) {
        const WindowAxis &ds = pool.axes[0], &hs = pool.axes[1], &ws = pool.axes[2];
        const Range in_d = ds.elements(position.d), in_h = hs.elements(position.h);
        const bool local = indexing == Indexing::in_window;
        depth = in_d.size();
        height = in_h.size();
        width = 1;
        element = pool.channels;
        row = ws.n * element;
        plane = hs.n * row;
        stride = ws.s;
        per_row = local ? ws.k : ws.n;
        per_plane = per_row * (local ? hs.k : hs.n);
        first = (position.image * ds.n + in_d.first) * plane + in_h.first * row;
        index = (in_d.first - (local ? ds.element(position.d, 0) : 0)) * per_plane +
                (in_h.first - (local ? hs.element(position.h, 0) : 0)) * per_row;
        length = element;
    }

    std::int64_t real() const { return depth * height * width; }
};

// The distance of the elements in neighbouring lanes: 1, 2, or the box's stride.
enum class LaneStride { one, two, any };

// Reduces the windows of a box. Its parts are inlined into reduce_box, below. A `column` is one element wide:
// it needs no loop over the width.
template <Reduction reduction, class T, LaneStride lane_stride, bool indexed, bool column>
class BoxReducer {
    using N = Reduced<reduction, T>;
    using S = Stored<reduction, T>;
    static constexpr int lanes = kLanes<N>;
    static constexpr std::make_index_sequence<kLanes<N>> all_lanes{};
    static constexpr bool of_bits = std::is_integral_v<N>;
    static constexpr bool picks = reduction == Reduction::value_at_argmax;
    // Whether it finds an argmax, and if of floats, whether it must look for NaN.
    static constexpr bool finds = reduction != Reduction::sum && reduction != Reduction::max;
    static constexpr bool looks_for_nan = finds && !of_bits;

   public:
    // Vectors that are reduced at a time.
    static constexpr int most_vectors =
        finds ? 2 : of_bits || lane_stride != LaneStride::one ? 4 : 8;

    BACKBLOCKS_INLINE BoxReducer(const ReduceInputs<T>& in, const WindowBox& box)
        : x_(reinterpret_cast<const S*>(in.x + box.first)),
          other_(reinterpret_cast<const S*>(in.other + (picks ? box.first : 0))),
          box_(box) {}

    // Reduces some vectors of results, from result i on, and calls finish(i, state, lanes) for each.
    template <class Lanes, class Vectors, class Finish>
    BACKBLOCKS_INLINE void operator()(std::int64_t i, Lanes full_or_tail, Vectors,
                                      const Finish& finish) const {
        typename Vectors::template Of<State<N>> states;
        begin(states, i, full_or_tail);
        each_element(states, i, full_or_tail, [](auto& state, const auto&... element)
                                                  BACKBLOCKS_INLINE_LAMBDA {
            accumulate<reduction, N, indexed>(state, element...);
        });
        if constexpr (looks_for_nan)
            if (any_nan_in(states)) {
                begin(states, i, full_or_tail);
                each_element(states, i, full_or_tail, [](auto& state, const auto&... element)
                                                          BACKBLOCKS_INLINE_LAMBDA {
                    accumulate_nan<reduction, N, indexed>(state, element...);
                });
            }
        states.each([&](State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
            if constexpr (of_bits && reduction == Reduction::max) end_max<T>(state);
            if constexpr (lane_stride == LaneStride::two) put_in_order(state);
            finish(i + v * lanes, state, full_or_tail);
        });
    }

   private:
    struct Pair {
        Vector<N> first{}, second{};
    };

    template <class Lanes>
    BACKBLOCKS_INLINE auto load_element(const S* from, std::int64_t i, Lanes full_or_tail) const {
        if constexpr (lane_stride == LaneStride::any) {
            return load_strided(from + i * box_.stride, box_.stride);
        } else if constexpr (lane_stride == LaneStride::one) {
            return load(from + i, full_or_tail);
        } else {
            const S* const first = from + 2 * i;
            const S* const second = first + lanes - 1;  // nothing after the last number is read
            return deinterleave<0, 1>(load(first), load(second), all_lanes);
        }
    }

    // Two neighbouring elements of each window.
    BACKBLOCKS_INLINE Pair load_pair(const S* from, std::int64_t i) const {
        const Vector<N> a = load(from + 2 * i), b = load(from + 2 * i + lanes);
        return {deinterleave<0, 0>(a, b, all_lanes), deinterleave<1, 1>(a, b, all_lanes)};
    }

    template <class States, class Lanes>
    BACKBLOCKS_INLINE void begin(States& states, std::int64_t i, Lanes full_or_tail) const {
        using Limits = std::numeric_limits<N>;
        states.each([&, this](State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
            // A sum begins with -0: +0 would turn a sum of -0 into +0.
            if constexpr (reduction == Reduction::sum) state.value = broadcast(-N{0});
            else if constexpr (!of_bits) state.value = broadcast(-Limits::infinity());
            else if constexpr (finds) state.value = broadcast(Limits::lowest());
            else begin_max<T>(state, load_element(x_, i + v * lanes, full_or_tail));
            if constexpr (looks_for_nan) state.sum = Vector<N>{};
            if constexpr (indexed) state.index = broadcast(static_cast<SameSizeInt<N>>(box_.index));
            if constexpr (picks) state.picked = load_element(other_, i + v * lanes, full_or_tail);
        });
    }

    // Calls f(state, element, index, other) for all elements of the windows, in the order of memory.
    template <class States, class Lanes, class F>
    BACKBLOCKS_INLINE void each_element(States& states, std::int64_t i, Lanes full_or_tail,
                                        const F& f) const {
        const std::int64_t width = column ? 1 : box_.width;
        for (std::int64_t d = 0; d < box_.depth; ++d)
            for (std::int64_t h = 0; h < box_.height; ++h) {
                std::int64_t at = d * box_.plane + h * box_.row;
                auto index = static_cast<SameSizeInt<N>>(box_.index + d * box_.per_plane +
                                                  h * box_.per_row);
                std::int64_t w = 0;
                if constexpr (lane_stride == LaneStride::two)
                    for (; w + 1 < width; w += 2, at += 2, index += 2)
                        states.each([&, this](State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
                            pair(state, at, i + v * lanes, index, f);
                        });
                // A column reads from more rows at once than the processor's prefetcher follows.
                if constexpr (column) prefetch_ahead(at + i);
                for (; w < width; ++w, at += box_.element, ++index)
                    states.each([&, this](State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
                        element(state, at, i + v * lanes, index, full_or_tail, f);
                    });
            }
    }

    // Prefetches the elements of a row that the next vectors will read.
    BACKBLOCKS_INLINE void prefetch_ahead(std::int64_t at) const {
        constexpr std::int64_t ahead = 256 / sizeof(S);
        __builtin_prefetch(x_ + at + ahead);
        if constexpr (picks) __builtin_prefetch(other_ + at + ahead);
    }

    template <class Lanes, class F>
    BACKBLOCKS_INLINE void element(State<N>& state, std::int64_t at, std::int64_t i, SameSizeInt<N> index,
                                   Lanes full_or_tail, const F& f) const {
        Vector<N> other{};
        if constexpr (picks) other = load_element(other_ + at, i, full_or_tail);
        Vector<N> one = load_element(x_ + at, i, full_or_tail);
        if constexpr (of_bits && finds) one = comparable<T>(one);
        f(state, one, index, other);
    }

    template <class F>
    BACKBLOCKS_INLINE void pair(State<N>& state, std::int64_t at, std::int64_t i, SameSizeInt<N> index,
                                const F& f) const {
        Pair others, two = load_pair(x_ + at, i);
        if constexpr (picks) others = load_pair(other_ + at, i);
        if constexpr (of_bits && finds) two = {comparable<T>(two.first), comparable<T>(two.second)};
        f(state, two.first, index, others.first);
        f(state, two.second, static_cast<SameSizeInt<N>>(index + 1), others.second);
    }

    template <class States>
    BACKBLOCKS_INLINE static bool any_nan_in(States& states) {
        bool nan = false;
        states.each([&](const State<N>& state, int) BACKBLOCKS_INLINE_LAMBDA {
            nan |= any_nan(state.sum);
        });
        return nan;
    }

    // From the order of deinterleaved lanes to that of memory.
    BACKBLOCKS_INLINE static void put_in_order(State<N>& state) {
        state.value = reinterleaved(state.value, all_lanes);
        if constexpr (indexed) state.index = reinterleaved(state.index, all_lanes);
        if constexpr (picks) state.picked = reinterleaved(state.picked, all_lanes);
    }

    const S *x_, *other_;
    const WindowBox box_;
};

// Reduces the windows of a box, and calls finish(i, state, lanes) for their vectors of results.
// Inlined, it would have to share its registers with its caller.
template <Reduction reduction, class T, LaneStride lane_stride,
          bool indexed = kIndexed<reduction>, bool column = false, class Finish>
__attribute__((noinline)) void reduce_box(const ReduceInputs<T>& in, const WindowBox& box,
                                          const Finish& finish) {
    using N = Reduced<reduction, T>;
    using Reducer = BoxReducer<reduction, T, lane_stride, indexed, column>;
    constexpr int most = Reducer::most_vectors;
    // By value: no store can alias it, and the compiler keeps it in registers.
    const auto reduce = [=, reducer = Reducer(in, box)](std::int64_t i, auto full_or_tail, auto vectors)
                            BACKBLOCKS_INLINE_LAMBDA { reducer(i, full_or_tail, vectors, finish); };
    // Elements of many vectors are read in long contiguous runs. Sums of fewer were faster four vectors at a time.
    if constexpr (reduction == Reduction::sum)
        if (box.length <= most * kLanes<N>) return each_vectors<N, 4>(box.length, reduce);
    each_vectors<N, most>(box.length, reduce);
}

// The axis that vectors run over: the channels of one window, or the full windows of a row.
enum class VectorsOver {
    channels,
    windows,          // one element apart: the row is read as it lies in memory
    paired_windows,   // of one channel, two elements apart: pairs are deinterleaved
    strided_windows,  // of one channel, further apart
};

template <class N>
VectorsOver vectors_over(const Pool& pool, Range full) {
    const std::int64_t s = pool.axes[2].s;
    if (s == 1) return VectorsOver::windows;
    // With more channels, or fewer windows than lanes, vectors over windows would be mostly empty.
    if (pool.channels > 1 || full.size() < kLanes<N>) return VectorsOver::channels;
    return s == 2 ? VectorsOver::paired_windows : VectorsOver::strided_windows;
}

// Reduces a row of windows, and calls finish(i, state, lanes, real elements of each window) for vectors
// of results, i of which come before them in the row. `full` is that of the width: to find it takes
// divisions.
template <Reduction reduction, class T, class Finish>
void reduce_row(const ReduceInputs<T>& in, const Pool& pool, Range full, const RowPosition& position,
                Indexing indexing, const Finish& finish) {
    const WindowAxis& width = pool.axes[2];
    const VectorsOver over = vectors_over<Reduced<reduction, T>>(pool, full);
    WindowBox box(pool, position, indexing);
    const std::int64_t first = box.first, index = box.index;
    for (std::int64_t o = 0; o < width.out;) {
        const bool many = over != VectorsOver::channels && full.has(o);
        const Range elements = width.elements(o);
        const std::int64_t count = many ? full.last - o : 1, before = o * box.element;
        box.first = first + elements.first * box.element;
        box.width = elements.size();
        box.index = index + elements.first - width.element(o, 0);
        box.length = count * box.element;
        const auto reduce = [&]<LaneStride lane_stride>() {
            reduce_box<reduction, T, lane_stride>(
                in, box, [=, real = box.real()](std::int64_t i, const auto& state, auto lanes)
                             BACKBLOCKS_INLINE_LAMBDA {
                    finish(before + i, state, lanes, real);
                });
        };
        if (many && over == VectorsOver::paired_windows) reduce.template operator()<LaneStride::two>();
        else if (many && over == VectorsOver::strided_windows)
            reduce.template operator()<LaneStride::any>();
        else reduce.template operator()<LaneStride::one>();
        o += count;
    }
}

// Calls work(position) for all rows of windows or of elements, on several threads, each with a `work` of
// its own that `make` gives. Where rows of one plane read the same memory as those of the next, `tile`
// rows of each plane come together, to find it in the cache.
template <class Make>
void each_row(std::int64_t images, std::int64_t depth, std::int64_t height, std::int64_t tile,
              std::int64_t bytes, const Make& make) {
    const std::int64_t of_image = depth * height, of_tile = depth * tile;
    parallel_for(images * of_image, bytes, [&](std::int64_t begin, std::int64_t end) {
        auto work = make();
        const std::int64_t in_image = begin % of_image, in_tile = in_image % of_tile;
        std::int64_t first = in_image / of_tile * tile, last = std::min(first + tile, height);
        RowPosition position{begin / of_image, in_tile / (last - first),
                       first + in_tile % (last - first)};
        for (std::int64_t row = begin; row < end; ++row) {
            work(position);
            if (++position.h < last) continue;
            if (++position.d == depth) {
                position.d = 0;
                first = last < height ? last : 0;
                last = std::min(first + tile, height);
                if (first == 0) ++position.image;
            }
            position.h = first;
        }
        stream_fence();
    });
}

// How many rows of a plane are taken before those of the next: as many as leave the elements of all
// planes that a window covers in the L2 cache.
template <class T>
std::int64_t rows_of_tile(const Pool& pool, std::int64_t height) {
    constexpr std::int64_t cache = 1 << 18;
    const auto& [depth, rows, width] = pool.axes;
    if (!depth.overlaps()) return height;
    const std::int64_t row = width.n * pool.channels * static_cast<std::int64_t>(sizeof(T));
    return std::clamp<std::int64_t>(cache / (row * depth.k) / rows.s, 1, height);
}

// Whether results are stored with streaming stores: if the cache cannot hold them together with so many
// `arrays` of elements, and the channels of a window are a multiple of cache lines.
template <class T>
Streaming streaming_for(const T* to, const Pool& pool, std::int64_t arrays) {
    const bool streamed = kStreamable<T> && outgrows_cache<T>(pool.numbers(arrays)) &&
                          static_cast<std::size_t>(pool.channels) * sizeof(T) % kCacheLine == 0;
    return streamed ? streaming_to(to) : Streaming::off;
}

// Bytes that a reduction reads, for parallel_for.
template <Reduction reduction, class T>
std::int64_t bytes_of_reduction(const Pool& pool) {
    return pool.images * pool.elements() * pool.channels * static_cast<std::int64_t>(sizeof(T)) *
           (reduction == Reduction::value_at_argmax ? 2 : 1);
}

// Calls work(position) for all rows of windows, as each_row does.
template <Reduction reduction, class T, class Make>
void each_row_of_windows(const Pool& pool, const Make& make) {
    const std::int64_t height = pool.axes[1].out;
    each_row(pool.images, pool.axes[0].out, height, rows_of_tile<T>(pool, height),
             bytes_of_reduction<reduction, T>(pool), make);
}

// Reduces all windows, each by itself: finish(position) gives what reduce_row calls.
template <Reduction reduction, class T, class Finish>
void reduce_windows(const ReduceInputs<T>& in, const Pool& pool, const Finish& finish,
                    Indexing indexing = Indexing::in_window) {
    each_row_of_windows<reduction, T>(pool, [&, full = pool.axes[2].full()] {
        return [&, full](const RowPosition& position) {
            reduce_row<reduction>(in, pool, full, position, indexing, finish(position));
        };
    });
}

}  // namespace backblocks::ISA
