// All pools work on tiles: a stretch of one row of windows, and the cells of a row they cover.
// Windows are boxes, so a tile is pooled in two steps: its rows of cells together, cell by cell,
// then along the width. Both are loops over numbers that lie side by side, whatever the format.
#include "pool.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "half.hpp"
#include "parallel.hpp"
#include "stream.hpp"

namespace backblocks {
namespace {

// Numbers in a tile: enough for long loops, few enough for three lines of them in the L1 cache.
constexpr std::int64_t kTile = 2048;

// Fewer channels than this are less than one vector.
constexpr std::int64_t kFew = 8;

// Calls f(0) .. f(count - 1), which do not depend on each other, as vector code.
template <class F>
inline void each(std::int64_t count, F f) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::int64_t i = 0; i < count; ++i) f(i);
}

// An integer as wide as N, so that vectors of both have as many lanes.
template <class N>
using Lane = std::conditional_t<sizeof(N) == 8, std::int64_t, std::int32_t>;

// condition ? yes : no, in arithmetic. Compilers turn the other form into branches around stores,
// and leave the loop scalar. For the same reason conditions are joined with & and |.
template <class N>
inline N either(bool condition, N yes, N no) {
    const Lane<N> mask = -static_cast<Lane<N>>(condition);
    return std::bit_cast<N>((std::bit_cast<Lane<N>>(yes) & mask) |
                            (std::bit_cast<Lane<N>>(no) & ~mask));
}

// Numbers of a tile are in the order (cell, channel), with one exception. With few channels,
// windows more than one cell apart would be read in small pieces. Then cells are stored by phase,
// that is first 0, s, 2s, ..., then 1, s + 1, ...: what is s apart lies side by side.
struct Tile {
    Range cells, windows;
    std::vector<Run> runs;
    std::int64_t channels, phases, stride;

    Tile(const WindowAxis& axis, std::int64_t channels, Range cells, Range windows)
        : cells(cells),
          windows(windows),
          runs(axis.runs(windows, cells)),
          channels(channels),
          phases(channels < kFew ? std::min(axis.s, cells.size()) : 1),
          stride(channels < kFew ? 1 : std::min(axis.s, cells.size())) {}

    std::int64_t in() const { return cells.size() * channels; }
    std::int64_t out() const { return windows.size() * channels; }

    std::int64_t place(std::int64_t cell) const {
        if (phases == 1) return cell * channels;
        const std::int64_t r = cell % phases, longer = std::min(r, cells.size() % phases);
        return (r * (cells.size() / phases) + longer + cell / phases) * channels;
    }

    // Calls f(window, cell) for the i-th cell of each window of a run, with places in both lines.
    template <class F>
    void along(const Run& run, std::int64_t i, F f) const {
        const std::int64_t o = run.windows.first * channels, count = run.windows.size();
        const std::int64_t x = place(run.cell + i), step = stride * channels;
        if (stride == 1)
            each(count * channels, [=](std::int64_t j) { f(o + j, x + j); });
        else
            for (std::int64_t w = 0; w < count; ++w)
                each(channels, [=, channels = channels](std::int64_t c) {
                    f(o + w * channels + c, x + w * step + c);
                });
    }

    // Calls f(window) for the windows of a run, with their places.
    template <class F>
    void each_window(const Run& run, F f) const {
        const std::int64_t o = run.windows.first * channels;
        each(run.windows.size() * channels, [=](std::int64_t j) { f(o + j); });
    }

    // Between the order (cell, channel) and that by phase.
    template <class F>
    void each_place(F f) const {
        if (phases == 2 && channels == 1) {
            const std::int64_t half = cells.size() / 2, odd = cells.size() - half;
            each(half, [&](std::int64_t i) {
                f(2 * i, i);
                f(2 * i + 1, odd + i);
            });
            if (odd > half) f(2 * half, half);
            return;
        }
        for (std::int64_t cell = 0; cell < cells.size(); ++cell)
            for (std::int64_t c = 0, at = place(cell); c < channels; ++c)
                f(cell * channels + c, at + c);
    }

    template <class N>
    N* by_phase(N* line, N* spare) const {
        if (phases == 1) return line;
        each_place([&](std::int64_t i, std::int64_t place) { spare[place] = line[i]; });
        return spare;
    }

    template <class N>
    N* by_cell(N* line, N* spare) const {
        if (phases == 1) return line;
        each_place([&](std::int64_t i, std::int64_t place) { spare[i] = line[place]; });
        return spare;
    }
};

// The axis of width, cut into tiles.
struct Width {
    const Pool& pool;
    std::vector<Tile> tiles;
    std::int64_t longest = 0;  // numbers in the longest line of a tile

    explicit Width(const Pool& pool) : pool(pool) {}

    void add(Range cells, Range windows) {
        const Tile& tile = tiles.emplace_back(pool.axes[2], pool.channels, cells, windows);
        longest = std::max({longest, tile.in(), tile.out()});
    }

    static std::int64_t step(std::int64_t numbers) {
        return std::max<std::int64_t>(kTile / numbers, 1);
    }
};

Width by_windows(const Pool& pool) {
    const WindowAxis& axis = pool.axes[2];
    Width width(pool);
    const std::int64_t step = Width::step(std::min(axis.s, axis.n) * pool.channels);
    for (std::int64_t o = 0; o < axis.out; o += step) {
        const Range windows{o, std::min(o + step, axis.out)};
        width.add({axis.cells(o).first, axis.cells(windows.last - 1).last}, windows);
    }
    return width;
}

Width by_cells(const Pool& pool) {
    const WindowAxis& axis = pool.axes[2];
    Width width(pool);
    const std::int64_t step = Width::step(pool.channels);
    for (std::int64_t cell = 0; cell < axis.n; cell += step) {
        const Range cells{cell, std::min(cell + step, axis.n)};
        width.add(cells, {axis.windows(cell).first, axis.windows(cells.last - 1).last});
    }
    return width;
}

// Lines of numbers to work in, each long enough for any tile.
template <class N>
class Lines {
   public:
    Lines(int count, const Width& width)
        : length_(width.longest), all_(static_cast<std::size_t>(count * width.longest)) {}
    N* operator[](int i) { return all_.data() + i * length_; }

   private:
    std::int64_t length_;
    std::vector<N> all_;
};

template <class T>
const Wide<T>* load(const T* from, std::int64_t count, [[maybe_unused]] Wide<T>* line) {
    if constexpr (std::is_same_v<T, Wide<T>>) {
        return from;
    } else {
        each(count, [=](std::int64_t i) { line[i] = widen(from[i]); });
        return line;
    }
}

// Rounds a line and stores it where the result belongs, past the cache if the result is large.
template <class T>
void store(const Wide<T>* line, std::int64_t count, T* to, std::size_t size_of_result) {
    std::int64_t i = 0;
    if (kCanStream && size_of_result * sizeof(T) > kStreamed) {
        constexpr std::int64_t block = kCacheLine / sizeof(T);
        while (i < count && reinterpret_cast<std::uintptr_t>(to + i) % kCacheLine) {
            to[i] = narrow<T>(line[i]);
            ++i;
        }
        for (; i + block <= count; i += block) {
            if constexpr (std::is_same_v<T, Wide<T>>) {
                stream_line(line + i, to + i);
            } else {
                T rounded[block];
                each(block, [from = line + i, &rounded](std::int64_t j) {
                    rounded[j] = narrow<T>(from[j]);
                });
                stream_line(rounded, to + i);
            }
        }
    }
    each(count - i, [=](std::int64_t j) { to[i + j] = narrow<T>(line[i + j]); });
}

// Calls work(row, tile) for every tile of every row. make() gives each thread a `work` of its own,
// with its own lines.
template <class Make>
void each_tile(std::int64_t rows, const Width& width, std::size_t bytes, Make make) {
    parallel_for(rows, static_cast<std::int64_t>(bytes), [&](std::int64_t begin, std::int64_t end) {
        auto work = make();
        for (std::int64_t row = begin; row < end; ++row)
            for (const Tile& tile : width.tiles) work(row, tile);
        end_streams();
    });
}

std::size_t size_of_input(const Pool& pool) {
    return static_cast<std::size_t>(pool.images * pool.cells() * pool.channels);
}

std::size_t size_of_output(const Pool& pool) {
    return static_cast<std::size_t>(pool.images * pool.windows() * pool.channels);
}

// -- from cells to windows ------------------------------------------------------------------------

std::int64_t rows_of_windows(const Pool& pool) {
    return pool.images * pool.axes[0].out * pool.axes[1].out;
}

// Where the results of a tile begin.
std::int64_t place_of_windows(const Pool& pool, std::int64_t row, const Tile& tile) {
    return (row * pool.axes[2].out + tile.windows.first) * pool.channels;
}

// Calls visit(tap, place) for each row of cells that a row of windows covers: its number in the
// window, which counts from 0 upwards, and where the cells of the tile begin.
template <class Visit>
void each_row_of_cells(const Pool& pool, std::int64_t row, const Tile& tile, Visit visit) {
    const auto& [depth, height, width] = pool.axes;
    const std::int64_t image = row / height.out / depth.out;
    const Range ds = depth.cells(row / height.out % depth.out), hs = height.cells(row % height.out);
    for (std::int64_t d = ds.first; d < ds.last; ++d)
        for (std::int64_t h = hs.first; h < hs.last; ++h)
            visit((d - ds.first) * height.most_real() + h - hs.first,
                  (((image * depth.n + d) * height.n + h) * width.n + tile.cells.first) *
                      pool.channels);
}

// The larger of two numbers, of two NaNs the first.
template <class N>
inline N larger(N best, N v) {
    // In this form, which a NaN leaves with v, it is one instruction.
    const N ordered = best > v ? best : v;
    return best != best ? best : ordered;
}

// y[b, o, c] = max over cells i of window o: x[b, i, c]
template <class T>
void max_pool(const T* x, T* y, const Pool& pool) {
    const Width width = by_windows(pool);
    each_tile(rows_of_windows(pool), width, size_of_input(pool) * sizeof(T), [&] {
        return [&, lines = Lines<Wide<T>>(3, width)](std::int64_t row, const Tile& tile) mutable {
            auto *best = lines[0], *top = lines[2];
            each_row_of_cells(pool, row, tile, [&](std::int64_t tap, std::int64_t place) {
                const auto* v = load(x + place, tile.in(), lines[1]);
                if (tap == 0) std::copy_n(v, tile.in(), best);
                else each(tile.in(), [=](auto i) { best[i] = larger(best[i], v[i]); });
            });
            best = tile.by_phase(best, lines[1]);
            for (const Run& run : tile.runs)
                for (std::int64_t i = 0; i < run.size; ++i)
                    if (i == 0) tile.along(run, i, [=](auto o, auto cell) { top[o] = best[cell]; });
                    else tile.along(run, i, [=](auto o, auto cell) {
                        top[o] = larger(top[o], best[cell]);
                    });
            store(top, tile.out(), y + place_of_windows(pool, row, tile), size_of_output(pool));
        };
    });
}

// y[b, o, c] = sum over cells i of window o: x[b, i, c] / (number of real cells of o)
template <class T>
void avg_pool(const T* x, T* y, const Pool& pool) {
    const Width width = by_windows(pool);
    each_tile(rows_of_windows(pool), width, size_of_input(pool) * sizeof(T), [&] {
        return [&, lines = Lines<Wide<T>>(3, width)](std::int64_t row, const Tile& tile) mutable {
            auto *sum = lines[0], *total = lines[2];
            std::int64_t rows = 0;
            each_row_of_cells(pool, row, tile, [&](std::int64_t tap, std::int64_t place) {
                const auto* v = load(x + place, tile.in(), lines[1]);
                if (tap == 0) std::copy_n(v, tile.in(), sum);
                else each(tile.in(), [=](auto i) { sum[i] += v[i]; });
                ++rows;
            });
            sum = tile.by_phase(sum, lines[1]);
            for (const Run& run : tile.runs) {
                for (std::int64_t i = 0; i < run.size; ++i)
                    if (i == 0)
                        tile.along(run, i, [=](auto o, auto cell) { total[o] = sum[cell]; });
                    else
                        tile.along(run, i, [=](auto o, auto cell) { total[o] += sum[cell]; });
                const auto count = static_cast<Wide<T>>(rows * run.real);
                tile.each_window(run, [=](auto o) { total[o] /= count; });
            }
            store(total, tile.out(), y + place_of_windows(pool, row, tile), size_of_output(pool));
        };
    });
}

// w[b, o, c] = argmax over cells i of window o: x[b, i, c], counted within the window.
// y[b, o, c] = v[b, w[b, o, c], c], where v is given.
// Result is T to get y, and an integer to get w, for which v is not read.
template <class T, class Result>
void winners(const T* x, [[maybe_unused]] const T* v, Result* result, const Pool& pool) {
    using N = Wide<T>;
    constexpr bool picks = std::is_same_v<T, Result>;
    const Width width = by_windows(pool);
    const auto in_width = static_cast<Lane<N>>(pool.axes[2].most_real());
    each_tile(rows_of_windows(pool), width, size_of_input(pool) * sizeof(T) * (1 + picks), [&] {
        return [&, lines = Lines<N>(picks ? 7 : 4, width), taps = Lines<Lane<N>>(3, width)](
                   std::int64_t row, const Tile& tile) mutable {
            auto *best = lines[0], *top = lines[2];
            auto *at = taps[0], *first = taps[2];
            [[maybe_unused]] auto *pick = lines[picks ? 4 : 0], *picked = lines[picks ? 6 : 0];

            // In each column of cells, the first of the largest.
            each_row_of_cells(pool, row, tile, [&](std::int64_t row_tap, std::int64_t place) {
                const auto* here = load(x + place, tile.in(), lines[1]);
                const auto tap = static_cast<Lane<N>>(row_tap) * in_width;
                [[maybe_unused]] const N* value = nullptr;
                if constexpr (picks) value = load(v + place, tile.in(), lines[5]);
                if (tap == 0)
                    each(tile.in(), [=](auto i) {
                        best[i] = here[i];
                        at[i] = 0;
                        if constexpr (picks) pick[i] = value[i];
                    });
                else
                    each(tile.in(), [=](auto i) {
                        const N a = best[i], b = here[i];
                        // True for a larger number and for the first NaN; false once a is NaN.
                        const bool better = !(b <= a) & (a == a);
                        best[i] = either(better, b, a);
                        at[i] = either(better, tap, at[i]);
                        if constexpr (picks) pick[i] = either(better, value[i], pick[i]);
                    });
            });
            best = tile.by_phase(best, lines[1]);
            at = tile.by_phase(at, taps[1]);
            if constexpr (picks) pick = tile.by_phase(pick, lines[5]);

            // Of the columns of a window, the largest; of equals, that of the first row.
            for (const Run& run : tile.runs)
                for (std::int64_t i = 0; i < run.size; ++i) {
                    const auto column = static_cast<Lane<N>>(i);
                    if (i == 0)
                        tile.along(run, i, [=](auto o, auto cell) {
                            top[o] = best[cell];
                            first[o] = at[cell];
                            if constexpr (picks) picked[o] = pick[cell];
                        });
                    else
                        tile.along(run, i, [=](auto o, auto cell) {
                            const N a = top[o], b = best[cell];
                            const Lane<N> tap = at[cell] + column;
                            const bool a_nan = a != a, b_nan = b != b;
                            const bool above = (b > a) | (b_nan & !a_nan);
                            const bool same = (b == a) | (b_nan & a_nan);
                            const bool better = above | (same & (tap < first[o]));
                            top[o] = either(better, b, a);
                            first[o] = either(better, tap, first[o]);
                            if constexpr (picks) picked[o] = either(better, pick[cell], picked[o]);
                        });
                }
            Result* to = result + place_of_windows(pool, row, tile);
            if constexpr (picks) store(picked, tile.out(), to, size_of_output(pool));
            else each(tile.out(), [=](auto o) { to[o] = static_cast<Result>(first[o]); });
        };
    });
}

// -- from windows to cells ------------------------------------------------------------------------

std::int64_t rows_of_cells(const Pool& pool) {
    return pool.images * pool.axes[0].n * pool.axes[1].n;
}

// Calls visit(place, tap, real) for each row of windows that covers a row of cells: where the
// windows of the tile begin, the number of the row in them, and how many rows they have.
template <class Visit>
void each_row_of_windows(const Pool& pool, std::int64_t row, const Tile& tile, Visit visit) {
    const auto& [depth, height, width] = pool.axes;
    const std::int64_t h = row % height.n, d = row / height.n % depth.n;
    const std::int64_t image = row / height.n / depth.n;
    const Range ods = depth.windows(d), ohs = height.windows(h);
    for (std::int64_t od = ods.first; od < ods.last; ++od)
        for (std::int64_t oh = ohs.first; oh < ohs.last; ++oh) {
            const Range ds = depth.cells(od), hs = height.cells(oh);
            visit((((image * depth.out + od) * height.out + oh) * width.out + tile.windows.first) *
                      pool.channels,
                  (d - ds.first) * height.most_real() + h - hs.first, ds.size() * hs.size());
        }
}

std::int64_t place_of_cells(const Pool& pool, std::int64_t row, const Tile& tile) {
    return (row * pool.axes[2].n + tile.cells.first) * pool.channels;
}

// dx[b, i, c] = sum over windows o that hold i: dy[b, o, c] / (number of real cells of o)
template <class T>
void avg_pool_grad(const T* dy, T* dx, const Pool& pool) {
    const Width width = by_cells(pool);
    each_tile(rows_of_cells(pool), width, size_of_input(pool) * sizeof(T), [&] {
        return [&, lines = Lines<Wide<T>>(3, width)](std::int64_t row, const Tile& tile) mutable {
            auto *share = lines[0], *sum = lines[2];
            std::fill_n(share, tile.out(), Wide<T>{0});
            each_row_of_windows(pool, row, tile, [&](auto place, auto, std::int64_t rows) {
                const auto* d = load(dy + place, tile.out(), lines[1]);
                for (const Run& run : tile.runs) {
                    const auto count = static_cast<Wide<T>>(rows * run.real);
                    tile.each_window(run, [=](auto o) { share[o] += d[o] / count; });
                }
            });
            std::fill_n(sum, tile.in(), Wide<T>{0});
            for (const Run& run : tile.runs)
                for (std::int64_t i = 0; i < run.size; ++i)
                    tile.along(run, i, [=](auto o, auto cell) { sum[cell] += share[o]; });
            store(tile.by_cell(sum, lines[1]), tile.in(), dx + place_of_cells(pool, row, tile),
                  size_of_input(pool));
        };
    });
}

// dx[b, i, c] = sum over windows o with w[b, o, c] = i: dy[b, o, c]
template <class T, class Tap>
void send_back(const Tap* w, const T* dy, T* dx, const Pool& pool) {
    const Width width = by_cells(pool);
    const std::int64_t in_width = pool.axes[2].most_real();
    each_tile(rows_of_cells(pool), width, size_of_input(pool) * sizeof(T), [&] {
        return [&, lines = Lines<Wide<T>>(3, width)](std::int64_t row, const Tile& tile) mutable {
            auto* sum = lines[2];
            std::fill_n(sum, tile.in(), Wide<T>{0});
            each_row_of_windows(pool, row, tile, [&](auto place, std::int64_t row_tap, auto) {
                const auto* d = load(dy + place, tile.out(), lines[1]);
                const Tap* at = w + place;
                for (const Run& run : tile.runs)
                    for (std::int64_t i = 0; i < run.size; ++i) {
                        const auto tap = static_cast<Tap>(row_tap * in_width + run.skip + i);
                        tile.along(run, i, [=](auto o, auto cell) {
                            sum[cell] += either(at[o] == tap, d[o], Wide<T>{0});
                        });
                    }
            });
            store(tile.by_cell(sum, lines[1]), tile.in(), dx + place_of_cells(pool, row, tile),
                  size_of_input(pool));
        };
    });
}

template <class Tap, class T>
void max_pool_grad_with(const T* x, const T* dy, T* dx, const Pool& pool) {
    const std::unique_ptr<Tap[]> w(new Tap[size_of_output(pool)]);
    winners<T, Tap>(x, nullptr, w.get(), pool);
    send_back(w.get(), dy, dx, pool);
}

// dx[b, i, c] = sum over windows o with i = argmax over j in o of x[b, j, c]: dy[b, o, c]
template <class T>
void max_pool_grad(const T* x, const T* dy, T* dx, const Pool& pool) {
    // One byte numbers the cells of nearly every window in use.
    if (pool.cells_of_window() <= 256) max_pool_grad_with<std::uint8_t>(x, dy, dx, pool);
    else max_pool_grad_with<std::int32_t>(x, dy, dx, pool);
}

// -- types ----------------------------------------------------------------------------------------

template <class F>
void with_type(Type type, F f) {
    switch (type) {
        case Type::float16: return f(Float16{});
        case Type::bfloat16: return f(BFloat16{});
        case Type::float32: return f(float{});
        case Type::float64: return f(double{});
    }
}

template <class T>
const T* in(const void* array) {
    return static_cast<const T*>(array);
}

template <class T>
T* out(void* array) {
    return static_cast<T*>(array);
}

}  // namespace

const PoolKernels ISA::pool_kernels{
    [](Type type, const void* x, void* y, const Pool& pool) {
        with_type(type, [&]<class T>(T) { max_pool(in<T>(x), out<T>(y), pool); });
    },
    [](Type type, const void* x, const void* dy, void* dx, const Pool& pool) {
        with_type(type,
                  [&]<class T>(T) { max_pool_grad(in<T>(x), in<T>(dy), out<T>(dx), pool); });
    },
    [](Type type, const void* x, const void* ddx, void* ddy, const Pool& pool) {
        with_type(type, [&]<class T>(T) {
            winners<T, T>(in<T>(x), in<T>(ddx), out<T>(ddy), pool);
        });
    },
    [](Type type, const void* x, void* y, const Pool& pool) {
        with_type(type, [&]<class T>(T) { avg_pool(in<T>(x), out<T>(y), pool); });
    },
    [](Type type, const void* dy, void* dx, const Pool& pool) {
        with_type(type, [&]<class T>(T) { avg_pool_grad(in<T>(dy), out<T>(dx), pool); });
    },
};

}  // namespace backblocks
