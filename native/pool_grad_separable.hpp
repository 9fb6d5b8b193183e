// The gradients of pools with overlapping windows: separable, one axis after the other.
//
// The shares of windows are added up along the width first, which takes a window of k x k x k elements
// some k * k + k steps. A row of windows becomes a row buffer:
//
//     gives[w, c] = sum over windows o of the row that cover column w: the share of o in the column
//     takes[w, c] = for max, the row of the windows that takes it
//
// Then a row of dx is the sum of the buffers whose windows cover it, for max where it is the row that
// takes. A buffer is kept, in the cache, until no row of dx needs it.
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
BACKBLOCKS_INLINED inline void each_full_vectors(std::int64_t count, F f) {
    each_vectors<N, most>(std::max<std::int64_t>(count, kLanes<N>),
                          [=](std::int64_t i, auto, auto vectors) BACKBLOCKS_INLINED {
                              f(i, vectors);
                          });
}

// One thread's row buffers.
template <class T, Grad grad>
class Separable {
    using N = Wide<T>;
    using Indices = Vector<Lane<N>>;
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
        buffers_.each_row(tile, [&](const RowPlace& elements) { gather(elements); });
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

    // The buffer of windows that cover a row of elements, which is so far down in these windows.
    struct Above {
        const N* buffer;
        Lane<N> row;
    };

    // dx[d, h, w, c] = sum over buffers above: gives[w, c], for max where takes[w, c] is the row
    void gather(const RowPlace& elements) {
        above_.clear();
        buffers_.each_above(
            elements, [&](const RowPlace& place, N* buffer) { fill_buffer(place, buffer); },
            [&](const RowPlace& place, const N* buffer) {
                above_.push_back({buffer, row_in(place, elements.d, elements.h)});
            });
        const Above *first = above_.data(), *last = first + above_.size();
        T* const to = all_.dx + all_.row(elements);
        const std::int64_t takes = row_size_, count = width().n * channels_;
        const bool streamed = kStreamable<T> && all_.large &&
                              static_cast<std::size_t>(count) * sizeof(T) % kCacheLine == 0;
        const Streaming streaming = streamed ? streaming_to(to) : Streaming::off;
        each_vectors<N, 4>(count, [=](std::int64_t i, auto some, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Vector<N>> sums;
            for (const Above* above = first; above < last; ++above) {
                const N* buffer = above->buffer + i;
                const Indices row = broadcast(above->row);
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    const Vector<N> gives = load(buffer + v * lanes);
                    if constexpr (max)
                        sum += (Indices)load(buffer + takes + v * lanes) == row ? gives : Vector<N>{};
                    else sum += gives;
                });
            }
            sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                store_rounded(sum, to + i + v * lanes, some, streaming);
            });
        });
    }

    // Fills the buffer of a row of windows: `gives`, and for max `takes` after it. So many windows at a
    // time that their shares stay in the L1 cache. Inlined, it would slow down its caller.
    __attribute__((noinline)) void fill_buffer(const RowPlace& place, N* buffer) {
        const T* dy = all_.dy + place.row(all_.pool) * width().out * channels_;
        const Range ds = axis(0).elements(place.d), hs = axis(1).elements(place.h);
        rows_.clear();
        if constexpr (max)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h)
                    rows_.push_back({all_.x + all_.row({place.image, d, h}), row_in(place, d, h)});
        std::int64_t found = 0;  // columns
        bool nan = false;
        for (std::int64_t o = 0; o < width().out; o += step_) {
            const Range windows{o, std::min(o + step_, width().out)};
            if constexpr (max) {
                const std::int64_t last = width().elements(windows.last - 1).last;
                if (last > found) nan |= find_largest({found, last}, buffer + row_size_);
                found = last;
                find_argmax(windows, nan, buffer + row_size_);
            }
            find_shares(windows, dy, max ? 0 : ds.size() * hs.size());
            if (dense_) give_densely(windows, buffer);
            else give(width().territory(windows), buffer);
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
                                                  std::int64_t i, auto some) BACKBLOCKS_INLINED {
                const Vector<N> given = load(from + i, some);
                store(max ? given : exactly ? given * part : given / elements, to + i, some);
            });
        });
    }

    // largest[w, c] = max over elements of column w of the windows, takes[w, c] = its row
    // Gives whether one is NaN.
    bool find_largest(Range columns, N* all_takes) const {
        const Row *first = rows_.data(), *last = first + rows_.size();
        const std::int64_t from = columns.first * channels_;
        N *largest = largest_ + from, *takes = all_takes + from;
        bool any = false;
        const auto reduce = [=, &any](std::int64_t i, auto some, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<State<N>> states;
            const auto begin = [&](State<N>& state, int) BACKBLOCKS_INLINED {
                state.value = broadcast(-std::numeric_limits<N>::infinity());
                state.index = broadcast(first->index);
            };
            const auto each_element = [&](auto f) BACKBLOCKS_INLINED {
                for (const Row* row = first; row < last; ++row) {
                    const T* x = row->x + from + i;
                    __builtin_prefetch(x + 64);  // the hardware prefetcher does not follow so many rows
                    states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                        const Vector<N> element = load(x + v * lanes, some);
                        f(state, element, row->index, element);
                    });
                }
            };
            states.each(begin);
            each_element([](auto& state, const auto&... element) BACKBLOCKS_INLINED {
                accumulate<Reduction::max_with_argmax, N>(state, element...);
            });
            bool nan = false;
            states.each([&](const State<N>& state, int) BACKBLOCKS_INLINED {
                nan |= any_nan(state.sum);
            });
            if (nan) {
                any = true;
                states.each(begin);
                each_element([](auto& state, const auto&... element) BACKBLOCKS_INLINED {
                    accumulate_nan<Reduction::max_with_argmax, N>(state, element...);
                });
            }
            states.each([&](const State<N>& state, int v) BACKBLOCKS_INLINED {
                store(state.value, largest + i + v * lanes, some);
                store((Vector<N>)state.index, takes + i + v * lanes, some);
            });
        };
        each_vectors<N, 2>(columns.size() * channels_, reduce);
        return any;
    }

    // argmax[o, c] = index in window o of the column whose largest element is the window's; of
    // several that of the first row, and then of the first column
    void find_argmax(Range windows, bool nan, const N* takes) const {
        const bool strided = channels_ == 1 && width().s > 1;
        const auto find_all = [&](auto better) {
            const bool joins = strided || dense_ || width().s == 1;
            each_together(windows, joins, [&](std::int64_t o, std::int64_t count) {
                N* const to = argmax_ + o * channels_;
                if (dense_ && count > 1) return find_densely(o, count, better, takes);
                if (!strided) return find_some<LaneStride::one>(o, count, better, takes, to);
                if (count >= lanes && width().s == 2)
                    return find_some<LaneStride::two>(o, count, better, takes, to);
                if (count >= lanes) return find_some<LaneStride::any>(o, count, better, takes, to);
                for (std::int64_t i = 0; i < count; ++i)
                    find_some<LaneStride::one>(o + i, 1, better, takes, to + i);
            });
        };
        if (nan) find_all(BetterOrNan{});
        else find_all(Better{});
    }

    // The same for full windows of few channels, and for those that would begin between them.
    template <class IsBetter>
    void find_densely(std::int64_t o, std::int64_t count, IsBetter better, const N* takes) const {
        const std::int64_t step = width().s * channels_;
        find_some<LaneStride::one>(o, (count - 1) * width().s + 1, better, takes, dense_found_);
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t c = 0; c < channels_; c += lanes)
                store(load(dense_found_ + i * step + c), argmax_ + (o + i) * channels_ + c);
    }

    // The same for adjacent windows, the first of which is o.
    template <LaneStride lane_stride, class IsBetter>
    void find_some(std::int64_t o, std::int64_t count, IsBetter better, const N* all_takes,
                   N* argmax) const {
        const std::int64_t channels = channels_, s = lane_stride == LaneStride::two ? 2 : width().s;
        const Range elements = width().elements(o);
        const N* largest = largest_ + elements.first * channels;
        const N* takes = all_takes + elements.first * channels;
        const auto first = static_cast<Lane<N>>(elements.first - width().element(o, 0));
        const auto last = static_cast<Lane<N>>(first + elements.size());
        const auto fetch = [=](const N* from, std::int64_t i) BACKBLOCKS_INLINED {
            if constexpr (lane_stride != LaneStride::one) return load_strided(from + i * s, s);
            else return load(from + i);
        };
        each_full_vectors<N, 2>(count * channels, [=](std::int64_t i, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<State<N>> states;  // picked: the row
            states.each([&](State<N>& best, int v) BACKBLOCKS_INLINED {
                best.value = fetch(largest, i + v * lanes);
                best.picked = fetch(takes, i + v * lanes);
                best.index = broadcast(first);
            });
            std::int64_t at = channels;
            for (Lane<N> element = first + 1; element < last; ++element, at += channels)
                states.each([&](State<N>& best, int v) BACKBLOCKS_INLINED {
                    const Vector<N> value = fetch(largest + at, i + v * lanes);
                    const Vector<N> row = fetch(takes + at, i + v * lanes);
                    const auto won = better(value, (Indices)row, best.value, (Indices)best.picked);
                    best.value = won ? value : best.value;
                    best.picked = won ? row : best.picked;
                    best.index = won ? broadcast(element) : best.index;
                });
            states.each([&](const State<N>& best, int v) BACKBLOCKS_INLINED {
                store((Vector<N>)best.index, argmax + i + v * lanes);
            });
        });
    }

    // Adds a vector of shares to a sum, for max where the argmax is the column with the index.
    static BACKBLOCKS_INLINED void add(const N* shares, const N* argmax, Lane<N> index,
                                       Vector<N>& sum) {
        if constexpr (max) sum += (Indices)load(argmax) == broadcast(index) ? load(shares) : Vector<N>{};
        else sum += load(shares);
    }

    // gives[w, c] = sum over windows o that cover column w: shares[o, c], for max where
    // argmax[o, c] is the column's index in o
    void give(Range columns, N* gives) const {
        const std::int64_t channels = channels_, s = width().s, pads = width().pads;
        const Range* windows = all_.width.windows.data();
        const N *shares = shares_, *argmax = argmax_;
        const auto sum_all = [=](std::int64_t element, std::int64_t i, auto& sums) BACKBLOCKS_INLINED {
            const auto [first, last] = windows[element];
            const auto step = static_cast<Lane<N>>(s);
            std::int64_t at = first * channels + i;
            auto index = static_cast<Lane<N>>(element + pads - first * s);
            for (std::int64_t o = first; o < last; ++o, at += channels, index -= step)
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    add(shares + at + v * lanes, argmax + at + v * lanes, index, sum);
                });
        };
        const auto sum_elements = [=](std::int64_t element, std::int64_t count) {
            each_full_vectors<N, 4>(count, [=](std::int64_t i, auto vectors) BACKBLOCKS_INLINED {
                typename decltype(vectors)::template Of<Vector<N>> sums;
                sum_all(element, i, sums);
                sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    store(sum, gives + element * channels + i + v * lanes);
                });
            });
        };
        // Of one channel, windows make vectors: one for each of the s elements between them.
        const auto sum_strided = [=](std::int64_t first, std::int64_t count) {
            N* to = gives + first;
            each_full_vectors<N, 1>(count, [=](std::int64_t i, auto) BACKBLOCKS_INLINED {
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

    // The same for elements of few channels, each of which would be a vector that is mostly empty: as if
    // windows began at every element. Those between the real ones give nothing.
    void give_densely(Range windows, N* gives) const {
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
        const Range columns = width().territory(windows);
        const N* shares = dense_shares_ + (columns.first + width().pads) * channels;
        const N* argmax = dense_argmax_ + (columns.first + width().pads) * channels;
        N* const to = gives + columns.first * channels;
        each_full_vectors<N, 4>(columns.size() * channels, [=](std::int64_t i, auto vectors)
                                                          BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Vector<N>> sums;
            std::int64_t at = i;
            for (auto index = static_cast<Lane<N>>(k - 1); index >= 0; --index, at += channels)
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    add(shares + at + v * lanes, argmax + at + v * lanes, index, sum);
                });
            sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                store(sum, to + i + v * lanes);
            });
        });
    }

    // How far down a row of elements is in a row of windows.
    Lane<N> row_in(const RowPlace& windows, std::int64_t d, std::int64_t h) const {
        const std::int64_t in_d = d - axis(0).element(windows.d, 0);
        const std::int64_t in_h = h - axis(1).element(windows.h, 0);
        return static_cast<Lane<N>>(in_d * axis(1).k + in_h);
    }

    struct Row {
        const T* x;
        Lane<N> index;
    };

    const PoolGradient<T>& all_;
    std::int64_t channels_;
    std::int64_t row_size_;  // numbers of `gives`
    RowBuffers<T, N> buffers_;
    Scratch<N> scratch_;
    N *largest_, *shares_, *argmax_;
    bool dense_;
    N *dense_shares_, *dense_argmax_;  // k - 1 windows before the first element, then one at each
    N* dense_found_;
    Indices ends_;  // the lanes of a element's last vector that are its own
    std::int64_t step_;  // windows
    std::vector<Row> rows_;
    std::vector<Above> above_;
};

// Fills dx. For average pooling there is no x.
template <Grad grad, class T>
void separable_grad(const T* x, const T* dy, T* dx, const Pool& pool, bool dense) {
    const PoolGradient<T> all(pool, x, dy, dx, Separable<T, grad>::bytes_of_row(pool));
    all.each_tile([&] { return Separable<T, grad>(all, dense); });
}

}  // namespace backblocks::ISA
