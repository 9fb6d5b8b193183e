// The gradients of the pools: one number for each cell.
//
// Along the width, the cells q * s + p - pads, p < s, get their numbers from windows q, q - 1, ...
// Windows stand in lines with empty ones around them, so that this is the same for every cell.
#include "pool_grad.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "fold.hpp"

namespace backblocks::ISA {
namespace {

std::int64_t size_of_input(const Pool& pool) { return pool.images * pool.cells() * pool.channels; }

// How the lines of windows and the cells of a stretch of a row go together.
struct Spread {
    const WindowAxis& axis;
    std::int64_t channels;
    Range cells;           // of the row
    std::int64_t first;    // window that stands first in the lines; those before 0 are empty
    std::int64_t windows;  // in the lines, empty ones included

    // The last window whose first cell is at `cell` or before, which need not exist.
    std::int64_t last_before(std::int64_t cell) const { return (cell + axis.pads) / axis.s; }

    std::int64_t reach() const { return (axis.k - 1) / axis.s; }
    bool parted() const { return channels < kFew && axis.s > 1; }
    std::int64_t part_pitch(std::int64_t rows) const { return rows * windows * channels + kSlack; }
    std::int64_t size_of_parts(std::int64_t rows) const {
        return parted() ? axis.s * part_pitch(rows) : 0;
    }
};

// A stretch of cells and all windows that cover some of them.
Spread spread_over(const Pool& pool, Range cells) {
    Spread spread{pool.axes[2], pool.channels, cells, 0, 0};
    spread.first = spread.last_before(cells.first) - spread.reach();
    spread.windows = spread.last_before(cells.last - 1) + 1 - spread.first;
    return spread;
}

// How many vectors of cells are summed at once.
constexpr int kVectors = 4;

// Rows of cells that their windows, row by row, cover alike.
template <class N>
struct Rows {
    std::int64_t count;
    N* to;  // where the first goes
    std::int64_t pitch;
    bool past = false;  // around the cache
};

// How sums become the result: straight, if that takes no rounding and no merging of parts, or by
// way of a line.
struct Way {
    bool straight = false, past = false;

    template <class T>
    Way(const Spread& spread, const T* dx, std::int64_t size) {
        const std::size_t cell = static_cast<std::size_t>(spread.channels) * sizeof(T);
        const bool large = static_cast<std::size_t>(size) * sizeof(T) > kStreamed;
        // Around the cache only whole cache lines should go.
        past = kCanStream && large && cell % kCacheLine == 0 &&
               reinterpret_cast<std::uintptr_t>(dx) % kCacheLine == 0;
        straight = std::is_same_v<T, Wide<T>> && !spread.parted() &&
                   (past || !large || !kCanStream);
    }
};

// to[r, i, c] = sum over windows o that hold cell i: term(r, o, c, i's number in o)
//
// `term` adds to vectors of sums, and gets where the windows stand in their lines, which follow
// each other. Cells that no window of the line covers are 0. `parts` is a line to work in.
template <class N, class Term>
void spread_rows(const Spread& spread, const Rows<N>& rows, N* parts, Term term) {
    const auto& [axis, channels, cells, first, windows] = spread;
    const std::int64_t s = axis.s, k = axis.k, begin = cells.first + axis.pads, q0 = begin / s;
    const std::int64_t last = std::min(cells.last, (first + windows) * s - axis.pads);
    // Sums for some cells: the first is in the window at `from` in the line and has number p there.
    const auto sums = [=](std::int64_t p, std::int64_t from, std::int64_t count, N* to, auto past) {
        const auto sum_all = [=](std::int64_t i, auto lanes, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<Vector<N>> all;
            for (std::int64_t tap = p, at = from + i; tap < k; tap += s, at -= channels)
                term(all, at, tap, lanes);
            all.each([&](const Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                if constexpr (past) stream_bytes<sizeof sum>(&sum, to + i + v * kLanes<N>);
                else store(sum, to + i + v * kLanes<N>, lanes);
            });
        };
        each_vectors<N, kVectors>(count, sum_all);
    };
    const std::int64_t front = (q0 - first) * channels, in_line = windows * channels;
    const std::int64_t pitch = spread.part_pitch(rows.count);
    if (spread.parted())
        for (std::int64_t p = 0; p < s; ++p)
            sums(p, front, rows.count * in_line - front, parts + p * pitch, std::false_type{});
    for (std::int64_t r = 0; r < rows.count; ++r) {
        N* to = rows.to + r * rows.pitch;
        if (spread.parted()) {
            merge(parts + r * in_line, pitch, begin - q0 * s, s, channels, to, last - cells.first);
        } else {
            const auto row = [&](auto past) {
                std::int64_t p = begin - q0 * s, at = r * in_line + front;
                if (s == 1) return sums(0, at, (last - cells.first) * channels, to, past);
                for (std::int64_t i = 0; i < last - cells.first; ++i) {
                    sums(p, at, channels, to + i * channels, past);
                    if (++p == s) p = 0, at += channels;
                }
            };
            if (rows.past) row(std::true_type{});
            else row(std::false_type{});
        }
        std::fill(to + (last - cells.first) * channels, to + cells.size() * channels, N{0});
    }
}

// Calls work(row, rows, cells) for blocks of some rows of cells, or of a stretch of one row.
template <class Work>
void each_block(const Pool& pool, std::int64_t bytes, const Work& work) {
    const auto& [depth, height, width] = pool.axes;
    // Rows of windows are read once for each block: the more they overlap, the larger it should be.
    const std::int64_t most = height.apart() ? 2 * kLine : 8 * kLine;
    const std::int64_t row = width.n * pool.channels, rows = pool.images * depth.n * height.n;
    const std::int64_t cells =
        row <= most ? width.n : std::max<std::int64_t>(most / (16 * pool.channels) * 16, 1);
    std::int64_t group = std::max<std::int64_t>(most / row, 1);
    if (height.s <= 4) group = (group + height.s - 1) / height.s * height.s;
    parallel_for((rows + group - 1) / group, bytes, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin * group; at < std::min(end * group, rows); at += group)
            for (std::int64_t cell = 0; cell < width.n; cell += cells)
                if (cells < width.n)
                    for (std::int64_t r = at; r < std::min(at + group, rows); ++r)
                        work(r, 1, Range{cell, std::min(cell + cells, width.n)});
                else
                    work(at, std::min(group, rows - at), Range{0, width.n});
        end_streams();
    });
}

// Calls f(place, heights) for the parts of a block that lie in one plane.
template <class F>
void each_plane(const Pool& pool, std::int64_t row, std::int64_t rows, F f) {
    const std::int64_t height = pool.axes[1].n;
    while (rows > 0) {
        const RowPlace place(row, pool.axes[0].n, height);
        const std::int64_t here = std::min(rows, height - place.h);
        f(place, Range{place.h, place.h + here});
        row += here;
        rows -= here;
    }
}

// The rows of windows that cover rows of cells.
Range rows_over(const WindowAxis& axis, Range cells) {
    return {axis.windows(cells.first).first, axis.windows(cells.last - 1).last};
}

// How many rows of windows at most cover that many rows of cells.
std::int64_t lines_over(const WindowAxis& axis, std::int64_t rows) {
    return std::min(rows / axis.s + axis.most_windows() + 1, axis.out);
}

// Calls f(windows, at) for the windows of a line that exist: which, and where they stand in it.
// Fills the others with `empty`.
template <class N, class F>
void each_window(const Spread& spread, N* line, N empty, F f) {
    const Range real{std::max<std::int64_t>(spread.first, 0),
                     std::min(spread.first + spread.windows, spread.axis.out)};
    if (real.size() == 0) {
        std::fill_n(line, spread.windows * spread.channels, empty);
        return;
    }
    const std::int64_t begin = (real.first - spread.first) * spread.channels;
    const std::int64_t end = (real.last - spread.first) * spread.channels;
    std::fill(line, line + begin, empty);
    std::fill(line + end, line + spread.windows * spread.channels, empty);
    f(real, begin);
}

std::int64_t place_of_windows(const Pool& pool, std::int64_t image, std::int64_t od,
                              std::int64_t oh, std::int64_t ow) {
    const auto& [depth, height, width] = pool.axes;
    return (((image * depth.out + od) * height.out + oh) * width.out + ow) * pool.channels;
}

// -- average --------------------------------------------------------------------------------------

// The windows along the depth that cover a plane of cells.
struct Over {
    Range ods;
    bool alike = true;  // they have as many real cells

    Over(const WindowAxis& depth, std::int64_t d) : ods(depth.windows(d)) {
        for (std::int64_t od = ods.first; od < ods.last; ++od)
            alike &= depth.cells(od).size() == depth.cells(ods.first).size();
    }
};

// line[o, c] = sum over od: dy[b, od, oh, o, c] / (number of real cells of the window)
template <class T>
void share_row(const T* dy, const Pool& pool, std::int64_t image, const Over& over, std::int64_t oh,
               const Spread& spread, Range whole, Wide<T>* line) {
    using N = Wide<T>;
    const auto& [depth, height, width] = pool.axes;
    const std::int64_t heights = height.cells(oh).size();
    const std::int64_t pitch = height.out * width.out * pool.channels, ods = over.ods.size();
    each_window(spread, line, N{0}, [&](Range real, std::int64_t begin) {
        each_stretch(width, whole, real, [&](Range windows, std::int64_t widths) {
            const T* from = dy + place_of_windows(pool, image, over.ods.first, oh, windows.first);
            const auto count = [&](std::int64_t od) {
                return static_cast<N>(depth.cells(over.ods.first + od).size() * heights * widths);
            };
            N* to = line + begin + (windows.first - real.first) * pool.channels;
            const std::int64_t length = windows.size() * pool.channels;
            if (over.alike)
                each_vector<N>(length, [&, all = count(0)](std::int64_t i, auto lanes) {
                    Vector<N> sum = load(from + i, lanes);
                    for (std::int64_t od = 1; od < ods; ++od)
                        sum += load(from + od * pitch + i, lanes);
                    store(sum / all, to + i, lanes);
                });
            else
                each_vector<N>(length, [&](std::int64_t i, auto lanes) {
                    Vector<N> sum{};
                    for (std::int64_t od = 0; od < ods; ++od)
                        sum += load(from + od * pitch + i, lanes) / count(od);
                    store(sum, to + i, lanes);
                });
        });
    });
}

// dx[b, i, c] = sum over windows o that hold i: dy[b, o, c] / (number of real cells of o)
template <class T>
void avg_grad(const T* dy, T* dx, const Pool& pool) {
    using N = Wide<T>;
    using S = Scratch<0>;
    const auto& [depth, height, width] = pool.axes;
    const std::int64_t size = size_of_input(pool);
    const Range whole = width.whole();
    const auto bytes = static_cast<std::int64_t>(sizeof(T)) * size;
    each_block(pool, bytes, [&](std::int64_t row, std::int64_t rows, Range cells) {
        const Spread spread = spread_over(pool, cells);
        const std::int64_t in_line = spread.windows * pool.channels;
        const std::int64_t in_row = cells.size() * pool.channels;
        const std::int64_t lines = lines_over(height, rows);
        const std::int64_t joined = height.apart() ? lines : 1;
        const Way way(spread, dx, size);
        S scratch(S::bytes_of<N>(rows * in_row) + S::bytes_of<N>(lines * in_line) +
                  S::bytes_of<N>(in_line) + S::bytes_of<N>(spread.size_of_parts(joined)));
        T* there = dx + (row * width.n + cells.first) * pool.channels;
        N* result = way.straight ? reinterpret_cast<N*>(there)
                                 : scratch.template line<N>(rows * in_row);
        N* shares = scratch.template line<N>(lines * in_line);
        N* together = scratch.template line<N>(in_line);
        N* parts = scratch.template line<N>(spread.size_of_parts(joined));
        const auto spread_shares = [&](const N* share, const Rows<N>& to) {
            const auto term = [=](auto& all, std::int64_t i, auto, auto some) BACKBLOCKS_INLINED {
                all.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
                    sum += load(share + i + v * kLanes<N>, some);
                });
            };
            spread_rows(spread, to, parts, term);
        };
        N* to = result;
        each_plane(pool, row, rows, [&](const RowPlace& place, Range hs) {
            const Range ohs = rows_over(height, hs);
            const Over ods(depth, place.d);
            const bool covered = ods.ods.size() > 0;
            for (std::int64_t oh = ohs.first; covered && oh < ohs.last; ++oh)
                share_row(dy, pool, place.image, ods, oh, spread, whole,
                          shares + (oh - ohs.first) * in_line);
            // How many of the rows are s apart, and so covered alike by the next windows.
            const auto alike = [&](std::int64_t h, std::int64_t oh) {
                return std::min((hs.last - 1 - h) / height.s + 1, ohs.last - oh);
            };
            for (std::int64_t h = hs.first; h < hs.last; ++h) {
                const Range over = height.windows(h);
                N* here = to + (h - hs.first) * in_row;
                const N* share = shares + (over.first - ohs.first) * in_line;
                if (!covered || over.size() == 0) {
                    std::fill_n(here, in_row, N{0});
                } else if (height.apart()) {
                    if (h < hs.first + height.s)
                        spread_shares(
                            share, {alike(h, over.first), here, height.s * in_row, way.past});
                } else {
                    each_vector<N>(in_line, [&](std::int64_t i, auto some) {
                        Vector<N> sum = load(share + i, some);
                        for (std::int64_t o = 1; o < over.size(); ++o)
                            sum += load(share + o * in_line + i, some);
                        store(sum, together + i, some);
                    });
                    spread_shares(together, {1, here, in_row, way.past});
                }
            }
            to += hs.size() * in_row;
        });
        if (!way.straight) store_line(result, rows * in_row, there, size);
    });
}

// -- max ------------------------------------------------------------------------------------------

// A row of windows: its gradients and its winners, and the number in the windows of the first cell
// of the row of cells in question.
template <class N>
struct Sent {
    const N* d;
    const Lane<N>* at;
    Lane<N> number;

    template <class All, class Lanes>
    BACKBLOCKS_INLINED void operator()(All& all, std::int64_t i, std::int64_t tap,
                                       Lanes lanes) const {
        const auto wanted = splat(static_cast<Lane<N>>(number + tap));
        all.each([&](Vector<N>& sum, int v) BACKBLOCKS_INLINED {
            const auto won = load(at + i + v * kLanes<N>, lanes) == wanted;
            sum += won ? load(d + i + v * kLanes<N>, lanes) : Vector<N>{};
        });
    }
};

// Where windows are apart, each cell has one window at most: all is done while x is read.
template <class T>
void max_grad_apart(const T* x, const T* dy, T* dx, const Pool& pool) {
    using N = Wide<T>;
    using S = Scratch<1>;
    const auto& [depth, height, width] = pool.axes;
    const std::int64_t size = size_of_input(pool);
    fold_windows<Fold::winner, T>({x, nullptr}, pool, [&](const Folded<N>& folded) {
        const Range stretch = folded.stretch;
        const Spread spread{width, pool.channels, width.territory(stretch), stretch.first,
                            stretch.size()};
        const std::int64_t in_line = stretch.size() * pool.channels;
        const std::int64_t in_row = spread.cells.size() * pool.channels;
        const std::int64_t beyond = height.n + height.pads - height.out * height.s;
        const std::int64_t most_rows =
            std::min(height.n, std::min(folded.rows, height.out) * height.s +
                                   std::max<std::int64_t>(beyond, 0));
        S scratch(S::bytes_of<N>(folded.rows * in_line) + S::bytes_of<N>(most_rows * in_row) +
                  S::bytes_of<N>(spread.size_of_parts(folded.rows)));
        N* ds = scratch.template line<N>(folded.rows * in_line);
        N* result = scratch.template line<N>(most_rows * in_row);
        const Way way(spread, dx, size);
        const std::int64_t row = width.n * pool.channels;
        N* parts = scratch.template line<N>(spread.size_of_parts(folded.rows));
        for (std::int64_t r = 0; r < folded.rows; ++r) {
            const T* from = dy + ((folded.row + r) * width.out + stretch.first) * pool.channels;
            each_vector<N>(in_line, [&](std::int64_t i, auto lanes) {
                store(load(from + i, lanes), ds + r * in_line + i, lanes);
            });
        }
        for (std::int64_t r = 0; r < folded.rows;) {
            const RowPlace place(folded.row + r, depth.out, height.out);
            const Range ohs{place.h, std::min(place.h + folded.rows - r, height.out)};
            const Range hs = height.territory(ohs), own = depth.territory({place.d, place.d + 1});
            for (std::int64_t d = own.first; d < own.last; ++d) {
                const std::int64_t in_d = d - place.d * depth.s + depth.pads;
                T* there = dx + (((place.image * depth.n + d) * height.n + hs.first) * width.n +
                                 spread.cells.first) * pool.channels;
                N* to = way.straight ? reinterpret_cast<N*>(there) : result;
                const std::int64_t pitch = way.straight ? row : in_row;
                // Rows that no window covers stay 0.
                if (in_d >= depth.k || !height.covers(hs))
                    for (std::int64_t h = 0; h < hs.size(); ++h)
                        std::fill_n(to + h * pitch, in_row, N{0});
                for (std::int64_t in_h = 0; in_d < depth.k && in_h < height.k; ++in_h) {
                    // The windows whose row of this number is real.
                    std::int64_t oh = ohs.first, last = ohs.last;
                    while (oh < last && height.cell(oh, in_h) < 0) ++oh;
                    while (oh < last && height.cell(last - 1, in_h) >= height.n) --last;
                    const std::int64_t line = r + oh - ohs.first;
                    spread_rows(spread,
                                Rows<N>{last - oh, to + (height.cell(oh, in_h) - hs.first) * pitch,
                                        height.s * pitch, way.past},
                                parts,
                                Sent<N>{ds + line * in_line, folded.windows.at + line * in_line,
                                        static_cast<Lane<N>>((in_d * height.k + in_h) * width.k)});
                }
                if (way.straight) continue;
                if (in_row == row) store_line(result, hs.size() * row, there, size);
                else
                    for (std::int64_t h = 0; h < hs.size(); ++h)
                        store_line(result + h * in_row, in_row, there + h * row, size);
            }
            r += ohs.size();
        }
    });
}

// w[b, o, c] = argmax over cells i of window o: x[b, i, c], counted within the window.
template <class T, class Number>
void winners(const T* x, Number* w, const Pool& pool) {
    fold_windows<Fold::winner, T>({x, nullptr}, pool, [&](const auto& folded) {
        const std::int64_t out = pool.axes[2].out;
        for (std::int64_t r = 0; r < folded.rows; ++r)
            convert(folded.windows.at + r * folded.pitch, folded.stretch.size() * pool.channels,
                    w + ((folded.row + r) * out + folded.stretch.first) * pool.channels);
    });
}

// dx[b, i, c] = sum over windows o with w[b, o, c] = i: dy[b, o, c]
template <class T, class Number>
void send_back(const Number* w, const T* dy, T* dx, const Pool& pool) {
    using N = Wide<T>;
    using S = Scratch<0>;
    const auto& [depth, height, width] = pool.axes;
    const std::int64_t size = size_of_input(pool);
    const std::int64_t most = depth.most_windows() * height.most_windows();
    const auto bytes = static_cast<std::int64_t>(sizeof(T)) * 2 * size;
    each_block(pool, bytes, [&](std::int64_t row, std::int64_t rows, Range cells) {
        const Spread spread = spread_over(pool, cells);
        const std::int64_t in_line = spread.windows * pool.channels;
        const std::int64_t in_row = cells.size() * pool.channels;
        const std::int64_t lines = depth.most_windows() * lines_over(height, rows);
        S scratch(S::bytes_of<N>(rows * in_row) + S::bytes_of<N>(lines * in_line) +
                  S::bytes_of<Lane<N>>(lines * in_line) + S::bytes_of<Sent<N>>(most) +
                  S::bytes_of<N>(spread.size_of_parts(1)));
        const Way way(spread, dx, size);
        T* there = dx + (row * width.n + cells.first) * pool.channels;
        N* result = way.straight ? reinterpret_cast<N*>(there)
                                 : scratch.template line<N>(rows * in_row);
        N* ds = scratch.template line<N>(lines * in_line);
        auto* ats = scratch.template line<Lane<N>>(lines * in_line);
        auto* sent = scratch.template line<Sent<N>>(most);
        N* parts = scratch.template line<N>(spread.size_of_parts(1));
        N* to = result;
        each_plane(pool, row, rows, [&](const RowPlace& place, Range hs) {
            const Range ods = depth.windows(place.d), ohs = rows_over(height, hs);
            const auto line_of = [&](std::int64_t od, std::int64_t oh) {
                return ((od - ods.first) * ohs.size() + oh - ohs.first) * in_line;
            };
            for (std::int64_t od = ods.first; od < ods.last; ++od)
                for (std::int64_t oh = ohs.first; oh < ohs.last; ++oh) {
                    N* d = ds + line_of(od, oh);
                    Lane<N>* at = ats + line_of(od, oh);
                    each_window(spread, at, Lane<N>{-1}, [&](Range real, std::int64_t begin) {
                        const std::int64_t from =
                            place_of_windows(pool, place.image, od, oh, real.first);
                        const std::int64_t length = real.size() * pool.channels;
                        convert(w + from, length, at + begin);
                        each_vector<N>(length, [=, to = d + begin](std::int64_t i, auto lanes) {
                            store(load(dy + from + i, lanes), to + i, lanes);
                        });
                    });
                }
            for (std::int64_t h = hs.first; h < hs.last; ++h, to += in_row) {
                const Range over = height.windows(h);
                std::int64_t count = 0;
                for (std::int64_t od = ods.first; od < ods.last; ++od)
                    for (std::int64_t oh = over.first; oh < over.last; ++oh) {
                        const std::int64_t in_d = place.d - od * depth.s + depth.pads;
                        const std::int64_t in_h = h - oh * height.s + height.pads;
                        sent[count++] = {
                            ds + line_of(od, oh), ats + line_of(od, oh),
                            static_cast<Lane<N>>((in_d * height.k + in_h) * width.k)};
                    }
                const auto all_sent = [=](auto& all, std::int64_t i, std::int64_t tap,
                                          auto some) BACKBLOCKS_INLINED {
                    for (std::int64_t j = 0; j < count; ++j) sent[j](all, i, tap, some);
                };
                spread_rows(spread, Rows<N>{1, to, in_row, way.past}, parts, all_sent);
            }
        });
        if (!way.straight) store_line(result, rows * in_row, there, size);
    });
}

template <class Number, class T>
void max_grad_with(const T* x, const T* dy, T* dx, const Pool& pool) {
    const auto size = static_cast<std::size_t>(pool.images * pool.windows() * pool.channels);
    const std::unique_ptr<Number[]> w(new Number[size]);
    winners(x, w.get(), pool);
    send_back(w.get(), dy, dx, pool);
}

// dx[b, i, c] = sum over windows o with i = argmax over j in o of x[b, j, c]: dy[b, o, c]
template <class T>
void max_grad(const T* x, const T* dy, T* dx, const Pool& pool) {
    const auto& [depth, height, width] = pool.axes;
    if (depth.apart() && height.apart() && width.apart()) max_grad_apart(x, dy, dx, pool);
    // One byte numbers the cells of nearly every window in use.
    else if (depth.k * height.k * width.k <= 256) max_grad_with<std::uint8_t>(x, dy, dx, pool);
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
