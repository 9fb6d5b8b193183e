// From cells to windows where windows stand side by side and share cells.
//
// First a column, which is all cells of the windows of a row that stand at one place of the width:
//
//     column[w, c] = fold over cells (d, h) that the windows cover: x[d, h, w, c]
//
// Then a window is the fold of its columns. A window of k x k x k cells takes some k * k + k steps.
// That is for max: of the same cells a sum would be another, in its last bits, by columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fold.hpp"
#include "memory.hpp"

namespace backblocks::ISA {

// One thread's rows of windows.
template <Fold fold, class T>
class Columns {
    using N = Wide<T>;
    using Numbers = Vector<Lane<N>>;
    static constexpr std::int64_t lanes = kLanes<N>;
    static constexpr bool numbered = fold == Fold::pick;
    static_assert(numbered || fold == Fold::largest);

   public:
    // Longer rows would take much memory, for each thread.
    static constexpr std::int64_t longest_row = 1 << 16;

    // Whether it takes so much fewer steps that columns are worth storing. Where windows of a few
    // channels stand apart, each makes a vector that is mostly empty.
    static bool pay(const Pool& pool) {
        const auto& [depth, height, width] = pool.axes;
        const std::int64_t rows = depth.k * height.k, column = pool.channels;
        if (width.n * column > longest_row) return false;
        std::int64_t window = std::max((column + lanes - 1) / lanes * lanes, 2 * lanes);
        if (width.s == 1) window = column;
        else if (column == 1 && width.whole().size() >= lanes) window = 3;
        return rows > 1 && width.out > 1 &&
               rows * width.k * window > 2 * rows * width.s * column + width.k * window;
    }

    Columns(const FoldInputs<T>& in, const Pool& pool)
        : in_(in), pool_(pool), whole_(pool.axes[2].whole()) {
        const std::int64_t size = width().n * pool.channels + lanes;
        values_ = room_.of(size * (numbered ? 3 : 1));
        numbers_ = values_ + size;
        picked_ = numbers_ + size;
        // So many windows at a time that their columns stay in the L1 cache.
        step_ = std::max<std::int64_t>(2048 / (pool.channels * width().s), 16);
    }

    // Calls finish(i, state, lanes, real cells of each window) for vectors of results, i of which
    // come before them in the row.
    template <class Finish>
    void operator()(const RowPlace& place, const Finish& finish) {
        const Box row(pool_, place, Numbering::in_window);
        std::int64_t found = 0;  // columns
        bool nan = false;
        for (std::int64_t o = 0; o < width().out; o += step_) {
            const Range windows{o, std::min(o + step_, width().out)};
            const std::int64_t last = width().cells(windows.last - 1).last;
            if (last > found) nan |= find(row, {found, last});
            found = std::max(found, last);
            if constexpr (numbered)
                if (nan) {
                    join(windows, BetterOrNan{}, row, finish);
                    continue;
                }
            join(windows, Better{}, row, finish);
        }
    }

   private:
    const WindowAxis& width() const { return pool_.axes[2]; }

    // Folds columns. Gives whether one has a NaN.
    bool find(Box box, Range columns) const {
        const std::int64_t at = columns.first * pool_.channels;
        box.first += at;
        box.width = 1;
        box.length = columns.size() * pool_.channels;
        bool nan = false;
        fold_box<fold, T, false, numbered>(
            in_, box, [=, this, &nan](std::int64_t i, const State<N>& state, auto some)
                          BACKBLOCKS_INLINED {
                store(state.value, values_ + at + i, some);
                if constexpr (numbered) {
                    nan |= any_nan(state.value);
                    store((Vector<N>)state.at, numbers_ + at + i, some);
                    store(state.picked, picked_ + at + i, some);
                }
            });
        return nan;
    }

    // Folds the columns of windows.
    template <class IsBetter, class Finish>
    void join(Range windows, IsBetter better, const Box& row, const Finish& finish) const {
        const bool strided = pool_.channels == 1 && width().s > 1;
        const bool joined = strided || width().s == 1;
        for (std::int64_t o = windows.first, count; o < windows.last; o += count) {
            count = joined && whole_.has(o) ? std::min(whole_.last, windows.last) - o : 1;
            if (strided && count < lanes) count = 1;
            const std::int64_t real = row.real() * width().cells(o).size();
            const auto put = [=, before = o * pool_.channels](
                                 std::int64_t i, const State<N>& state, auto some)
                                 BACKBLOCKS_INLINED { finish(before + i, state, some, real); };
            if (strided && count > 1) join_some<true>(o, count, better, put);
            else join_some<false>(o, count, better, put);
        }
    }

    template <bool strided, class IsBetter, class Put>
    void join_some(std::int64_t o, std::int64_t count, IsBetter better, const Put& put) const {
        const std::int64_t channels = pool_.channels, s = width().s;
        const Range cells = width().cells(o);
        const std::int64_t begin = cells.first * channels, end = cells.last * channels;
        const auto first = static_cast<Lane<N>>(cells.first - width().cell(o, 0));
        const N *values = values_, *numbers = numbers_, *picked = picked_;
        const auto fetch = [=](const N* from, std::int64_t i) BACKBLOCKS_INLINED {
            if constexpr (strided) return load_every(from + i * s, s);
            else return load(from + i);
        };
        const auto column = [=](std::int64_t at, std::int64_t i, Lane<N> number)
                                BACKBLOCKS_INLINED {
            State<N> state;
            state.value = fetch(values + at, i);
            if constexpr (numbered) {
                state.at = (Numbers)fetch(numbers + at, i) + number;
                state.picked = fetch(picked + at, i);
            }
            return state;
        };
        each_vectors<N, 2>(count * channels, [=](std::int64_t i, auto some, auto vectors)
                                                 BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<State<N>> states;
            states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                state = column(begin, i + v * lanes, first);
            });
            Lane<N> number = first;
            for (std::int64_t at = begin + channels; at < end; at += channels) {
                ++number;
                states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                    const State<N> other = column(at, i + v * lanes, number);
                    if constexpr (numbered) {
                        const auto won = better(other.value, other.at, state.value, state.at);
                        state.value = won ? other.value : state.value;
                        state.at = won ? other.at : state.at;
                        state.picked = won ? other.picked : state.picked;
                    } else {
                        take<fold, N>(state, other.value, number, other.value);
                    }
                });
            }
            states.each([&](const State<N>& state, int v) BACKBLOCKS_INLINED {
                put(i + v * lanes, state, some);
            });
        });
    }

    const FoldInputs<T> in_;
    const Pool& pool_;
    Range whole_;  // windows
    Room<N> room_;
    N *values_, *numbers_, *picked_;
    std::int64_t step_;  // windows
};

// Folds all windows, by columns if that pays: finish(place) gives what is called with each vector of
// results.
template <Fold fold, class T, class Finish>
void fold_all(const FoldInputs<T>& in, const Pool& pool, const Finish& finish) {
    if (!Columns<fold, T>::pay(pool)) return fold_windows<fold>(in, pool, finish);
    each_row_of_windows<fold, T>(pool, [&] {
        return [&, columns = Columns<fold, T>(in, pool)](const RowPlace& place) mutable {
            columns(place, finish(place));
        };
    });
}

}  // namespace backblocks::ISA
