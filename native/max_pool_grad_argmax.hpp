// The gradient of max pooling where few windows overlap, by the argmax of each window.
//
//     argmax[o, c] = index in window o of the first of its largest elements
//     dx[b, i, c] = sum over windows o that cover element i: dy[b, o, c] if argmax[o, c] is i's index
//
// The argmax of a row of windows is buffered until no row of dx needs it. Vectors are of channels, as
// they lie in memory: a half is widened only to be added.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pool_grad_tiles.hpp"
#include "reduce_columns.hpp"

namespace backblocks::ISA {

// Computes tiles of dx, with row buffers of its own, on one thread.
template <class T>
class ArgmaxRows {
    using B = Raw<T>;
    using ByColumns = ColumnReducer<Reduction::argmax, T>;
    static constexpr std::int64_t lanes = kLanes<B>;

   public:
    static std::int64_t row_size(const Pool& pool) { return pool.axes[2].out * pool.channels; }
    static std::int64_t bytes_of_row(const Pool& pool) {
        return row_size(pool) * static_cast<std::int64_t>(sizeof(B));
    }

    explicit ArgmaxRows(const PoolGradient<T>& all)
        : all_(all), buffers_(all, row_size(all.pool)) {
        const auto algorithm = choose_reduction<Reduction::argmax, T>(all.pool).algorithm;
        if (algorithm != ReduceAlgorithm::each_window)
            by_columns_.emplace(in_, all.pool, algorithm == ReduceAlgorithm::dense_columns);
    }

    // Fills a tile of dx.
    void operator()(std::int64_t tile) {
        buffers_.each_row(tile, [&](const RowPosition& elements) { fill(elements); });
    }

   private:
    // A row of windows that cover a row of elements: their argmax and dy, and the index that the row's first element
    // would have in a window that begins with it.
    struct CoveringRow {
        const B *argmax, *dy;
        std::int64_t index;
    };

    void fill(const RowPosition& elements) {
        const Pool& pool = all_.pool;
        const auto& [depth, height, width] = pool.axes;
        covering_.clear();
        buffers_.each_covering_row(
            elements,
            [&](const RowPosition& position, B* buffer) {
                const auto keep = [=](std::int64_t i, const auto& state, auto full_or_tail, std::int64_t)
                                      BACKBLOCKS_INLINE_LAMBDA {
                    store((RawVector<T>)state.index, buffer + i, full_or_tail);
                };
                if (by_columns_) return (*by_columns_)(position, keep);
                reduce_row<Reduction::argmax>(in_, pool, all_.full, position, Indexing::in_window, keep);
            },
            [&, this](const RowPosition& position, const B* buffer) {
                const T* dy = all_.dy + position.row(pool) * row_size(pool);
                const std::int64_t d = elements.d - depth.element(position.d, 0);
                const std::int64_t h = elements.h - height.element(position.h, 0);
                covering_.push_back({buffer, reinterpret_cast<const B*>(dy),
                                  (d * height.k + h) * width.k});
            });
        const CoveringRow *first = covering_.data(), *last = first + covering_.size();
        B* to = reinterpret_cast<B*>(all_.dx + all_.row(elements));
        const std::int64_t channels = pool.channels;
        const bool streamed = kStreamable<B> && all_.large &&
                              static_cast<std::size_t>(channels) * sizeof(T) % kCacheLine == 0;
        const Streaming streaming = streamed ? streaming_to(to) : Streaming::off;
        for (std::int64_t w = 0; w < width.n; ++w, to += channels) {
            const Range windows = all_.width.covering(w);
            const std::int64_t position = w - width.element(windows.first, 0);
            const auto step = static_cast<B>(width.s);
            const auto sum = [=](std::int64_t i, auto, auto vectors) BACKBLOCKS_INLINE_LAMBDA {
                typename decltype(vectors)::template Of<RawSums<T>> sums;
                for (const CoveringRow* covering = first; covering < last; ++covering) {
                    const std::int64_t begin = windows.first * channels + i;
                    const std::int64_t end = windows.last * channels;
                    auto index = static_cast<B>(covering->index + position);
                    for (std::int64_t at = begin; at < end; at += channels) {
                        const B *argmax = covering->argmax + at, *dy = covering->dy + at;
                        sums.each([&](RawSums<T>& one, int v) BACKBLOCKS_INLINE_LAMBDA {
                            const RawVector<T> won = load(argmax + v * lanes) == broadcast(index);
                            one.add(won & load(dy + v * lanes));
                        });
                        index = static_cast<B>(index - step);
                    }
                }
                sums.each([&](const RawSums<T>& one, int v) BACKBLOCKS_INLINE_LAMBDA {
                    store_rounded(one.rounded(), to + i + v * lanes, FullVector{}, streaming);
                });
            };
            each_vectors<B, 4>(channels, sum);
        }
    }

    const PoolGradient<T>& all_;
    ReduceInputs<T> in_{all_.x, nullptr};
    std::optional<ByColumns> by_columns_;  // or each window by itself
    RowBuffers<T, B> buffers_;
    std::vector<CoveringRow> covering_;
};

template <class T>
void argmax_rows_grad(const T* x, const T* dy, T* dx, const Pool& pool) {
    const PoolGradient<T> all(pool, x, dy, dx, ArgmaxRows<T>::bytes_of_row(pool));
    all.each_tile([&] { return ArgmaxRows<T>(all); });
}

}  // namespace backblocks::ISA
