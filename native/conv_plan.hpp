// The plan of a direct convolution: which products it adds up and where their factors are, from its geometry alone.
//
// Convolution and its gradient in the input are the same kind of sum, of sources (x, or dy) into targets (y,
// or dx):
//
//     target[b, j, n] = sum over taps t of j, channels c: source[b, element(t, j), c] * filter[t, c, n]
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "conv.hpp"

namespace backblocks::convolution {

template <class Container>
std::int64_t size_of(const Container& all) {
    return static_cast<std::int64_t>(all.size());
}

constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A partition of n things into `count` parts whose sizes differ by one at most.
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

// The strides of a tensor.
struct Strides {
    std::int64_t image, channel;
    std::array<std::int64_t, 3> element;

    static Strides of(const std::array<std::int64_t, 3>& n, std::int64_t channels, bool first);
};

// A segment: adjacent targets of a phase that have the same real taps.
struct Segment {
    Range targets, taps;
};

// A phase of the targets along an axis (conv_axis.hpp), its taps in the order of their elements, in segments.
struct SegmentedPhase : Phase {
    std::int64_t first_tap;  // number of its first tap where filters are packed, phase by phase
    std::vector<Segment> segments;

    SegmentedPhase(const Phase& phase, std::int64_t first_tap);

    std::int64_t target(std::int64_t j) const { return first + j * step; }
    std::int64_t element(std::int64_t tap, std::int64_t j) const {
        return taps[static_cast<std::size_t>(tap)].element + j * stride;
    }

    // Calls f for each segment, cut to the given targets.
    template <class F>
    void each_segment(Range cut, F f) const {
        for (const auto& [targets, taps] : segments) {
            const Range both{std::max(targets.first, cut.first), std::min(targets.last, cut.last)};
            if (both.size() > 0) f(Segment{both, taps});
        }
    }
};

// An axis of space: the phases of its targets.
struct SegmentedAxis {
    std::vector<SegmentedPhase> phases;
    std::vector<std::int64_t> numbers;  // of the taps, in the order in which they are packed
    bool complete;                      // whether every target is in a phase, and so has a tap

    SegmentedAxis(const std::vector<Phase>& given, bool complete);

    std::int64_t taps() const { return size_of(numbers); }
};

// Row accumulators, for a small channel count. Output channels alone would leave the vectors of a register tile
// mostly empty; so the taps along the width are columns too, and each source has a product for every target
// around it. These are adjacent, and added to a row accumulator until that is complete. Of non-overlapping
// windows each is complete at once, and is stored to the result.
struct RowAccumulators {
    bool used = false;
    bool immediate = false;   // whether products are complete at once, and no row is accumulated
    bool separate = false;    // whether no two sources have a target in common
    std::int64_t step = 0;    // targets from one source's first to the next one's
    std::int64_t before = 0;  // targets of the row before the first real one
    std::int64_t length = 0;  // targets of the row

    bool accumulated() const { return used && !immediate; }
};

// A box: a block of targets, of one phase along each axis, that are computed together.
struct Box {
    Range images;
    std::array<const SegmentedPhase*, 3> phases;
    std::array<Range, 3> targets;

    std::int64_t rows() const { return images.size() * targets[0].size() * targets[1].size(); }
};

// The boxes of one phase along each axis, by number.
struct Boxes {
    std::int64_t first;
    std::array<const SegmentedPhase*, 3> phases;
    std::array<Parts, 4> parts;  // of the images and of the targets along each axis

    std::int64_t count() const {
        return parts[0].count * parts[1].count * parts[2].count * parts[3].count;
    }
    Box operator[](std::int64_t number) const;
};

struct ConvPlan {
    std::int64_t images, groups, ins, outs;  // channels of a group, of sources and of targets
    Strides source, target;
    RowAccumulators rows;
    std::array<SegmentedAxis, 3> axes;
    std::int64_t width;                       // targets along the width
    std::array<std::int64_t, 3> filter_taps;  // strides of the filters
    std::int64_t filter_in, filter_group;
    std::vector<std::int64_t> columns;  // where they begin in a tap
    std::int64_t work;                  // for parallel_for: the bytes that could be moved meanwhile
    Parts depth;  // of the rows of packed filters, which are all taps and their channels
    std::vector<Boxes> boxes;

    // `lanes` is how many numbers a vector has.
    ConvPlan(const Conv& conv, bool forward, std::int64_t lanes);
    ConvPlan(const ConvPlan&) = delete;  // boxes point to phases

    std::int64_t row_size() const { return rows.length * outs; }
    // Whether channels come first; of a single element that makes no difference.
    bool channels_first() const { return source.channel > 1 || target.channel > 1; }
    std::int64_t box_count() const {
        return boxes.empty() ? 0 : boxes.back().first + boxes.back().count();
    }
    Box box(std::int64_t number) const;
    // Where a tap begins in the filters.
    std::int64_t offset_of_tap(std::int64_t tap) const;

   private:
    void cut_into_boxes();
};

// The receptive field of a box along an axis: the sources that its targets read, in place or in a copy. Tap t of
// target j reads number first + j * step + at(t) of it.
struct ReceptiveField {
    const SegmentedPhase* phase;
    Range targets;
    bool separate;  // whether each target has its own copies of the elements it reads
    std::int64_t first, step, size;

    static ReceptiveField in_place(const SegmentedPhase& phase, Range targets) {
        return {&phase, targets, false, 0, phase.stride, phase.n};
    }
    // In a copy of a range of elements or, if taps are too far apart for that, of each element that is read.
    static ReceptiveField in_copy(const SegmentedPhase& phase, Range targets);

    std::int64_t at(std::int64_t tap) const { return separate ? tap : phase->element(tap, 0); }

    // Calls visit(number, element, count) for the elements to copy.
    template <class Visit>
    void each_copy(Visit visit) const {
        if (!separate) return visit(0, -first, size);
        phase->each_segment(targets, [&](const Segment& segment) {
            for (std::int64_t j = segment.targets.first; j < segment.targets.last; ++j)
                for (std::int64_t t = segment.taps.first; t < segment.taps.last; ++t)
                    visit(first + j * step + t, phase->element(t, j), 1);
        });
    }
};

// Contiguous numbers of the sources, `depth` of them at an offset from the first one of a target, and the first of the
// rows of packed filters that they are multiplied with.
struct SourceRun {
    std::int64_t offset, row, depth;
};

// The targets of a box where three segments cross. They have the same real taps, and so one list of source runs.
struct SegmentBlock {
    Range targets, runs;
};

// The addresses of a box, as offsets: of its sources, filters and results.
class BoxAddresses {
   public:
    std::array<ReceptiveField, 3> fields;
    Strides strides;  // of the sources, in place or in a copy
    std::vector<SegmentBlock> blocks;
    std::vector<SourceRun> runs;
    std::vector<std::int64_t> from;  // where each target's sources begin
    std::vector<std::int64_t> to;    // where its sums go: in the result, or in row accumulators

    void find(const ConvPlan& plan, const Box& box, bool in_place);

   private:
    void add_block(const ConvPlan& plan, const Box& box, const std::array<Segment, 3>& axes);
    void add_runs(const ConvPlan& plan, const Box& box, const std::array<Segment, 3>& axes);
};

}  // namespace backblocks::convolution
