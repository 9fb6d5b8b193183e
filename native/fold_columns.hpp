// From cells to windows of many cells, most of which share them with their neighbours.
//
// First a column, which is all cells of the windows of a row that stand at one place of the width:
//
//     column[w, c] = fold over cells (d, h) that the windows cover: x[d, h, w, c]
//
// Then a window is the fold of its columns. A window of k x k x k cells takes some k * k + k steps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fold.hpp"
#include "memory.hpp"

namespace backblocks::ISA {

// One thread's rows of windows.
template <Fold fold, class T>
class Columns {
    using N = Folded<fold, T>;
    using Numbers = Vector<Lane<N>>;
    using Natural = std::make_unsigned_t<Lane<N>>;
    using Naturals = Vector<Natural>;
    static constexpr std::int64_t lanes = kLanes<N>;
    static constexpr bool picks = fold == Fold::pick, numbered = picks || fold == Fold::place;
    static constexpr bool as_bits = std::is_integral_v<N>;
    static_assert(fold != Fold::winner);

    // The columns of longer rows are not all kept: they would take much memory, for each thread.
    static constexpr std::int64_t kNumbers = 1 << 16;
    // Where those of a few windows have more numbers, there are no columns: for averages, if windows
    // are wider than kWidest or cells longer than kLongest.
    static constexpr std::int64_t kMostNumbers = 1 << 18;
    static constexpr std::int64_t kWidest = 16, kLongest = kMostNumbers / (2 * kWidest);

   public:
    // Whether it saves so much that columns are worth storing. Where windows of a few channels stand
    // apart, each makes a vector that is mostly empty.
    static bool pay(const Pool& pool) {
        const auto& [depth, height, width] = pool.axes;
        const std::int64_t rows = depth.k * height.k, column = pool.channels;
        if (column == 0) return false;
        if constexpr (fold == Fold::sum) return pay_for_sums(pool);
        if (most_columns(pool) * column > kMostNumbers) return false;
        if (numbered && !counts(pool)) return false;
        const bool vectors = column == 1 && width.whole().size() >= lanes;
        // Pairs are parted while they are read.
        if (vectors && width.k == 2 && width.s == 2) return false;
        if (spreads(pool)) return width.out > 1;
        std::int64_t window = std::max((column + lanes - 1) / lanes * lanes, 2 * lanes);
        if (width.s == 1) window = column;
        else if (vectors) window = 3;
        return rows > 1 && width.out > 1 &&
               rows * width.k * window > 2 * rows * width.s * column + width.k * window;
    }

    // Whether the cells of a window can be numbered.
    static bool counts(const Pool& pool) {
        const auto& [depth, height, width] = pool.axes;
        return depth.k * height.k <= std::numeric_limits<Lane<N>>::max() / width.k;
    }

    Columns(const FoldInputs<T>& in, const Pool& pool)
        : in_(in), pool_(pool), whole_(width().whole()), step_(step(pool)),
          most_(most_columns(pool)), spreads_(spreads(pool)) {
        const std::int64_t size = most_ * pool.channels + lanes;
        values_ = room_.of(size * (1 + numbered + picks + spreads_));
        numbers_ = values_ + size;
        picked_ = numbers_ + numbered * size;
        spread_ = picked_ + picks * size;
    }

    // Calls finish(i, state, lanes, real cells of each window) for vectors of results, i of which
    // come before them in the row.
    template <class Finish>
    void operator()(const RowPlace& place, const Finish& finish) {
        const Box row(pool_, place, Numbering::in_window);
        std::int64_t found = first_ = 0;  // columns
        bool nan = false;
        for (std::int64_t o = 0; o < width().out; o += step_) {
            const Range windows{o, std::min(o + step_, width().out)};
            const std::int64_t last = width().cells(windows.last - 1).last;
            if (last > first_ + most_) found = begin_with(width().cells(o).first, found);
            if (last > found) nan |= find(row, {found, last});
            found = std::max(found, last);
            if constexpr (numbered && !as_bits)
                if (nan) {
                    join(windows, BetterOrNan{}, row, finish);
                    continue;
                }
            join(windows, Better{}, row, finish);
        }
    }

   private:
    const WindowAxis& width() const { return pool_.axes[2]; }

    // By columns a sum is another, in its last bits: it must not be for images of some sizes only.
    static bool pay_for_sums(const Pool& pool) {
        const auto& [depth, height, width] = pool.asked;
        const std::int64_t rows = std::min(depth.k, kWidest) * std::min(height.k, kWidest);
        // Of windows apart, those of many long cells are read in longer pieces.
        const bool apart = width.s == width.k && width.k >= 5 && pool.channels >= 512;
        // Of few channels, each window by itself would make a vector that is mostly empty.
        const bool few = width.s > 1 && pool.channels < 8 &&
                         (pool.channels > 1 || (rows > 1 && !width.apart()));
        const bool saves = rows * width.k > (kHalf<T> ? 1 : 2) * rows + width.k;
        return width.k <= kWidest && pool.channels <= kLongest &&
               (few || ((width.s == 1 || apart) && saves));
    }

    // Whether windows of few channels, which do not stand side by side, are folded together with
    // those that would begin between them.
    static bool spreads(const Pool& pool) {
        const WindowAxis& width = pool.axes[2];
        return width.s > 1 && pool.channels > 1 && pool.channels < lanes &&
               pool.channels * width.s <= lanes + 12 * lanes / width.k;
    }

    // So many windows at a time that their columns stay in the L1 cache, if they share some.
    static std::int64_t step(const Pool& pool) {
        const WindowAxis& width = pool.axes[2];
        return std::max<std::int64_t>(2048 / (pool.channels * width.s), width.apart() ? 1 : 16);
    }

    // As many as these windows have, or a whole row if it is short.
    static std::int64_t most_columns(const Pool& pool) {
        const WindowAxis& width = pool.axes[2];
        return std::min(width.n, std::max(step(pool) * width.s + width.k, kNumbers / pool.channels));
    }

    // Leaves out the columns before one, and says which is the first that is not known.
    std::int64_t begin_with(std::int64_t column, std::int64_t found) {
        if (found > column) {
            const std::int64_t known = (found - column) * pool_.channels;
            const std::int64_t before = (column - first_) * pool_.channels;
            std::copy_n(values_ + before, known, values_);
            if constexpr (numbered) std::copy_n(numbers_ + before, known, numbers_);
            if constexpr (picks) std::copy_n(picked_ + before, known, picked_);
        }
        first_ = column;
        return std::max(found, column);
    }

    // Folds columns. Gives whether one has a NaN.
    bool find(Box box, Range columns) const {
        const std::int64_t at = (columns.first - first_) * pool_.channels;
        box.first += columns.first * pool_.channels;
        box.width = 1;
        box.length = columns.size() * pool_.channels;
        bool nan = false;
        fold_box<fold, T, 1, numbered>(
            in_, box, [=, this, &nan](std::int64_t i, const State<N>& state, auto some)
                          BACKBLOCKS_INLINED {
                store(state.value, values_ + at + i, some);
                if constexpr (numbered) {
                    if constexpr (!as_bits) nan |= any_nan(state.value);
                    store((Vector<N>)state.at, numbers_ + at + i, some);
                    if constexpr (picks) store(state.picked, picked_ + at + i, some);
                }
            });
        return nan;
    }

    // Folds the columns of windows.
    template <class IsBetter, class Finish>
    void join(Range windows, IsBetter better, const Box& row, const Finish& finish) const {
        const bool strided = pool_.channels == 1 && width().s > 1;
        const bool joined = strided || spreads_ || width().s == 1;
        for (std::int64_t o = windows.first, count; o < windows.last; o += count) {
            count = joined && whole_.has(o) ? std::min(whole_.last, windows.last) - o : 1;
            if (strided && count < lanes) count = 1;
            const std::int64_t real = row.real() * width().cells(o).size();
            const auto put = [=, before = o * pool_.channels](
                                 std::int64_t i, const State<N>& state, auto some)
                                 BACKBLOCKS_INLINED { finish(before + i, state, some, real); };
            // That cells are every second one is worth knowing before.
            if (spreads_ && count > 1) join_between(o, count, better, real, finish);
            else if (!strided || count == 1) join_some<1>(o, count, better, put);
            else if (width().s == 2) join_some<2>(o, count, better, put);
            else join_some<0>(o, count, better, put);
        }
    }

    // The same for whole windows of few channels, and for those that would begin between them: else
    // each would be a vector that is mostly empty.
    template <class IsBetter, class Finish>
    void join_between(std::int64_t o, std::int64_t count, IsBetter better, std::int64_t real,
                      const Finish& finish) const {
        const auto result = [](auto& state) BACKBLOCKS_INLINED -> auto& {
            if constexpr (picks) return state.picked;
            else if constexpr (numbered) return state.at;
            else return state.value;
        };
        const std::int64_t channels = pool_.channels, s = width().s;
        join_some<1>(o, (count - 1) * s + 1, better,
                     [=, to = spread_](std::int64_t i, const State<N>& state, auto some)
                         BACKBLOCKS_INLINED { store((Vector<N>)result(state), to + i, some); });
        for (std::int64_t i = 0; i < count; ++i) {
            State<N> state;
            auto& found = result(state);
            found = (std::remove_reference_t<decltype(found)>)load(spread_ + i * s * channels);
            // What is too much in a vector belongs to the next windows, which come later.
            const std::int64_t at = (o + i) * channels, left = width().out * channels - at;
            each_vector<N>(left < lanes ? channels : lanes, [&](std::int64_t, auto some)
                                                                BACKBLOCKS_INLINED {
                finish(at, state, some, real);
            });
        }
    }

    template <int every, class IsBetter, class Put>
    BACKBLOCKS_INLINED void join_some(std::int64_t o, std::int64_t count, IsBetter better,
                                      const Put& put) const {
        const std::int64_t channels = pool_.channels, s = every ? every : width().s;
        const Range cells = width().cells(o);
        const std::int64_t begin = (cells.first - first_) * channels;
        const std::int64_t end = (cells.last - first_) * channels;
        const auto first = static_cast<Lane<N>>(cells.first - width().cell(o, 0));
        const N *values = values_, *numbers = numbers_, *picked = picked_;
        const auto fetch = [=](const N* from, std::int64_t i) BACKBLOCKS_INLINED {
            if constexpr (every != 1) return load_every(from + i * s, s);
            else return load(from + i);
        };
        const auto column = [=](std::int64_t at, std::int64_t i, Lane<N> number)
                                BACKBLOCKS_INLINED {
            State<N> state;
            state.value = fetch(values + at, i);
            if constexpr (as_bits && !numbered) begin_largest<T>(state, state.value);
            if constexpr (numbered) {
                // Beyond the last column there may be any numbers: only unsigned ones may overflow.
                const auto row = (Naturals)fetch(numbers + at, i);
                state.at = (Numbers)(row + static_cast<Natural>(number));
                if constexpr (picks) state.picked = fetch(picked + at, i);
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
                        if constexpr (picks) state.picked = won ? other.picked : state.picked;
                    } else {
                        take<fold, N>(state, other.value, number, other.value);
                    }
                });
            }
            states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                if constexpr (as_bits && !numbered) end_largest<T>(state);
                put(i + v * lanes, state, some);
            });
        });
    }

    const FoldInputs<T> in_;
    const Pool& pool_;
    const Range whole_;        // windows
    const std::int64_t step_;  // windows
    const std::int64_t most_;  // columns that there is room for
    std::int64_t first_ = 0;   // the first column that is there
    Room<N> room_;
    const bool spreads_;
    N *values_, *numbers_, *picked_, *spread_;
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
