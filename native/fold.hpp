// From cells to windows: what all kernels share that have one result for each window.
//
// The cells of a window are folded in registers, in the order of memory, and nothing is stored but
// results. Vectors are of channels or, where windows stand one cell apart or there is one channel
// only, of all whole windows of a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "parallel.hpp"
#include "pool.hpp"
#include "simd.hpp"

namespace backblocks::ISA {

// What is made of the cells of a window.
enum class Fold {
    sum,
    largest,
    winner,  // the first of the largest, and its number
    place,   // the number in the window of the first of the largest
    pick,    // the value of another array at the winner
};

template <Fold fold>
constexpr bool kNumbered = fold == Fold::winner || fold == Fold::place;

// Numbers of T as they stand in memory.
template <class T>
using Bit = Lane<T>;
template <class T>
using Bits = Vector<Bit<T>>;

template <class T>
constexpr bool kHalf = !std::is_same_v<T, Wide<T>>;

// What is compared: of halves, the bits.
template <Fold fold, class T>
using Folded = std::conditional_t<
    kHalf<T> && fold != Fold::sum && fold != Fold::winner, Bit<T>, Wide<T>>;
template <Fold fold, class T>
using Stored = std::conditional_t<std::is_integral_v<Folded<fold, T>>, Bit<T>, T>;

template <class T>
constexpr Bit<T> kInfinity = std::is_same_v<T, Float16> ? 0x7c00 : 0x7f80;

// What compares as the numbers do: halves as integers, of which NaN is the largest.
template <class T>
BACKBLOCKS_INLINED inline auto in_order(const Bits<T>& bits) {
    if constexpr (kHalf<T>) {
        const Bits<T> size = bits & Bit<T>{0x7fff};
        return size > kInfinity<T> ? splat(Bit<T>{0x7fff}) : signed_as(size, bits);
    } else {
        return (Vector<T>)bits;
    }
}

template <class N>
struct State {
    Vector<N> value;
    Vector<Lane<N>> at;
    Vector<N> picked;
    Vector<N> sum;  // for the winner: not a number if a cell is not
    Vector<std::make_unsigned_t<Lane<N>>> least, most;  // for the largest half, its bits
};

// Folds one more cell into a state.
template <Fold fold, class N, bool numbered = kNumbered<fold>>
BACKBLOCKS_INLINED inline void take(State<N>& a, const Vector<N>& cell, Lane<N> number,
                                    const Vector<N>& other) {
    if constexpr (fold == Fold::sum) {
        a.value += cell;
    } else if constexpr (fold == Fold::largest && std::is_integral_v<N>) {
        const auto bits = (Vector<std::uint16_t>)cell;
        a.value = a.value > cell ? a.value : cell;
        a.least = a.least < bits ? a.least : bits;
        a.most = a.most > bits ? a.most : bits;
    } else if constexpr (fold == Fold::largest) {
        // In this form, which a NaN in a leaves with the cell, it is one instruction, if compilers
        // do not join it with what follows.
        const Vector<N> larger = in_register(a.value > cell ? a.value : cell);
        a.value = a.value != a.value ? a.value : larger;
    } else {
        const auto better = cell > a.value;
        a.value = better ? cell : a.value;
        if constexpr (!std::is_integral_v<N>) a.sum += cell;
        if constexpr (numbered) a.at = better ? splat(number) : a.at;
        if constexpr (fold == Fold::pick) a.picked = better ? other : a.picked;
    }
}

// Begins with a cell, and finds the largest half of all: of negative ones that with the least bits,
// but NaN if there is one, whose bits are above those of the infinity with its sign.
template <class T>
BACKBLOCKS_INLINED inline void begin_largest(State<Bit<T>>& a, const Bits<T>& cell) {
    a.value = cell;
    a.least = a.most = (Vector<std::uint16_t>)cell;
}
template <class T>
BACKBLOCKS_INLINED inline void end_largest(State<Bit<T>>& a) {
    const auto infinity = static_cast<std::uint16_t>(kInfinity<T> | 0x8000);
    a.value = a.value < 0 ? (Bits<T>)a.least : a.value;
    a.value = a.most > infinity ? (Bits<T>)a.most : a.value;
}

// The same, if there may be a NaN in the window: the first one wins.
template <Fold fold, class N, bool numbered = kNumbered<fold>>
BACKBLOCKS_INLINED inline void take_nan(State<N>& a, const Vector<N>& cell, Lane<N> number,
                                        const Vector<N>& other) {
    const auto better = ~(cell <= a.value) & (a.value == a.value);
    a.value = better ? cell : a.value;
    if constexpr (numbered) a.at = better ? splat(number) : a.at;
    if constexpr (fold == Fold::pick) a.picked = better ? other : a.picked;
}

// Numbers a cell of a window: from the window's first cell, padding included, or from the image's.
enum class Numbering { in_window, in_image };

// A row of windows or of cells.
struct RowPlace {
    std::int64_t image, d, h;

    // Its number among all rows of windows.
    std::int64_t row(const Pool& pool) const {
        return (image * pool.axes[0].out + d) * pool.axes[1].out + h;
    }
};

// Whether a cell, with its number, wins against one b. Numbers tell which of equal ones is first.
struct Better {
    template <class V, class Numbers>
    BACKBLOCKS_INLINED Numbers operator()(const V& a, const Numbers& number_of_a, const V& b,
                                          const Numbers& number_of_b) const {
        return (a > b) | ((a == b) & (number_of_a < number_of_b));
    }
};
struct BetterOrNan {
    template <class V, class Numbers>
    BACKBLOCKS_INLINED Numbers operator()(const V& a, const Numbers& number_of_a, const V& b,
                                          const Numbers& number_of_b) const {
        return ((b == b) & ((a != a) | Better{}(a, number_of_a, b, number_of_b))) |
               ((a != a) & (b != b) & (number_of_a < number_of_b));
    }
};

template <class T>
struct FoldInputs {
    const T* x;
    const T* v;  // values to pick from, if any
};

// Where the real cells of a window are, or those of the first of some windows side by side.
struct Box {
    std::int64_t first;                 // number in the input
    std::int64_t depth, height, width;  // cells
    std::int64_t plane, row, cell;      // from one to the next: numbers of the input
    std::int64_t number;                // the first cell's in its window or image
    std::int64_t per_plane, per_row;    // from one to the next: numbers of cells
    std::int64_t length;                // numbers of all windows
    std::int64_t apart;                 // from one number to the next

    // The cells of a row of windows that stand in the first column.
    Box(const Pool& pool, const RowPlace& place, Numbering numbering) {
        const WindowAxis &ds = pool.axes[0], &hs = pool.axes[1], &ws = pool.axes[2];
        const Range in_d = ds.cells(place.d), in_h = hs.cells(place.h);
        const bool local = numbering == Numbering::in_window;
        depth = in_d.size();
        height = in_h.size();
        width = 1;
        cell = pool.channels;
        row = ws.n * cell;
        plane = hs.n * row;
        apart = ws.s;
        per_row = local ? ws.k : ws.n;
        per_plane = per_row * (local ? hs.k : hs.n);
        first = (place.image * ds.n + in_d.first) * plane + in_h.first * row;
        number = (in_d.first - (local ? ds.cell(place.d, 0) : 0)) * per_plane +
                 (in_h.first - (local ? hs.cell(place.h, 0) : 0)) * per_row;
        length = cell;
    }

    std::int64_t real() const { return depth * height * width; }
};

// Folds windows, and calls finish(i, state, lanes) for their vectors of results. From one number of
// a vector to the next it is `every` numbers of the input, 1 or 2, or as many as the box says: 0.
// Inlined, it would have to share its registers with what is around it.
template <Fold fold, class T, int every, bool numbered = kNumbered<fold>, class Finish>
__attribute__((noinline)) void fold_box(const FoldInputs<T>& in, const Box& given,
                                        const Finish& finish) {
    using N = Folded<fold, T>;
    constexpr bool as_bits = std::is_integral_v<N>;
    constexpr bool best = fold != Fold::sum && fold != Fold::largest;
    constexpr bool careful = best && !as_bits;
    using S = Stored<fold, T>;
    const Box box = given;
    const S* x = reinterpret_cast<const S*>(in.x + box.first);
    const S* from_v = reinterpret_cast<const S*>(in.v + (fold == Fold::pick ? box.first : 0));
    constexpr std::make_index_sequence<kLanes<N>> all;
    const auto fetch = [=](const S* from, std::int64_t i, auto lanes) BACKBLOCKS_INLINED {
        if constexpr (every == 0) return load_every(from + i * box.apart, box.apart);
        else if constexpr (every == 1) return load(from + i, lanes);
        else {
            const S* const first = from + 2 * i;
            const S* const second = first + kLanes<N> - 1;  // nothing after the last number is read
            return every_second<0, 1>(load(first), load(second), all);
        }
    };
    struct Two {
        Vector<N> first{}, second{};
    };
    const auto fetch_two = [=](const S* from, std::int64_t i) BACKBLOCKS_INLINED {
        const Vector<N> a = load(from + 2 * i), b = load(from + 2 * i + kLanes<N>);
        return Two{every_second<0, 0>(a, b, all), every_second<1, 1>(a, b, all)};
    };
    const auto fold_all = [=](std::int64_t i, auto lanes, auto vectors) BACKBLOCKS_INLINED {
        typename decltype(vectors)::template Of<State<N>> states;
        const auto begin = [&](State<N>& state, int v) BACKBLOCKS_INLINED {
            using Limits = std::numeric_limits<N>;
            // Of zeros, only -0 leaves a sum of -0 what it is.
            if constexpr (fold == Fold::sum) state.value = splat(-N{0});
            else if constexpr (!as_bits) state.value = splat(-Limits::infinity());
            else if constexpr (best) state.value = splat(Limits::lowest());
            else begin_largest<T>(state, fetch(x, i + v * kLanes<N>, lanes));
            if constexpr (careful) state.sum = Vector<N>{};
            if constexpr (numbered) state.at = splat(static_cast<Lane<N>>(box.number));
            if constexpr (fold == Fold::pick)
                state.picked = fetch(from_v, i + v * kLanes<N>, lanes);
        };
        const auto each_cell = [&](auto f) BACKBLOCKS_INLINED {
            for (std::int64_t d = 0; d < box.depth; ++d)
                for (std::int64_t h = 0; h < box.height; ++h) {
                    std::int64_t at = d * box.plane + h * box.row;
                    auto number = static_cast<Lane<N>>(box.number + d * box.per_plane +
                                                       h * box.per_row);
                    std::int64_t w = 0;
                    if constexpr (every == 2)
                        for (; w + 1 < box.width; w += 2, at += 2, number += 2)
                            states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                                const std::int64_t from = i + v * kLanes<N>;
                                Two others, cells = fetch_two(x + at, from);
                                if constexpr (fold == Fold::pick)
                                    others = fetch_two(from_v + at, from);
                                if constexpr (as_bits && best)
                                    cells = {in_order<T>(cells.first), in_order<T>(cells.second)};
                                const auto next = static_cast<Lane<N>>(number + 1);
                                f(state, cells.first, number, others.first);
                                f(state, cells.second, next, others.second);
                            });
                    for (; w < box.width; ++w, at += box.cell, ++number)
                        states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                            Vector<N> other{};
                            if constexpr (fold == Fold::pick)
                                other = fetch(from_v + at, i + v * kLanes<N>, lanes);
                            Vector<N> cell = fetch(x + at, i + v * kLanes<N>, lanes);
                            if constexpr (as_bits && best) cell = in_order<T>(cell);
                            f(state, cell, number, other);
                        });
                }
        };
        states.each(begin);
        each_cell([](auto& state, const auto&... cell) BACKBLOCKS_INLINED {
            take<fold, N, numbered>(state, cell...);
        });
        if constexpr (careful) {
            bool nan = false;
            states.each([&](const State<N>& state, int) BACKBLOCKS_INLINED {
                nan |= any_nan(state.sum);
            });
            if (nan) {
                states.each(begin);
                each_cell([](auto& state, const auto&... cell) BACKBLOCKS_INLINED {
                    take_nan<fold, N, numbered>(state, cell...);
                });
            }
        }
        states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
            if constexpr (as_bits && fold == Fold::largest) end_largest<T>(state);
            if constexpr (every == 2) {
                state.value = side_by_side(state.value, all);
                if constexpr (numbered) state.at = side_by_side(state.at, all);
                if constexpr (fold == Fold::pick) state.picked = side_by_side(state.picked, all);
            }
            finish(i + v * kLanes<N>, state, lanes);
        });
    };
    constexpr int most = best ? 2 : as_bits || every != 1 ? 4 : 8;
    // Cells of many vectors are read in long pieces. Sums of fewer were faster four vectors at a time.
    if constexpr (fold == Fold::sum)
        if (box.length <= most * kLanes<N>) return each_vectors<N, 4>(box.length, fold_all);
    each_vectors<N, most>(box.length, fold_all);
}

// Folds a row of windows, and calls finish(i, state, lanes, real cells of each window) for vectors
// of results, i of which come before them in the row. `whole` is that of the width: to find it takes
// divisions.
template <Fold fold, class T, class Finish>
void fold_row(const FoldInputs<T>& in, const Pool& pool, Range whole, const RowPlace& place,
              Numbering numbering, const Finish& finish) {
    const WindowAxis& width = pool.axes[2];
    Box box(pool, place, numbering);
    const std::int64_t first = box.first, number = box.number;
    const bool strided = pool.channels == 1 && width.s > 1;
    const bool joined = width.s == 1 || (strided && whole.size() >= kLanes<Folded<fold, T>>);
    for (std::int64_t o = 0; o < width.out;) {
        const bool many = joined && whole.has(o);
        const Range cells = width.cells(o);
        const std::int64_t count = many ? whole.last - o : 1, before = o * box.cell;
        box.first = first + cells.first * box.cell;
        box.width = cells.size();
        box.number = number + cells.first - width.cell(o, 0);
        box.length = count * box.cell;
        const auto go = [&](auto every) {
            fold_box<fold, T, every>(
                in, box, [=, real = box.real()](std::int64_t i, const auto& state, auto lanes)
                             BACKBLOCKS_INLINED {
                    finish(before + i, state, lanes, real);
                });
        };
        if (many && strided && width.s == 2) go(std::integral_constant<int, 2>{});
        else if (many && strided) go(std::integral_constant<int, 0>{});
        else go(std::integral_constant<int, 1>{});
        o += count;
    }
}

// Calls work(place) for all rows of windows or of cells, on several threads, each with a `work` of
// its own that `make` gives. Where rows of one plane and of the next have to do with the same
// memory, some of each plane come together, to find it in the cache: that is what `tile` is for.
template <class Make>
void each_row(std::int64_t images, std::int64_t depth, std::int64_t height, std::int64_t tile,
              std::int64_t bytes, const Make& make) {
    const std::int64_t of_image = depth * height, of_tile = depth * tile;
    parallel_for(images * of_image, bytes, [&](std::int64_t begin, std::int64_t end) {
        auto work = make();
        const std::int64_t in_image = begin % of_image, in_tile = in_image % of_tile;
        std::int64_t first = in_image / of_tile * tile, last = std::min(first + tile, height);
        RowPlace place{begin / of_image, in_tile / (last - first),
                       first + in_tile % (last - first)};
        for (std::int64_t row = begin; row < end; ++row) {
            work(place);
            if (++place.h < last) continue;
            if (++place.d == depth) {
                place.d = 0;
                first = last < height ? last : 0;
                last = std::min(first + tile, height);
                if (first == 0) ++place.image;
            }
            place.h = first;
        }
        end_streams();
    });
}

// How many rows of a plane are taken before those of the next: as many as leave the cells of all
// planes that a window covers in the L2 cache.
template <class T>
std::int64_t tile_of(const Pool& pool, std::int64_t height) {
    constexpr std::int64_t cache = 1 << 18;
    const auto& [depth, rows, width] = pool.axes;
    if (depth.apart()) return height;
    const std::int64_t row = width.n * pool.channels * static_cast<std::int64_t>(sizeof(T));
    return std::clamp<std::int64_t>(cache / (row * depth.k) / rows.s, 1, height);
}

// Whether results should be stored past the cache. Then that cannot hold them together with so many
// `arrays` of cells, and the channels of a window are as long as whole cache lines.
template <class T>
Past past_cache(const T* to, const Pool& pool, std::int64_t arrays) {
    const bool past = kStreams<T> && outgrows_cache<T>(pool.numbers(arrays)) &&
                      static_cast<std::size_t>(pool.channels) * sizeof(T) % kCacheLine == 0;
    return past ? past_from(to) : Past::no;
}

// Calls work(place) for all rows of windows, as each_row does.
template <Fold fold, class T, class Make>
void each_row_of_windows(const Pool& pool, const Make& make) {
    const std::int64_t height = pool.axes[1].out;
    const std::int64_t bytes = pool.images * pool.cells() * pool.channels *
                               static_cast<std::int64_t>(sizeof(T)) * (fold == Fold::pick ? 2 : 1);
    each_row(pool.images, pool.axes[0].out, height, tile_of<T>(pool, height), bytes, make);
}

// Folds all windows: finish(place) gives what fold_row calls.
template <Fold fold, class T, class Finish>
void fold_windows(const FoldInputs<T>& in, const Pool& pool, const Finish& finish,
                  Numbering numbering = Numbering::in_window) {
    each_row_of_windows<fold, T>(pool, [&, whole = pool.axes[2].whole()] {
        return [&, whole](const RowPlace& place) {
            fold_row<fold>(in, pool, whole, place, numbering, finish(place));
        };
    });
}

}  // namespace backblocks::ISA
