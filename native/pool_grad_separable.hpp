// The gradients of pools with overlapping windows: separable, one axis after the other.
//
// The share of a window is its dy: for average divided by its real elements, of which each has one; for max the argmax
// alone has it. Shares are added up along the width first, so that a window of k x k x k elements takes some k * k + k
// steps. A row of windows becomes a row buffer:
//
//     column_sums[w, c] = sum over windows o of the row that cover column w: the share of o, for max if the argmax of o
//                         is in the column
//     max_rows[w, c] = for max, the row of the column's largest element, counted in the windows
//
// Then a row of dx is the sum of the buffers whose windows cover it, for max where max_rows is this row. A buffer is
// kept, in the cache, until no row of dx needs it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory.hpp"
#include "pool_grad_tiles.hpp"
#include "reduce.hpp"

namespace backblocks::ISA {

// Row buffers are read and written in full vectors: the last one may go into the numbers that come next,
// which are written later.
template <class N, int most, class F>
BACKBLOCKS_INLINE void each_full_vectors(std::int64_t count, F f) {
    each_vectors<N, most>(std::max<std::int64_t>(count, kLanes<N>),
                          [=](std::int64_t i, auto, auto vectors) BACKBLOCKS_INLINE_LAMBDA {
                              f(i, vectors);
                          });
}

// Computes tiles of dx, with row buffers of its own, on one thread.
template <class T, Grad grad>
class Separable {
    using N = Wide<T>;
    using Indices = Vector<SameSizeInt<N>>;
    static constexpr std::int64_t lanes = kLanes<N>;
    static constexpr bool max = grad == Grad::max;

   public:
    static std::int64_t bytes_of_row(const Pool& pool) {
        return pool.axes[2].n * pool.channels * static_cast<std::int64_t>(sizeof(N)) * (max ? 2 : 1);
    }

    // `dense`: shares are spread as if windows began at every element of the width.
    Separable(const PoolGradient<T>& all, bool dense)
        : all_(all), channels_(all.pool.channels), row_size_(width().n * channels_ + lanes),
          buffers_(all, row_size_ * (max ? 2 : 1)), dense_(dense) {
        const std::int64_t windows = width().out * channels_ + lanes;
        step_ = std::max<std::int64_t>(1024 / (channels_ * width().s), 16);
        const std::int64_t reach = std::max(width().covered(), width().n + width().pads);
        const std::int64_t spread = dense_ ? (width().k + reach) * channels_ + 2 * lanes : 0;
        constexpr std::int64_t arrays = max ? 2 : 1;  // shares, and for max the argmax
        shares_ = scratch_.of(arrays * (windows + spread) + max * (1 + dense_) * row_size_);
        argmax_ = shares_ + windows;
        dense_shares_ = shares_ + arrays * windows;
        dense_argmax_ = dense_shares_ + spread;
        largest_ = dense_shares_ + arrays * spread;
        dense_found_ = largest_ + row_size_;
        std::fill_n(dense_shares_, arrays * spread, N{0});
        for (std::int64_t lane = 0; lane < lanes; ++lane)
            ends_[lane] = lane < (channels_ - 1) % lanes + 1 ? -1 : 0;
    }

    // Fills a tile of dx.
    void operator()(std::int64_t tile) {
        buffers_.each_row(tile, [&](const RowPosition& elements) { gather(elements); });
    }

   private:
    const WindowAxis& axis(std::size_t number) const { return all_.pool.axes[number]; }
    const WindowAxis& width() const { return axis(2); }

    // Calls work(o, count) for those of the windows that make vectors together, beginning with o.
    template <class Work>
    void each_together(Range windows, bool joins, const Work& work) const {
        for (std::int64_t o = windows.first, count; o < windows.last; o += count) {
            count = joins && all_.full.has(o) ? std::min(all_.full.last, windows.last) - o : 1;
            work(o, count);
        }
    }

    // The buffer of a row of windows that cover a row of elements, and the number of that row in the windows.
    struct CoveringRow {
        const N* buffer;
        SameSizeInt<N> row;
    };

    // dx[d, h, w, c] = sum over buffers that cover the row: column_sums[w, c], for max where max_rows[w, c] is the row
    void gather(const RowPosition& elements) {
        covering_.clear();
        buffers_.each_covering_row(
            elements, [&](const RowPosition& position, N* buffer) { fill_buffer(position, buffer); },
            [&](const RowPosition& position, const N* buffer) {
                covering_.push_back({buffer, row_in(position, elements.d, elements.h)});
            });
        const CoveringRow *first = covering_.data(), *last = first + covering_.size();
        T* const to = all_.dx + all_.row(elements);
        const std::int64_t max_rows = row_size_, count = width().n * channels_;
        const bool streamed = kStreamable<T> && all_.large &&
                              static_cast<std::size_t>(count) * sizeof(T) % kCacheLine == 0;
        const Streaming streaming = streamed ? streaming_to(to) : Streaming::off;
        each_vectors<N, 4>(count, [=](std::int64_t i, auto some, auto vectors) BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<Vector<N>> sums;
            for (const CoveringRow* covering = first; covering < last; ++covering) {
                const N* buffer = covering->buffer + i;
                const Indices row = broadcast(covering->row);
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINE_LAMBDA {
                    const Vector<N> column_sums = load(buffer + v * lanes);
                    if constexpr (max)
                        sum += (Indices)load(buffer + max_rows + v * lanes) == row ? column_sums : Vector<N>{};
                    else sum += column_sums;
                });
            }
            sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINE_LAMBDA {
                store_rounded(sum, to + i + v * lanes, some, streaming);
            });
        });
    }

    // Fills the buffer of a row of windows: `column_sums`, and for max `max_rows` after it. Takes so many windows at a
    // time that their shares stay in the L1 cache. Inlined, it would slow down its caller.
    __attribute__((noinline)) void fill_buffer(const RowPosition& position, N* buffer) {
        const T* dy = all_.dy + position.row(all_.pool) * width().out * channels_;
        const Range ds = axis(0).elements(position.d), hs = axis(1).elements(position.h);
        rows_.clear();
        if constexpr (max)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h)
                    rows_.push_back({all_.x + all_.row({position.image, d, h}), row_in(position, d, h)});
        std::int64_t found = 0;  // columns
        bool nan = false;
        for (std::int64_t o = 0; o < width().out; o += step_) {
            const Range windows{o, std::min(o + step_, width().out)};
            if constexpr (max) {
                const std::int64_t last = width().elements(windows.last - 1).last;
                if (last > found) nan |= reduce_columns({found, last}, buffer + row_size_);
                found = last;
                find_argmax(windows, nan, buffer + row_size_);
            }
            find_shares(windows, dy, max ? 0 : ds.size() * hs.size());
            if (dense_) sum_columns_dense(windows, buffer);
            else sum_columns(width().owned_elements(windows), buffer);
        }
    }

    // shares[o, c] = dy[o, c] / (number of real elements of o), for max dy[o, c]
    void find_shares(Range windows, const T* dy, std::int64_t rows) const {
        each_together(windows, true, [&](std::int64_t o, std::int64_t count) {
            const std::int64_t real = max ? 1 : rows * width().elements(o).size();
            const bool exactly = std::has_single_bit(static_cast<std::uint64_t>(real));
            const N elements = static_cast<N>(real), part = 1 / elements;
            each_vector<N>(count * channels_, [=, from = dy + o * channels_,
                                               to = shares_ + o * channels_](
                                                  std::int64_t i, auto some) BACKBLOCKS_INLINE_LAMBDA {
                const Vector<N> given = load(from + i, some);
                store(max ? given : exactly ? given * part : given / elements, to + i, some);
            });
        });
    }

    // largest[w, c] = max over elements of column w of the windows, max_rows[w, c] = its row
    // Gives whether one is NaN.
    bool reduce_columns(Range columns, N* all_max_rows) const {
        const Row *first = rows_.data(), *last = first + rows_.size();
        const std::int64_t from = columns.first * channels_;
        N *largest = largest_ + from, *max_rows = all_max_rows + from;
        bool any = false;
        const auto reduce = [=, &any](std::int64_t i, auto some, auto vectors) BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<State<N>> states;
            const auto begin = [&](State<N>& state, int) BACKBLOCKS_INLINE_LAMBDA {
                state.value = broadcast(-std::numeric_limits<N>::infinity());
                state.index = broadcast(first->index);
            };
            const auto each_element = [&](auto f) BACKBLOCKS_INLINE_LAMBDA {
                for (const Row* row = first; row < last; ++row) {
                    const T* x = row->x + from + i;
                    __builtin_prefetch(x + 64);  // the hardware prefetcher does not follow so many rows
                    states.each([&](State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
                        const Vector<N> element = load(x + v * lanes, some);
                        f(state, element, row->index, element);
                    });
                }
            };
            states.each(begin);
            each_element([](auto& state, const auto&... element) BACKBLOCKS_INLINE_LAMBDA {
                accumulate<Reduction::max_with_argmax, N>(state, element...);
            });
            bool nan = false;
            states.each([&](const State<N>& state, int) BACKBLOCKS_INLINE_LAMBDA {
                nan |= any_nan(state.sum);
            });
            if (nan) {
                any = true;
                states.each(begin);
                each_element([](auto& state, const auto&... element) BACKBLOCKS_INLINE_LAMBDA {
                    accumulate_nan<Reduction::max_with_argmax, N>(state, element...);
                });
            }
            states.each([&](const State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
                store(state.value, largest + i + v * lanes, some);
                store((Vector<N>)state.index, max_rows + i + v * lanes, some);
            });
        };
        each_vectors<N, 2>(columns.size() * channels_, reduce);
        return any;
    }

    // argmax[o, c] = index in window o of the column whose largest element is the window's; of
    // several that of the first row, and then of the first column
    void find_argmax(Range windows, bool nan, const N* max_rows) const {
        const bool strided = channels_ == 1 && width().s > 1;
        const auto find_all = [&](auto better) {
            const bool joins = strided || dense_ || width().s == 1;
            each_together(windows, joins, [&](std::int64_t o, std::int64_t count) {
                N* const to = argmax_ + o * channels_;
                if (dense_ && count > 1) return find_argmax_dense(o, count, better, max_rows);
                if (!strided) return find_argmax_of<LaneStride::one>(o, count, better, max_rows, to);
                if (count >= lanes && width().s == 2)
                    return find_argmax_of<LaneStride::two>(o, count, better, max_rows, to);
                if (count >= lanes) return find_argmax_of<LaneStride::any>(o, count, better, max_rows, to);
                for (std::int64_t i = 0; i < count; ++i)
                    find_argmax_of<LaneStride::one>(o + i, 1, better, max_rows, to + i);
            });
        };
        if (nan) find_all(BetterOrNan{});
        else find_all(Better{});
    }

    // The same for full windows of few channels, as if windows began at every element of the width.
    template <class IsBetter>
    void find_argmax_dense(std::int64_t o, std::int64_t count, IsBetter better, const N* max_rows) const {
        const std::int64_t step = width().s * channels_;
        find_argmax_of<LaneStride::one>(o, (count - 1) * width().s + 1, better, max_rows, dense_found_);
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t c = 0; c < channels_; c += lanes)
                store(load(dense_found_ + i * step + c), argmax_ + (o + i) * channels_ + c);
    }

    // The same for adjacent windows, the first of which is o.
    template <LaneStride lane_stride, class IsBetter>
    void find_argmax_of(std::int64_t o, std::int64_t count, IsBetter better, const N* all_max_rows,
                   N* argmax) const {
        const std::int64_t channels = channels_, s = lane_stride == LaneStride::two ? 2 : width().s;
        const Range elements = width().elements(o);
        const N* largest = largest_ + elements.first * channels;
        const N* max_rows = all_max_rows + elements.first * channels;
        const auto first = static_cast<SameSizeInt<N>>(elements.first - width().element(o, 0));
        const auto last = static_cast<SameSizeInt<N>>(first + elements.size());
        const auto fetch = [=](const N* from, std::int64_t i) BACKBLOCKS_INLINE_LAMBDA {
            if constexpr (lane_stride != LaneStride::one) return load_strided(from + i * s, s);
            else return load(from + i);
        };
        each_full_vectors<N, 2>(count * channels, [=](std::int64_t i, auto vectors) BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<State<N>> states;  // picked: the row
            states.each([&](State<N>& best, int v) BACKBLOCKS_INLINE_LAMBDA {
                best.value = fetch(largest, i + v * lanes);
                best.picked = fetch(max_rows, i + v * lanes);
                best.index = broadcast(first);
            });
            std::int64_t at = channels;
            for (SameSizeInt<N> element = first + 1; element < last; ++element, at += channels)
                states.each([&](State<N>& best, int v) BACKBLOCKS_INLINE_LAMBDA {
                    const Vector<N> value = fetch(largest + at, i + v * lanes);
                    const Vector<N> row = fetch(max_rows + at, i + v * lanes);
                    const auto won = better(value, (Indices)row, best.value, (Indices)best.picked);
                    best.value = won ? value : best.value;
                    best.picked = won ? row : best.picked;
                    best.index = won ? broadcast(element) : best.index;
                });
            states.each([&](const State<N>& best, int v) BACKBLOCKS_INLINE_LAMBDA {
                store((Vector<N>)best.index, argmax + i + v * lanes);
            });
        });
    }

    // Adds a vector of shares to a sum, for max where the argmax is the column with the index.
    BACKBLOCKS_INLINE static void add(const N* shares, const N* argmax, SameSizeInt<N> index,
                                      Vector<N>& sum) {
        if constexpr (max) sum += (Indices)load(argmax) == broadcast(index) ? load(shares) : Vector<N>{};
        else sum += load(shares);
    }

    // column_sums[w, c] = sum over windows o that cover column w: shares[o, c], for max where
    // argmax[o, c] is the column's index in o
    void sum_columns(Range columns, N* column_sums) const {
        const std::int64_t channels = channels_, s = width().s, pads = width().pads;
        const Range* windows = all_.width.windows.data();
        const N *shares = shares_, *argmax = argmax_;
        const auto sum_all = [=](std::int64_t element, std::int64_t i, auto& sums) BACKBLOCKS_INLINE_LAMBDA {
            const auto [first, last] = windows[element];
            const auto step = static_cast<SameSizeInt<N>>(s);
            std::int64_t at = first * channels + i;
            auto index = static_cast<SameSizeInt<N>>(element + pads - first * s);
            for (std::int64_t o = first; o < last; ++o, at += channels, index -= step)
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINE_LAMBDA {
                    add(shares + at + v * lanes, argmax + at + v * lanes, index, sum);
                });
        };
        const auto sum_elements = [=](std::int64_t element, std::int64_t count) {
            each_full_vectors<N, 4>(count, [=](std::int64_t i, auto vectors) BACKBLOCKS_INLINE_LAMBDA {
                typename decltype(vectors)::template Of<Vector<N>> sums;
                sum_all(element, i, sums);
                sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINE_LAMBDA {
                    store(sum, column_sums + element * channels + i + v * lanes);
                });
            });
        };
        // Of one channel, windows make vectors: one for each of the s elements between them.
        const auto sum_strided = [=](std::int64_t first, std::int64_t count) {
            N* to = column_sums + first;
            each_full_vectors<N, 1>(count, [=](std::int64_t i, auto) BACKBLOCKS_INLINE_LAMBDA {
                if (s == 2) {
                    Unrolled<Vector<N>, 1> even, odd;
                    sum_all(first, i, even);
                    sum_all(first + 1, i, odd);
                    interleave(even.a, odd.a, std::make_index_sequence<lanes>{});
                    store(even.a, to + i * 2);
                    store(odd.a, to + i * 2 + lanes);
                    return;
                }
                for (std::int64_t p = 0; p < s; ++p) {
                    Unrolled<Vector<N>, 1> sums;
                    sum_all(first + p, i, sums);
                    for (std::int64_t lane = 0; lane < lanes; ++lane)
                        to[(i + lane) * s + p] = sums.a[lane];
                }
            });
        };
        for (std::int64_t element = columns.first, elements; element < columns.last; element += elements) {
            elements = all_.joined.has(element) ? std::min(all_.joined.last, columns.last) - element : 1;
            if (s == 1 || elements == 1) sum_elements(element, elements * channels);
            else if (elements >= s * lanes) sum_strided(element, elements / s);
            else for (std::int64_t each = element; each < element + elements; ++each) sum_elements(each, 1);
        }
    }

    // The same for elements of few channels, each of which would be a vector that is mostly empty: as if windows
    // began at every element of the width. Those between the real windows have shares of zero.
    void sum_columns_dense(Range windows, N* column_sums) const {
        const std::int64_t channels = channels_, k = width().k, s = width().s;
        for (std::int64_t o = windows.first; o < windows.last; ++o) {
            const std::int64_t from = o * channels, to = (k - 1 + o * s) * channels;
            for (std::int64_t i = 0; i < channels; i += lanes) {
                const Vector<N> share = load(shares_ + from + i);
                const bool last = i + lanes >= channels;
                store(last ? (Vector<N>)((Indices)share & ends_) : share, dense_shares_ + to + i);
                if constexpr (max) store(load(argmax_ + from + i), dense_argmax_ + to + i);
            }
        }
        const Range columns = width().owned_elements(windows);
        const N* shares = dense_shares_ + (columns.first + width().pads) * channels;
        const N* argmax = dense_argmax_ + (columns.first + width().pads) * channels;
        N* const to = column_sums + columns.first * channels;
        each_full_vectors<N, 4>(columns.size() * channels, [=](std::int64_t i, auto vectors)
                                                          BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<Vector<N>> sums;
            std::int64_t at = i;
            for (auto index = static_cast<SameSizeInt<N>>(k - 1); index >= 0; --index, at += channels)
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINE_LAMBDA {
                    add(shares + at + v * lanes, argmax + at + v * lanes, index, sum);
                });
            sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINE_LAMBDA {
                store(sum, to + i + v * lanes);
            });
        });
    }

    // The number of a row of elements in the windows that cover it.
    SameSizeInt<N> row_in(const RowPosition& windows, std::int64_t d, std::int64_t h) const {
        const std::int64_t in_d = d - axis(0).element(windows.d, 0);
        const std::int64_t in_h = h - axis(1).element(windows.h, 0);
        return static_cast<SameSizeInt<N>>(in_d * axis(1).k + in_h);
    }

    struct Row {
        const T* x;
        SameSizeInt<N> index;
    };

    const PoolGradient<T>& all_;
    std::int64_t channels_;
    std::int64_t row_size_;  // numbers of `column_sums`
    RowBuffers<T, N> buffers_;
    Scratch<N> scratch_;
    N *largest_, *shares_, *argmax_;
    bool dense_;
    N *dense_shares_, *dense_argmax_;  // k - 1 windows before the first element, then one at each
    N* dense_found_;
    Indices ends_;  // the lanes of an element's last vector that are its own
    std::int64_t step_;  // windows
    std::vector<Row> rows_;
    std::vector<CoveringRow> covering_;
};

// Fills dx. For average pooling there is no x.
template <Grad grad, class T>
void separable_grad(const T* x, const T* dy, T* dx, const Pool& pool, bool dense) {
    const PoolGradient<T> all(pool, x, dy, dx, Separable<T, grad>::bytes_of_row(pool));
    all.each_tile([&] { return Separable<T, grad>(all, dense); });
}

}  // namespace backblocks::ISA
