// The gradients of the pools: one number for each cell.
//
//     dx[b, i, c] = sum over windows o that cover cell i: what o gives i of dy[b, o, c]
//
// What a window gives is found for one axis after the other, which takes a window of k x k x k
// cells some k * k + k steps. First, a row of windows becomes a line along the width:
//
//     gives[w, c] = sum over windows o of the row that cover column w: what o gives the column
//     takes[w, c] = for max, the row of the windows that takes it
//
// Then a row of dx is the sum of the lines whose windows cover it, for max where it is the one that
// takes. A line is kept, in the cache, until no row of dx needs it.
//
// Most windows that share no cell need no lines: see pool_apart.hpp. With many channels, lines of
// winners are enough for max: see pool_winners.hpp.
#include "pool_grad.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "fold.hpp"
#include "memory.hpp"
#include "pool_apart.hpp"
#include "pool_cut.hpp"
#include "pool_winners.hpp"

namespace backblocks::ISA {
namespace {

// Lines are read and written in whole vectors: one that is longer than what is left goes into what
// comes next, which is written later.
template <class N, int most, class F>
BACKBLOCKS_INLINED inline void each_in_line(std::int64_t count, F f) {
    each_vectors<N, most>(std::max<std::int64_t>(count, kLanes<N>),
                          [=](std::int64_t i, auto, auto vectors) BACKBLOCKS_INLINED {
                              f(i, vectors);
                          });
}

// One thread's lines.
template <class T, Grad grad>
class Gatherer {
    using N = Wide<T>;
    using Numbers = Vector<Lane<N>>;
    static constexpr std::int64_t lanes = kLanes<N>;
    static constexpr bool max = grad == Grad::max;

   public:
    explicit Gatherer(const Gradients<T>& all)
        : all_(all), channels_(all.pool.channels), cells_(width().n * channels_ + lanes),
          lines_(all, cells_ * (max ? 2 : 1)) {
        const std::int64_t windows = width().out * channels_ + lanes;
        step_ = std::max<std::int64_t>(1024 / (channels_ * width().s), 16);
        spreads_ = channels_ > 1 && width().s > 1 && channels_ <= (max ? 8 : 16) * lanes / width().k;
        const std::int64_t reach = std::max(width().covered(), width().n + width().pads);
        const std::int64_t spread = spreads_ ? (width().k + reach) * channels_ + 2 * lanes : 0;
        constexpr std::int64_t lines = max ? 2 : 1;
        shares_ = room_.of(lines * (windows + spread) + max * (1 + spreads_) * cells_);
        winners_ = shares_ + windows;
        spread_shares_ = shares_ + lines * windows;
        spread_winners_ = spread_shares_ + spread;
        largest_ = spread_shares_ + lines * spread;
        spread_found_ = largest_ + cells_;
        std::fill_n(spread_shares_, lines * spread, N{0});
        for (std::int64_t lane = 0; lane < lanes; ++lane)
            ends_[lane] = lane < (channels_ - 1) % lanes + 1 ? -1 : 0;
    }

    // Fills a tile of dx.
    void operator()(std::int64_t tile) {
        lines_.each_row(tile, [&](const RowPlace& cells) { gather(cells); });
    }

   private:
    const WindowAxis& axis(std::size_t number) const { return all_.pool.axes[number]; }
    const WindowAxis& width() const { return axis(2); }

    // Calls work(o, count) for those of the windows that make vectors together, beginning with o.
    template <class Work>
    void each_together(Range windows, bool joins, const Work& work) const {
        for (std::int64_t o = windows.first, count; o < windows.last; o += count) {
            count = joins && all_.whole.has(o) ? std::min(all_.whole.last, windows.last) - o : 1;
            work(o, count);
        }
    }

    // A line that covers a row of cells, which is so far down in its windows.
    struct Above {
        const N* line;
        Lane<N> row;
    };

    // dx[d, h, w, c] = sum over lines above: gives[w, c], for max where takes[w, c] is the row
    void gather(const RowPlace& cells) {
        above_.clear();
        lines_.each_above(
            cells, [&](const RowPlace& place, N* line) { make_line(place, line); },
            [&](const RowPlace& place, const N* line) {
                above_.push_back({line, row_in(place, cells.d, cells.h)});
            });
        const Above *first = above_.data(), *last = first + above_.size();
        T* const to = all_.dx + all_.row(cells);
        const std::int64_t takes = cells_, count = width().n * channels_;
        const bool streamed = kStreams<T> && all_.large &&
                              static_cast<std::size_t>(count) * sizeof(T) % kCacheLine == 0;
        const Past past = streamed ? past_from(to) : Past::no;
        each_vectors<N, 4>(count, [=](std::int64_t i, auto some, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Vector<N>> sums;
            for (const Above* above = first; above < last; ++above) {
                const N* line = above->line + i;
                const Numbers row = splat(above->row);
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    const Vector<N> gives = load(line + v * lanes);
                    if constexpr (max)
                        sum += (Numbers)load(line + takes + v * lanes) == row ? gives : Vector<N>{};
                    else sum += gives;
                });
            }
            sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                store_rounded(sum, to + i + v * lanes, some, past);
            });
        });
    }

    // The line of a row of windows: `gives`, and for max `takes` after it. So many windows at a time
    // that what is found of them stays in the L1 cache. Inlined, it would slow down what is around it.
    __attribute__((noinline)) void make_line(const RowPlace& place, N* line) {
        const T* dy = all_.dy + place.row(all_.pool) * width().out * channels_;
        const Range ds = axis(0).cells(place.d), hs = axis(1).cells(place.h);
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
                const std::int64_t last = width().cells(windows.last - 1).last;
                if (last > found) nan |= find_largest({found, last}, line + cells_);
                found = last;
                find_winners(windows, nan, line + cells_);
            }
            find_shares(windows, dy, max ? 0 : ds.size() * hs.size());
            if (spreads_) give_spread(windows, line);
            else give(width().territory(windows), line);
        }
    }

    // shares[o, c] = dy[o, c] / (number of real cells of o), for max dy[o, c]
    void find_shares(Range windows, const T* dy, std::int64_t rows) const {
        each_together(windows, true, [&](std::int64_t o, std::int64_t count) {
            const std::int64_t real = max ? 1 : rows * width().cells(o).size();
            const bool exactly = std::has_single_bit(static_cast<std::uint64_t>(real));
            const N cells = static_cast<N>(real), part = 1 / cells;
            each_vector<N>(count * channels_, [=, from = dy + o * channels_,
                                               to = shares_ + o * channels_](
                                                  std::int64_t i, auto some) BACKBLOCKS_INLINED {
                const Vector<N> given = load(from + i, some);
                store(max ? given : exactly ? given * part : given / cells, to + i, some);
            });
        });
    }

    // largest[w, c] = max over cells of column w of the windows, takes[w, c] = its row
    // Gives whether one is NaN.
    bool find_largest(Range columns, N* all_takes) const {
        const Row *first = rows_.data(), *last = first + rows_.size();
        const std::int64_t from = columns.first * channels_;
        N *largest = largest_ + from, *takes = all_takes + from;
        bool any = false;
        const auto fold = [=, &any](std::int64_t i, auto some, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<State<N>> states;
            const auto begin = [&](State<N>& state, int) BACKBLOCKS_INLINED {
                state.value = splat(-std::numeric_limits<N>::infinity());
                state.at = splat(first->number);
            };
            const auto each_cell = [&](auto f) BACKBLOCKS_INLINED {
                for (const Row* row = first; row < last; ++row) {
                    const T* x = row->x + from + i;
                    __builtin_prefetch(x + 64);  // the processor does not for so many rows at once
                    states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                        const Vector<N> cell = load(x + v * lanes, some);
                        f(state, cell, row->number, cell);
                    });
                }
            };
            states.each(begin);
            each_cell([](auto& state, const auto&... cell) BACKBLOCKS_INLINED {
                take<Fold::winner, N>(state, cell...);
            });
            bool nan = false;
            states.each([&](const State<N>& state, int) BACKBLOCKS_INLINED {
                nan |= any_nan(state.sum);
            });
            if (nan) {
                any = true;
                states.each(begin);
                each_cell([](auto& state, const auto&... cell) BACKBLOCKS_INLINED {
                    take_nan<Fold::winner, N>(state, cell...);
                });
            }
            states.each([&](const State<N>& state, int v) BACKBLOCKS_INLINED {
                store(state.value, largest + i + v * lanes, some);
                store((Vector<N>)state.at, takes + i + v * lanes, some);
            });
        };
        each_vectors<N, 2>(columns.size() * channels_, fold);
        return any;
    }

    // winners[o, c] = number in window o of the column whose largest cell is the window's; of
    // several that of the first row, and then of the first column
    void find_winners(Range windows, bool nan, const N* takes) const {
        const bool strided = channels_ == 1 && width().s > 1;
        const auto find_all = [&](auto better) {
            const bool joins = strided || spreads_ || width().s == 1;
            each_together(windows, joins, [&](std::int64_t o, std::int64_t count) {
                N* const to = winners_ + o * channels_;
                if (spreads_ && count > 1) return find_between(o, count, better, takes);
                if (!strided) return find_some<1>(o, count, better, takes, to);
                if (count >= lanes && width().s == 2)
                    return find_some<2>(o, count, better, takes, to);
                if (count >= lanes) return find_some<0>(o, count, better, takes, to);
                for (std::int64_t i = 0; i < count; ++i)
                    find_some<1>(o + i, 1, better, takes, to + i);
            });
        };
        if (nan) find_all(BetterOrNan{});
        else find_all(Better{});
    }

    // The same for whole windows of few channels, and for those that would begin between them.
    template <class IsBetter>
    void find_between(std::int64_t o, std::int64_t count, IsBetter better, const N* takes) const {
        const std::int64_t step = width().s * channels_;
        find_some<1>(o, (count - 1) * width().s + 1, better, takes, spread_found_);
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t c = 0; c < channels_; c += lanes)
                store(load(spread_found_ + i * step + c), winners_ + (o + i) * channels_ + c);
    }

    // The same for windows side by side, the first of which is o, and from one to the next of which
    // it is `every` cells, or the stride: 0.
    template <int every, class IsBetter>
    void find_some(std::int64_t o, std::int64_t count, IsBetter better, const N* all_takes,
                   N* winners) const {
        const std::int64_t channels = channels_, s = every ? every : width().s;
        const Range cells = width().cells(o);
        const N* largest = largest_ + cells.first * channels;
        const N* takes = all_takes + cells.first * channels;
        const auto first = static_cast<Lane<N>>(cells.first - width().cell(o, 0));
        const auto last = static_cast<Lane<N>>(first + cells.size());
        const auto fetch = [=](const N* from, std::int64_t i) BACKBLOCKS_INLINED {
            if constexpr (every != 1) return load_every(from + i * s, s);
            else return load(from + i);
        };
        each_in_line<N, 2>(count * channels, [=](std::int64_t i, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<State<N>> states;  // picked: the row
            states.each([&](State<N>& best, int v) BACKBLOCKS_INLINED {
                best.value = fetch(largest, i + v * lanes);
                best.picked = fetch(takes, i + v * lanes);
                best.at = splat(first);
            });
            std::int64_t at = channels;
            for (Lane<N> cell = first + 1; cell < last; ++cell, at += channels)
                states.each([&](State<N>& best, int v) BACKBLOCKS_INLINED {
                    const Vector<N> value = fetch(largest + at, i + v * lanes);
                    const Vector<N> row = fetch(takes + at, i + v * lanes);
                    const auto won = better(value, (Numbers)row, best.value, (Numbers)best.picked);
                    best.value = won ? value : best.value;
                    best.picked = won ? row : best.picked;
                    best.at = won ? splat(cell) : best.at;
                });
            states.each([&](const State<N>& best, int v) BACKBLOCKS_INLINED {
                store((Vector<N>)best.at, winners + i + v * lanes);
            });
        });
    }

    // Adds a vector of shares to a sum, for max where the winner is the column with the number.
    static BACKBLOCKS_INLINED void add(const N* shares, const N* winners, Lane<N> number,
                                       Vector<N>& sum) {
        if constexpr (max) sum += (Numbers)load(winners) == splat(number) ? load(shares) : Vector<N>{};
        else sum += load(shares);
    }

    // gives[w, c] = sum over windows o that cover column w: shares[o, c], for max where
    // winners[o, c] is the column's number in o
    void give(Range columns, N* gives) const {
        const std::int64_t channels = channels_, s = width().s, pads = width().pads;
        const Range* windows = all_.width.windows.data();
        const N *shares = shares_, *winners = winners_;
        const auto sum_all = [=](std::int64_t cell, std::int64_t i, auto& sums) BACKBLOCKS_INLINED {
            const auto [first, last] = windows[cell];
            const auto step = static_cast<Lane<N>>(s);
            std::int64_t at = first * channels + i;
            auto number = static_cast<Lane<N>>(cell + pads - first * s);
            for (std::int64_t o = first; o < last; ++o, at += channels, number -= step)
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    add(shares + at + v * lanes, winners + at + v * lanes, number, sum);
                });
        };
        const auto sum_cells = [=](std::int64_t cell, std::int64_t count) {
            each_in_line<N, 4>(count, [=](std::int64_t i, auto vectors) BACKBLOCKS_INLINED {
                typename decltype(vectors)::template Of<Vector<N>> sums;
                sum_all(cell, i, sums);
                sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    store(sum, gives + cell * channels + i + v * lanes);
                });
            });
        };
        // Of one channel, windows make vectors: one for each of the s cells between them.
        const auto sum_strided = [=](std::int64_t first, std::int64_t count) {
            N* to = gives + first;
            each_in_line<N, 1>(count, [=](std::int64_t i, auto) BACKBLOCKS_INLINED {
                if (s == 2) {
                    Few<Vector<N>, 1> even, odd;
                    sum_all(first, i, even);
                    sum_all(first + 1, i, odd);
                    in_turn(even.a, odd.a, std::make_index_sequence<lanes>{});
                    store(even.a, to + i * 2);
                    store(odd.a, to + i * 2 + lanes);
                    return;
                }
                for (std::int64_t p = 0; p < s; ++p) {
                    Few<Vector<N>, 1> sums;
                    sum_all(first + p, i, sums);
                    for (std::int64_t lane = 0; lane < lanes; ++lane)
                        to[(i + lane) * s + p] = sums.a[lane];
                }
            });
        };
        for (std::int64_t cell = columns.first, cells; cell < columns.last; cell += cells) {
            cells = all_.joined.has(cell) ? std::min(all_.joined.last, columns.last) - cell : 1;
            if (s == 1 || cells == 1) sum_cells(cell, cells * channels);
            else if (cells >= s * lanes) sum_strided(cell, cells / s);
            else for (std::int64_t each = cell; each < cell + cells; ++each) sum_cells(each, 1);
        }
    }

    // The same for cells of few channels, each of which would be a vector that is mostly empty: as if
    // windows began at every cell. Those between the real ones give nothing.
    void give_spread(Range windows, N* gives) const {
        const std::int64_t channels = channels_, k = width().k, s = width().s;
        for (std::int64_t o = windows.first; o < windows.last; ++o) {
            const std::int64_t from = o * channels, to = (k - 1 + o * s) * channels;
            for (std::int64_t i = 0; i < channels; i += lanes) {
                const Vector<N> share = load(shares_ + from + i);
                const bool last = i + lanes >= channels;
                store(last ? (Vector<N>)((Numbers)share & ends_) : share, spread_shares_ + to + i);
                if constexpr (max) store(load(winners_ + from + i), spread_winners_ + to + i);
            }
        }
        const Range columns = width().territory(windows);
        const N* shares = spread_shares_ + (columns.first + width().pads) * channels;
        const N* winners = spread_winners_ + (columns.first + width().pads) * channels;
        N* const to = gives + columns.first * channels;
        each_in_line<N, 4>(columns.size() * channels, [=](std::int64_t i, auto vectors)
                                                          BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Vector<N>> sums;
            std::int64_t at = i;
            for (auto number = static_cast<Lane<N>>(k - 1); number >= 0; --number, at += channels)
                sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    add(shares + at + v * lanes, winners + at + v * lanes, number, sum);
                });
            sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                store(sum, to + i + v * lanes);
            });
        });
    }

    // How far down a row of cells is in a row of windows.
    Lane<N> row_in(const RowPlace& windows, std::int64_t d, std::int64_t h) const {
        const std::int64_t in_d = d - axis(0).cell(windows.d, 0);
        const std::int64_t in_h = h - axis(1).cell(windows.h, 0);
        return static_cast<Lane<N>>(in_d * axis(1).k + in_h);
    }

    struct Row {
        const T* x;
        Lane<N> number;
    };

    const Gradients<T>& all_;
    std::int64_t channels_;
    std::int64_t cells_;  // numbers of `gives`
    Lines<T, N> lines_;
    Room<N> room_;
    N *largest_, *shares_, *winners_;
    bool spreads_;  // few channels of windows that do not stand side by side
    N *spread_shares_, *spread_winners_;  // k - 1 windows before the first cell, then one at each
    N* spread_found_;
    Numbers ends_;  // the lanes of a cell's last vector that are its own
    std::int64_t step_;  // windows
    std::vector<Row> rows_;
    std::vector<Above> above_;
};

template <Grad grad, class T>
void gather_all(const T* x, const T* dy, T* dx, const Pool& given) {
    const Pool pool = given.with_rows_as_cells();
    if (pool.images * pool.windows() * pool.channels == 0) {
        std::fill_n(dx, pool.images * pool.cells() * pool.channels, T{});
        return;
    }
    if (Apart<T, grad>::takes(pool)) return send_all<grad>(x, dy, dx, pool);
    if constexpr (grad == Grad::max)
        if (Winners<T>::take(pool)) return give_winners(x, dy, dx, pool);
    const Gradients<T> all(pool, x, dy, dx,
                           pool.axes[2].n * pool.channels *
                               static_cast<std::int64_t>(sizeof(Wide<T>)) * (x ? 2 : 1));
    all.each_tile([&] { return Gatherer<T, grad>(all); });
}

}  // namespace

void max_pool_grad(Type type, const void* x, const void* dy, void* dx, const Pool& pool) {
    with_type(type, [&]<class T>(T) {
        gather_all<Grad::max>(in<T>(x), in<T>(dy), out<T>(dx), pool);
    });
}

void avg_pool_grad(Type type, const void* dy, void* dx, const Pool& pool) {
    with_type(type, [&]<class T>(T) {
        gather_all<Grad::avg, T>(nullptr, in<T>(dy), out<T>(dx), pool);
    });
}

}  // namespace backblocks::ISA
