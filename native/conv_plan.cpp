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
    const ConvAxis& axis = conv.axes[2];
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

SegmentedAxis segmented_axis(const ConvAxis& axis, bool forward) {
    const AxisPhases all = forward ? AxisPhases::outputs(axis) : AxisPhases::inputs(axis);
    return {all.phases, all.complete()};
}

SegmentedAxis each_source(std::int64_t n) { return {{{0, 1, n, 1, n, {{0, 0}}}}, true}; }

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

SegmentedPhase::SegmentedPhase(const Phase& phase, std::int64_t first_tap) : Phase(phase), first_tap(first_tap) {
    std::sort(taps.begin(), taps.end(), [](const Tap& a, const Tap& b) { return a.element < b.element; });
    Range real{size_of(taps), size_of(taps)};
    for (std::int64_t j = 0; j < count; ++j) {
        while (real.first > 0 && element(real.first - 1, j) >= 0) --real.first;
        while (real.last > 0 && element(real.last - 1, j) >= n) --real.last;
        if (segments.empty() || segments.back().taps.first != real.first ||
            segments.back().taps.last != real.last)
            segments.push_back({{j, j}, real});
        segments.back().targets.last = j + 1;
    }
}

SegmentedAxis::SegmentedAxis(const std::vector<Phase>& given, bool complete) : complete(complete) {
    for (const Phase& each : given) {
        const SegmentedPhase& phase = phases.emplace_back(each, taps());
        for (const Tap& tap : phase.taps) numbers.push_back(tap.number);
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
      axes{segmented_axis(conv.axes[0], forward), segmented_axis(conv.axes[1], forward),
           rows.used ? each_source(forward ? conv.axes[2].n : conv.axes[2].out)
                     : segmented_axis(conv.axes[2], forward)},
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
    for (const ConvAxis& axis : conv.axes)
        products *= static_cast<double>(axis.k) * static_cast<double>(axis.out);
    // A core multiplies some four times while it moves a byte.
    work = static_cast<std::int64_t>(std::min(products / 4, 0x1p60));
    depth = Parts::of_at_most(kDepth, axes[0].taps() * axes[1].taps() * axes[2].taps() * ins);
    cut_into_boxes();
}

// Divides all targets into boxes of whole rows, if these are not too long.
void ConvPlan::cut_into_boxes() {
    for (const SegmentedPhase& d : axes[0].phases)
        for (const SegmentedPhase& h : axes[1].phases)
            for (const SegmentedPhase& w : axes[2].phases) {
                Boxes cut{box_count(), {&d, &h, &w}, {}};
                std::int64_t room = kBox;
                for (std::size_t i = 3; i > 0; --i) {
                    const std::int64_t count = cut.phases[i - 1]->count;
                    const bool whole = rows.accumulated() && i == 3;
                    cut.parts[i] = Parts::of_at_most(whole ? count : room, count);
                    room /= cut.parts[i].largest();
                }
                cut.parts[0] = Parts::of_at_most(room, images);
                boxes.push_back(cut);
            }
}

std::int64_t ConvPlan::offset_of_tap(std::int64_t tap) const {
    std::int64_t offset = 0;
    for (std::size_t i = 3; i-- > 0; tap /= axes[i].taps())
        offset += axes[i].numbers[static_cast<std::size_t>(tap % axes[i].taps())] * filter_taps[i];
    return offset;
}

Box ConvPlan::box(std::int64_t number) const {
    // Phases take turns, if they are as long: they read the same sources, which are in the cache then.
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
    Box box{{}, phases, {}};
    for (std::size_t i = 3; i > 0; number /= parts[i].count, --i)
        box.targets[i - 1] = parts[i][number % parts[i].count];
    box.images = parts[0][number];
    return box;
}

ReceptiveField ReceptiveField::in_copy(const SegmentedPhase& phase, Range targets) {
    const std::int64_t taps = size_of(phase.taps);
    const Range elements{std::max<std::int64_t>(phase.element(0, targets.first), 0),
                      std::min(phase.element(taps - 1, targets.last - 1) + 1, phase.n)};
    if (elements.size() <= targets.size() * taps)
        return {&phase, targets, false, -elements.first, phase.stride, elements.size()};
    return {&phase, targets, true, -targets.first * taps, taps, targets.size() * taps};
}

// -- the addresses of a box -----------------------------------------------------------------------

namespace {

// Offsets that are affine in image and target: first + b * image + d * step[0] + h * step[1] + w * step[2].
struct AffineOffsets {
    std::int64_t first, image;
    std::array<std::int64_t, 3> step;

    // Adds the offsets of the targets where segments cross.
    void add_offsets(std::int64_t images, const std::array<Segment, 3>& axes,
                    std::vector<std::int64_t>& offsets) const {
        const Range &ds = axes[0].targets, &hs = axes[1].targets, &ws = axes[2].targets;
        const std::size_t before = offsets.size();
        offsets.resize(before +
                      static_cast<std::size_t>(images * ds.size() * hs.size() * ws.size()));
        std::int64_t* next = offsets.data() + before;
        for (std::int64_t b = 0; b < images; ++b)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h) {
                    const std::int64_t row = first + b * image + d * step[0] + h * step[1];
                    for (std::int64_t w = ws.first; w < ws.last; ++w) *next++ = row + w * step[2];
                }
    }
};

AffineOffsets result_offsets(const ConvPlan& plan, const Box& box) {
    const auto& [ds, hs, ws] = box.targets;
    if (plan.rows.accumulated()) {
        const std::int64_t row = plan.row_size(), plane = row * hs.size();
        return {-ds.first * plane - hs.first * row, plane * ds.size(),
                {plane, row, plan.rows.step * plan.outs}};
    }
    AffineOffsets to{0, plan.target.image, {}};
    for (std::size_t i = 0; i < 3; ++i) {
        to.first += box.phases[i]->target(0) * plan.target.element[i];
        to.step[i] = box.phases[i]->step * plan.target.element[i];
    }
    if (plan.rows.immediate) to.step[2] *= plan.rows.step;
    return to;
}

}  // namespace

void BoxAddresses::find(const ConvPlan& plan, const Box& box, bool in_place) {
    for (std::size_t i = 0; i < 3; ++i)
        fields[i] = in_place ? ReceptiveField::in_place(*box.phases[i], box.targets[i])
                            : ReceptiveField::in_copy(*box.phases[i], box.targets[i]);
    strides = in_place ? plan.source
                       : Strides::of({fields[0].size, fields[1].size, fields[2].size}, plan.ins, false);
    blocks.clear();
    runs.clear();
    from.clear();
    to.clear();
    const auto each = [&](std::size_t axis, auto f) {
        box.phases[axis]->each_segment(box.targets[axis], f);
    };
    each(0, [&](const Segment& ds) {
        each(1, [&](const Segment& hs) {
            each(2, [&](const Segment& ws) { add_block(plan, box, {ds, hs, ws}); });
        });
    });
}

void BoxAddresses::add_block(const ConvPlan& plan, const Box& box, const std::array<Segment, 3>& axes) {
    const std::int64_t first = size_of(from), first_run = size_of(runs);
    AffineOffsets of_sources{0, 0, {}};
    // Without taps there is nothing to read, and offsets do not matter.
    if (std::all_of(axes.begin(), axes.end(), [](const Segment& s) { return s.taps.size() > 0; })) {
        of_sources.image = strides.image;
        for (std::size_t i = 0; i < 3; ++i) {
            of_sources.first += (fields[i].first + fields[i].at(axes[i].taps.first)) * strides.element[i];
            of_sources.step[i] = fields[i].step * strides.element[i];
        }
        add_runs(plan, box, axes);
    }
    of_sources.add_offsets(box.images.size(), axes, from);
    result_offsets(plan, box).add_offsets(box.images.size(), axes, to);
    blocks.push_back({{first, size_of(from)}, {first_run, size_of(runs)}});
}

void BoxAddresses::add_runs(const ConvPlan& plan, const Box& box,
                           const std::array<Segment, 3>& axes) {
    const auto& [ds, hs, ws] = axes;
    const auto offset = [&](std::size_t i, std::int64_t t) {
        return (fields[i].at(t) - fields[i].at(axes[i].taps.first)) * strides.element[i];
    };
    const auto row = [&](std::int64_t d, std::int64_t h, std::int64_t w) {
        const auto& [dp, hp, wp] = box.phases;
        return (((dp->first_tap + d) * plan.axes[1].taps() + hp->first_tap + h) *
                    plan.axes[2].taps() + wp->first_tap + w) * plan.ins;
    };
    // All taps along the width at once if their elements are contiguous.
    const std::int64_t all = ws.taps.size();
    const std::int64_t taps = offset(2, ws.taps.last - 1) == (all - 1) * plan.ins ? all : 1;
    for (std::int64_t d = ds.taps.first; d < ds.taps.last; ++d)
        for (std::int64_t h = hs.taps.first; h < hs.taps.last; ++h)
            for (std::int64_t w = ws.taps.first; w < ws.taps.last; w += taps) {
                SourceRun left{offset(0, d) + offset(1, h) + offset(2, w), row(d, h, w),
                             taps * plan.ins};
                while (left.depth > 0) {  // cut where the depth is
                    const std::int64_t end =
                        plan.depth.count == 1 ? plan.depth.n
                                              : plan.depth[plan.depth.of(left.row)].last;
                    const std::int64_t depth = std::min(left.depth, end - left.row);
                    runs.push_back({left.offset, left.row, depth});
                    left = {left.offset + depth, left.row + depth, left.depth - depth};
                }
            }
}

}  // namespace backblocks::convolution
