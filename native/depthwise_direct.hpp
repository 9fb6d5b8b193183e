// Depthwise convolution with the channels last, which reads elements in place: vectors run over channels.
//
//     for each row of results, and in it for each segment of results that have the same taps:
//         for some results at a time, and for some vectors of channels: depthwise_micro_kernels.hpp
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

using convolution::Line, convolution::LineAxis, convolution::Segment;

// Bytes of a element from which on it pays to fetch elements before they are read: measured.
constexpr std::int64_t kLargeElement = 512;
// Partial sums of a gradient of filters, and all their numbers, at most.
constexpr std::int64_t kParts = 32;
constexpr std::int64_t kPartNumbers = 1 << 22;

// Sums of the gradient of a filter: as many parts, added in the same order, whatever the number of
// threads.
template <class N>
struct FilterSums {
    std::int64_t size, parts;
    std::vector<N> all;

    FilterSums(const Pass& pass, std::int64_t work)
        : size(pass.taps() * pass.lanes),
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

// Nothing is packed: rows of results are made of elements in place. Near the padding they have fewer taps.
template <class T>
class Direct {
    using N = Wide<T>;
    static constexpr std::int64_t v = kLanes<N>;

   public:
    explicit Direct(std::shared_ptr<const Pass> pass) : kept_(std::move(pass)), pass_(*kept_) {
        for (const Side& side : pass_.sides) axes_.emplace_back(side.sweeps, side.complete());
        for (std::size_t i = 0; i < 2; ++i) {
            targets_[i].resize(static_cast<std::size_t>(pass_.out.n[i]));
            for (const Line& line : axes_[i].lines)
                for (const Segment& segment : line.segments)
                    for (std::int64_t j = segment.targets.first; j < segment.targets.last; ++j)
                        targets_[i][static_cast<std::size_t>(line.target(j))] = {&line, &segment, j};
        }
    }
    Direct(const Direct&) = delete;  // targets point to lines

    // Rows of results.
    std::int64_t rows() const { return pass_.out.images * pass_.out.n[0] * pass_.out.n[1]; }

    void run(const T* in, const T* f, T* out) const {
        // Streaming stores of whole cache lines, if the result is too large for the cache.
        constexpr std::int64_t line = kCacheLine / sizeof(N);
        const bool streamed = kCanStream && std::is_same_v<T, N> && 2 * v * sizeof(N) >= kCacheLine &&
                              pass_.lanes % line == 0 &&
                              outgrows_cache<T>(pass_.numbers()) &&
                              reinterpret_cast<std::uintptr_t>(out) % kCacheLine == 0;
        Scratch<N> room;
        N* weights = room.of(pass_.taps() * weight_step());
        for (std::int64_t t = 0; t < pass_.taps(); ++t)
            widen_weights(f + t * pass_.lanes, weights + t * weight_step());
        parallel_for(rows(), pass_.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            each_stretch(begin, end, [&](const Stretch& stretch) {
                add_up(stretch, in + stretch.from, weights, out + stretch.to, streamed);
            });
            if (streamed) stream_fence();
        });
    }

    void multiply(const T* x, const T* dy, T* df) const {
        FilterSums<N> all(pass_, rows());
        parallel_for(all.parts, pass_.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t part = begin; part < end; ++part)
                each_stretch(rows() * part / all.parts, rows() * (part + 1) / all.parts,
                             [&](const Stretch& stretch) {
                                 add_products(stretch, x + stretch.from, dy + stretch.to, all.part(part));
                             });
        });
        all.add_up(df);
    }

   private:
    // One along the depth or the height, and its place in its line, if it has any.
    struct Target {
        const Line* line = nullptr;
        const Segment* segment = nullptr;
        std::int64_t place = 0;

        // Where there is only padding there is none, and any will do.
        std::int64_t last_element() const {
            const auto last = static_cast<std::size_t>(segment->taps.last);
            return last == 0 ? 0 : line->sweep.taps[last - 1].element;
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
        const auto each = [](const Line& line, const Segment& segment, auto f) {
            std::for_each(line.sweep.taps.begin() + segment.taps.first,
                          line.sweep.taps.begin() + segment.taps.last, f);
        };
        for (const Line& line : axes_[2].lines)
            for (const Segment& segment : line.segments) {
                Runs& runs = row.runs.emplace_back();
                // Further apart, places share no elements.
                const std::size_t most = line.sweep.stride <= 2 ? kRun : 1;
                each(*dt.line, *dt.segment, [&](const Tap& d) {
                    each(*ht.line, *ht.segment, [&](const Tap& h) {
                        Run run{};
                        std::size_t count = 0;
                        std::int64_t after = 0;
                        each(line, segment, [&](const Tap& w) {
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

    // Results of a row that have the same taps, and the offsets of the first of them and of its elements.
    struct Stretch {
        const Runs& runs;
        std::int64_t count, from, from_step, to, to_step;
        std::int64_t soon, soon_rows;  // the elements that the next row will be the first to read
    };

    // Calls f with the step from place to place, counted in steps from element to element.
    template <class F>
    void with_stride(const Stretch& stretch, F f) const {
        if (stretch.from_step == 2 * pass_.in.step())
            f(std::integral_constant<int, 2>{}, pass_.in.step());
        else f(std::integral_constant<int, 1>{}, stretch.from_step);
    }

    // The weights of each tap begin a cache line, and not those that share one place in the cache.
    std::int64_t weight_step() const { return convolution::div_up(pass_.lanes, v) * v + 2 * v; }

    // In the order in which elements are read.
    void widen_weights(const T* f, N* to) const {
        std::int64_t c = 0;
        for (; c + 2 * v <= pass_.lanes; c += 2 * v) {
            Vector<N> two[2];
            load_unordered(f + c, two);
            store(two[0], to + c);
            store(two[1], to + c + v);
        }
        for (; c < pass_.lanes; c += v) store(load(f + std::min(c, pass_.lanes - v)), to + c);
    }

    // Calls f for each stretch of the rows from `begin` to `end`.
    template <class F>
    void each_stretch(std::int64_t begin, std::int64_t end, F f) const {
        const TensorLayout &in = pass_.in, &out = pass_.out;
        std::vector<Row> by_line(axes_[1].lines.size());  // which take turns
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t h = i % out.n[1], d = i / out.n[1] % out.n[0], image = i / out.n[1] / out.n[0];
            const Target& dt = targets_[0][static_cast<std::size_t>(d)];
            const Target& ht = targets_[1][static_cast<std::size_t>(h)];
            if (!dt.line || !ht.line) continue;
            Row& row = by_line[static_cast<std::size_t>(ht.line - axes_[1].lines.data())];
            find_runs(dt, ht, row);
            const std::int64_t from = image * in.image_step() + in.row(dt.place * dt.line->sweep.stride,
                                                                       ht.place * ht.line->sweep.stride);
            const std::int64_t to = image * out.image_step() + out.row(d, h);
            const std::int64_t soon = in.row(dt.last_element(), ht.last_element() + 1);
            std::size_t next = 0;
            for (const Line& line : axes_[2].lines) {
                const std::int64_t from_step = line.sweep.stride * in.step();
                for (const auto& [targets, _] : line.segments)
                    f(Stretch{row.runs[next++], targets.size(), from + targets.first * from_step, from_step,
                              to + line.target(targets.first) * out.step(),
                              line.sweep.step * out.step(), soon, ht.line->sweep.stride});
            }
        }
    }

    void add_up(const Stretch& stretch, const T* from, const N* f, T* to, bool streamed) const {
        constexpr int most = kSums / 2;
        for (std::int64_t j = 0; j < stretch.count; j += most)
            with_constant<most>(std::min<std::int64_t>(stretch.count - j, most), [&](auto places) {
                const auto add = [&](std::int64_t done, auto vectors) {
                    // The last vector may overlap the one before.
                    const std::int64_t c = std::min(done, pass_.lanes - vectors * v);
                    const T* elements = from + j * stretch.from_step + c;
                    fetch(stretch, elements, places);
                    with_stride(stretch, [&](auto stride, std::int64_t step) {
                        add_up_in_place<stride, places, vectors>(
                            stretch.runs, elements, step, f + done, weight_step(),
                            to + j * stretch.to_step + c, stretch.to_step, streamed);
                    });
                };
                std::int64_t c = 0;
                // A few places, as beside padding, leave registers to more channels.
                constexpr int many = places == 1 ? 8 : 4;
                if constexpr (2 * places <= most)
                    for (; c + many * v <= pass_.lanes; c += many * v)
                        add(c, std::integral_constant<int, many>{});
                for (; c + 2 * v <= pass_.lanes; c += 2 * v) add(c, std::integral_constant<int, 2>{});
                for (; c < pass_.lanes; c += v) add(c, std::integral_constant<int, 1>{});
            });
    }

    // Large elements are read in steps that processors do not foresee. Inline: else compilers find that
    // it does nothing, and leave it out.
    BACKBLOCKS_INLINE void fetch(const Stretch& stretch, const T* from, std::int64_t places) const {
        const std::int64_t element = pass_.in.step(), row = pass_.in.row(0, 1);
        if (element * static_cast<std::int64_t>(sizeof(T)) < kLargeElement) return;
        for (std::int64_t r = 0; r < stretch.soon_rows; ++r)
            for (std::int64_t i = 0; i < places * stretch.from_step; i += element)
                __builtin_prefetch(from + stretch.soon + r * row + i, 0, 2);
    }

    void add_products(const Stretch& stretch, const T* x, const T* dy, N* sums) const {
        with_stride(stretch, [&](auto stride, std::int64_t step) {
            const Steps steps{step, stretch.to_step, pass_.in.row(0, 1), pass_.out.row(0, 1),
                              stretch.soon};
            for (std::int64_t done = 0; done < pass_.lanes; done += v) {
                const std::int64_t c = std::min(done, pass_.lanes - v);
                const auto add = [&](auto taps) {
                    constexpr int most = kTaps / taps;
                    const std::vector<Run>& runs = stretch.runs[taps - 1];
                    for (std::int64_t i = 0; i < std::ssize(runs); i += most)
                        with_constant<most>(std::min(std::ssize(runs) - i, std::int64_t{most}), [&](auto some) {
                            const Run* run = runs.data() + i;
                            Vector<N> products[some()][taps()];
                            multiply_runs<stride>(run, x + c, dy + c, steps, stretch.count, products);
                            for (int r = 0; r < some; ++r)
                                for (std::size_t t = 0; t < taps; ++t)
                                    add_from(done - c, products[r][t],
                                             sums + run[r].numbers[t] * pass_.lanes + c);
                        });
                };
                add(std::integral_constant<int, 3>{});
                add(std::integral_constant<int, 2>{});
                add(std::integral_constant<int, 1>{});
            }
        });
    }

    // Adds the numbers of a vector, without the first ones.
    static void add_from(std::int64_t first, const Vector<N>& some, N* to) {
        if (first == 0) store(load(to) + some, to);
        else
            for (std::int64_t i = first; i < v; ++i) to[i] += some[i];
    }

    const std::shared_ptr<const Pass> kept_;
    const Pass& pass_;
    std::vector<LineAxis> axes_;
    std::array<std::vector<Target>, 2> targets_;
};

}  // namespace backblocks::ISA::depthwise
