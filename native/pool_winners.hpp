// The gradient of max pooling by the winners of windows.
//
//     winners[o, c] = number in window o of the first of its largest cells
//     dx[b, i, c] = sum over windows o that cover cell i: dy[b, o, c] if winners[o, c] is i's number
//
// The winners of a row of windows are a line, kept until no row of dx needs it. Vectors are of
// channels, as they stand in memory: a half is widened only to be added.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fold_columns.hpp"
#include "pool_cut.hpp"

namespace backblocks::ISA {

// One thread's lines.
template <class T>
class Winners {
    using B = Bit<T>;
    using Find = Columns<Fold::place, T>;
    static constexpr std::int64_t lanes = kLanes<B>;

   public:
    // The more windows cover a cell, the better it is to add up lines first, for each axis.
    static bool take(const Pool& pool) {
        constexpr std::int64_t most = std::is_same_v<T, BFloat16> ? 49 : kHalf<T> ? 8 : 4;
        std::int64_t windows = 1;
        for (const WindowAxis& axis : pool.axes) windows *= std::min(axis.most_windows(), most + 1);
        return windows <= most && pool.channels >= lanes && Find::counts(pool);
    }

    static std::int64_t size_of_line(const Pool& pool) { return pool.axes[2].out * pool.channels; }

    explicit Winners(const Gradients<T>& all)
        : all_(all), lines_(all, size_of_line(all.pool)) {
        if (Find::pay(all.pool)) find_.emplace(in_, all.pool);
    }

    // Fills a tile of dx.
    void operator()(std::int64_t tile) {
        lines_.each_row(tile, [&](const RowPlace& cells) { fill(cells); });
    }

   private:
    // A line that covers a row of cells, and what the row's cells would be numbered in a window that
    // begins with them.
    struct Above {
        const B *winners, *dy;
        std::int64_t number;
    };

    void fill(const RowPlace& cells) {
        const Pool& pool = all_.pool;
        const auto& [depth, height, width] = pool.axes;
        above_.clear();
        lines_.each_above(
            cells,
            [&](const RowPlace& place, B* line) {
                const auto keep = [=](std::int64_t i, const auto& state, auto some, std::int64_t)
                                      BACKBLOCKS_INLINED { store((Bits<T>)state.at, line + i, some); };
                if (find_) return (*find_)(place, keep);
                fold_row<Fold::place>(in_, pool, all_.whole, place, Numbering::in_window, keep);
            },
            [&, this](const RowPlace& place, const B* line) {
                const T* dy = all_.dy + place.row(pool) * size_of_line(pool);
                const std::int64_t d = cells.d - depth.cell(place.d, 0);
                const std::int64_t h = cells.h - height.cell(place.h, 0);
                above_.push_back({line, reinterpret_cast<const B*>(dy),
                                  (d * height.k + h) * width.k});
            });
        const Above *first = above_.data(), *last = first + above_.size();
        B* to = reinterpret_cast<B*>(all_.dx + all_.row(cells));
        const std::int64_t channels = pool.channels;
        const bool streamed = kStreams<B> && all_.large &&
                              static_cast<std::size_t>(channels) * sizeof(T) % kCacheLine == 0;
        const Past past = streamed ? past_from(to) : Past::no;
        for (std::int64_t w = 0; w < width.n; ++w, to += channels) {
            const Range windows = all_.width.over(w);
            const std::int64_t place = w - width.cell(windows.first, 0);
            const auto step = static_cast<B>(width.s);
            const auto sum = [=](std::int64_t i, auto, auto vectors) BACKBLOCKS_INLINED {
                typename decltype(vectors)::template Of<BitSums<T>> sums;
                for (const Above* above = first; above < last; ++above) {
                    const std::int64_t begin = windows.first * channels + i;
                    const std::int64_t end = windows.last * channels;
                    auto number = static_cast<B>(above->number + place);
                    for (std::int64_t at = begin; at < end; at += channels) {
                        const B *winners = above->winners + at, *dy = above->dy + at;
                        sums.each([&](BitSums<T>& one, int v) BACKBLOCKS_INLINED {
                            const Bits<T> won = load(winners + v * lanes) == splat(number);
                            one.add(won & load(dy + v * lanes));
                        });
                        number = static_cast<B>(number - step);
                    }
                }
                sums.each([&](const BitSums<T>& one, int v) BACKBLOCKS_INLINED {
                    store_rounded(one.rounded(), to + i + v * lanes, Whole{}, past);
                });
            };
            each_vectors<B, 4>(channels, sum);
        }
    }

    const Gradients<T>& all_;
    FoldInputs<T> in_{all_.x, nullptr};
    std::optional<Find> find_;  // if columns pay
    Lines<T, B> lines_;
    std::vector<Above> above_;
};

template <class T>
void give_winners(const T* x, const T* dy, T* dx, const Pool& pool) {
    const Gradients<T> all(
        pool, x, dy, dx,
        Winners<T>::size_of_line(pool) * static_cast<std::int64_t>(sizeof(T)));
    all.each_tile([&] { return Winners<T>(all); });
}

}  // namespace backblocks::ISA
