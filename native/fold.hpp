// From cells to windows: what all kernels share that have one result for each window.
//
// Windows are boxes, so they are folded in two steps: first their rows of cells together, cell by
// cell, reading all rows at once (1.3 times as fast as row after row, out of memory), then along
// the width. For both, cells stand in lines that hold padding too, one row of windows after the
// other, so that the second step is the same for every window of a line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "lines.hpp"
#include "parallel.hpp"
#include "pool.hpp"
#include "simd.hpp"

namespace backblocks::ISA {

// Numbers in a line: enough for long loops, few enough for some lines of them in the L1 cache.
constexpr std::int64_t kLine = 2048;

// Fewer channels than this are less than one vector. Then windows more than one cell apart would be
// read in small pieces; instead, cells are split into parts.
constexpr std::int64_t kFew = 8;

// What is made of the cells of a window.
enum class Fold {
    sum,
    largest,
    winner,  // the first of the largest, and its number in the window
    pick,    // the value of another array at the winner
};

template <class N>
struct State {
    Vector<N> value;
    Vector<Lane<N>> at;
    Vector<N> picked;
};

// States, part by part. Lines that a fold does not use are not there.
template <class N>
struct States {
    N* value = nullptr;
    Lane<N>* at = nullptr;
    N* picked = nullptr;
};

// In a tie with padding, which has no number, every cell wins.
template <class N>
constexpr Lane<N> kNoCell = std::numeric_limits<Lane<N>>::max() / 2;

// Folds b into a, where a's cells come before b's in every window.
template <Fold fold, class N>
BACKBLOCKS_INLINED inline void later(State<N>& a, const State<N>& b) {
    if constexpr (fold == Fold::sum) {
        a.value += b.value;
    } else if constexpr (fold == Fold::largest) {
        // In this form, which a NaN in a leaves with b, it is one instruction.
        const Vector<N> ordered = a.value > b.value ? a.value : b.value;
        a.value = a.value != a.value ? a.value : ordered;
    } else {
        // True for a larger number and for the first NaN; false once a is NaN.
        const auto better = ~(b.value <= a.value) & (a.value == a.value);
        a.value = better ? b.value : a.value;
        a.at = better ? b.at : a.at;
        if constexpr (fold == Fold::pick) a.picked = better ? b.picked : a.picked;
    }
}

// Folds b into a, where a's and b's cells are mixed: of equals, that of the lower number wins.
template <Fold fold, class N>
BACKBLOCKS_INLINED inline void beside(State<N>& a, const State<N>& b) {
    if constexpr (fold == Fold::sum || fold == Fold::largest) {
        later<fold>(a, b);
    } else {
        const auto a_nan = a.value != a.value, b_nan = b.value != b.value;
        const auto above = (b.value > a.value) | (b_nan & ~a_nan);
        const auto same = (b.value == a.value) | (b_nan & a_nan);
        const auto better = above | (same & (b.at < a.at));
        a.value = better ? b.value : a.value;
        a.at = better ? b.at : a.at;
        if constexpr (fold == Fold::pick) a.picked = better ? b.picked : a.picked;
    }
}

template <Fold fold, class N, class Lanes>
BACKBLOCKS_INLINED inline State<N> get(const States<N>& from, std::int64_t i, Lanes lanes) {
    State<N> state{load(from.value + i, lanes), {}, {}};
    if constexpr (fold == Fold::winner || fold == Fold::pick) state.at = load(from.at + i, lanes);
    if constexpr (fold == Fold::pick) state.picked = load(from.picked + i, lanes);
    return state;
}

template <Fold fold, class N, class Lanes>
BACKBLOCKS_INLINED inline void put(const State<N>& state, const States<N>& to, std::int64_t i,
                                   Lanes lanes) {
    store(state.value, to.value + i, lanes);
    if constexpr (fold == Fold::winner || fold == Fold::pick) store(state.at, to.at + i, lanes);
    if constexpr (fold == Fold::pick) store(state.picked, to.picked + i, lanes);
}

// How lines hold the cells of windows: `rows` rows of `windows` windows and their padding.
struct Layout {
    std::int64_t channels, k, s;
    bool parted;           // cells are split into s parts
    std::int64_t windows;  // in a row of a line, at most
    std::int64_t slots;    // for windows in a row of a line; the last would reach into the next
    std::int64_t rows;     // in a line, at most
    std::int64_t tiles;    // stretches into which a row is cut

    explicit Layout(const Pool& pool)
        : channels(pool.channels), k(pool.axes[2].k), s(pool.axes[2].s) {
        const std::int64_t out = pool.axes[2].out, every = s * channels;
        parted = channels < kFew && s > 1;
        windows = std::clamp<std::int64_t>(kLine / every, 1, out);
        // Tiles of few channels begin where cache lines do, if rows do.
        if (windows < out && windows >= 16) windows -= windows % 16;
        slots = windows + (k - 1) / s;
        rows = std::max<std::int64_t>(kLine / (slots * every), 1);
        tiles = (out + windows - 1) / windows;
    }

    std::int64_t parts() const { return parted ? std::min(s, k) : 1; }
    std::int64_t part_pitch() const { return (rows * slots + (k - 1) / s) * channels + kSlack; }
    std::int64_t cells_in_line() const { return (rows * slots * s + k) * channels; }
};

// Rows of windows or of cells in the order of memory.
struct RowPlace {
    std::int64_t image, d, h;

    RowPlace(std::int64_t row, std::int64_t depth, std::int64_t height)
        : image(row / height / depth), d(row / height % depth), h(row % height) {}

    void next(std::int64_t depth, std::int64_t height) {
        if (++h < height) return;
        h = 0;
        if (++d < depth) return;
        d = 0;
        ++image;
    }
};

// A stretch of some rows of windows, folded.
template <class N>
struct Folded {
    States<N> windows;
    std::int64_t row, rows;  // of all rows of windows: the first, and how many
    Range stretch;           // of the windows of each row
    std::int64_t pitch;      // numbers from one row to the next in the line
};

// Numbers a cell of a window: from the window's first cell, padding included, or from the image's.
enum class Numbering { in_window, in_image };

template <class T>
struct FoldInputs {
    const T* x;
    const T* v;  // values to pick from, if any
};

template <Fold fold, class T>
class Folder {
    using N = Wide<T>;

   public:
    Folder(const FoldInputs<T>& in, const Pool& pool, const Layout& layout, Numbering numbering)
        : in_(in), pool_(pool), layout_(layout), numbering_(numbering), scratch_(bytes(layout)) {
        cells_ = states(layout.cells_in_line());
        parts_ = layout.parted ? states(layout.parts() * layout.part_pitch()) : cells_;
        // Windows of one column are their cells.
        single_ = layout.k == 1 && layout.s == 1;
        windows_ = single_ ? cells_ : states(layout.rows * layout.slots * layout.channels);
    }

    Folded<N> operator()(std::int64_t row, std::int64_t rows, std::int64_t tile) {
        const auto& [depth, height, width] = pool_.axes;
        const Range stretch{tile * layout_.windows,
                            std::min((tile + 1) * layout_.windows, width.out)};
        const std::int64_t begin = stretch.first * width.s - width.pads;
        const Range real{std::max<std::int64_t>(begin, 0),
                         std::min((stretch.last - 1) * width.s - width.pads + width.k, width.n)};
        const std::int64_t slots = stretch.size() + (layout_.k - 1) / layout_.s;
        const std::int64_t channels = layout_.channels, pitch = slots * layout_.s * channels;
        RowPlace place(row, depth.out, height.out);
        for (std::int64_t r = 0; r < rows; ++r, place.next(depth.out, height.out)) {
            const std::int64_t first = r * pitch + (real.first - begin) * channels;
            const std::int64_t last = first + real.size() * channels;
            pad(r * pitch, first);
            pad(last, (r + 1) * pitch);
            fold_rows(place, real, first);
        }
        if (layout_.parted) split_cells(rows * slots);
        if (!single_) fold_width(rows * slots);
        return {windows_, row, rows, stretch, slots * channels};
    }

   private:
    static constexpr bool kNumbers = fold == Fold::winner || fold == Fold::pick;
    static constexpr int kVectors = kNumbers ? 2 : 4;
    static constexpr int kAtOnce = 16;  // rows

    static std::int64_t bytes(const Layout& layout) {
        using S = Scratch<0>;
        const auto of = [](std::int64_t length) {
            return S::bytes_of<N>(length) * (fold == Fold::pick ? 2 : 1) +
                   (kNumbers ? S::bytes_of<Lane<N>>(length) : 0);
        };
        return of(layout.cells_in_line()) + of(layout.rows * layout.slots * layout.channels) +
               (layout.parted ? of(layout.parts() * layout.part_pitch()) : 0);
    }

    States<N> states(std::int64_t length) {
        States<N> all;
        all.value = scratch_.template line<N>(length);
        if constexpr (kNumbers) all.at = scratch_.template line<Lane<N>>(length);
        if constexpr (fold == Fold::pick) all.picked = scratch_.template line<N>(length);
        return all;
    }

    void pad(std::int64_t from, std::int64_t to) {
        constexpr N least = fold == Fold::sum ? N{0} : -std::numeric_limits<N>::infinity();
        for (std::int64_t i = from; i < to; ++i) {
            cells_.value[i] = least;
            if constexpr (kNumbers) cells_.at[i] = kNoCell<N>;
            if constexpr (fold == Fold::pick) cells_.picked[i] = 0;
        }
    }

    // Folds the rows of cells that a row of windows covers.
    void fold_rows(const RowPlace& place, Range real, std::int64_t to) {
        const auto& [depth, height, width] = pool_.axes;
        const Range ds = depth.cells(place.d), hs = height.cells(place.h);
        const bool local = numbering_ == Numbering::in_window;
        const std::int64_t d0 = local ? place.d * depth.s - depth.pads : 0;
        const std::int64_t h0 = local ? place.h * height.s - height.pads : 0;
        const std::int64_t per_h = local ? width.k : width.n;
        const std::int64_t per_d = per_h * (local ? height.k : height.n);
        std::int64_t offset[kAtOnce];
        Lane<N> number[kAtOnce];
        int count = 0;
        bool begun = false;
        const auto fold_some = [&] {
            fold_offsets(offset, number, count, begun, real.size() * layout_.channels, to);
            count = 0;
            begun = true;
        };
        for (std::int64_t d = ds.first; d < ds.last; ++d)
            for (std::int64_t h = hs.first; h < hs.last; ++h) {
                if (count == kAtOnce) fold_some();
                offset[count] =
                    (((place.image * depth.n + d) * height.n + h) * width.n + real.first) *
                    layout_.channels;
                number[count++] = static_cast<Lane<N>>((d - d0) * per_d + (h - h0) * per_h);
            }
        fold_some();
    }

    void fold_offsets(const std::int64_t* offset, const Lane<N>* number, int count, bool begun,
                      std::int64_t length, std::int64_t to) {
        const auto at = [&](int row, std::int64_t i, auto lanes) BACKBLOCKS_INLINED {
            State<N> state{load(in_.x + offset[row] + i, lanes), {}, {}};
            if constexpr (kNumbers) state.at = splat(number[row]);
            if constexpr (fold == Fold::pick) state.picked = load(in_.v + offset[row] + i, lanes);
            return state;
        };
        const States<N> cells = shifted(cells_, to);
        if (begun) {
            // In place, so no number twice.
            constexpr std::int64_t lanes = kLanes<N>;
            const auto fold_more = [&](std::int64_t i, auto some) {
                State<N> state = get<fold>(cells, i, some);
                for (int row = 0; row < count; ++row) later<fold>(state, at(row, i, some));
                put<fold>(state, cells, i, some);
            };
            std::int64_t i = 0;
            for (; i + lanes <= length; i += lanes) fold_more(i, Whole{});
            if (i < length) fold_more(i, Part{length - i});
            return;
        }
        const auto fold_all = [&](std::int64_t i, auto lanes, auto vectors) BACKBLOCKS_INLINED {
            typename decltype(vectors)::template Of<State<N>> states;
            states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                state = at(0, i + v * kLanes<N>, lanes);
            });
            for (int row = 1; row < count; ++row)
                states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                    later<fold>(state, at(row, i + v * kLanes<N>, lanes));
                });
            states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                put<fold>(state, cells, i + v * kLanes<N>, lanes);
            });
        };
        each_vectors<N, kVectors>(length, fold_all);
    }

    static States<N> shifted(States<N> states, std::int64_t by) {
        states.value += by;
        if constexpr (kNumbers) states.at += by;
        if constexpr (fold == Fold::pick) states.picked += by;
        return states;
    }

    void split_cells(std::int64_t windows) {
        const auto go = [&](auto* from, auto* to) {
            split(from, windows, layout_.s, layout_.channels, to, layout_.part_pitch(),
                  layout_.parts());
        };
        go(cells_.value, parts_.value);
        if constexpr (kNumbers) go(cells_.at, parts_.at);
        if constexpr (fold == Fold::pick) go(cells_.picked, parts_.picked);
    }

    // Folds the columns of windows. With one cell from a window to the next, or in parts, the i-th
    // cells of all windows lie side by side; else those of one window do.
    void fold_width(std::int64_t windows) {
        const std::int64_t channels = layout_.channels, k = layout_.k;
        const bool joined = layout_.parted || layout_.s == 1;
        const std::int64_t parts = layout_.parts();
        const std::int64_t length = joined ? windows * channels : channels;
        const std::int64_t pitch = layout_.part_pitch();
        for (std::int64_t w = 0; w < (joined ? 1 : windows); ++w) {
            const States<N> cells = shifted(parts_, w * layout_.s * channels);
            const States<N> to = shifted(windows_, w * channels);
            const auto fold_all = [=](std::int64_t i, auto lanes, auto vectors) BACKBLOCKS_INLINED {
                typename decltype(vectors)::template Of<State<N>> states;
                states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                    state = get<fold>(cells, i + v * kLanes<N>, lanes);
                });
                // From left to right, however cells are stored: sums have one order.
                for (std::int64_t tap = 1, part = 0, at = 0; tap < k; ++tap) {
                    if (++part == parts) part = 0, at += channels;
                    states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                        const std::int64_t from = part * pitch + at + i + v * kLanes<N>;
                        State<N> other = get<fold>(cells, from, lanes);
                        if constexpr (kNumbers) other.at += static_cast<Lane<N>>(tap);
                        beside<fold>(state, other);
                    });
                }
                states.each([&](State<N>& state, int v) BACKBLOCKS_INLINED {
                    put<fold>(state, to, i + v * kLanes<N>, lanes);
                });
            };
            each_vectors<N, kVectors>(length, fold_all);
        }
    }

    const FoldInputs<T> in_;
    const Pool& pool_;
    const Layout& layout_;
    const Numbering numbering_;
    Scratch<0> scratch_;
    States<N> cells_, parts_, windows_;
    bool single_;
};

// Calls finish(folded) for all windows, stretch by stretch, on several threads.
template <Fold fold, class T, class Finish>
void fold_windows(const FoldInputs<T>& in, const Pool& pool, const Finish& finish,
                  Numbering numbering = Numbering::in_window) {
    const Layout layout(pool);
    const std::int64_t rows = pool.images * pool.axes[0].out * pool.axes[1].out;
    const std::int64_t bytes = pool.images * pool.cells() * pool.channels *
                               static_cast<std::int64_t>(sizeof(T)) * (fold == Fold::pick ? 2 : 1);
    const std::int64_t groups = (rows + layout.rows - 1) / layout.rows;
    parallel_for(groups, bytes, [&](std::int64_t begin, std::int64_t end) {
        Folder<fold, T> folder(in, pool, layout, numbering);
        for (std::int64_t group = begin; group < end; ++group) {
            const std::int64_t row = group * layout.rows;
            for (std::int64_t tile = 0; tile < layout.tiles; ++tile)
                finish(folder(row, std::min(layout.rows, rows - row), tile));
        }
        end_streams();
    });
}

// Calls f(place, row in the line) for each row of windows.
template <class N, class F>
void each_row(const Folded<N>& folded, const Pool& pool, F f) {
    RowPlace place(folded.row, pool.axes[0].out, pool.axes[1].out);
    for (std::int64_t r = 0; r < folded.rows; ++r) {
        f(place, r);
        place.next(pool.axes[0].out, pool.axes[1].out);
    }
}

inline std::int64_t size_of_output(const Pool& pool) {
    return pool.images * pool.windows() * pool.channels;
}

// Stores the line of a stretch of windows, whose rows begin at line + r * pitch.
template <class T, class N>
void store_windows(const Folded<N>& folded, const Pool& pool, N* line, std::int64_t pitch, T* y) {
    const std::int64_t length = folded.stretch.size() * pool.channels;
    const std::int64_t row = pool.axes[2].out * pool.channels, size = size_of_output(pool);
    T* to = y + (folded.row * pool.axes[2].out + folded.stretch.first) * pool.channels;
    if (length < row) {
        for (std::int64_t r = 0; r < folded.rows; ++r)
            store_line(line + r * pitch, length, to + r * row, size);
        return;
    }
    // Whole rows go together: past the cache, pieces of cache lines are slow.
    for (std::int64_t r = 1; pitch > row && r < folded.rows; ++r)
        std::copy_n(line + r * pitch, row, line + r * row);
    store_line(line, folded.rows * row, to, size);
}

}  // namespace backblocks::ISA
