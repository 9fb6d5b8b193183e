// The direct algorithm of depthwise convolution and its gradients: channels are last, vectors run over them, and
// elements are read in place.
//
//     for each row of targets, and in it for each segment of targets that have the same taps:
//         for some targets at a time, and for some vectors of channels: depthwise_micro_kernels.hpp
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "conv_plan.hpp"
#include "depthwise_geometry.hpp"
#include "depthwise_micro_kernels.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "stream.hpp"
#include "tile.hpp"

namespace backblocks::ISA::depthwise {

using convolution::SegmentedPhase, convolution::SegmentedAxis, convolution::Segment;

// Bytes of an element, all its channels, from which on it pays to prefetch elements: measured.
constexpr std::int64_t kLargeElement = 512;
// The most partial sums of a filter gradient, and the most numbers of all of them.
constexpr std::int64_t kParts = 32;
constexpr std::int64_t kPartNumbers = 1 << 22;

// Partial sums of the filter gradient. How many there are, and the order in which they are added, do not depend on the
// number of threads.
template <class N>
struct FilterSums {
    std::int64_t size, parts;
    std::vector<N> all;

    FilterSums(const Pass& pass, std::int64_t work)
        : size(pass.taps() * pass.filters),
          parts(std::clamp<std::int64_t>(std::min(work, kPartNumbers / size), 1, kParts)),
          all(static_cast<std::size_t>(parts * size)) {}

    N* part(std::int64_t i) { return all.data() + i * size; }

    template <class T>
    void add_up(T* df) {
        std::vector<N> sums(static_cast<std::size_t>(size));
        for (std::int64_t p = 0; p < parts; ++p)
            std::transform(sums.begin(), sums.end(), part(p), sums.begin(), std::plus<N>());
        std::transform(sums.begin(), sums.end(), df, narrow<T>);
    }
};

// Rows of targets, computed from elements in place. Near the padding targets have fewer taps.
template <class T>
class Direct {
    using N = Wide<T>;
    static constexpr std::int64_t v = kLanes<N>;

   public:
    explicit Direct(std::shared_ptr<const Pass> pass) : owner_(std::move(pass)), pass_(*owner_) {
        for (const AxisPhases& axis : pass_.axes) axes_.emplace_back(axis.phases, axis.complete());
        for (std::size_t i = 0; i < 2; ++i) {
            targets_[i].resize(static_cast<std::size_t>(pass_.out.n[i]));
            for (const SegmentedPhase& phase : axes_[i].phases)
                for (const Segment& segment : phase.segments)
                    for (std::int64_t j = segment.targets.first; j < segment.targets.last; ++j)
                        targets_[i][static_cast<std::size_t>(phase.target(j))] = {&phase, &segment, j};
        }
    }
    Direct(const Direct&) = delete;  // targets_ points to phases

    void run(const T* in, const T* f, T* out) const {
        // Streaming stores of whole cache lines, if the result is too large for the cache.
        constexpr std::int64_t line_size = kCacheLine / sizeof(N);
        const bool streamed = kCanStream && std::is_same_v<T, N> && 2 * v * sizeof(N) >= kCacheLine &&
                              pass_.filters % line_size == 0 &&
                              outgrows_cache<T>(pass_.numbers()) &&
                              reinterpret_cast<std::uintptr_t>(out) % kCacheLine == 0;
        Scratch<N> room;
        N* weights = room.of(pass_.taps() * weight_step());
        for (std::int64_t t = 0; t < pass_.taps(); ++t)
            widen_weights(f + t * pass_.filters, weights + t * weight_step());
        parallel_for(pass_.rows(), pass_.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            each_row_segment(begin, end, [&](const RowSegment& segment) {
                add_up(segment, in + segment.from, weights, out + segment.to, streamed);
            });
            if (streamed) stream_fence();
        });
    }

    void multiply(const T* x, const T* dy, T* df) const {
        FilterSums<N> all(pass_, pass_.rows());
        parallel_for(all.parts, pass_.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t part = begin; part < end; ++part)
                each_row_segment(pass_.rows() * part / all.parts, pass_.rows() * (part + 1) / all.parts,
                                 [&](const RowSegment& segment) {
                                     add_products(segment, x + segment.from, dy + segment.to, all.part(part));
                                 });
        });
        all.add_up(df);
    }

   private:
    // A target along the depth or the height: its phase, if it is in one, and its segment and position in that.
    struct Target {
        const SegmentedPhase* phase = nullptr;
        const Segment* segment = nullptr;
        std::int64_t position = 0;

        // The element that the last tap reads; any if all taps read padding.
        std::int64_t last_element() const {
            const auto last = static_cast<std::size_t>(segment->taps.last);
            return last == 0 ? 0 : phase->taps[last - 1].element;
        }
    };

    // The runs of taps of each segment along the width, for a pair of segments along depth and height.
    struct Row {
        const Segment *d = nullptr, *h = nullptr;
        std::vector<Runs> runs;
    };

    void find_runs(const Target& dt, const Target& ht, Row& row) const {
        if (row.d == dt.segment && row.h == ht.segment) return;
        row.d = dt.segment;
        row.h = ht.segment;
        row.runs.clear();
        const auto each = [](const SegmentedPhase& phase, const Segment& segment, auto f) {
            std::for_each(phase.taps.begin() + segment.taps.first,
                          phase.taps.begin() + segment.taps.last, f);
        };
        for (const SegmentedPhase& phase : axes_[2].phases)
            for (const Segment& segment : phase.segments) {
                Runs& runs = row.runs.emplace_back();
                // Further apart, positions share no elements.
                const std::size_t most = phase.stride <= 2 ? kRun : 1;
                each(*dt.phase, *dt.segment, [&](const Tap& d) {
                    each(*ht.phase, *ht.segment, [&](const Tap& h) {
                        Run run{};
                        std::size_t count = 0;
                        std::int64_t after = 0;
                        each(phase, segment, [&](const Tap& w) {
                            const std::int64_t element =
                                pass_.in.row(d.element, h.element) + w.element * pass_.in.step();
                            if (count == most || (count > 0 && element != after))
                                runs[std::exchange(count, 0) - 1].push_back(run);
                            if (count == 0) run.distance = element;
                            run.numbers[count++] = pass_.number(d, h, w);
                            after = element + pass_.in.step();
                        });
                        if (count > 0) runs[count - 1].push_back(run);
                    });
                });
            }
    }

    // Targets of a row that have the same taps, and the offsets of the first of them and of its elements.
    struct RowSegment {
        const Runs& runs;
        std::int64_t count, from, from_step, to, to_step;
        std::int64_t soon, soon_rows;  // the elements that the next row will be the first to read
    };

    // Calls f with the stride of the targets' elements, 2 if it is known to be that, and the step that it multiplies.
    template <class F>
    void with_stride(const RowSegment& segment, F f) const {
        if (segment.from_step == 2 * pass_.in.step())
            f(std::integral_constant<int, 2>{}, pass_.in.step());
        else f(std::integral_constant<int, 1>{}, segment.from_step);
    }

    // The weights of each tap begin a cache line, and those of different taps are in different sets of the cache.
    std::int64_t weight_step() const { return convolution::div_up(pass_.filters, v) * v + 2 * v; }

    // Widens weights to the order of lanes in which load_unordered gives elements.
    void widen_weights(const T* f, N* to) const {
        std::int64_t c = 0;
        for (; c + 2 * v <= pass_.filters; c += 2 * v) {
            Vector<N> two[2];
            load_unordered(f + c, two);
            store(two[0], to + c);
            store(two[1], to + c + v);
        }
        for (; c < pass_.filters; c += v) store(load(f + std::min(c, pass_.filters - v)), to + c);
    }

    // Calls f for each segment of the rows from `begin` to `end`.
    template <class F>
    void each_row_segment(std::int64_t begin, std::int64_t end, F f) const {
        const TensorLayout &in = pass_.in, &out = pass_.out;
        std::vector<Row> by_phase(axes_[1].phases.size());  // rows of the phases along the height alternate
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t h = i % out.n[1], d = i / out.n[1] % out.n[0], image = i / out.n[1] / out.n[0];
            const Target& dt = targets_[0][static_cast<std::size_t>(d)];
            const Target& ht = targets_[1][static_cast<std::size_t>(h)];
            if (!dt.phase || !ht.phase) continue;
            Row& row = by_phase[static_cast<std::size_t>(ht.phase - axes_[1].phases.data())];
            find_runs(dt, ht, row);
            const std::int64_t from = image * in.image_step() + in.row(dt.position * dt.phase->stride,
                                                                       ht.position * ht.phase->stride);
            const std::int64_t to = image * out.image_step() + out.row(d, h);
            const std::int64_t soon = in.row(dt.last_element(), ht.last_element() + 1);
            std::size_t next = 0;
            for (const SegmentedPhase& phase : axes_[2].phases) {
                const std::int64_t from_step = phase.stride * in.step();
                for (const auto& [targets, _] : phase.segments)
                    f(RowSegment{row.runs[next++], targets.size(), from + targets.first * from_step, from_step,
                                 to + phase.target(targets.first) * out.step(), phase.step * out.step(), soon,
                                 ht.phase->stride});
            }
        }
    }

    void add_up(const RowSegment& segment, const T* from, const N* f, T* to, bool streamed) const {
        constexpr int most = kSums / 2;
        for (std::int64_t j = 0; j < segment.count; j += most)
            with_constant<most>(std::min<std::int64_t>(segment.count - j, most), [&](auto positions) {
                const auto add = [&](std::int64_t done, auto vectors) {
                    // The last vector may overlap the one before.
                    const std::int64_t c = std::min(done, pass_.filters - vectors * v);
                    const T* elements = from + j * segment.from_step + c;
                    prefetch(segment, elements, positions);
                    with_stride(segment, [&](auto stride, std::int64_t step) {
                        add_up_in_place<stride, positions, vectors>(
                            segment.runs, elements, step, f + done, weight_step(),
                            to + j * segment.to_step + c, segment.to_step, streamed);
                    });
                };
                std::int64_t c = 0;
                // A few positions, as beside padding, leave registers to more channels.
                constexpr int many = positions == 1 ? 8 : 4;
                if constexpr (2 * positions <= most)
                    for (; c + many * v <= pass_.filters; c += many * v)
                        add(c, std::integral_constant<int, many>{});
                for (; c + 2 * v <= pass_.filters; c += 2 * v) add(c, std::integral_constant<int, 2>{});
                for (; c < pass_.filters; c += v) add(c, std::integral_constant<int, 1>{});
            });
    }

    // Prefetches large elements, whose strides hardware prefetchers do not follow. Inline: else compilers find that
    // the function does nothing, and leave it out.
    BACKBLOCKS_INLINE void prefetch(const RowSegment& segment, const T* from, std::int64_t positions) const {
        const std::int64_t element = pass_.in.step(), row = pass_.in.row(0, 1);
        if (element * static_cast<std::int64_t>(sizeof(T)) < kLargeElement) return;
        for (std::int64_t r = 0; r < segment.soon_rows; ++r)
            for (std::int64_t i = 0; i < positions * segment.from_step; i += element)
                __builtin_prefetch(from + segment.soon + r * row + i, 0, 2);
    }

    void add_products(const RowSegment& segment, const T* x, const T* dy, N* sums) const {
        with_stride(segment, [&](auto stride, std::int64_t step) {
            const Steps steps{step, segment.to_step, pass_.in.row(0, 1), pass_.out.row(0, 1),
                              segment.soon};
            for (std::int64_t done = 0; done < pass_.filters; done += v) {
                const std::int64_t c = std::min(done, pass_.filters - v);
                const auto add = [&](auto taps) {
                    constexpr int most = kTaps / taps;
                    const std::vector<Run>& runs = segment.runs[taps - 1];
                    for (std::int64_t i = 0; i < std::ssize(runs); i += most)
                        with_constant<most>(std::min(std::ssize(runs) - i, std::int64_t{most}), [&](auto some) {
                            const Run* run = runs.data() + i;
                            Vector<N> products[some()][taps()];
                            multiply_runs<stride>(run, x + c, dy + c, steps, segment.count, products);
                            for (int r = 0; r < some; ++r)
                                for (std::size_t t = 0; t < taps; ++t)
                                    add_from(done - c, products[r][t],
                                             sums + run[r].numbers[t] * pass_.filters + c);
                        });
                };
                add(std::integral_constant<int, 3>{});
                add(std::integral_constant<int, 2>{});
                add(std::integral_constant<int, 1>{});
            }
        });
    }

    // Adds the lanes of a vector from the first one given.
    static void add_from(std::int64_t first, const Vector<N>& some, N* to) {
        if (first == 0) store(load(to) + some, to);
        else
            for (std::int64_t i = first; i < v; ++i) to[i] += some[i];
    }

    const std::shared_ptr<const Pass> owner_;
    const Pass& pass_;
    std::vector<SegmentedAxis> axes_;
    std::array<std::vector<Target>, 2> targets_;
};

}  // namespace backblocks::ISA::depthwise
