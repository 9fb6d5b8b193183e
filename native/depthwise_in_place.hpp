// Depthwise convolution with the channels last, of cells where they stand: vectors run over channels.
//
//     for each row of results, few of them at a time, and for some vectors of channels c:
//         for each tap t: sums[place, c] += in[cell of t for the place, c] * f[t, c]
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "conv_plan.hpp"
#include "depthwise_pack.hpp"
#include "parallel.hpp"
#include "stream.hpp"
#include "tile.hpp"

namespace backblocks::ISA::depthwise {

using convolution::Line, convolution::LineAxis, convolution::Segment;

// Sums kept in registers. Fewer than 8 would wait for the multiply-adds before them.
constexpr int kSums = 12;
// Bytes of a cell from which on it pays to fetch cells before they are read: measured.
constexpr std::int64_t kLargeCell = 512;
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
        for (std::int64_t i = 0; i < size; ++i) {
            N sum{0};
            for (std::int64_t p = 0; p < parts; ++p) sum += part(p)[i];
            df[i] = narrow<T>(sum);
        }
    }
};

// Taps whose sums are kept in registers: a window of 3 x 3.
constexpr int kTaps = 9;

// sums[t] = sum over i < count: x[i * x_step + distance of t] * dy[i * dy_step]
template <int taps, class T>
void multiply(const PackedTap* tap, const T* x, std::int64_t x_step, const T* dy,
              std::int64_t dy_step, std::int64_t count, Vector<Wide<T>>* sums) {
    Vector<Wide<T>> sum[taps] = {};
    const T* cells[taps];
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) cells[t] = x + tap[t].distance;
    for (std::int64_t i = 0; i < count; ++i) {
        const Vector<Wide<T>> d = load(dy + i * dy_step);
#pragma GCC unroll 9
        for (int t = 0; t < taps; ++t) sum[t] += load(cells[t] + i * x_step) * d;
    }
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) sums[t] = sum[t];
}

// The same for any number of taps; calls add(tap, sum) for each.
template <class T, class F>
void multiply_all(const std::vector<PackedTap>& taps, const T* x, std::int64_t x_step, const T* dy,
                  std::int64_t dy_step, std::int64_t count, F add) {
    Vector<Wide<T>> sums[kTaps];
    for (std::size_t t = 0; t < taps.size(); t += kTaps) {
        const std::size_t some = std::min<std::size_t>(kTaps, taps.size() - t);
        with_constant<kTaps>(static_cast<std::int64_t>(some), [&](auto n) {
            multiply<n>(&taps[t], x, x_step, dy, dy_step, count, sums);
        });
        for (std::size_t i = 0; i < some; ++i) add(taps[t + i], sums[i]);
    }
}

// An address that is computed here. Compilers would rather keep one for each number that is read
// from there on, for which there are not enough registers.
template <class T>
BACKBLOCKS_INLINE const T* computed(const T* address) {
    asm("" : "+r"(address));
    return address;
}

// to[p, c] = sum over taps t: from[p, distance of t + c] * f[number of t, c], for vectors of channels
template <int places, int vectors, class T>
BACKBLOCKS_INLINE void add_up_in_place(const std::vector<PackedTap>& taps, const T* from,
                                       std::int64_t from_step, const T* f, std::int64_t channels,
                                       T* to, std::int64_t to_step, bool streamed) {
    using N = Wide<T>;
    Vector<N> sum[places][vectors] = {};
    for (const PackedTap& tap : taps) {
        // Two places after an address can be reached by the step alone.
        const T* x[(places + 2) / 3];
#pragma GCC unroll 4
        for (int i = 0; i < (places + 2) / 3; ++i)
            x[i] = computed(from + tap.distance + i * 3 * from_step);
        const T* w = computed(f + tap.number * channels);
        Vector<N> weight[vectors];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) weight[v] = load(w + v * kLanes<N>);
#pragma GCC unroll 12
        for (int p = 0; p < places; ++p)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v)
                sum[p][v] += load(x[p / 3] + p % 3 * from_step + v * kLanes<N>) * weight[v];
    }
#pragma GCC unroll 12
    for (int p = 0; p < places; ++p)
        if (streamed) stream_bytes<sizeof sum[p]>(sum[p], to + p * to_step);
        else
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v)
                store_rounded(sum[p][v], to + p * to_step + v * kLanes<N>);
}

// Where every result sees one channel, and channels lie side by side, nothing need be packed: rows of
// results are made of cells where these are. Near the padding they have fewer taps.
template <class T>
class InPlace {
    using N = Wide<T>;
    static constexpr std::int64_t v = kLanes<N>;

   public:
    explicit InPlace(std::shared_ptr<const Pass> pass) : kept_(std::move(pass)), pass_(*kept_) {
        for (const Side& side : pass_.sides) axes_.emplace_back(side.sweeps, side.complete());
        for (std::size_t i = 0; i < 2; ++i) {
            targets_[i].resize(static_cast<std::size_t>(pass_.out.n[i]));
            for (const Line& line : axes_[i].lines)
                for (const Segment& segment : line.segments)
                    for (std::int64_t j = segment.targets.first; j < segment.targets.last; ++j)
                        targets_[i][static_cast<std::size_t>(line.target(j))] = {&line, &segment, j};
        }
    }
    InPlace(const InPlace&) = delete;  // targets point to lines

    // Without vector instructions for it, halves are better widened once than for every tap.
    static bool can_take(const Pass& pass) {
        return !pass.in.channels_first && pass.multiplier == 1 && pass.lanes >= v &&
               (std::is_same_v<T, N> || kVectorBytes >= 32);
    }

    void run(const T* in, const T* f, T* out) const {
        // Whole cache lines go past the cache if the result is too large for it.
        constexpr std::int64_t line = kCacheLine / sizeof(N);
        const bool streamed = kCanStream && std::is_same_v<T, N> && 2 * v * sizeof(N) >= kCacheLine &&
                              pass_.lanes % line == 0 &&
                              outgrows_cache<T>(pass_.numbers()) &&
                              reinterpret_cast<std::uintptr_t>(out) % kCacheLine == 0;
        parallel_for(rows(), pass_.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            each_stretch(begin, end, [&](const Stretch& stretch) {
                add_up(stretch, in + stretch.from, f, out + stretch.to, streamed);
            });
            if (streamed) end_streams();
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
        std::int64_t last_cell() const {
            const auto last = static_cast<std::size_t>(segment->taps.last);
            return last == 0 ? 0 : line->sweep.taps[last - 1].cell;
        }
    };

    // The taps of each segment along the width, and what they belong to.
    struct Row {
        const Segment *d = nullptr, *h = nullptr;
        std::vector<std::vector<PackedTap>> taps;
    };

    void find_taps(const Target& dt, const Target& ht, Row& row) const {
        if (row.d == dt.segment && row.h == ht.segment) return;
        row.d = dt.segment;
        row.h = ht.segment;
        row.taps.clear();
        const auto each = [](const Line& line, const Segment& segment, auto f) {
            std::for_each(line.sweep.taps.begin() + segment.taps.first,
                          line.sweep.taps.begin() + segment.taps.last, f);
        };
        for (const Line& line : axes_[2].lines)
            for (const Segment& segment : line.segments) {
                auto& taps = row.taps.emplace_back();
                each(*dt.line, *dt.segment, [&](const Tap& d) {
                    each(*ht.line, *ht.segment, [&](const Tap& h) {
                        each(line, segment, [&](const Tap& w) {
                            taps.push_back({pass_.in.row(d.cell, h.cell) + w.cell * pass_.in.step(),
                                            pass_.number(d, h, w)});
                        });
                    });
                });
            }
    }

    // Results of a row that have the same taps, and where the first of them and its cells stand.
    struct Stretch {
        const std::vector<PackedTap>& taps;
        std::int64_t count, from, from_step, to, to_step;
        std::int64_t soon, soon_rows;  // the cells that the next row will be the first to read
    };

    std::int64_t rows() const { return pass_.out.images * pass_.out.n[0] * pass_.out.n[1]; }

    // Calls f for each stretch of the rows from `begin` to `end`.
    template <class F>
    void each_stretch(std::int64_t begin, std::int64_t end, F f) const {
        const Volumes &in = pass_.in, &out = pass_.out;
        Row row;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t h = i % out.n[1], d = i / out.n[1] % out.n[0], image = i / out.n[1] / out.n[0];
            const Target& dt = targets_[0][static_cast<std::size_t>(d)];
            const Target& ht = targets_[1][static_cast<std::size_t>(h)];
            if (!dt.line || !ht.line) continue;
            find_taps(dt, ht, row);
            const std::int64_t from = image * in.image_step() + in.row(dt.place * dt.line->sweep.stride,
                                                                       ht.place * ht.line->sweep.stride);
            const std::int64_t to = image * out.image_step() + out.row(d, h);
            const std::int64_t soon = in.row(dt.last_cell(), ht.last_cell() + 1);
            std::size_t next = 0;
            for (const Line& line : axes_[2].lines) {
                const std::int64_t from_step = line.sweep.stride * in.step();
                for (const auto& [targets, _] : line.segments)
                    f(Stretch{row.taps[next++], targets.size(), from + targets.first * from_step, from_step,
                              to + line.target(targets.first) * out.step(),
                              line.sweep.step * out.step(), soon, ht.line->sweep.stride});
            }
        }
    }

    void add_up(const Stretch& stretch, const T* from, const T* f, T* to, bool streamed) const {
        constexpr int most = kSums / 2;
        for (std::int64_t j = 0; j < stretch.count; j += most)
            with_constant<most>(std::min<std::int64_t>(stretch.count - j, most), [&](auto places) {
                const auto add = [&](std::int64_t c, auto vectors) {
                    fetch(stretch, from + j * stretch.from_step + c, places);
                    add_up_in_place<places, vectors>(
                        stretch.taps, from + j * stretch.from_step + c, stretch.from_step, f + c,
                        pass_.lanes, to + j * stretch.to_step + c, stretch.to_step, streamed);
                };
                std::int64_t c = 0;
                // Fewer places than that, mostly those beside padding, have more channels at once.
                constexpr int many = places == 1 ? 8 : 4;
                if constexpr (2 * places <= most)
                    for (; c + many * v <= pass_.lanes; c += many * v)
                        add(c, std::integral_constant<int, many>{});
                for (; c + 2 * v <= pass_.lanes; c += 2 * v) add(c, std::integral_constant<int, 2>{});
                // The last vector may overlap the one before.
                for (; c < pass_.lanes; c += v)
                    add(std::min(c, pass_.lanes - v), std::integral_constant<int, 1>{});
            });
    }

    // Large cells are read in steps that processors do not foresee. Inline: else compilers find that
    // it does nothing, and leave it out.
    BACKBLOCKS_INLINE void fetch(const Stretch& stretch, const T* from, std::int64_t places) const {
        const std::int64_t cell = pass_.in.step(), row = pass_.in.row(0, 1);
        if (cell * static_cast<std::int64_t>(sizeof(T)) < kLargeCell) return;
        for (std::int64_t r = 0; r < stretch.soon_rows; ++r)
            for (std::int64_t i = 0; i < places * stretch.from_step; i += cell)
                __builtin_prefetch(from + stretch.soon + r * row + i, 0, 2);
    }

    void add_products(const Stretch& stretch, const T* x, const T* dy, N* sums) const {
        for (std::int64_t done = 0; done < pass_.lanes; done += v) {
            const std::int64_t c = std::min(done, pass_.lanes - v);
            multiply_all(stretch.taps, x + c, stretch.from_step, dy + c, stretch.to_step, stretch.count,
                         [&](const PackedTap& tap, const Vector<N>& some) {
                             N* to = sums + tap.number * pass_.lanes + c;
                             if (c == done) store(load(to) + some, to);
                             else
                                 for (std::int64_t i = done - c; i < v; ++i) to[i] += some[i];
                         });
        }
    }

    const std::shared_ptr<const Pass> kept_;
    const Pass& pass_;
    std::vector<LineAxis> axes_;
    std::array<std::vector<Target>, 2> targets_;
};

}  // namespace backblocks::ISA::depthwise
