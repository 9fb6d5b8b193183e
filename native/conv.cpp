// Convolution and its gradient in the input are the same kind of sum. Each has targets, and sources
// that it adds up for them:
//
//     target[b, j, n] = sum over taps t of j, channels c: source[b, cell(t, j), c] * filter[t, c, n]
//
// Targets of a sweep (see taps.hpp) have cell(t, j) = t.cell + j * stride. Their sums are a product
// of matrices with a row for each target, and rows need not lie together for it: it is made in tiles
// that stay in registers (see tile.hpp) for as many taps and channels as the cache has room for.
// Targets whose windows reach into the padding have fewer taps, and tiles of their own.
#include "conv.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "half.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "tile.hpp"
#include "transpose.hpp"

namespace backblocks {
namespace {

using namespace ISA;

// Targets in a box: enough that fetching the filters is little beside using them.
constexpr std::int64_t kBlock = 384;

// Rows of packed filters that stay in the second-level cache while a box is worked on.
constexpr std::int64_t kDepth = 4096;

// Filters of more bytes are packed by those who use them, as they go.
constexpr std::int64_t kMostPacked = std::int64_t{16} << 20;

// Numbers in a row of targets that is added up apart.
constexpr std::int64_t kMostInRow = 1 << 15;

constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class Container>
std::int64_t size_of(const Container& all) {
    return static_cast<std::int64_t>(all.size());
}

// Memory to work in, with anything in it.
template <class N>
class Scratch {
   public:
    N* of(std::int64_t size) {
        const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(N);
        if (!block_ || block_->bytes() < bytes) {
            block_.reset();
            block_ = std::make_unique<Block>(bytes);
        }
        return static_cast<N*>(block_->data());
    }

   private:
    std::unique_ptr<Block> block_;
};

// `n` things, in parts that differ by one at most.
struct Parts {
    std::int64_t n, count;

    static Parts of_at_most(std::int64_t size, std::int64_t n) {
        return {n, div_up(n, std::max<std::int64_t>(size, 1))};
    }
    std::int64_t begin(std::int64_t i) const { return i * (n / count) + std::min(i, n % count); }
    Range operator[](std::int64_t i) const { return {begin(i), begin(i + 1)}; }
    std::int64_t largest() const { return div_up(n, count); }
    // The part that has thing i.
    std::int64_t of(std::int64_t i) const {
        const std::int64_t longer = n % count * largest();
        return i < longer ? i / largest() : n % count + (i - longer) / (n / count);
    }
};

// -- what is to be computed -----------------------------------------------------------------------

// How far apart the numbers of a tensor are.
struct Order {
    std::int64_t image, channel;
    std::array<std::int64_t, 3> cell;
};

Order order_of(const std::array<std::int64_t, 3>& n, std::int64_t channels, bool channels_first) {
    const std::int64_t cells = n[0] * n[1] * n[2];
    if (channels_first && channels > 1) return {channels * cells, cells, {n[1] * n[2], n[2], 1}};
    return {channels * cells, 1, {channels * n[1] * n[2], channels * n[2], channels}};
}

// Targets next to each other that have the same taps.
struct Segment {
    Range targets, taps;
};

// The targets along an axis that go from source to source in equal steps.
struct Line {
    Sweep sweep;  // with its taps by rising cell
    std::int64_t first_tap;  // filters are packed line by line
    std::vector<Segment> segments;

    Line(const Sweep& given, std::int64_t first_tap) : sweep(given), first_tap(first_tap) {
        std::sort(sweep.taps.begin(), sweep.taps.end(),
                  [](const Tap& a, const Tap& b) { return a.cell < b.cell; });
        Range taps{size_of(sweep.taps), size_of(sweep.taps)};
        for (std::int64_t j = 0; j < sweep.count; ++j) {
            while (taps.first > 0 && cell(taps.first - 1, j) >= 0) --taps.first;
            while (taps.last > 0 && cell(taps.last - 1, j) >= sweep.n) --taps.last;
            if (segments.empty() || segments.back().taps.first != taps.first ||
                segments.back().taps.last != taps.last)
                segments.push_back({{j, j}, taps});
            segments.back().targets.last = j + 1;
        }
    }

    std::int64_t cell(std::int64_t tap, std::int64_t target) const {
        return sweep.taps[static_cast<std::size_t>(tap)].cell + target * sweep.stride;
    }

    // Where a target is.
    std::int64_t target(std::int64_t j) const { return sweep.first + j * sweep.step; }

    // Calls f for each segment, cut to the given targets.
    template <class F>
    void each_segment(Range cut, F f) const {
        for (const auto& [targets, taps] : segments) {
            const Range both{std::max(targets.first, cut.first), std::min(targets.last, cut.last)};
            if (both.size() > 0) f(Segment{both, taps});
        }
    }
};

// An axis of space, seen from the targets.
struct Axis {
    std::vector<Line> lines;
    std::vector<std::int64_t> numbers;  // of the taps, in the order in which they are packed
    bool complete;                      // or there are targets without a tap, in no line

    explicit Axis(const std::vector<Sweep>& sweeps, bool complete) : complete(complete) {
        for (const Sweep& sweep : sweeps) {
            const Line& line = lines.emplace_back(sweep, taps());
            for (const Tap& tap : line.sweep.taps) numbers.push_back(tap.number);
        }
    }

    std::int64_t taps() const { return size_of(numbers); }
};

// With few channels the vectors of a tile would be mostly empty. Then its columns are the taps along
// the width too: each source has a number for every target around it. These numbers, which lie side
// by side, are added to a row of targets that is kept apart until it is complete.
struct Rows {
    bool used = false;
    std::int64_t step = 0;    // targets from one source's first to the next one's
    std::int64_t before = 0;  // targets of the row before the first real one
    std::int64_t length = 0;  // targets of the row
};

struct Plan {
    std::int64_t images, groups, ins, outs;  // channels of a group, of sources and of targets
    Order source, target;
    Rows rows;
    std::array<Axis, 3> axes;
    std::int64_t width;                                // targets along the width
    std::array<std::int64_t, 3> filter_taps;           // how far apart the filters' numbers are
    std::int64_t filter_in, filter_group;
    std::vector<std::int64_t> columns;                 // where they begin in a tap
    std::int64_t work;                                 // in bytes that could be moved meanwhile

    std::int64_t taps() const { return axes[0].taps() * axes[1].taps() * axes[2].taps(); }
    std::int64_t depth() const { return taps() * ins; }

    // Where a tap begins in the filters.
    std::int64_t place_of_tap(std::int64_t tap) const {
        std::int64_t place = 0;
        for (std::size_t i = 3; i-- > 0; tap /= axes[i].taps())
            place += axes[i].numbers[static_cast<std::size_t>(tap % axes[i].taps())] *
                     filter_taps[i];
        return place;
    }
};

// Whether rows apart fill the vectors so much better that it pays.
template <class N>
bool rows_pay(std::int64_t outs, std::int64_t taps) {
    const auto filled = [](std::int64_t n) {
        return static_cast<double>(n) / static_cast<double>(div_up(n, kLanes<N>) * kLanes<N>);
    };
    return outs < kPanel<N> && filled(outs) * 1.2 < filled(outs * taps);
}

template <class N>
Rows rows_of(const TapAxis& axis, std::int64_t outs, bool forward, bool channels_first) {
    Rows rows;
    // A source's targets lie side by side if taps do, and if no stride takes some of them away.
    if (axis.d > 1 || (forward && (axis.s > 1 || axis.pads >= axis.k))) return rows;
    // With channels first, the targets of a sweep that has a step could only be stored one by one.
    const bool apart = channels_first && !forward && axis.s > 1;
    if (axis.k > kMostInRow / outs || !(apart || rows_pay<N>(outs, axis.k))) return rows;
    rows.step = forward ? 1 : axis.s;
    rows.before = forward ? axis.k - 1 - axis.pads : axis.pads;
    rows.length = std::max(((forward ? axis.n : axis.out) - 1) * rows.step + axis.k,
                           rows.before + (forward ? axis.out : axis.n));
    rows.used = rows.length <= kMostInRow / outs;
    return rows;
}

template <class N>
Plan plan_of(const Conv& conv, bool forward) {
    const auto& [d, h, w] = conv.axes;
    const std::int64_t outs = forward ? conv.out : conv.in;
    const Rows rows = rows_of<N>(w, outs, forward, conv.channels_first);
    const auto axis = [&](const TapAxis& taps) {
        const Side side = forward ? Side::outputs(taps) : Side::cells(taps);
        return Axis(side.sweeps, side.complete());
    };
    const auto every_source = [](std::int64_t n) {
        return Axis({{0, 1, n, 1, n, {{0, 0}}}}, true);
    };
    const Order input = order_of({d.n, h.n, w.n}, conv.groups * conv.in, conv.channels_first);
    const Order output =
        order_of({d.out, h.out, w.out}, conv.groups * conv.out, conv.channels_first);
    const std::int64_t filters = conv.groups * conv.out, tap = conv.in * filters;
    Plan plan{conv.images,
              conv.groups,
              forward ? conv.in : conv.out,
              outs,
              forward ? input : output,
              forward ? output : input,
              rows,
              {axis(d), axis(h), rows.used ? every_source(forward ? w.n : w.out) : axis(w)},
              forward ? w.out : w.n,
              {h.k * w.k * tap, w.k * tap, tap},
              forward ? filters : 1,
              conv.out,
              {},
              0};
    for (std::int64_t t = 0; t < (rows.used ? w.k : 1); ++t)
        for (std::int64_t n = 0; n < outs; ++n)
            plan.columns.push_back((forward && rows.used ? w.k - 1 - t : t) * tap +
                                   n * (forward ? 1 : filters));
    double products = static_cast<double>(conv.images) * static_cast<double>(tap);
    for (const TapAxis& each : conv.axes)
        products *= static_cast<double>(each.k) * static_cast<double>(each.out);
    // A core multiplies some four times while it moves a byte.
    plan.work = static_cast<std::int64_t>(std::min(products / 4, 0x1p60));
    return plan;
}

// -- filters --------------------------------------------------------------------------------------

// The columns of the filters, in panels as wide as a tile.
template <class N>
struct Panels {
    std::int64_t columns;

    explicit Panels(const Plan& plan) : columns(size_of(plan.columns)) {}

    std::int64_t count() const { return div_up(columns, kPanel<N>); }
    std::int64_t first(std::int64_t panel) const { return panel * kPanel<N>; }
    std::int64_t real(std::int64_t panel) const {
        return std::min<std::int64_t>(columns - first(panel), kPanel<N>);
    }
    // With what fills the last vector.
    std::int64_t width(std::int64_t panel) const {
        return real(panel) > kLanes<N> ? kPanel<N> : kLanes<N>;
    }
    std::int64_t all() const { return first(count() - 1) + width(count() - 1); }
};

// packed[c, j] = filter[c * next + columns[j]] for each of the channels, with zeros up to `width`.
template <class T>
void pack_tap(const T* filter, std::int64_t next, std::int64_t channels,
              const std::int64_t* columns, std::int64_t real, std::int64_t width,
              Wide<T>* packed) {
    constexpr std::int64_t few = 32;
    Wide<T> lines[kPanel<Wide<T>>][few];
    const bool side_by_side = columns[real - 1] - columns[0] == real - 1;
    for (std::int64_t c = 0; c < channels; c += few, packed += few * width, filter += few * next) {
        const std::int64_t count = std::min(few, channels - c);
        if (side_by_side)
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t j = 0; j < real; ++j)
                    packed[i * width + j] = widen(filter[i * next + columns[0] + j]);
        else {
            for (std::int64_t j = 0; j < real; ++j)
                for (std::int64_t i = 0; i < count; ++i)
                    lines[j][i] = widen(filter[columns[j] + i * next]);
            transpose(
                real, count, [&](std::int64_t j) { return lines[j]; },
                [&](std::int64_t i) { return packed + i * width; });
        }
        for (std::int64_t i = 0; i < count && real < width; ++i)
            std::fill(packed + i * width + real, packed + (i + 1) * width, Wide<T>{0});
    }
}

// Packs rows of a panel. They are the taps, in the order of the plan, and their channels.
template <class T>
void pack(const Plan& plan, const T* filters, std::int64_t panel, Range rows, Wide<T>* packed) {
    const Panels<Wide<T>> panels(plan);
    for (std::int64_t row = rows.first; row < rows.last;) {
        const std::int64_t c = row % plan.ins, count = std::min(plan.ins - c, rows.last - row);
        pack_tap(filters + plan.place_of_tap(row / plan.ins) + c * plan.filter_in, plan.filter_in,
                 count, plan.columns.data() + panels.first(panel), panels.real(panel),
                 panels.width(panel), packed);
        packed += count * panels.width(panel);
        row += count;
    }
}

// -- boxes ---------------------------------------------------------------------------------------

// Targets that are worked on together: of one group, and of one line along each axis.
struct Box {
    std::int64_t group;
    Range panels, images;
    std::array<const Line*, 3> lines;
    std::array<Range, 3> targets;
};

// Where a box finds its sources along an axis: tap t of target j is number
// first + j * step + at(t).
struct Reach {
    const Line* line;
    Range targets;
    bool apart;  // whether each target has its own copies of the cells it reads
    std::int64_t first, step, size;

    static Reach in_place(const Line& line, Range targets) {
        return {&line, targets, false, 0, line.sweep.stride, line.sweep.n};
    }

    // In a copy of a stretch of cells or, if they are too far apart for that, of each one needed.
    static Reach in_copy(const Line& line, Range targets) {
        const std::int64_t taps = size_of(line.sweep.taps);
        const Range cells{std::max<std::int64_t>(line.cell(0, targets.first), 0),
                          std::min(line.cell(taps - 1, targets.last - 1) + 1, line.sweep.n)};
        if (cells.size() <= targets.size() * taps)
            return {&line, targets, false, -cells.first, line.sweep.stride, cells.size()};
        return {&line, targets, true, -targets.first * taps, taps, targets.size() * taps};
    }

    std::int64_t at(std::int64_t tap) const { return apart ? tap : line->cell(tap, 0); }

    // Calls visit(number, cell, count) for all that is to be copied.
    template <class Visit>
    void each_copy(Visit visit) const {
        if (!apart) return visit(0, -first, size);
        line->each_segment(targets, [&](const Segment& segment) {
            for (std::int64_t j = segment.targets.first; j < segment.targets.last; ++j)
                for (std::int64_t t = segment.taps.first; t < segment.taps.last; ++t)
                    visit(first + j * step + t, line->cell(t, j), 1);
        });
    }
};

// Numbers of a source that lie side by side, and the rows of packed filters they meet.
struct Stretch {
    std::int64_t place, row, depth;
};

// Targets of a box that have the same taps.
struct Piece {
    Range targets, stretches;
};

// Places of targets: first + image * .. + d * .. + h * .. + w * ..
struct Walk {
    std::int64_t first, image;
    std::array<std::int64_t, 3> step;

    // Adds the places of the targets where segments cross.
    void add_places(std::int64_t images, const std::array<Segment, 3>& axes,
                    std::vector<std::int64_t>& places) const {
        const Range &ds = axes[0].targets, &hs = axes[1].targets, &ws = axes[2].targets;
        const std::size_t before = places.size();
        places.resize(before +
                      static_cast<std::size_t>(images * ds.size() * hs.size() * ws.size()));
        std::int64_t* next = places.data() + before;
        for (std::int64_t b = 0; b < images; ++b)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h) {
                    const std::int64_t row = first + b * image + d * step[0] + h * step[1];
                    for (std::int64_t w = ws.first; w < ws.last; ++w) *next++ = row + w * step[2];
                }
    }
};

// Adds to a tile of sums, or begins it with, what the stretches give it.
template <int vectors, class N>
void add_to_tile(std::int64_t rows, const Stretch* stretch, const Stretch* end, const N* sources,
                 const std::int64_t* from, const N* packed, std::int64_t first_row, bool begin,
                 N* sums, const std::int64_t* to) {
    constexpr std::int64_t width = vectors * kLanes<N>;
    with_constant<most_rows(vectors)>(rows, [&](auto constant) {
        Tile<N, constant, vectors> tile;
        if (begin) tile.clear();
        else tile.load(sums, to);
        for (; stretch != end; ++stretch)
            tile.add(stretch->depth, sources + stretch->place, from, 1,
                     packed + (stretch->row - first_row) * width, width);
        tile.store(sums, to);
    });
}

// Computes boxes, one after the other.
template <class T>
class Worker {
    using N = Wide<T>;

   public:
    // `packed` has all the filters of a group after the other, or is null.
    Worker(const Plan& plan, const T* sources, const T* filters, const N* packed, T* targets)
        : plan_(plan),
          panels_(plan),
          depth_(Parts::of_at_most(kDepth, plan.depth())),
          sources_(sources),
          filters_(filters),
          packed_(packed),
          targets_(targets) {}

    void run(const Box& box) {
        find_sources(box);
        find_pieces(box);
        if (plan_.rows.used) std::fill_n(row_sums(box), row_count(box) * row_size(), N{0});
        for (std::int64_t panel = box.panels.first; panel < box.panels.last; ++panel)
            if (panels_.width(panel) == kPanel<N>) run_panel<2>(box, panel);
            else run_panel<1>(box, panel);
        if (plan_.rows.used) store_rows(box);
    }

   private:
    // -- where things are --

    void find_sources(const Box& box) {
        const bool in_place = std::is_same_v<T, N> && plan_.source.channel == 1;
        for (std::size_t i = 0; i < 3; ++i)
            reach_[i] = in_place ? Reach::in_place(*box.lines[i], box.targets[i])
                                 : Reach::in_copy(*box.lines[i], box.targets[i]);
        const T* group = sources_ + box.group * plan_.ins * plan_.source.channel +
                         box.images.first * plan_.source.image;
        if (in_place) {
            order_ = plan_.source;
            from_ = reinterpret_cast<const N*>(group);
        } else {
            order_ = order_of({reach_[0].size, reach_[1].size, reach_[2].size}, plan_.ins, false);
            from_ = copy(group, box.images.size());
        }
    }

    // Copies the cells a box reads, in the type of the sums and with the channels side by side.
    const N* copy(const T* group, std::int64_t images) {
        N* copies = copies_.of(images * order_.image);
        for (std::int64_t image = 0; image < images; ++image)
            reach_[0].each_copy([&](std::int64_t d, std::int64_t cell_d, std::int64_t ds) {
                reach_[1].each_copy([&](std::int64_t h, std::int64_t cell_h, std::int64_t hs) {
                    reach_[2].each_copy([&](std::int64_t w, std::int64_t cell_w, std::int64_t ws) {
                        for (std::int64_t i = 0; i < ds * hs; ++i)
                            copy_cells(group + image * plan_.source.image +
                                           (cell_d + i / hs) * plan_.source.cell[0] +
                                           (cell_h + i % hs) * plan_.source.cell[1] +
                                           cell_w * plan_.source.cell[2],
                                       ws,
                                       copies + image * order_.image +
                                           (d + i / hs) * order_.cell[0] +
                                           (h + i % hs) * order_.cell[1] + w * order_.cell[2]);
                    });
                });
            });
        return copies;
    }

    void copy_cells(const T* cells, std::int64_t count, N* to) {
        const std::int64_t ins = plan_.ins, cell = plan_.source.cell[2];
        const std::int64_t channel = plan_.source.channel;
        if (channel == 1 && cell == ins)
            for (std::int64_t i = 0; i < count * ins; ++i) to[i] = widen(cells[i]);
        else if (channel == 1)
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t c = 0; c < ins; ++c) to[i * ins + c] = widen(cells[i * cell + c]);
        else if constexpr (std::is_same_v<T, N>)
            transpose(
                ins, count, [&](std::int64_t c) { return cells + c * channel; },
                [&](std::int64_t i) { return to + i * ins; });
        else
            for (std::int64_t c = 0; c < ins; c += kLanes<N>) {
                const std::int64_t channels = std::min<std::int64_t>(ins - c, kLanes<N>);
                N* lines = lines_.of(channels * count);
                for (std::int64_t j = 0; j < channels; ++j)
                    for (std::int64_t i = 0; i < count; ++i)
                        lines[j * count + i] = widen(cells[(c + j) * channel + i]);
                transpose(
                    channels, count, [&](std::int64_t j) { return lines + j * count; },
                    [&](std::int64_t i) { return to + i * ins + c; });
            }
    }

    void find_pieces(const Box& box) {
        pieces_.clear();
        stretches_.clear();
        from_places_.clear();
        to_places_.clear();
        to_ = to_places(box);
        const auto each = [&](std::size_t axis, auto f) {
            box.lines[axis]->each_segment(box.targets[axis], f);
        };
        each(0, [&](const Segment& ds) {
            each(1, [&](const Segment& hs) {
                each(2, [&](const Segment& ws) { add_piece(box, {ds, hs, ws}); });
            });
        });
    }

    void add_piece(const Box& box, const std::array<Segment, 3>& axes) {
        const std::int64_t first = size_of(from_places_), first_stretch = size_of(stretches_);
        const bool no_taps = std::any_of(axes.begin(), axes.end(), [](const Segment& segment) {
            return segment.taps.size() == 0;
        });
        Walk from{0, order_.image, {}};
        for (std::size_t i = 0; i < 3 && !no_taps; ++i) {
            from.first += (reach_[i].first + reach_[i].at(axes[i].taps.first)) * order_.cell[i];
            from.step[i] = reach_[i].step * order_.cell[i];
        }
        if (no_taps) from.image = 0;
        else add_stretches(box, axes);
        from.add_places(box.images.size(), axes, from_places_);
        to_.add_places(box.images.size(), axes, to_places_);
        pieces_.push_back({{first, size_of(from_places_)}, {first_stretch, size_of(stretches_)}});
    }

    // Where the sums of targets go: in the result, or in rows.
    Walk to_places(const Box& box) const {
        const auto& [ds, hs, ws] = box.targets;
        if (plan_.rows.used) {
            const std::int64_t row = row_size(), plane = row * hs.size();
            return {-ds.first * plane - hs.first * row, plane * ds.size(),
                    {plane, row, plan_.rows.step * plan_.outs}};
        }
        Walk to{0, plan_.target.image, {}};
        for (std::size_t i = 0; i < 3; ++i) {
            to.first += box.lines[i]->sweep.first * plan_.target.cell[i];
            to.step[i] = box.lines[i]->sweep.step * plan_.target.cell[i];
        }
        return to;
    }

    void add_stretches(const Box& box, const std::array<Segment, 3>& axes) {
        const auto& [ds, hs, ws] = axes;
        const auto place = [&](std::size_t i, std::int64_t t) {
            return (reach_[i].at(t) - reach_[i].at(axes[i].taps.first)) * order_.cell[i];
        };
        // All taps along the width at once if their cells lie side by side.
        const std::int64_t all = ws.taps.size(), last = ws.taps.last - 1;
        const std::int64_t taps = place(2, last) == (all - 1) * plan_.ins ? all : 1;
        for (std::int64_t d = ds.taps.first; d < ds.taps.last; ++d)
            for (std::int64_t h = hs.taps.first; h < hs.taps.last; ++h)
                for (std::int64_t w = ws.taps.first; w < ws.taps.last; w += taps) {
                    const std::int64_t tap =
                        ((box.lines[0]->first_tap + d) * plan_.axes[1].taps() +
                         box.lines[1]->first_tap + h) * plan_.axes[2].taps() +
                        box.lines[2]->first_tap + w;
                    add_stretch({place(0, d) + place(1, h) + place(2, w), tap * plan_.ins,
                                 taps * plan_.ins});
                }
    }

    // Adds a stretch, cut where the depth is.
    void add_stretch(Stretch stretch) {
        while (stretch.depth > 0) {
            const std::int64_t end =
                depth_.count == 1 ? depth_.n : depth_[depth_.of(stretch.row)].last;
            const std::int64_t depth = std::min(stretch.depth, end - stretch.row);
            stretches_.push_back({stretch.place, stretch.row, depth});
            stretch = {stretch.place + depth, stretch.row + depth, stretch.depth - depth};
        }
    }

    // -- sums --

    template <int vectors>
    void run_panel(const Box& box, std::int64_t panel) {
        constexpr std::int64_t width = vectors * kLanes<N>;
        T* result = targets_ + box.images.first * plan_.target.image +
                    (box.group * plan_.outs + panels_.first(panel)) * plan_.target.channel;
        N* sums;
        const std::int64_t* to;
        const bool in_place = std::is_same_v<T, N> && !plan_.rows.used &&
                              plan_.target.channel == 1 && panels_.real(panel) == width;
        if (in_place) {
            sums = reinterpret_cast<N*>(result);
            to = to_places_.data();
        } else {
            sums = sums_.of(size_of(to_places_) * width);
            sum_places_.resize(to_places_.size());
            for (std::size_t i = 0; i < sum_places_.size(); ++i)
                sum_places_[i] = static_cast<std::int64_t>(i) * width;
            to = sum_places_.data();
        }
        for (std::int64_t part = 0; part < depth_.count; ++part)
            add_part<vectors>(box, panel, part, sums, to);
        if (plan_.rows.used)
            add_to_rows(sums, width, panels_.real(panel), row_sums(box) + panels_.first(panel));
        else if (!in_place) store_panel(sums, width, panels_.real(panel), result);
    }

    template <int vectors>
    void add_part(const Box& box, std::int64_t panel, std::int64_t part, N* sums,
                  const std::int64_t* to) {
        const Range rows = depth_[part];
        const N* packed = filters_of(box.group, panel, rows);
        for (const Piece& piece : pieces_) {
            const auto stretch_at = [&](std::int64_t row) -> const Stretch* {
                return std::partition_point(
                    stretches_.data() + piece.stretches.first,
                    stretches_.data() + piece.stretches.last,
                    [&](const Stretch& stretch) { return stretch.row < row; });
            };
            const Stretch *first = stretch_at(rows.first), *last = stretch_at(rows.last);
            if (part > 0 && first == last) continue;
            const Parts tiles = Parts::of_at_most(most_rows(vectors), piece.targets.size());
            for (std::int64_t i = 0; i < tiles.count; ++i) {
                const std::int64_t target = piece.targets.first + tiles[i].first;
                add_to_tile<vectors>(tiles[i].size(), first, last, from_,
                                     from_places_.data() + target, packed, rows.first, part == 0,
                                     sums, to + target);
            }
        }
    }

    // The packed filters of a panel, from the first of the rows.
    const N* filters_of(std::int64_t group, std::int64_t panel, Range rows) {
        if (packed_)
            return packed_ +
                   plan_.depth() * (group * panels_.all() + panels_.first(panel)) +
                   rows.first * panels_.width(panel);
        N* packed = own_packed_.of(rows.size() * panels_.width(panel));
        pack(plan_, filters_ + group * plan_.filter_group, panel, rows, packed);
        return packed;
    }

    // -- results --

    // Rounds the sums of a panel and puts them where they belong.
    void store_panel(const N* sums, std::int64_t width, std::int64_t real, T* result) {
        const std::int64_t count = size_of(to_places_);
        const std::int64_t* places = to_places_.data();
        if (plan_.target.channel == 1) {
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t j = 0; j < real; ++j)
                    result[places[i] + j] = narrow<T>(sums[i * width + j]);
            return;
        }
        N* lines = lines_.of(real * count);
        transpose(
            count, real, [&](std::int64_t i) { return sums + i * width; },
            [&](std::int64_t j) { return lines + j * count; });
        for (std::int64_t i = 0, end; i < count; i = end) {
            for (end = i + 1; end < count && places[end] == places[end - 1] + 1;) ++end;
            for (std::int64_t j = 0; j < real; ++j)
                store_line(lines + j * count + i, end - i,
                           result + places[i] + j * plan_.target.channel);
        }
    }

    static void store_line(const N* line, std::int64_t count, T* to) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<T>(line[i]);
    }

    std::int64_t row_size() const { return plan_.rows.length * plan_.outs; }
    static std::int64_t row_count(const Box& box) {
        return box.images.size() * box.targets[0].size() * box.targets[1].size();
    }
    static std::int64_t row_of(const Box& box, std::int64_t image, std::int64_t d,
                               std::int64_t h) {
        return (image * box.targets[0].size() + d - box.targets[0].first) *
                   box.targets[1].size() + h - box.targets[1].first;
    }
    N* row_sums(const Box& box) { return row_sums_.of(row_count(box) * row_size()); }

    void add_to_rows(const N* sums, std::int64_t width, std::int64_t real, N* rows) const {
        for (const std::int64_t place : to_places_) {
            for (std::int64_t j = 0; j < real; ++j) rows[place + j] += sums[j];
            sums += width;
        }
    }

    void store_rows(const Box& box) {
        const Order& order = plan_.target;
        for (std::int64_t image = 0; image < box.images.size(); ++image)
            for (std::int64_t d = box.targets[0].first; d < box.targets[0].last; ++d)
                for (std::int64_t h = box.targets[1].first; h < box.targets[1].last; ++h) {
                    const N* sums = row_sums(box) + row_of(box, image, d, h) * row_size() +
                                    plan_.rows.before * plan_.outs;
                    const auto cell = [&](std::size_t i, std::int64_t j) {
                        return box.lines[i]->target(j) * order.cell[i];
                    };
                    T* result = targets_ + (box.images.first + image) * order.image +
                                box.group * plan_.outs * order.channel + cell(0, d) + cell(1, h);
                    store_row(sums, result);
                }
    }

    void store_row(const N* sums, T* result) {
        const std::int64_t outs = plan_.outs, width = plan_.width;
        if (plan_.target.channel == 1) {
            if (plan_.groups == 1) return store_line(sums, width * outs, result);
            for (std::int64_t w = 0; w < width; ++w)
                store_line(sums + w * outs, outs, result + w * plan_.target.cell[2]);
            return;
        }
        N* lines = lines_.of(outs * width);
        transpose(
            width, outs, [&](std::int64_t w) { return sums + w * outs; },
            [&](std::int64_t n) { return lines + n * width; });
        for (std::int64_t n = 0; n < outs; ++n)
            store_line(lines + n * width, width, result + n * plan_.target.channel);
    }

    const Plan& plan_;
    const Panels<N> panels_;
    const Parts depth_;
    const T* const sources_;
    const T* const filters_;
    const N* const packed_;
    T* const targets_;

    std::array<Reach, 3> reach_;
    Order order_;
    const N* from_;
    Walk to_;
    std::vector<Piece> pieces_;
    std::vector<Stretch> stretches_;
    std::vector<std::int64_t> from_places_, to_places_, sum_places_;
    Scratch<N> copies_, own_packed_, sums_, row_sums_, lines_;
};

// -- all boxes -----------------------------------------------------------------------------------

// The boxes of a line along each axis, by number.
struct Boxes {
    std::int64_t first;
    std::array<const Line*, 3> lines;
    std::array<Parts, 4> parts;  // of the images and of the targets along each axis

    std::int64_t count() const {
        return parts[0].count * parts[1].count * parts[2].count * parts[3].count;
    }

    // The box of this number, for all panels of the first group.
    Box operator[](std::int64_t number) const {
        number -= first;
        Box box{0, {}, {}, lines, {}};
        for (std::size_t i = 3; i > 0; number /= parts[i].count, --i)
            box.targets[i - 1] = parts[i][number % parts[i].count];
        box.images = parts[0][number];
        return box;
    }
};

// Cuts all targets into boxes of whole rows, if these are not too long.
std::vector<Boxes> boxes_of(const Plan& plan) {
    std::vector<Boxes> all;
    std::int64_t first = 0;
    for (const Line& d : plan.axes[0].lines)
        for (const Line& h : plan.axes[1].lines)
            for (const Line& w : plan.axes[2].lines) {
                Boxes boxes{first, {&d, &h, &w}, {}};
                std::int64_t room = kBlock;
                for (std::size_t i = 3; i > 0; --i) {
                    const std::int64_t count = boxes.lines[i - 1]->sweep.count;
                    const bool whole = plan.rows.used && i == 3;
                    boxes.parts[i] = Parts::of_at_most(whole ? count : room, count);
                    room /= boxes.parts[i].largest();
                }
                boxes.parts[0] = Parts::of_at_most(room, plan.images);
                first += boxes.count();
                all.push_back(boxes);
            }
    return all;
}

template <class T>
void pack_all(const Plan& plan, const T* filters, Wide<T>* packed) {
    const Panels<Wide<T>> panels(plan);
    parallel_for(plan.groups * panels.count(), plan.groups * panels.all() * plan.depth() * 4,
                 [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                         const std::int64_t group = i / panels.count(), panel = i % panels.count();
                         pack(plan, filters + group * plan.filter_group, panel, {0, plan.depth()},
                              packed + plan.depth() * (group * panels.all() + panels.first(panel)));
                     }
                 });
}

template <class T>
void add_up(const Plan& plan, const T* sources, const T* filters, T* targets, std::size_t size) {
    using N = Wide<T>;
    // What no tap reaches is in no sweep.
    const bool complete = std::all_of(plan.axes.begin(), plan.axes.end(),
                                      [](const Axis& axis) { return axis.complete; });
    if (!complete || plan.taps() == 0) std::memset(static_cast<void*>(targets), 0, size * sizeof(T));
    if (plan.taps() == 0) return;
    const std::vector<Boxes> boxes = boxes_of(plan);
    const std::int64_t count = boxes.back().first + boxes.back().count();
    const Panels<N> panels(plan);
    const std::int64_t all = plan.groups * panels.all() * plan.depth();
    Scratch<N> packed;
    const bool pack_first = count > 3 && all <= kMostPacked / static_cast<std::int64_t>(sizeof(N));
    if (pack_first) pack_all(plan, filters, packed.of(all));
    // Few boxes would leave threads idle.
    const Parts shares = plan.rows.used || count * plan.groups > 16
                             ? Parts{panels.count(), 1}
                             : Parts{panels.count(), panels.count()};
    const std::int64_t jobs = count * plan.groups * shares.count;
    parallel_for(jobs, plan.work, [&](std::int64_t begin, std::int64_t end) {
        Worker<T> worker(plan, sources, filters, pack_first ? packed.of(0) : nullptr, targets);
        for (std::int64_t job = begin; job < end; ++job) {
            const std::int64_t number = job / shares.count % count;
            const auto found = std::partition_point(
                boxes.begin(), boxes.end(),
                [&](const Boxes& each) { return each.first + each.count() <= number; });
            Box box = (*found)[number];
            box.group = job / shares.count / count;
            box.panels = shares[job % shares.count];
            worker.run(box);
        }
    });
}

std::size_t size_of_input(const Conv& conv) {
    const auto& [d, h, w] = conv.axes;
    return static_cast<std::size_t>(conv.images * d.n * h.n * w.n * conv.groups * conv.in);
}

// y[b, o, n] = sum over taps t, channels c: x[b, o * s - pads + t * d, c] * w[t, c, n]
template <class T>
void forward(const T* x, const T* w, T* y, const Conv& conv) {
    const auto& [depth, height, width] = conv.axes;
    const Plan plan = plan_of<Wide<T>>(conv, true);
    add_up(plan, x, w, y,
           static_cast<std::size_t>(conv.images * depth.out * height.out * width.out *
                                    conv.groups * conv.out));
}

// dx[b, i, c] = sum over taps t, outputs o with o * s - pads + t * d = i, channels n:
//               dy[b, o, n] * w[t, c, n]
template <class T>
void input_grad(const T* w, const T* dy, T* dx, const Conv& conv) {
    add_up(plan_of<Wide<T>>(conv, false), dy, w, dx, size_of_input(conv));
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

const ConvKernels ISA::conv_kernels{
    [](Type type, const void* x, const void* w, void* y, const Conv& conv) {
        with_type(type, [&]<class T>(T) { forward(in<T>(x), in<T>(w), out<T>(y), conv); });
    },
    [](Type type, const void* w, const void* dy, void* dx, const Conv& conv) {
        with_type(type, [&]<class T>(T) { input_grad(in<T>(w), in<T>(dy), out<T>(dx), conv); });
    },
    conv_filter_grad,
};

}  // namespace backblocks
