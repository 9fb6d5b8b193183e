// The gradients of pools whose windows share no cell.
//
//     dx[b, i, c] = what the window o that covers cell i, if there is one, gives it: for max
//                   dy[b, o, c] if i is the winner, for average dy[b, o, c] / (its real cells)
//
// Every cell is read once and written once, as bits of its type: a half is never widened to be
// compared. The winners of a row of windows are found first, because memory takes long rows faster
// than a few cells here and a few there.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "fold.hpp"
#include "memory.hpp"

namespace backblocks::ISA {

enum class Grad { avg, max };

// Whether the best one so far stays so after another cell.
template <class T, class V>
BACKBLOCKS_INLINED inline Bits<T> stays(const V& best, const V& cell) {
    if constexpr (std::is_same_v<T, Wide<T>>) return (cell <= best) | (best != best);
    else return cell <= best;
}

// One thread's rows of windows.
//
// With few channels no window makes a whole vector. Then, for max, columns come first: all cells of
// the windows that stand at one place of the width. Every column has its share, and the row that
// takes it, if its window's winner is there. Pairs of cells of one channel make vectors of windows.
template <class T, Grad grad>
class Apart {
    using B = Bit<T>;
    static constexpr std::int64_t lanes = kLanes<B>;
    static constexpr bool max = grad == Grad::max;

   public:
    // Windows of more cells than this are read from more places at once than the processor follows.
    static constexpr std::int64_t most_cells = 64;

    static bool takes(const Pool& pool) {
        std::int64_t cells = 1;
        for (const WindowAxis& axis : pool.axes) {
            if (max ? axis.k != axis.s : !axis.apart()) return false;
            cells = std::min(axis.k, most_cells + 1) * cells;
        }
        return !max || cells <= most_cells;
    }

    // Of one channel, windows make vectors if their cells stand in pairs.
    static bool in_pairs(const Pool& pool) {
        const WindowAxis& width = pool.axes[2];
        return pool.channels == 1 && width.k == 2 && width.s == 2 && width.whole().size() >= lanes;
    }

    Apart(const Pool& pool, const T* x, const T* dy, T* dx)
        : pool_(pool), x_(x), dy_(dy), dx_(dx), pairs_(in_pairs(pool)),
          few_(max && pool.channels < lanes && !pairs_), whole_(width().whole()),
          covered_(width().cells(width().out - 1).last * pool.channels) {
        const std::int64_t count = width().out * pool.channels + lanes, row = row_size() + lanes;
        shares_ = room_.of(count + (few_ ? 4 * row : max ? count : row));
        found_ = shares_ + count;
        if (!max) std::fill_n(found_, row_size(), B{});  // cells in no window stay so
        large_ = outgrows_cache<T>(pool.numbers(max ? 2 : 1));
        const bool no_gaps = width().out == 1 || width().k == width().s;
        by_cell_ = !max && !large_ && no_gaps && pool.channels * std::int64_t{sizeof(T)} >= 256;
        const std::int64_t before = pairs_ ? width().cells(whole_.first).first : 0;
        const std::int64_t ends = few_ || pairs_ ? row_size() | covered_ | before : pool.channels;
        // Then vectors end where cells do, or rows, and cache lines are made of them.
        const bool streamed = max && large_ && kCanStream && ends % lanes == 0;
        stores_.past = streamed ? past_from(dx) : Past::no;
        const std::int64_t ahead = pool.axes[1].s * row_size() * std::int64_t{sizeof(T)};
        stores_.next = reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(dx) +
                       static_cast<std::uintptr_t>(ahead);
    }

    // Fills the cells from a row of windows on to the next.
    void operator()(const RowPlace& place) {
        const auto& [depth, height, _] = pool_.axes;
        const Range ds = depth.cells(place.d), hs = height.cells(place.h);
        const auto row_of = [&, &n = depth.n, &m = height.n](std::int64_t d, std::int64_t h) {
            return ((place.image * n + d) * m + h) * row_size();
        };
        rows_.clear();
        for (std::int64_t d = ds.first; d < ds.last; ++d)
            for (std::int64_t h = hs.first; h < hs.last; ++h) rows_.push_back(row_of(d, h));
        const T* const dy = dy_ + place.row(pool_) * width().out * pool_.channels;
        if (max && pairs_) {
            find_in_pairs(bits_of(dy));
            send_alone(dy);
        } else {
            find_shares(dy);
            if (few_) find_takers();
            else if (max) find_winners();
            else if (!by_cell_) give(found_, 0);
        }
        const Range all_ds = depth.territory({place.d, place.d + 1});
        const Range all_hs = height.territory({place.h, place.h + 1});
        B number = 0;
        for (std::int64_t d = all_ds.first; d < all_ds.last; ++d)
            for (std::int64_t h = all_hs.first; h < all_hs.last; ++h) {
                B* const to = reinterpret_cast<B*>(dx_ + row_of(d, h));
                const bool real = ds.has(d) && hs.has(h);
                if (real && few_) give_columns(to, number++);
                else if (real && max && pairs_) give_pairs(to, number++);
                else if (real && (max || by_cell_)) give(to, number++);
                if (real && !max && !by_cell_) copy_line(found_, row_size(), to, large_);
                else if (!real || covered_ < row_size())
                    std::fill(to + (real ? covered_ : 0), to + row_size(), B{});
            }
    }

   private:
    const WindowAxis& width() const { return pool_.axes[2]; }
    std::int64_t row_size() const { return width().n * pool_.channels; }

    // A sum that begins with zero has no -0.
    static BACKBLOCKS_INLINED auto share_of(const auto& bits) {
        using Share = std::remove_cvref_t<decltype(bits)>;
        return bits == std::numeric_limits<B>::min() ? Share{} : bits;
    }

    // shares[o, c] = dy[o, c] / (number of real cells of o), for max dy[o, c]
    void find_shares(const T* dy) const {
        const std::int64_t channels = pool_.channels;
        if constexpr (max)
            return each_vector<B>(width().out * channels, [=, from = bits_of(dy), to = shares_](
                                                              std::int64_t i, auto some) {
                store(share_of(load(from + i, some)), to + i, some);
            });
        each_alike([=, this](std::int64_t o, std::int64_t count) {
            const std::size_t real =
                rows_.size() * static_cast<std::size_t>(width().cells(o).size());
            const bool exactly = std::has_single_bit(real);
            const auto cells = static_cast<Wide<T>>(real), part = 1 / cells;
            const T* from = dy + o * channels;
            T* to = reinterpret_cast<T*>(shares_) + o * channels;
            each_vector<Wide<T>>(count * channels, [=](std::int64_t i, auto some)
                                                       BACKBLOCKS_INLINED {
                const Vector<Wide<T>> given = load(from + i, some);
                store_rounded(exactly ? given * part : given / cells, to + i, some);
            });
        });
    }

    struct Best {
        using Number = std::conditional_t<sizeof(T) == 2, B, T>;
        using Limits = std::numeric_limits<Number>;
        Vector<Number> value =
            splat<Number>(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
        Bits<T> at{};

        BACKBLOCKS_INLINED void take(const Bits<T>& bits, const Bits<T>& number) {
            const Vector<Number> cell = in_order<T>(bits);
            const Bits<T> same = stays<T>(value, cell);
            value = same ? value : cell;
            at = same ? at : number;
        }
    };

    static const B* bits_of(const T* from) { return reinterpret_cast<const B*>(from); }

    // Calls work(o, count) for windows that have as many cells, beginning with o.
    template <class Work>
    void each_alike(const Work& work) const {
        for (std::int64_t o = 0, count; o < width().out; o += count)
            work(o, count = whole_.has(o) ? whole_.last - o : 1);
    }

    // winners[o, c] = number of the first of the largest cells of window o, counted row by row
    void find_winners() const {
        const std::int64_t channels = pool_.channels;
        const std::int64_t *rows = rows_.data(), *end = rows + rows_.size();
        each_alike([=, this](std::int64_t o, std::int64_t count) {
            const B* x = bits_of(x_) + width().cells(o).first * channels;
            B* to = found_ + o * channels;
            const std::int64_t cells = width().cells(o).size() * channels;
            for (std::int64_t each = 0; each < count; ++each, x += cells, to += channels)
                each_vectors<B, 2>(channels, [=](std::int64_t i, auto some, auto vectors)
                                                 BACKBLOCKS_INLINED {
                    typename decltype(vectors)::template Of<Best> best;
                    Bits<T> number{};
                    for (const std::int64_t* row = rows; row < end; ++row)
                        for (std::int64_t cell = i; cell < i + cells; cell += channels) {
                            // The processor does not for so many rows at once.
                            __builtin_prefetch(x + *row + cell + 2 * cells);
                            best.each([&](Best& one, int v) BACKBLOCKS_INLINED {
                                one.take(load(x + *row + cell + v * lanes, some), number);
                            });
                            number += 1;
                        }
                    best.each([&](const Best& one, int v) BACKBLOCKS_INLINED {
                        store(one.at, to + i + v * lanes, some);
                    });
                });
        });
    }

    // What is found of columns. Vectors may be longer than what is theirs, and go into what comes
    // next, which is written later.
    struct Column {
        B *takes, *share, *largest, *row;
    };
    Column column(std::int64_t at) const {
        const std::int64_t size = row_size() + lanes;
        B* const first = found_ + at;
        return {first, first + size, first + 2 * size, first + 3 * size};
    }

    // takes[w, c] = the row of the winner of the window that covers column w, or -1 if that is in
    // another column; share[w, c] = that window's
    void find_takers() const {
        const std::int64_t *rows = rows_.data(), *end = rows + rows_.size();
        const Column all = column(0);
        each_vectors<B, 2>(row_size(), [=, x = bits_of(x_)](std::int64_t i, auto some, auto vectors)
                                           BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Best> best;
            Bits<T> number{};
            for (const std::int64_t* row = rows; row < end; ++row, number += 1)
                best.each([&](Best& one, int v) BACKBLOCKS_INLINED {
                    one.take(load(x + *row + i + v * lanes, some), number);
                });
            best.each([&](const Best& one, int v) BACKBLOCKS_INLINED {
                store((Bits<T>)one.value, all.largest + i + v * lanes, some);
                store(one.at, all.row + i + v * lanes, some);
            });
        });
        for (std::int64_t o = 0; o < width().out; ++o) find_taker(o);
    }

    using Numbers = Vector<typename Best::Number>;
    static BACKBLOCKS_INLINED Best best_of(const Column& column, std::int64_t i) {
        Best best;
        best.value = (Numbers)load(column.largest + i);
        best.at = load(column.row + i);
        return best;
    }

    void find_taker(std::int64_t o) const {
        const std::int64_t channels = pool_.channels, cells = width().cells(o).size();
        const Column to = column(width().cells(o).first * channels);
        const Bits<T> share = load(shares_ + o * channels);
        Best best = best_of(to, 0);
        Bits<T> winner{};
        for (std::int64_t cell = 1; cell < cells; ++cell) {
            const Best other = best_of(to, cell * channels);
            const Bits<T> won = BetterOrNan{}(other.value, other.at, best.value, best.at);
            best.value = won ? other.value : best.value;
            best.at = won ? other.at : best.at;
            winner = won ? splat(static_cast<B>(cell)) : winner;
        }
        for (std::int64_t cell = 0; cell < cells; ++cell) {
            store(best.at | (winner != static_cast<B>(cell)), to.takes + cell * channels);
            store(share, to.share + cell * channels);
        }
    }

    // Where what is found of a vector of whole windows is kept. The last ones may begin within
    // others, but less than a vector before a place that none of those has.
    static std::int64_t slot(std::int64_t window) { return (window + lanes - 1) / lanes * lanes; }

    // winners[o], shares[o] of whole windows that are two cells wide, parted
    void find_in_pairs(const B* dy) const {
        constexpr std::make_index_sequence<lanes> all;
        const std::int64_t *rows = rows_.data(), *end = rows + rows_.size();
        const B* const x = bits_of(x_) + width().cells(whole_.first).first;
        each_vectors<B, 2>(whole_.size(), [=, this, dy = dy + whole_.first](
                                              std::int64_t i, auto, auto vectors)
                                              BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Best> best;
            Bits<T> number{};
            for (const std::int64_t* row = rows; row < end; ++row, number += 2)
                best.each([&](Best& one, int v) BACKBLOCKS_INLINED {
                    const B* const from = x + *row + 2 * (i + v * lanes);
                    const Bits<T> a = load(from), b = load(from + lanes);
                    one.take(every_second<0, 0>(a, b, all), number);
                    one.take(every_second<1, 1>(a, b, all), number + 1);
                });
            best.each([&](const Best& one, int v) BACKBLOCKS_INLINED {
                const std::int64_t window = i + v * lanes;
                store(one.at, found_ + slot(window));
                store(parted(share_of(load(dy + window)), all), shares_ + slot(window));
            });
        });
    }

    // Fills all cells of the windows that are not whole, one at each end at most.
    void send_alone(const T* dy) const {
        const auto send = [&](std::int64_t o) {
            const Range cells = width().cells(o);
            std::int64_t winner = rows_.front() + cells.first;
            for (const std::int64_t row : rows_)
                for (std::int64_t cell = row + cells.first; cell < row + cells.last; ++cell) {
                    const Wide<T> best = widen(x_[winner]), other = widen(x_[cell]);
                    if (best == best && !(other <= best)) winner = cell;
                    dx_[cell] = T{};
                }
            dx_[winner] = std::bit_cast<T>(share_of(std::bit_cast<B>(dy[o])));
        };
        for (std::int64_t o = 0; o < whole_.first; ++o) send(o);
        for (std::int64_t o = whole_.last; o < width().out; ++o) send(o);
    }

    // row[w] = shares[o] where winners[o] is the number of cell w
    void give_pairs(B* row, B row_number) const {
        constexpr std::make_index_sequence<lanes> all;
        const auto first = static_cast<B>(2 * row_number), second = static_cast<B>(first + 1);
        B* const to = row + width().cells(whole_.first).first;
        each_vectors<B, 2>(whole_.size(), [=, winners = found_, shares = shares_, stores = stores_](
                                              std::int64_t i, auto, auto vectors)
                                              BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Bits<T>> every;
            every.each([&](const Bits<T>&, int v) BACKBLOCKS_INLINED {
                const std::int64_t window = i + v * lanes;
                const Bits<T> winner = load(winners + slot(window));
                const Bits<T> share = load(shares + slot(window));
                Bits<T> a = share & (winner == first), b = share & (winner == second);
                join_pairs(a, b, all);
                put(a, to + 2 * window, Whole{}, stores);
                put(b, to + 2 * window + lanes, Whole{}, stores);
            });
        });
    }

    // row[w, c] = share[w, c] where it is the row that takes it
    void give_columns(B* row, B number) const {
        const Column from = column(0);
        each_vectors<B, 4>(covered_, [=, stores = stores_](std::int64_t i, auto some, auto vectors)
                                        BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Bits<T>> all;
            all.each([&](const Bits<T>&, int v) BACKBLOCKS_INLINED {
                const std::int64_t at = i + v * lanes;
                const Bits<T> takes = load(from.takes + at) == number;
                put(takes & load(from.share + at), row + at, some, stores);
            });
        });
    }

    // row[w, c] = shares[o, c], for max where winners[o, c] is the number of cell w of the row
    void give(B* row, B row_number) const {
        const std::int64_t channels = pool_.channels;
        const Stores stores = stores_;
        each_alike([=, this](std::int64_t o, std::int64_t count) {
            const Range cells = width().cells(o);
            const auto first = static_cast<B>(row_number * cells.size());
            const B *shares = shares_ + o * channels, *winners = found_ + o * channels;
            B* to = row + cells.first * channels;
            if (!max && count > 1 && pairs_)
                return each_vector<B>(count, [=](std::int64_t i, auto) BACKBLOCKS_INLINED {
                    Bits<T> even = load(shares + i), odd = even;
                    in_turn(even, odd, std::make_index_sequence<lanes>{});
                    store(even, to + 2 * i);
                    store(odd, to + 2 * i + lanes);
                });
            const std::int64_t between = (width().s - cells.size()) * channels;
            if (!max && !between && channels < lanes) {
                for (std::int64_t each = 0; each < count; ++each, shares += channels)
                    for (std::int64_t cell = 0; cell < cells.size(); ++cell, to += channels)
                        store(load(shares), to);
                return std::fill(to, row + row_size(), B{});
            }
            for (std::int64_t each = 0; each < count; ++each, to += between) {
                for (std::int64_t cell = 0; cell < cells.size(); ++cell, to += channels)
                    each_vectors<B, 4>(channels, [=, number = static_cast<B>(first + cell)](
                                                     std::int64_t i, auto some, auto vectors)
                                                     BACKBLOCKS_INLINED {
                        typename decltype(vectors)::template Of<Bits<T>> all;
                        all.each([&](const Bits<T>&, int v) BACKBLOCKS_INLINED {
                            const std::int64_t at = i + v * lanes;
                            Bits<T> share = load(shares + at, some);
                            if constexpr (max) share &= load(winners + at, some) == number;
                            put(share, to + at, some, stores);
                        });
                    });
                shares += channels;
                winners += channels;
            }
        });
    }

    // How to store past the cache, if at all. At the same time what the next row of windows reads
    // is brought: else the memory would read and write by turns.
    struct Stores {
        Past past;
        std::uintptr_t next;  // from dx there
    };

    template <class Some>
    static BACKBLOCKS_INLINED void put(const Bits<T>& bits, B* to, Some some, Stores stores) {
        if constexpr (std::is_same_v<Some, Whole>)
            if (stores.past != Past::no) {
                const auto next = reinterpret_cast<std::uintptr_t>(to) + stores.next;
                __builtin_prefetch(reinterpret_cast<const void*>(next), 0, 2);
                return stream_bytes<sizeof bits>(&bits, to, stores.past);
            }
        store(bits, to, some);
    }

    const Pool& pool_;
    const T *x_, *dy_;
    T* dx_;
    bool pairs_, few_, large_;
    bool by_cell_;  // for average: each row is made anew, as a copy would read more than a share has
    Stores stores_;
    Range whole_;           // windows
    std::int64_t covered_;  // numbers of a row
    Room<B> room_;
    B *shares_, *found_;  // `found`: of windows the winners, of few channels what is found of columns,
                          // for average what all rows of dx are
    std::vector<std::int64_t> rows_;  // where those of the windows begin
};

template <Grad grad, class T>
void send_all(const T* x, const T* dy, T* dx, const Pool& pool) {
    const std::int64_t size = pool.images * pool.cells() * pool.channels;
    const std::int64_t bytes = static_cast<std::int64_t>(sizeof(T)) * size * (x ? 2 : 1);
    const std::int64_t rows = pool.axes[1].out;
    each_row(pool.images, pool.axes[0].out, rows, rows, bytes,
             [&] { return Apart<T, grad>(pool, x, dy, dx); });
}

}  // namespace backblocks::ISA
