// The gradients of the pools: one number for each cell.
//
// A cell gets something from each window that covers it. Along the width, cells q * s + p - pads get
// it from windows q, q - 1, ..., so that those of one p make vectors where windows do.
#include "pool_grad.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "fold.hpp"
#include "memory.hpp"

namespace backblocks::ISA {
namespace {

// The windows that cover each cell along an axis, and how many times fewer real cells than others
// each window has.
template <class N>
struct CoverAxis {
    const WindowAxis& axis;
    std::vector<Range> windows;
    std::vector<N> weights;

    explicit CoverAxis(const WindowAxis& of) : axis(of) {
        windows.reserve(static_cast<std::size_t>(axis.n));
        weights.reserve(static_cast<std::size_t>(axis.out));
        for (std::int64_t cell = 0; cell < axis.n; ++cell) windows.push_back(axis.windows(cell));
        for (std::int64_t o = 0; o < axis.out; ++o)
            weights.push_back(static_cast<N>(axis.k) / static_cast<N>(axis.cells(o).size()));
    }

    Range over(std::int64_t cell) const { return windows[static_cast<std::size_t>(cell)]; }
    N weight(std::int64_t o) const { return weights[static_cast<std::size_t>(o)]; }
};

// A row of windows that covers a row of cells.
template <class N>
struct Above {
    std::int64_t at;      // of its first number in an array of windows
    std::int64_t number;  // in its windows, of the first cell of the row of cells
    N weight;
};

template <class N>
struct Cover {
    const Pool& pool;
    CoverAxis<N> depth{pool.axes[0]}, height{pool.axes[1]}, width{pool.axes[2]};
    Range joined{0, 0};  // cells of a row that make vectors together

    explicit Cover(const Pool& all) : pool(all) {
        const WindowAxis& axis = width.axis;
        if (axis.s > 1 && pool.channels > 1) return;
        // The first and the last of them, too, are covered by whole windows only.
        const Range whole = axis.whole();
        const std::int64_t first = whole.first + (axis.k - 1) / axis.s;
        const std::int64_t last = whole.last - (whole.last * axis.s > axis.n + axis.pads);
        if (axis.s == 1 ? last > first : last - first >= kLanes<N>)
            joined = {axis.cell(first, 0), axis.cell(last, 0)};
    }

    // The rows of windows that cover a row of cells.
    void find_above(const RowPlace& place, std::vector<Above<N>>& above) const {
        const Range ods = depth.over(place.d), ohs = height.over(place.h);
        above.clear();
        for (std::int64_t od = ods.first; od < ods.last; ++od)
            for (std::int64_t oh = ohs.first; oh < ohs.last; ++oh) {
                const std::int64_t row = RowPlace{place.image, od, oh}.row(pool);
                const std::int64_t in_d = place.d - depth.axis.cell(od, 0);
                const std::int64_t in_h = place.h - height.axis.cell(oh, 0);
                above.push_back({row * width.axis.out * pool.channels,
                                 (in_d * height.axis.k + in_h) * width.axis.k,
                                 depth.weight(od) * height.weight(oh)});
            }
    }
};

// dx[i, c] = sum over windows o that cover cell i of the row: term(o, c, i's number in o)
//
// `term.add` adds to vectors of sums, `term.ended` gives what a sum is in the end. A large result
// goes around the cache, where whole cache lines of it are stored.
template <class T, class Term>
void gather_row(const Cover<Wide<T>>& cover, const std::vector<Above<Wide<T>>>& all_above,
                const Term& given, T* dx, bool large) {
    using N = Wide<T>;
    constexpr std::int64_t lanes = kLanes<N>;
    const Term term = given;
    const std::int64_t channels = cover.pool.channels, s = cover.width.axis.s;
    const std::int64_t pads = cover.width.axis.pads;
    const Range* windows = cover.width.windows.data();
    const N* weights = cover.width.weights.data();
    const Above<N> *above = all_above.data(), *above_end = above + all_above.size();
    const auto in_lines = [=](std::int64_t first, std::int64_t count) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
        return kStreams<T> && large && bytes % kCacheLine == 0 &&
               reinterpret_cast<std::uintptr_t>(dx + first) % kCacheLine == 0;
    };
    const bool past = in_lines(0, channels);
    // Adds up for some vectors, the first numbers of which are those of the cell.
    const auto sum_all = [=](std::int64_t cell, std::int64_t i, auto some, auto& sums)
                             BACKBLOCKS_INLINED {
        const auto [first, last] = windows[cell];
        for (const Above<N>* row = above; row < above_end; ++row) {
            std::int64_t at = row->at + first * channels + i;
            std::int64_t number = row->number + cell + pads - first * s;
            for (std::int64_t o = first; o < last; ++o, at += channels, number -= s)
                term.add(sums, at, static_cast<Lane<N>>(number), row->weight * weights[o], some);
        }
    };
    const auto gather = [=](std::int64_t cell, std::int64_t length) {
        const auto sum_some = [=](std::int64_t i, auto some, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Vector<N>> sums;
            sum_all(cell, i, some, sums);
            sums.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                store_rounded(term.ended(sum), dx + cell * channels + i + v * lanes, some, past);
            });
        };
        each_vectors<N, 4>(length, sum_some);
    };
    // The same for one channel: windows make vectors, one for each of the s cells between them.
    const auto gather_strided = [=](std::int64_t first, std::int64_t count) {
        const bool lines = in_lines(first, count * s);
        const auto sum_pairs = [=](std::int64_t i, auto some, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Vector<N>> even, odd;
            sum_all(first, i, some, even);
            sum_all(first + 1, i, some, odd);
            T* to = dx + first + i * 2;
            even.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                Vector<N> a = term.ended(sum), b = term.ended(odd.get(v));
                in_turn(a, b, std::make_index_sequence<lanes>{});
                store_rounded(a, to + v * 2 * lanes, Whole{}, lines);
                store_rounded(b, to + v * 2 * lanes + lanes, Whole{}, lines);
            });
        };
        if (s == 2) return each_vectors<N, 2>(count, sum_pairs);
        for (std::int64_t p = 0; p < s; ++p)
            each_vectors<N, 1>(count, [=](std::int64_t i, auto some, auto) BACKBLOCKS_INLINED {
                Few<Vector<N>, 1> sums;
                sum_all(first + p, i, some, sums);
                T all[lanes];
                store_rounded(term.ended(sums.a), all);
                for (std::int64_t lane = 0; lane < lanes; ++lane)
                    dx[first + (i + lane) * s + p] = all[lane];
            });
    };
    for (std::int64_t cell = 0; cell < cover.width.axis.n; ++cell) {
        if (!cover.joined.has(cell)) {
            gather(cell, channels);
            continue;
        }
        const std::int64_t cells = cover.joined.size();
        if (s == 1) gather(cell, cells * channels);
        else gather_strided(cell, cells / s);
        cell += cells - 1;
    }
}

std::int64_t size_of_input(const Pool& pool) { return pool.images * pool.cells() * pool.channels; }

template <class T>
bool is_large(const Pool& pool) {
    return static_cast<std::size_t>(size_of_input(pool)) * sizeof(T) > kStreamed;
}

// Gathers rows of cells.
template <class T>
class Gatherer {
   public:
    Gatherer(const Cover<Wide<T>>& cover, T* dx)
        : cover_(cover), dx_(dx), large_(is_large<T>(cover.pool)) {}

    bool large() const { return large_; }

    T* row(const RowPlace& place) const {
        const auto& [depth, height, width] = cover_.pool.axes;
        const std::int64_t number = (place.image * depth.n + place.d) * height.n + place.h;
        return dx_ + number * width.n * cover_.pool.channels;
    }

    template <class Term>
    void operator()(const RowPlace& place, const Term& term) {
        cover_.find_above(place, above_);
        gather_row(cover_, above_, term, row(place), large_);
    }

    // The same, to a line.
    template <class Term>
    void operator()(const RowPlace& place, const Term& term, T* line) {
        cover_.find_above(place, above_);
        gather_row(cover_, above_, term, line, false);
    }

   private:
    const Cover<Wide<T>>& cover_;
    T* dx_;
    bool large_;
    std::vector<Above<Wide<T>>> above_;
};

// Calls work(cells) for the rows of cells between a row of windows and the next, where windows are
// apart.
template <class Work>
void each_own_row(const Pool& pool, const RowPlace& windows, Work work) {
    const Range ds = pool.axes[0].territory({windows.d, windows.d + 1});
    const Range hs = pool.axes[1].territory({windows.h, windows.h + 1});
    for (std::int64_t d = ds.first; d < ds.last; ++d)
        for (std::int64_t h = hs.first; h < hs.last; ++h) work(RowPlace{windows.image, d, h});
}

// -- average --------------------------------------------------------------------------------------

template <class T>
struct Shares {
    using N = Wide<T>;
    const T* dy;
    N all, part;   // cells of a window, and one divided by that
    bool exactly;  // the latter has no error

    Shares(const T* from, const Pool& pool) : dy(from) {
        const std::int64_t cells = pool.axes[0].k * pool.axes[1].k * pool.axes[2].k;
        all = static_cast<N>(cells);
        part = 1 / all;
        exactly = std::has_single_bit(static_cast<std::uint64_t>(cells));
    }

    template <class Sums, class Lanes>
    BACKBLOCKS_INLINED void add(Sums& sums, std::int64_t at, Lane<N>, N weight, Lanes lanes) const {
        sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
            sum += load(dy + at + v * kLanes<N>, lanes) * weight;
        });
    }

    BACKBLOCKS_INLINED Vector<N> ended(const Vector<N>& sum) const {
        return exactly ? sum * part : sum / all;
    }
};

// dx[b, i, c] = sum over windows o that hold i: dy[b, o, c] / (number of real cells of o)
template <class T>
void avg_grad(const T* dy, T* dx, const Pool& pool) {
    const auto& [depth, height, width] = pool.axes;
    const Cover<Wide<T>> cover(pool);
    const Shares<T> shares(dy, pool);
    const auto bytes = static_cast<std::int64_t>(sizeof(T)) * size_of_input(pool);
    const std::int64_t row = width.n * pool.channels;
    if (!depth.apart() || !height.apart()) {
        each_row(pool.images, depth.n, height.n, tile_of<T>(pool, height.n), bytes, [&] {
            return [&, gather = Gatherer<T>(cover, dx)](const RowPlace& place) mutable {
                gather(place, shares);
            };
        });
        return;
    }
    // All rows of cells that a row of windows covers are the same.
    each_row(pool.images, depth.out, height.out, height.out, bytes, [&] {
        return [&, gather = Gatherer<T>(cover, dx),
                line = std::vector<T>(static_cast<std::size_t>(row)),
                zeros = std::vector<T>(static_cast<std::size_t>(row))](
                   const RowPlace& place) mutable {
            const Range ds = depth.cells(place.d), hs = height.cells(place.h);
            gather({place.image, ds.first, hs.first}, shares, line.data());
            each_own_row(pool, place, [&](const RowPlace& cells) {
                const bool covered = ds.has(cells.d) && hs.has(cells.h);
                copy_line(covered ? line.data() : zeros.data(), row, gather.row(cells),
                          gather.large());
            });
        };
    });
}

// -- max ------------------------------------------------------------------------------------------

// Winners are read in whole vectors: so many more are there.
constexpr std::int64_t kSlack = kLanes<float>;

// Gradients of windows, and the numbers of the winners in them, of which `before` are left out.
template <class T, class Number>
struct Sent {
    using N = Wide<T>;
    const T* dy;
    const Number* winners;
    std::int64_t before;

    template <class Sums, class Lanes>
    BACKBLOCKS_INLINED void add(Sums& sums, std::int64_t at, Lane<N> number, N, Lanes lanes) const {
        const auto wanted = splat(number);
        const Number* w = winners + (at - before);
        sums.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
            const auto won = load_numbers<N>(w + v * kLanes<N>) == wanted;
            sum += won ? load(dy + at + v * kLanes<N>, lanes) : Vector<N>{};
        });
    }

    BACKBLOCKS_INLINED Vector<N> ended(const Vector<N>& sum) const { return sum; }
};

// w[o, c] = argmax over cells i of window o: x[b, i, c], counted within the window, for a row
template <class T, class Number>
void find_winners(const T* x, const Pool& pool, Range whole, const RowPlace& place, Number* w) {
    using N = Wide<T>;
    fold_row<Fold::winner, T>(
        {x, nullptr}, pool, whole, place, Numbering::in_window,
        [=](std::int64_t i, const State<N>& state, auto lanes, std::int64_t) BACKBLOCKS_INLINED {
            store_numbers<N>(state.at, w + i, lanes);
        });
}

// Sends gradients of a row of windows that are apart to the winners in them, one by one: channels so
// few that they make no vectors.
template <class T>
class Sender {
   public:
    Sender(const Pool& pool, const T* dy, T* dx) : pool_(pool), dy_(dy), dx_(dx) {
        const auto& [depth, height, width] = pool.axes;
        for (std::int64_t d = 0; d < depth.k; ++d)
            for (std::int64_t h = 0; h < height.k; ++h)
                for (std::int64_t w = 0; w < width.k; ++w)
                    steps_.push_back(((d * height.n + h) * width.n + w) * pool.channels);
    }

    template <class Number>
    void operator()(const RowPlace& place, const Number* winners) const {
        const auto& [depth, height, width] = pool_.axes;
        const std::int64_t row = width.n * pool_.channels;
        each_own_row(pool_, place, [&](const RowPlace& cells) {
            std::fill_n(dx_ + row_of(cells) * row, row, T{});
        });
        const RowPlace first{place.image, depth.cell(place.d, 0), height.cell(place.h, 0)};
        const T* dy = dy_ + place.row(pool_) * width.out * pool_.channels;
        for (std::int64_t o = 0; o < width.out; ++o) {
            T* window = dx_ + row_of(first) * row + width.cell(o, 0) * pool_.channels;
            for (std::int64_t c = 0; c < pool_.channels; ++c, ++winners, ++dy)
                window[steps_[static_cast<std::size_t>(*winners)] + c] =
                    narrow<T>(widen(*dy) + 0);  // a sum has no -0
        }
    }

   private:
    std::int64_t row_of(const RowPlace& cells) const {
        return (cells.image * pool_.axes[0].n + cells.d) * pool_.axes[1].n + cells.h;
    }

    const Pool& pool_;
    const T* dy_;
    T* dx_;
    std::vector<std::int64_t> steps_;  // from the first cell of a window to each
};

// dx[b, i, c] = sum over windows o with i = argmax over j in o of x[b, j, c]: dy[b, o, c]
template <class Number, class T>
void max_grad_with(const T* x, const T* dy, T* dx, const Pool& pool) {
    const auto& [depth, height, width] = pool.axes;
    const Cover<Wide<T>> cover(pool);
    const Range whole = width.whole();
    const std::int64_t row = width.out * pool.channels;
    const auto bytes = static_cast<std::int64_t>(sizeof(T)) * size_of_input(pool);
    const bool few = pool.channels > 1 && pool.channels < kLanes<Wide<T>>;
    if (few && depth.apart() && height.apart() && width.apart() && sizeof(Number) == 1) {
        const Sender<T> send(pool, dy, dx);
        each_row(pool.images, depth.out, height.out, height.out, 2 * bytes, [&] {
            return [&, winners = std::vector<Number>(static_cast<std::size_t>(row + kSlack))](
                       const RowPlace& place) mutable {
                find_winners(x, pool, whole, place, winners.data());
                send(place, winners.data());
            };
        });
        return;
    }
    if (depth.apart() && height.apart()) {
        // A row of cells has one row of windows at most: all is done while x is in the cache.
        each_row(pool.images, depth.out, height.out, height.out, 2 * bytes, [&] {
            return [&, gather = Gatherer<T>(cover, dx),
                    winners = std::vector<Number>(static_cast<std::size_t>(row + kSlack))](
                       const RowPlace& place) mutable {
                find_winners(x, pool, whole, place, winners.data());
                const Sent<T, Number> sent{dy, winners.data(), place.row(pool) * row};
                each_own_row(pool, place, [&](const RowPlace& cells) { gather(cells, sent); });
            };
        });
        return;
    }
    const std::int64_t size = pool.images * pool.windows() * pool.channels;
    const Block block(static_cast<std::size_t>(size + kSlack) * sizeof(Number));
    auto* winners = static_cast<Number*>(block.data());
    each_row(pool.images, depth.out, height.out, tile_of<T>(pool, height.out), bytes, [&] {
        return [&](const RowPlace& place) {
            find_winners(x, pool, whole, place, winners + place.row(pool) * row);
        };
    });
    const Sent<T, Number> sent{dy, winners, 0};
    each_row(pool.images, depth.n, height.n, tile_of<T>(pool, height.n), bytes, [&] {
        return [&, gather = Gatherer<T>(cover, dx)](const RowPlace& place) mutable {
            gather(place, sent);
        };
    });
}

template <class T>
void max_grad(const T* x, const T* dy, T* dx, const Pool& pool) {
    const auto& [depth, height, width] = pool.axes;
    // One byte numbers the cells of nearly every window in use.
    if (depth.k * height.k * width.k <= 256) max_grad_with<std::uint8_t>(x, dy, dx, pool);
    else max_grad_with<std::int32_t>(x, dy, dx, pool);
}

}  // namespace

void max_pool_grad(Type type, const void* x, const void* dy, void* dx, const Pool& pool) {
    with_type(type, [&]<class T>(T) {
        max_grad(in<T>(x), in<T>(dy), out<T>(dx), pool);
    });
}

void avg_pool_grad(Type type, const void* dy, void* dx, const Pool& pool) {
    with_type(type, [&]<class T>(T) { avg_grad(in<T>(dy), out<T>(dx), pool); });
}

}  // namespace backblocks::ISA
