// Separable window reduction, columns first: for windows that share most of their elements with their neighbours.
//
// A column is all elements of a row of windows that are at one position of the width:
//
//     column[w, c] = reduce over elements (d, h) that the windows cover: x[d, h, w, c]
//
// A window is the reduction of its columns. A window of k x k x k elements takes some k * k + k steps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory.hpp"
#include "pool_choice.hpp"
#include "reduce.hpp"

namespace backblocks::ISA {

// Reduces rows of windows, one after the other, on one thread.
template <Reduction reduction, class T>
class ColumnReducer {
    using N = Reduced<reduction, T>;
    using Indices = Vector<SameSizeInt<N>>;
    using Unsigned = std::make_unsigned_t<SameSizeInt<N>>;
    static constexpr std::int64_t lanes = kLanes<N>;
    static constexpr bool picks = reduction == Reduction::value_at_argmax;
    static constexpr bool indexed = picks || reduction == Reduction::argmax;
    static constexpr bool of_bits = std::is_integral_v<N>;
    static_assert(reduction != Reduction::max_with_argmax);

   public:
    // `dense`: windows at every element of the width are reduced, and those that exist are stored.
    ColumnReducer(const ReduceInputs<T>& in, const Pool& pool, bool dense)
        : in_(in), pool_(pool), full_(width().full()), buffer_(pool), dense_(dense) {
        const std::int64_t size = buffer_.columns * pool.channels + lanes;
        values_ = scratch_.of(size * (1 + indexed + picks + dense_));
        indices_ = values_ + size;
        picked_ = indices_ + indexed * size;
        dense_results_ = picked_ + picks * size;
    }

    // Calls finish(i, state, lanes, real elements of each window) for vectors of results, i of which
    // come before them in the row.
    template <class Finish>
    void operator()(const RowPosition& position, const Finish& finish) {
        const WindowBox row(pool_, position, Indexing::in_window);
        std::int64_t found = first_ = 0;  // columns
        bool nan = false;
        for (std::int64_t o = 0; o < width().out; o += buffer_.step) {
            const Range windows{o, std::min(o + buffer_.step, width().out)};
            const std::int64_t last = width().elements(windows.last - 1).last;
            if (last > first_ + buffer_.columns)
                found = drop_before(width().elements(o).first, found);
            if (last > found) nan |= reduce_columns(row, {found, last});
            found = std::max(found, last);
            if constexpr (indexed && !of_bits)
                if (nan) {
                    reduce_windows(windows, BetterOrNan{}, row, finish);
                    continue;
                }
            reduce_windows(windows, Better{}, row, finish);
        }
    }

   private:
    const WindowAxis& width() const { return pool_.axes[2]; }

    // Drops the columns before one from the buffer, and gives the first that is not known.
    std::int64_t drop_before(std::int64_t column, std::int64_t found) {
        if (found > column) {
            const std::int64_t known = (found - column) * pool_.channels;
            const std::int64_t before = (column - first_) * pool_.channels;
            std::copy_n(values_ + before, known, values_);
            if constexpr (indexed) std::copy_n(indices_ + before, known, indices_);
            if constexpr (picks) std::copy_n(picked_ + before, known, picked_);
        }
        first_ = column;
        return std::max(found, column);
    }

    // Reduces columns into the buffer. Gives whether one has a NaN.
    bool reduce_columns(WindowBox box, Range columns) const {
        const std::int64_t at = (columns.first - first_) * pool_.channels;
        box.first += columns.first * pool_.channels;
        box.length = columns.size() * pool_.channels;
        bool nan = false;
        reduce_box<reduction, T, LaneStride::one, indexed, true>(
            in_, box, [=, this, &nan](std::int64_t i, const State<N>& state, auto full_or_tail)
                          BACKBLOCKS_INLINE_LAMBDA {
                store(state.value, values_ + at + i, full_or_tail);
                if constexpr (indexed) {
                    if constexpr (!of_bits) nan |= any_nan(state.value);
                    store((Vector<N>)state.index, indices_ + at + i, full_or_tail);
                    if constexpr (picks) store(state.picked, picked_ + at + i, full_or_tail);
                }
            });
        return nan;
    }

    // Reduces the columns of windows.
    template <class IsBetter, class Finish>
    void reduce_windows(Range windows, IsBetter better, const WindowBox& row, const Finish& finish) const {
        const bool strided = pool_.channels == 1 && width().s > 1;
        const bool joined = strided || dense_ || width().s == 1;
        for (std::int64_t o = windows.first, count; o < windows.last; o += count) {
            count = joined && full_.has(o) ? std::min(full_.last, windows.last) - o : 1;
            if (strided && count < lanes) count = 1;
            const std::int64_t real = row.real() * width().elements(o).size();
            const auto put = [=, before = o * pool_.channels](
                                 std::int64_t i, const State<N>& state, auto full_or_tail)
                                 BACKBLOCKS_INLINE_LAMBDA { finish(before + i, state, full_or_tail, real); };
            if (dense_ && count > 1) reduce_densely(o, count, better, real, finish);
            else if (!strided || count == 1) reduce_some<LaneStride::one>(o, count, better, put);
            // A stride that the compiler knows makes two shuffles of the loads.
            else if (width().s == 2) reduce_some<LaneStride::two>(o, count, better, put);
            else reduce_some<LaneStride::any>(o, count, better, put);
        }
    }

    // The same for full windows of few channels, and for those that would begin between them: else
    // each would be a vector that is mostly empty.
    template <class IsBetter, class Finish>
    void reduce_densely(std::int64_t o, std::int64_t count, IsBetter better, std::int64_t real,
                        const Finish& finish) const {
        const auto result = [](auto& state) BACKBLOCKS_INLINE_LAMBDA -> auto& {
            if constexpr (picks) return state.picked;
            else if constexpr (indexed) return state.index;
            else return state.value;
        };
        const std::int64_t channels = pool_.channels, s = width().s;
        reduce_some<LaneStride::one>(
            o, (count - 1) * s + 1, better,
            [=, to = dense_results_](std::int64_t i, const State<N>& state, auto full_or_tail)
                BACKBLOCKS_INLINE_LAMBDA { store((Vector<N>)result(state), to + i, full_or_tail); });
        for (std::int64_t i = 0; i < count; ++i) {
            State<N> state;
            auto& found = result(state);
            found = (std::remove_reference_t<decltype(found)>)load(dense_results_ + i * s * channels);
            // The lanes after a window's channels belong to the next windows, which are stored later.
            const std::int64_t at = (o + i) * channels, left = width().out * channels - at;
            each_vector<N>(left < lanes ? channels : lanes, [&](std::int64_t, auto full_or_tail)
                                                                BACKBLOCKS_INLINE_LAMBDA {
                finish(at, state, full_or_tail, real);
            });
        }
    }

    // The results of columns: by value, so that the innermost loops have the pointers in registers.
    struct Buffers {
        const N *values, *indices, *picked;
        std::int64_t s;  // elements from one window to the next

        // A vector of a column's results, its index in the window added to those of its rows.
        template <LaneStride lane_stride>
        BACKBLOCKS_INLINE State<N> column(std::int64_t at, std::int64_t i, SameSizeInt<N> index) const {
            const auto fetch = [=, step = lane_stride == LaneStride::two ? 2 : s](const N* from)
                                   BACKBLOCKS_INLINE_LAMBDA {
                if constexpr (lane_stride != LaneStride::one) return load_strided(from + i * step, step);
                else return load(from + i);
            };
            State<N> state;
            state.value = fetch(values + at);
            if constexpr (of_bits && !indexed) begin_max<T>(state, state.value);
            if constexpr (indexed) {
                // After the last column there may be any numbers: only unsigned ones may overflow.
                const auto row = (Vector<Unsigned>)fetch(indices + at);
                state.index = (Indices)(row + static_cast<Unsigned>(index));
                if constexpr (picks) state.picked = fetch(picked + at);
            }
            return state;
        }
    };

    template <LaneStride lane_stride, class IsBetter, class Put>
    BACKBLOCKS_INLINE void reduce_some(std::int64_t o, std::int64_t count, IsBetter better,
                                       const Put& put) const {
        const std::int64_t channels = pool_.channels;
        const Range elements = width().elements(o);
        const std::int64_t begin = (elements.first - first_) * channels;
        const std::int64_t end = (elements.last - first_) * channels;
        const auto first = static_cast<SameSizeInt<N>>(elements.first - width().element(o, 0));
        const Buffers buffers{values_, indices_, picked_, width().s};
        each_vectors<N, 2>(count * channels, [=](std::int64_t i, auto full_or_tail, auto vectors)
                                                 BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<State<N>> states;
            states.each([&](State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
                state = buffers.template column<lane_stride>(begin, i + v * lanes, first);
            });
            SameSizeInt<N> index = first;
            for (std::int64_t at = begin + channels; at < end; at += channels) {
                ++index;
                states.each([&](State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
                    join(state, buffers.template column<lane_stride>(at, i + v * lanes, index), index, better);
                });
            }
            states.each([&](State<N>& state, int v) BACKBLOCKS_INLINE_LAMBDA {
                if constexpr (of_bits && !indexed) end_max<T>(state);
                put(i + v * lanes, state, full_or_tail);
            });
        });
    }

    // Reduces another column into a state.
    template <class IsBetter>
    BACKBLOCKS_INLINE static void join(State<N>& state, const State<N>& other, SameSizeInt<N> index,
                                       IsBetter better) {
        if constexpr (indexed) {
            const auto won = better(other.value, other.index, state.value, state.index);
            state.value = won ? other.value : state.value;
            state.index = won ? other.index : state.index;
            if constexpr (picks) state.picked = won ? other.picked : state.picked;
        } else {
            accumulate<reduction, N>(state, other.value, index, other.value);
        }
    }

    const ReduceInputs<T> in_;
    const Pool& pool_;
    const Range full_;  // windows
    const ColumnBuffer buffer_;
    const bool dense_;
    std::int64_t first_ = 0;  // the first column that is in the buffer
    Scratch<N> scratch_;
    N *values_, *indices_, *picked_, *dense_results_;
};

}  // namespace backblocks::ISA
