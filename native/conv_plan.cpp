#include "conv_plan.hpp"

namespace backblocks::convolution {
namespace {

// Targets in a box: enough that fetching the filters is little beside using them.
constexpr std::int64_t kBox = 384;

// Rows of packed filters that stay in the second-level cache while a box is worked on.
constexpr std::int64_t kDepth = 4096;

// Numbers of a row accumulator.
constexpr std::int64_t kMostInRow = 1 << 15;

// Whether row accumulators fill the vectors so much better that it pays: by a fifth.
bool accumulators_pay(std::int64_t outs, std::int64_t taps, std::int64_t lanes) {
    const auto filled = [lanes](std::int64_t n) {
        return static_cast<double>(n) / static_cast<double>(div_up(n, lanes) * lanes);
    };
    return outs < 2 * lanes && filled(outs) * 1.2 < filled(outs * taps);
}

RowAccumulators row_accumulators(const Conv& conv, std::int64_t outs, bool forward, std::int64_t lanes) {
    const TapAxis& axis = conv.axes[2];
    RowAccumulators rows;
    // A source's targets are adjacent if taps are, and if no stride skips some of them.
    if (axis.d > 1 || (forward && (axis.s > 1 || axis.pads >= axis.k))) return rows;
    if (axis.k > kMostInRow / outs) return rows;
    rows.step = forward ? 1 : axis.s;
    rows.before = forward ? axis.k - 1 - axis.pads : axis.pads;
    rows.length = std::max(((forward ? axis.n : axis.out) - 1) * rows.step + axis.k,
                           rows.before + (forward ? axis.out : axis.n));
    rows.separate = rows.step >= axis.k;
    rows.immediate = !forward && !conv.channels_first && conv.groups == 1 && axis.s == axis.k &&
                    axis.pads == 0 && axis.out * axis.s == axis.n;
    // With channels first, targets that are some steps apart could only be stored one by one.
    const bool one_by_one = conv.channels_first && !forward && axis.s > 1;
    rows.used = rows.immediate || (rows.length <= kMostInRow / outs &&
                                  (one_by_one || accumulators_pay(outs, axis.k, lanes)));
    return rows;
}

LineAxis line_axis(const TapAxis& axis, bool forward) {
    const Side side = forward ? Side::outputs(axis) : Side::inputs(axis);
    return {side.sweeps, side.complete()};
}

LineAxis each_source(std::int64_t n) { return {{{0, 1, n, 1, n, {{0, 0}}}}, true}; }

Strides strides_of(const Conv& conv, bool input) {
    const auto& [d, h, w] = conv.axes;
    return input ? Strides::of({d.n, h.n, w.n}, conv.groups * conv.in, conv.channels_first)
                 : Strides::of({d.out, h.out, w.out}, conv.groups * conv.out, conv.channels_first);
}

}  // namespace

Strides Strides::of(const std::array<std::int64_t, 3>& n, std::int64_t channels, bool first) {
    const std::int64_t elements = n[0] * n[1] * n[2];
    if (first && channels > 1) return {channels * elements, elements, {n[1] * n[2], n[2], 1}};
    return {channels * elements, 1, {channels * n[1] * n[2], channels * n[2], channels}};
}

Line::Line(const Sweep& given, std::int64_t first_tap) : sweep(given), first_tap(first_tap) {
    std::sort(sweep.taps.begin(), sweep.taps.end(),
              [](const Tap& a, const Tap& b) { return a.element < b.element; });
    Range taps{size_of(sweep.taps), size_of(sweep.taps)};
    for (std::int64_t j = 0; j < sweep.count; ++j) {
        while (taps.first > 0 && element(taps.first - 1, j) >= 0) --taps.first;
        while (taps.last > 0 && element(taps.last - 1, j) >= sweep.n) --taps.last;
        if (segments.empty() || segments.back().taps.first != taps.first ||
            segments.back().taps.last != taps.last)
            segments.push_back({{j, j}, taps});
        segments.back().targets.last = j + 1;
    }
}

LineAxis::LineAxis(const std::vector<Sweep>& sweeps, bool complete) : complete(complete) {
    for (const Sweep& sweep : sweeps) {
        const Line& line = lines.emplace_back(sweep, taps());
        for (const Tap& tap : line.sweep.taps) numbers.push_back(tap.number);
    }
}

ConvPlan::ConvPlan(const Conv& conv, bool forward, std::int64_t lanes)
    : images(conv.images),
      groups(conv.groups),
      ins(forward ? conv.in : conv.out),
      outs(forward ? conv.out : conv.in),
      source(strides_of(conv, forward)),
      target(strides_of(conv, !forward)),
      rows(row_accumulators(conv, outs, forward, lanes)),
      axes{line_axis(conv.axes[0], forward), line_axis(conv.axes[1], forward),
           rows.used ? each_source(forward ? conv.axes[2].n : conv.axes[2].out)
                     : line_axis(conv.axes[2], forward)},
      width(forward ? conv.axes[2].out : conv.axes[2].n) {
    const auto& [d, h, w] = conv.axes;
    const std::int64_t filters = groups * conv.out, tap = conv.in * filters;
    filter_taps = {h.k * w.k * tap, w.k * tap, tap};
    filter_in = forward ? filters : 1;
    filter_group = conv.out;
    for (std::int64_t t = 0; t < (rows.used ? w.k : 1); ++t)
        for (std::int64_t n = 0; n < outs; ++n)
            columns.push_back((forward && rows.used ? w.k - 1 - t : t) * tap +
                              n * (forward ? 1 : filters));
    double products = static_cast<double>(images) * static_cast<double>(tap);
    for (const TapAxis& axis : conv.axes)
        products *= static_cast<double>(axis.k) * static_cast<double>(axis.out);
    // A core multiplies some four times while it moves a byte.
    work = static_cast<std::int64_t>(std::min(products / 4, 0x1p60));
    depth = Parts::of_at_most(kDepth, axes[0].taps() * axes[1].taps() * axes[2].taps() * ins);
    cut_into_boxes();
}

// Divides all targets into boxes of whole rows, if these are not too long.
void ConvPlan::cut_into_boxes() {
    for (const Line& d : axes[0].lines)
        for (const Line& h : axes[1].lines)
            for (const Line& w : axes[2].lines) {
                Boxes cut{box_count(), {&d, &h, &w}, {}};
                std::int64_t room = kBox;
                for (std::size_t i = 3; i > 0; --i) {
                    const std::int64_t count = cut.lines[i - 1]->sweep.count;
                    const bool whole = rows.accumulated() && i == 3;
                    cut.parts[i] = Parts::of_at_most(whole ? count : room, count);
                    room /= cut.parts[i].largest();
                }
                cut.parts[0] = Parts::of_at_most(room, images);
                boxes.push_back(cut);
            }
}

std::int64_t ConvPlan::place_of_tap(std::int64_t tap) const {
    std::int64_t place = 0;
    for (std::size_t i = 3; i-- > 0; tap /= axes[i].taps())
        place += axes[i].numbers[static_cast<std::size_t>(tap % axes[i].taps())] * filter_taps[i];
    return place;
}

Box ConvPlan::box(std::int64_t number) const {
    // Lines take turns, if they are as long: they read the same sources, which are in the cache then.
    const std::int64_t each = boxes[0].count(), kinds = size_of(boxes);
    if (std::all_of(boxes.begin(), boxes.end(), [&](auto& some) { return some.count() == each; })) {
        const Boxes& some = boxes[static_cast<std::size_t>(number % kinds)];
        return some[some.first + number / kinds];
    }
    const auto found =
        std::partition_point(boxes.begin(), boxes.end(), [&](const Boxes& each) {
            return each.first + each.count() <= number;
        });
    return (*found)[number];
}

Box Boxes::operator[](std::int64_t number) const {
    number -= first;
    Box box{{}, lines, {}};
    for (std::size_t i = 3; i > 0; number /= parts[i].count, --i)
        box.targets[i - 1] = parts[i][number % parts[i].count];
    box.images = parts[0][number];
    return box;
}

Reach Reach::in_copy(const Line& line, Range targets) {
    const std::int64_t taps = size_of(line.sweep.taps);
    const Range elements{std::max<std::int64_t>(line.element(0, targets.first), 0),
                      std::min(line.element(taps - 1, targets.last - 1) + 1, line.sweep.n)};
    if (elements.size() <= targets.size() * taps)
        return {&line, targets, false, -elements.first, line.sweep.stride, elements.size()};
    return {&line, targets, true, -targets.first * taps, taps, targets.size() * taps};
}

// -- the addresses of a box -----------------------------------------------------------------------

namespace {

// Offsets of targets: first + image * .. + d * .. + h * .. + w * ..
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

Walk walk_to(const ConvPlan& plan, const Box& box) {
    const auto& [ds, hs, ws] = box.targets;
    if (plan.rows.accumulated()) {
        const std::int64_t row = plan.row_size(), plane = row * hs.size();
        return {-ds.first * plane - hs.first * row, plane * ds.size(),
                {plane, row, plan.rows.step * plan.outs}};
    }
    Walk to{0, plan.target.image, {}};
    for (std::size_t i = 0; i < 3; ++i) {
        to.first += box.lines[i]->target(0) * plan.target.element[i];
        to.step[i] = box.lines[i]->sweep.step * plan.target.element[i];
    }
    if (plan.rows.immediate) to.step[2] *= plan.rows.step;
    return to;
}

}  // namespace

void Layout::find(const ConvPlan& plan, const Box& box, bool in_place) {
    for (std::size_t i = 0; i < 3; ++i)
        reach[i] = in_place ? Reach::in_place(*box.lines[i], box.targets[i])
                            : Reach::in_copy(*box.lines[i], box.targets[i]);
    strides = in_place ? plan.source
                     : Strides::of({reach[0].size, reach[1].size, reach[2].size}, plan.ins, false);
    patches.clear();
    stretches.clear();
    from.clear();
    to.clear();
    const auto each = [&](std::size_t axis, auto f) {
        box.lines[axis]->each_segment(box.targets[axis], f);
    };
    each(0, [&](const Segment& ds) {
        each(1, [&](const Segment& hs) {
            each(2, [&](const Segment& ws) { add_patch(plan, box, {ds, hs, ws}); });
        });
    });
}

void Layout::add_patch(const ConvPlan& plan, const Box& box, const std::array<Segment, 3>& axes) {
    const std::int64_t first = size_of(from), first_stretch = size_of(stretches);
    Walk walk{0, 0, {}};
    // Without taps there is nothing to read, and no place to read from.
    if (std::all_of(axes.begin(), axes.end(), [](const Segment& s) { return s.taps.size() > 0; })) {
        walk.image = strides.image;
        for (std::size_t i = 0; i < 3; ++i) {
            walk.first += (reach[i].first + reach[i].at(axes[i].taps.first)) * strides.element[i];
            walk.step[i] = reach[i].step * strides.element[i];
        }
        add_stretches(plan, box, axes);
    }
    walk.add_places(box.images.size(), axes, from);
    walk_to(plan, box).add_places(box.images.size(), axes, to);
    patches.push_back({{first, size_of(from)}, {first_stretch, size_of(stretches)}});
}

void Layout::add_stretches(const ConvPlan& plan, const Box& box,
                           const std::array<Segment, 3>& axes) {
    const auto& [ds, hs, ws] = axes;
    const auto place = [&](std::size_t i, std::int64_t t) {
        return (reach[i].at(t) - reach[i].at(axes[i].taps.first)) * strides.element[i];
    };
    const auto row = [&](std::int64_t d, std::int64_t h, std::int64_t w) {
        const auto& [dl, hl, wl] = box.lines;
        return (((dl->first_tap + d) * plan.axes[1].taps() + hl->first_tap + h) *
                    plan.axes[2].taps() + wl->first_tap + w) * plan.ins;
    };
    // All taps along the width at once if their elements are contiguous.
    const std::int64_t all = ws.taps.size();
    const std::int64_t taps = place(2, ws.taps.last - 1) == (all - 1) * plan.ins ? all : 1;
    for (std::int64_t d = ds.taps.first; d < ds.taps.last; ++d)
        for (std::int64_t h = hs.taps.first; h < hs.taps.last; ++h)
            for (std::int64_t w = ws.taps.first; w < ws.taps.last; w += taps) {
                Stretch left{place(0, d) + place(1, h) + place(2, w), row(d, h, w),
                             taps * plan.ins};
                while (left.depth > 0) {  // cut where the depth is
                    const std::int64_t end =
                        plan.depth.count == 1 ? plan.depth.n
                                              : plan.depth[plan.depth.of(left.row)].last;
                    const std::int64_t depth = std::min(left.depth, end - left.row);
                    stretches.push_back({left.place, left.row, depth});
                    left = {left.place + depth, left.row + depth, left.depth - depth};
                }
            }
}

}  // namespace backblocks::convolution
