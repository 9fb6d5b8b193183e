// The gradient of max pooling with non-overlapping windows that leave no gaps: the argmax of a row of windows is
// found first, then every row of their elements is written.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "memory.hpp"
#include "pool_grad_nonoverlapping.hpp"

namespace backblocks::ISA {

template <class T>
const Raw<T>* raw(const T* from) {
    return reinterpret_cast<const Raw<T>*>(from);
}

// A sum that begins with zero has no -0: neither has a share.
template <class T>
BACKBLOCKS_INLINE auto without_negative_zero(const auto& bits) {
    using Bits = std::remove_cvref_t<decltype(bits)>;
    return bits == std::numeric_limits<Raw<T>>::min() ? Bits{} : bits;
}

// The running argmax of some elements.
template <class T>
struct RunningArgmax {
    using Number = std::conditional_t<sizeof(T) == 2, Raw<T>, T>;
    using Limits = std::numeric_limits<Number>;
    Vector<Number> value =
        broadcast<Number>(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    RawVector<T> index{};

    BACKBLOCKS_INLINE void take(const RawVector<T>& bits, const RawVector<T>& number) {
        const Vector<Number> element = comparable<T>(bits);
        const RawVector<T> same = stays(element);
        value = same ? value : element;
        index = same ? index : number;
    }

   private:
    // Whether the best one so far stays so after another element.
    BACKBLOCKS_INLINE RawVector<T> stays(const Vector<Number>& element) const {
        if constexpr (kHalf<T>) return element <= value;
        else return (element <= value) | (value != value);
    }
};

// Stores rows of dx, with streaming stores where that pays. At the same time the elements that the next
// row of windows reads are prefetched: else the memory would read and write by turns.
template <class T>
class StreamingRows {
   public:
    // `ends`: the bits of all offsets at which vectors must end for cache lines to be whole.
    StreamingRows(const Pool& pool, const T* x, T* dx, std::int64_t ends) {
        const bool streamed =
            kCanStream && outgrows_cache<T>(pool.numbers(2)) && ends % kLanes<Raw<T>> == 0;
        streaming_ = streamed ? streaming_to(dx) : Streaming::off;
        const std::int64_t ahead = pool.axes[1].s * pool.axes[2].n * pool.channels *
                                   std::int64_t{sizeof(T)};
        next_ = reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(dx) +
                static_cast<std::uintptr_t>(ahead);
    }

    template <class Lanes>
    BACKBLOCKS_INLINE void put(const RawVector<T>& bits, Raw<T>* to, Lanes full_or_tail) const {
        if constexpr (std::is_same_v<Lanes, FullVector>)
            if (streaming_ != Streaming::off) {
                const auto next = reinterpret_cast<std::uintptr_t>(to) + next_;
                __builtin_prefetch(reinterpret_cast<const void*>(next), 0, 2);
                return stream_bytes<sizeof bits>(&bits, to, streaming_);
            }
        store(bits, to, full_or_tail);
    }

   private:
    Streaming streaming_;
    std::uintptr_t next_;  // from dx to the next elements of x
};

// Vectors over channels.
template <class T>
class MaxByChannels {
    using B = Raw<T>;
    static constexpr std::int64_t lanes = kLanes<B>;

   public:
    static constexpr bool kWritesFullRows = false;  // or those elements only that windows cover
    MaxByChannels(const Pool& pool, const T* x, T* dx)
        : row_(pool), x_(raw(x)), rows_of_dx_(pool, x, dx, pool.channels) {
        const std::int64_t count = row_.windows_size + lanes;
        shares_ = scratch_.of(2 * count);
        argmax_ = shares_ + count;
    }

    void begin_row(const Offsets& rows, const T* dy) const {
        each_vector<B>(row_.windows_size, [=, from = raw(dy), to = shares_](std::int64_t i,
                                                                            auto full_or_tail) {
            store(without_negative_zero<T>(load(from + i, full_or_tail)), to + i, full_or_tail);
        });
        find_argmax(rows);
    }

    // to[w, c] = shares[o, c] where argmax[o, c] is the index of element w of the row
    void write_row(B* to, B row) const {
        const std::int64_t channels = row_.channels;
        row_.each_of_equal_size([=, this, rows_of_dx = rows_of_dx_](std::int64_t o, std::int64_t count) {
            const Range elements = row_.width.elements(o);
            const auto first = static_cast<B>(row * elements.size());
            const B *shares = shares_ + o * channels, *argmax = argmax_ + o * channels;
            B* at = to + elements.first * channels;
            for (std::int64_t each = 0; each < count; ++each, shares += channels, argmax += channels)
                for (std::int64_t element = 0; element < elements.size(); ++element, at += channels)
                    each_vectors<B, 4>(channels, [=, index = static_cast<B>(first + element)](
                                                     std::int64_t i, auto full_or_tail, auto vectors)
                                                     BACKBLOCKS_INLINE_LAMBDA {
                        typename decltype(vectors)::template Of<RawVector<T>> all;
                        all.each([&](const RawVector<T>&, int v) BACKBLOCKS_INLINE_LAMBDA {
                            const std::int64_t c = i + v * lanes;
                            const RawVector<T> won = load(argmax + c, full_or_tail) == index;
                            rows_of_dx.put(load(shares + c, full_or_tail) & won, at + c, full_or_tail);
                        });
                    });
        });
    }

   private:
    // argmax[o, c] = index of the first of the largest elements of window o, counted row by row
    void find_argmax(const Offsets& all_rows) const {
        const std::int64_t channels = row_.channels;
        const std::int64_t *rows = all_rows.data(), *end = rows + all_rows.size();
        row_.each_of_equal_size([=, this](std::int64_t o, std::int64_t count) {
            const B* x = x_ + row_.width.elements(o).first * channels;
            B* to = argmax_ + o * channels;
            const std::int64_t elements = row_.width.elements(o).size() * channels;
            for (std::int64_t each = 0; each < count; ++each, x += elements, to += channels)
                each_vectors<B, 2>(channels, [=](std::int64_t i, auto full_or_tail, auto vectors)
                                                 BACKBLOCKS_INLINE_LAMBDA {
                    typename decltype(vectors)::template Of<RunningArgmax<T>> best;
                    RawVector<T> index{};
                    for (const std::int64_t* row = rows; row < end; ++row)
                        for (std::int64_t element = i; element < i + elements; element += channels) {
                            // The hardware prefetcher does not follow so many rows.
                            __builtin_prefetch(x + *row + element + 2 * elements);
                            best.each([&](RunningArgmax<T>& one, int v) BACKBLOCKS_INLINE_LAMBDA {
                                one.take(load(x + *row + element + v * lanes, full_or_tail), index);
                            });
                            index += 1;
                        }
                    best.each([&](const RunningArgmax<T>& one, int v) BACKBLOCKS_INLINE_LAMBDA {
                        store(one.index, to + i + v * lanes, full_or_tail);
                    });
                });
        });
    }

    const WindowRow row_;
    const B* const x_;
    const StreamingRows<T> rows_of_dx_;
    Scratch<B> scratch_;
    B *shares_, *argmax_;
};

// Columns first: a column is all elements of the windows that are at one position of the width. With few channels no
// window makes a full vector, but columns of a row do. Every column has the share of its window, and the row in which
// the column has the window's argmax, if it has it.
template <class T>
class MaxByColumns {
    using B = Raw<T>;
    static constexpr std::int64_t lanes = kLanes<B>;

   public:
    static constexpr bool kWritesFullRows = false;
    MaxByColumns(const Pool& pool, const T* x, T* dx)
        : row_(pool), x_(raw(x)), rows_of_dx_(pool, x, dx, row_.size | row_.covered) {
        // Vectors may be longer than a window's columns, and go into the next ones, which are written later.
        const std::int64_t size = row_.size + lanes;
        argmax_row_ = scratch_.of(4 * size + row_.windows_size + lanes);
        share_ = argmax_row_ + size;
        largest_ = share_ + size;
        row_of_largest_ = largest_ + size;
        window_shares_ = row_of_largest_ + size;
    }

    void begin_row(const Offsets& rows, const T* dy) const {
        each_vector<B>(row_.windows_size, [=, from = raw(dy), to = window_shares_](
                                              std::int64_t i, auto full_or_tail) {
            store(without_negative_zero<T>(load(from + i, full_or_tail)), to + i, full_or_tail);
        });
        reduce_columns(rows);
        for (std::int64_t o = 0; o < row_.width.out; ++o) reduce_window(o);
    }

    // to[w, c] = share[w, c] where argmax_row[w, c] is this row
    void write_row(B* to, B row) const {
        each_vectors<B, 4>(row_.covered, [=, rows_of_dx = rows_of_dx_, argmax_row = argmax_row_,
                                          share = share_](std::int64_t i, auto full_or_tail, auto vectors)
                                             BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<RawVector<T>> all;
            all.each([&](const RawVector<T>&, int v) BACKBLOCKS_INLINE_LAMBDA {
                const std::int64_t at = i + v * lanes;
                const RawVector<T> is_argmax_row = load(argmax_row + at) == row;
                rows_of_dx.put(is_argmax_row & load(share + at), to + at, full_or_tail);
            });
        });
    }

   private:
    // largest[w, c] = max over rows of column w, row_of_largest[w, c] = its row
    void reduce_columns(const Offsets& all_rows) const {
        const std::int64_t *rows = all_rows.data(), *end = rows + all_rows.size();
        each_vectors<B, 2>(row_.size, [=, x = x_, largest = largest_, row_of_largest = row_of_largest_](
                                          std::int64_t i, auto full_or_tail, auto vectors)
                                          BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<RunningArgmax<T>> best;
            RawVector<T> index{};
            for (const std::int64_t* row = rows; row < end; ++row, index += 1)
                best.each([&](RunningArgmax<T>& one, int v) BACKBLOCKS_INLINE_LAMBDA {
                    one.take(load(x + *row + i + v * lanes, full_or_tail), index);
                });
            best.each([&](const RunningArgmax<T>& one, int v) BACKBLOCKS_INLINE_LAMBDA {
                store((RawVector<T>)one.value, largest + i + v * lanes, full_or_tail);
                store(one.index, row_of_largest + i + v * lanes, full_or_tail);
            });
        });
    }

    BACKBLOCKS_INLINE RunningArgmax<T> best_of_column(std::int64_t at) const {
        RunningArgmax<T> best;
        best.value = (Vector<typename RunningArgmax<T>::Number>)load(largest_ + at);
        best.index = load(row_of_largest_ + at);
        return best;
    }

    // argmax_row[w, c] = the row of window o's argmax, or -1 in the columns that do not have it;
    // share[w, c] = that of window o
    void reduce_window(std::int64_t o) const {
        const std::int64_t channels = row_.channels, elements = row_.width.elements(o).size();
        const std::int64_t at = row_.width.elements(o).first * channels;
        const RawVector<T> share = load(window_shares_ + o * channels);
        RunningArgmax<T> best = best_of_column(at);
        RawVector<T> winner{};
        for (std::int64_t element = 1; element < elements; ++element) {
            const RunningArgmax<T> other = best_of_column(at + element * channels);
            const RawVector<T> won = BetterOrNan{}(other.value, other.index, best.value, best.index);
            best.value = won ? other.value : best.value;
            best.index = won ? other.index : best.index;
            winner = won ? broadcast(static_cast<B>(element)) : winner;
        }
        for (std::int64_t element = 0; element < elements; ++element) {
            store(best.index | (winner != static_cast<B>(element)), argmax_row_ + at + element * channels);
            store(share, share_ + at + element * channels);
        }
    }

    const WindowRow row_;
    const B* const x_;
    const StreamingRows<T> rows_of_dx_;
    Scratch<B> scratch_;
    B *argmax_row_, *share_, *largest_, *row_of_largest_;  // of columns
    B* window_shares_;
};

// For one channel and windows that are two elements wide and two apart: their elements, deinterleaved, make vectors
// over windows.
template <class T>
class MaxByPairs {
    using B = Raw<T>;
    static constexpr std::int64_t lanes = kLanes<B>;
    static constexpr std::make_index_sequence<lanes> all_lanes{};

   public:
    static constexpr bool kWritesFullRows = false;
    MaxByPairs(const Pool& pool, const T* x, T* dx)
        : row_(pool), x_(x), dx_(dx), first_(row_.width.elements(row_.full.first).first),
          rows_of_dx_(pool, x, dx, row_.size | row_.covered | first_) {
        const std::int64_t count = row_.windows_size + lanes;
        shares_ = scratch_.of(2 * count);
        argmax_ = shares_ + count;
    }

    void begin_row(const Offsets& rows, const T* dy) const {
        find_argmax(rows, raw(dy));
        for (std::int64_t o = 0; o < row_.full.first; ++o) write_alone(o, rows, dy);
        for (std::int64_t o = row_.full.last; o < row_.width.out; ++o) write_alone(o, rows, dy);
    }

    // to[w] = shares[o] where argmax[o] is the index of element w
    void write_row(B* to, B row) const {
        const auto first = static_cast<B>(2 * row), second = static_cast<B>(first + 1);
        each_vectors<B, 2>(row_.full.size(), [=, to = to + first_, argmax = argmax_, shares = shares_,
                                              rows_of_dx = rows_of_dx_](std::int64_t i, auto, auto vectors)
                                                 BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<RawVector<T>> every;
            every.each([&](const RawVector<T>&, int v) BACKBLOCKS_INLINE_LAMBDA {
                const std::int64_t window = i + v * lanes;
                const RawVector<T> index = load(argmax + slot(window));
                const RawVector<T> share = load(shares + slot(window));
                RawVector<T> a = share & (index == first), b = share & (index == second);
                interleave_groups(a, b, all_lanes);
                rows_of_dx.put(a, to + 2 * window, FullVector{});
                rows_of_dx.put(b, to + 2 * window + lanes, FullVector{});
            });
        });
    }

   private:
    // Where the results of a vector of full windows are kept. The last vector may begin within the one
    // before, but less than a vector before a position that none of those has.
    static std::int64_t slot(std::int64_t window) { return (window + lanes - 1) / lanes * lanes; }

    // argmax[o], shares[o] of full windows, both deinterleaved
    void find_argmax(const Offsets& all_rows, const B* dy) const {
        const std::int64_t *rows = all_rows.data(), *end = rows + all_rows.size();
        each_vectors<B, 2>(row_.full.size(), [=, x = raw(x_) + first_, dy = dy + row_.full.first,
                                              argmax = argmax_, shares = shares_](
                                                 std::int64_t i, auto, auto vectors)
                                                 BACKBLOCKS_INLINE_LAMBDA {
            typename decltype(vectors)::template Of<RunningArgmax<T>> best;
            RawVector<T> index{};
            for (const std::int64_t* row = rows; row < end; ++row, index += 2)
                best.each([&](RunningArgmax<T>& one, int v) BACKBLOCKS_INLINE_LAMBDA {
                    const B* const from = x + *row + 2 * (i + v * lanes);
                    const RawVector<T> a = load(from), b = load(from + lanes);
                    one.take(deinterleave<0, 0>(a, b, all_lanes), index);
                    one.take(deinterleave<1, 1>(a, b, all_lanes), index + 1);
                });
            best.each([&](const RunningArgmax<T>& one, int v) BACKBLOCKS_INLINE_LAMBDA {
                const std::int64_t window = i + v * lanes;
                store(one.index, argmax + slot(window));
                store(deinterleaved(without_negative_zero<T>(load(dy + window)), all_lanes),
                      shares + slot(window));
            });
        });
    }

    // Writes all elements of a window that is not full, one at each end of the row at most.
    void write_alone(std::int64_t o, const Offsets& rows, const T* dy) const {
        const Range elements = row_.width.elements(o);
        std::int64_t winner = rows.front() + elements.first;
        for (const std::int64_t row : rows)
            for (std::int64_t at = row + elements.first; at < row + elements.last; ++at) {
                const Wide<T> best = widen(x_[winner]), other = widen(x_[at]);
                if (best == best && !(other <= best)) winner = at;
                dx_[at] = T{};
            }
        dx_[winner] = std::bit_cast<T>(without_negative_zero<T>(std::bit_cast<B>(dy[o])));
    }

    const WindowRow row_;
    const T* const x_;
    T* const dx_;
    const std::int64_t first_;  // element of the full windows
    const StreamingRows<T> rows_of_dx_;
    Scratch<B> scratch_;
    B *shares_, *argmax_;
};

}  // namespace backblocks::ISA
