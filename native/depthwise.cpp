// Depthwise convolution: each output channel has one filter and sees one input channel. The gradient
// of the input is the same sum seen from the other side (taps.hpp), so both are one function.
//
// Where channels are last, and each has one filter, vectors run over channels, and cells are read
// where they stand. Elsewhere vectors run over places, from row to row. For these what is read is
// packed tile by tile, a channel at a time: widened, with zeros around it for the padding, and sorted
// so that a tap is the same distance for every place.
#include "depthwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "conv_plan.hpp"
#include "half.hpp"
#include "lines.hpp"
#include "parallel.hpp"
#include "stream.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using convolution::Line, convolution::LineAxis, convolution::Segment;
using Place = std::array<std::int64_t, 3>;

// Numbers of a packed tile: half of the L1 cache.
constexpr std::int64_t kKept = 1 << 12;
// Partial sums of a gradient of filters, and all their numbers, at most.
constexpr std::int64_t kParts = 32;
constexpr std::int64_t kPartNumbers = 1 << 22;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

// The numbers of an input or an output.
struct Volumes {
    std::int64_t images, channels;
    Place n;
    bool channels_first;

    std::int64_t cells() const { return n[0] * n[1] * n[2]; }
    std::int64_t size() const { return images * cells() * channels; }
    // From a cell of a channel to the next, and to the next channel.
    std::int64_t step() const { return channels_first ? 1 : channels; }
    std::int64_t channel_step() const { return channels_first ? cells() : 1; }
    std::int64_t image_step() const { return cells() * channels; }
    std::int64_t row(std::int64_t d, std::int64_t h) const { return (d * n[1] + h) * n[2] * step(); }
};

Volumes cells_of(const Conv& conv) {
    const auto& [d, h, w] = conv.axes;
    return {conv.images, conv.groups, {d.n, h.n, w.n}, conv.channels_first};
}

Volumes outputs_of(const Conv& conv) {
    const auto& [d, h, w] = conv.axes;
    return {conv.images, conv.groups * conv.out, {d.out, h.out, w.out}, conv.channels_first};
}

// A convolution (from cells to outputs), or the way back.
struct Pass {
    Volumes in, out;
    std::array<Side, 3> sides;  // of `out`
    Place k;
    std::int64_t multiplier, lanes;
    bool back;

    Pass(const Conv& conv, bool back)
        : in(back ? outputs_of(conv) : cells_of(conv)),
          out(back ? cells_of(conv) : outputs_of(conv)),
          k{conv.axes[0].k, conv.axes[1].k, conv.axes[2].k},
          multiplier(conv.out),
          lanes(conv.groups * conv.out),
          back(back) {
        for (std::size_t i = 0; i < 3; ++i)
            sides[i] = back ? Side::cells(conv.axes[i]) : Side::outputs(conv.axes[i]);
    }

    std::int64_t taps() const { return k[0] * k[1] * k[2]; }
    std::int64_t number(const Tap& d, const Tap& h, const Tap& w) const {
        return (d.number * k[1] + h.number) * k[2] + w.number;
    }
    // A result has so many sums, each over one channel of `in`: of its channels, number i.
    std::int64_t terms() const { return back ? multiplier : 1; }
    std::int64_t lane(std::int64_t channel, std::int64_t i) const { return channel * terms() + i; }
    std::int64_t in_channel(std::int64_t lane) const { return back ? lane : lane / multiplier; }
    // Whether any tap is real anywhere.
    bool reaches() const {
        return std::none_of(sides.begin(), sides.end(), [](auto& side) { return side.sweeps.empty(); });
    }
    // Whether every place has a tap.
    bool complete() const {
        return std::all_of(sides.begin(), sides.end(), [](auto& side) { return side.complete(); });
    }
    // How much work it is, for parallel_for.
    template <class T>
    std::int64_t bytes() const {
        return static_cast<std::int64_t>(sizeof(T)) * (in.size() + out.size()) +
               in.images * lanes * std::min(in.cells(), out.cells()) * taps();
    }
};

// One sweep along each axis.
using Sweeps = std::array<const Sweep*, 3>;

template <class F>
void each_sweeps(const Pass& pass, F f) {
    for (const Sweep& d : pass.sides[0].sweeps)
        for (const Sweep& h : pass.sides[1].sweeps)
            for (const Sweep& w : pass.sides[2].sweeps) f(Sweeps{&d, &h, &w});
}

template <class F>
void each_tap(const Sweeps& sweeps, F f) {
    for (const Tap& d : sweeps[0]->taps)
        for (const Tap& h : sweeps[1]->taps)
            for (const Tap& w : sweeps[2]->taps) f(std::array<Tap, 3>{d, h, w});
}

// Calls f(place, where it stands in a channel) for the places of sweeps from `first` to `last`.
template <class F>
void each_place(const Volumes& out, const Sweeps& sweeps, const Place& first, const Place& last, F f) {
    const auto end = [&](std::size_t i) { return std::min(last[i], sweeps[i]->count); };
    const auto at = [&](std::size_t i, std::int64_t j) { return sweeps[i]->first + j * sweeps[i]->step; };
    for (std::int64_t d = first[0]; d < end(0); ++d)
        for (std::int64_t h = first[1]; h < end(1); ++h)
            for (std::int64_t w = first[2]; w < end(2); ++w)
                f(Place{d, h, w}, out.row(at(0, d), at(1, h)) + at(2, w) * out.step());
}

// Where the cell of a tap stands in a channel of `in`; -1 if it is padding.
std::int64_t real_cell(const Volumes& in, const Sweeps& sweeps, const std::array<Tap, 3>& tap,
                       const Place& place) {
    Place cell;
    for (std::size_t i = 0; i < 3; ++i) {
        cell[i] = tap[i].cell + place[i] * sweeps[i]->stride;
        if (cell[i] < 0 || cell[i] >= in.n[i]) return -1;
    }
    return in.row(cell[0], cell[1]) + cell[2] * in.step();
}

// -- packing --------------------------------------------------------------------------------------

// One axis of a packed tile. What a stride keeps apart is put side by side: cells are sorted by
// phase, which is their remainder by the stride. Only phases that some tap reads are packed.
struct PackedAxis {
    std::int64_t tile = 0;  // places
    std::int64_t tiles = 0;
    std::int64_t stride = 1;
    std::int64_t low, size;  // where a phase begins for place 0, and how long it is
    std::vector<std::int64_t> phases;

    explicit PackedAxis(const Side& side) {
        std::vector<std::int64_t> starts;
        for (const Sweep& sweep : side.sweeps) {
            tile = std::max(tile, sweep.count);
            stride = sweep.stride;
            for (const Tap& tap : sweep.taps) {
                starts.push_back(floor_div(tap.cell, stride));
                phases.push_back(tap.cell - starts.back() * stride);
            }
        }
        const auto [least, most] = std::minmax_element(starts.begin(), starts.end());
        low = *least;
        size = *most - low + tile;
        std::sort(phases.begin(), phases.end());
        phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
    }

    std::int64_t start(const Tap& tap) const { return floor_div(tap.cell, stride) - low; }
    std::int64_t phase(const Tap& tap) const {
        const std::int64_t phase = tap.cell - floor_div(tap.cell, stride) * stride;
        return std::lower_bound(phases.begin(), phases.end(), phase) - phases.begin();
    }

    // Which numbers of a phase are real, of n cells, in the tile that begins with a place.
    Range real(std::int64_t phase, std::int64_t place, std::int64_t n) const {
        const std::int64_t first = std::clamp<std::int64_t>(-low - place, 0, size);
        return {first, std::clamp(floor_div(n - 1 - phase, stride) + 1 - low - place, first, size)};
    }
    std::int64_t cell(std::int64_t phase, std::int64_t place, std::int64_t i) const {
        return (place + low + i) * stride + phase;
    }
};

// A tap of a packed tile: how many numbers after place 0, and which it is.
struct PackedTap {
    std::int64_t distance, number;
};

struct PackedSweep {
    Sweeps sweeps;
    std::vector<PackedTap> taps;
};

struct Packing {
    Volumes in;
    std::vector<PackedAxis> axes;
    std::vector<PackedSweep> sweeps;

    explicit Packing(const Pass& pass) : in(pass.in) {
        for (const Side& side : pass.sides) axes.emplace_back(side);
        for (PackedAxis& axis : axes) {
            const std::int64_t places = axis.tile;
            while (axis.tile > 1 && estimate() > kKept) {
                axis.size -= axis.tile / 2;
                axis.tile -= axis.tile / 2;
            }
            axis.tiles = (places - 1) / axis.tile + 1;
        }
        each_sweeps(pass, [&](const Sweeps& each) {
            PackedSweep& packed = sweeps.emplace_back(PackedSweep{each, {}});
            each_tap(each, [&](const std::array<Tap, 3>& tap) {
                packed.taps.push_back({distance(tap), pass.number(tap[0], tap[1], tap[2])});
            });
        });
    }

    // The numbers of a tile, which may be too many to count.
    double estimate() const {
        double size = 1;
        for (const PackedAxis& axis : axes)
            size *= static_cast<double>(axis.size) * static_cast<double>(axis.phases.size());
        return size;
    }

    std::int64_t row(std::int64_t d, std::int64_t h) const {
        return (d * axes[1].size + h) * axes[2].size;
    }
    // Numbers of a phase, and of all of them.
    std::int64_t volume() const { return row(axes[0].size, 0); }
    std::int64_t size() const {
        return volume() * std::ssize(axes[0].phases) * std::ssize(axes[1].phases) *
               std::ssize(axes[2].phases);
    }
    std::int64_t distance(const std::array<Tap, 3>& tap) const {
        std::int64_t phase = 0;
        for (std::size_t i = 0; i < 3; ++i)
            phase = phase * std::ssize(axes[i].phases) + axes[i].phase(tap[i]);
        return phase * volume() + row(axes[0].start(tap[0]), axes[1].start(tap[1])) +
               axes[2].start(tap[2]);
    }

    std::int64_t tiles() const { return axes[0].tiles * axes[1].tiles * axes[2].tiles; }
    // The place where a tile begins.
    Place tile(std::int64_t i) const {
        const auto &h = axes[1], &w = axes[2];
        return {i / w.tiles / h.tiles * axes[0].tile, i / w.tiles % h.tiles * h.tile,
                i % w.tiles * w.tile};
    }
    // How many places of a sweep a tile has along each axis; none if it lies beyond.
    Place places(const PackedSweep& packed, const Place& tile) const {
        Place count;
        for (std::size_t i = 0; i < 3; ++i)
            count[i] = std::min(axes[i].tile, packed.sweeps[i]->count - tile[i]);
        return *std::min_element(count.begin(), count.end()) > 0 ? count : Place{};
    }

    // Where a row of a tile begins in a channel of `out`.
    std::int64_t row_of(const Volumes& out, const PackedSweep& packed, const Place& tile,
                        std::int64_t d, std::int64_t h) const {
        const auto at = [&](std::size_t i, std::int64_t j) {
            return packed.sweeps[i]->first + (tile[i] + j) * packed.sweeps[i]->step;
        };
        return out.row(at(0, d), at(1, h)) + at(2, 0) * out.step();
    }
};

// Widens a row of numbers that are `step` apart.
template <class T>
void widen_row(const T* from, std::int64_t step, std::int64_t count, Wide<T>* to) {
    constexpr std::int64_t v = kLanes<Wide<T>>;
    if (step == 1 && count >= v)
        // The last vector may overlap the one before.
        for (std::int64_t i = 0; i < count; i += v)
            store(load(from + std::min(i, count - v)), to + std::min(i, count - v));
    else if (step == 2)  // a constant, which makes it vector code
        for (std::int64_t i = 0; i < count; ++i) to[i] = widen(from[i * 2]);
    else
        for (std::int64_t i = 0; i < count; ++i) to[i] = widen(from[i * step]);
}

// A packed tile of some images, one after the other.
template <class T>
class PackedTile {
   public:
    using N = Wide<T>;
    // Numbers that may be read beyond the end.
    static constexpr std::int64_t kSpare = 16 * kLanes<N>;

    explicit PackedTile(const Packing& packing)
        : packing_(packing), all_(static_cast<std::size_t>(packing.size() + kSpare)) {}

    const N* data() const { return all_.data(); }

    // Packs a tile of a channel.
    void pack(const T* channel, std::int64_t tile) {
        see(tile);
        const auto& axes = packing_.axes;
        const Volumes& in = packing_.in;
        const std::int64_t step = axes[2].stride * in.step();
        N* to = all_.data();
        for (const Phase& phase : phases_) {
            for (std::int64_t d = phase.d.first; d < phase.d.last; ++d)
                for (std::int64_t h = phase.h.first; h < phase.h.last; ++h)
                    widen_row(channel + phase.place + phase.w.first * step +
                                  in.row(d * axes[0].stride, h * axes[1].stride),
                              step, phase.w.size(), to + packing_.row(d, h) + phase.w.first);
            to += packing_.volume();
        }
    }

   private:
    // Cells of one phase: which of its numbers are real, and where number 0 stands in a channel.
    struct Phase {
        Range d, h, w;
        std::int64_t place;
    };

    void see(std::int64_t tile) {
        if (std::exchange(tile_, tile) == tile) return;
        std::fill(all_.begin(), all_.end(), N{0});  // for the padding, which stays
        phases_.clear();
        const auto& axes = packing_.axes;
        const Volumes& in = packing_.in;
        const Place first = packing_.tile(tile);
        for (const std::int64_t d : axes[0].phases)
            for (const std::int64_t h : axes[1].phases)
                for (const std::int64_t w : axes[2].phases)
                    phases_.push_back({axes[0].real(d, first[0], in.n[0]),
                                       axes[1].real(h, first[1], in.n[1]),
                                       axes[2].real(w, first[2], in.n[2]),
                                       in.row(axes[0].cell(d, first[0], 0), axes[1].cell(h, first[1], 0)) +
                                           axes[2].cell(w, first[2], 0) * in.step()});
    }

    const Packing& packing_;
    std::vector<N> all_;
    std::vector<Phase> phases_;
    std::int64_t tile_ = -1;
};

// -- forward and back -----------------------------------------------------------------------------

// Sums kept in registers. Fewer than 8 would wait for the multiply-adds before them.
constexpr int kSums = 12;

// to[i] (+)= sum over taps t: from[i + distance of t] * filter[t]. Reads and writes a little more.
template <class N>
void add_up_flat(const std::vector<PackedTap>& taps, const N* from, const N* filter, N* to,
                 std::int64_t count, bool adds) {
    for (std::int64_t i = 0; i < count; i += kSums * kLanes<N>) {
        Vector<N> sum[kSums] = {};
        if (adds)
#pragma GCC unroll 12
            for (int v = 0; v < kSums; ++v) sum[v] = load_vector(to + i + v * kLanes<N>);
        for (const PackedTap& tap : taps) {
            const N weight = filter[tap.number];
            const N* x = from + i + tap.distance;
#pragma GCC unroll 12
            for (int v = 0; v < kSums; ++v) sum[v] += load_vector(x + v * kLanes<N>) * weight;
        }
#pragma GCC unroll 12
        for (int v = 0; v < kSums; ++v) store_vector(to + i + v * kLanes<N>, sum[v]);
    }
}

// Rounds a row of sums and stores it where it belongs.
template <class T>
void store_row(const Wide<T>* sums, std::int64_t places, T* to, std::int64_t to_step,
               std::int64_t size_of_result) {
    if (to_step == 1) return store_line(sums, places, to, size_of_result);
    for (std::int64_t p = 0; p < places; ++p) to[p * to_step] = narrow<T>(sums[p]);
}

// The sums for one place, whose taps are real as they are: without zeros for the padding.
template <class T>
Wide<T> sum_at(const Pass& pass, const Sweeps& sweeps, const Place& place, const T* image, const T* f,
               std::int64_t channel) {
    Wide<T> sum{0};
    each_tap(sweeps, [&](const std::array<Tap, 3>& tap) {
        const std::int64_t cell = real_cell(pass.in, sweeps, tap, place);
        if (cell < 0) return;
        const T* x = image + cell;
        const T* w = f + pass.number(tap[0], tap[1], tap[2]) * pass.lanes;
        for (std::int64_t lane = pass.lane(channel, 0); lane < pass.lane(channel + 1, 0); ++lane)
            sum += widen(x[pass.in_channel(lane) * pass.in.channel_step()]) * widen(w[lane]);
    });
    return sum;
}

// A filter that is not finite must not meet zeros that stand for padding: such channels anew.
template <class T>
void mend_infinite(const Pass& pass, const T* in, const T* f, T* out) {
    for (std::int64_t channel = 0; channel < pass.out.channels; ++channel) {
        bool finite = true;
        for (std::int64_t t = 0; t < pass.taps(); ++t)
            for (std::int64_t lane = pass.lane(channel, 0); lane < pass.lane(channel + 1, 0); ++lane)
                finite &= std::isfinite(widen(f[t * pass.lanes + lane]));
        if (finite) continue;
        parallel_for(pass.in.images, pass.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t image = begin; image < end; ++image)
                each_sweeps(pass, [&](const Sweeps& sweeps) {
                    T* to = out + image * pass.out.image_step() + channel * pass.out.channel_step();
                    each_place(pass.out, sweeps, {}, pass.out.n, [&](const Place& place, std::int64_t at) {
                        to[at] = narrow<T>(sum_at(pass, sweeps, place, in + image * pass.in.image_step(),
                                                  f, channel));
                    });
                });
        });
    }
}

template <class T>
void convolve_packed(const Pass& pass, const Packing& packing, const T* in, const T* f, T* out) {
    using N = Wide<T>;
    const std::int64_t channels = pass.out.channels, tiles = packing.tiles();
    const std::int64_t sums_of_sweep = packing.volume() + PackedTile<T>::kSpare;
    parallel_for(pass.in.images * tiles * channels, pass.bytes<T>(), [&](auto begin, auto end) {
        PackedTile<T> packed(packing);
        std::vector<N> sums(packing.sweeps.size() * static_cast<std::size_t>(sums_of_sweep));
        std::vector<N> filter(static_cast<std::size_t>(pass.taps()));
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t channel = unit % channels, image = unit / channels / tiles;
            const std::int64_t number = unit / channels % tiles;
            const Place tile = packing.tile(number);
            for (std::int64_t lane = pass.lane(channel, 0); lane < pass.lane(channel + 1, 0); ++lane) {
                widen_row(f + lane, pass.lanes, pass.taps(), filter.data());
                packed.pack(in + image * pass.in.image_step() +
                                pass.in_channel(lane) * pass.in.channel_step(),
                            number);
                N* some = sums.data();
                for (const PackedSweep& sweep : packing.sweeps) {
                    const Place places = packing.places(sweep, tile);
                    if (places[2] > 0)
                        add_up_flat(sweep.taps, packed.data(), filter.data(), some,
                                    packing.row(places[0] - 1, places[1] - 1) + places[2],
                                    lane > pass.lane(channel, 0));
                    some += sums_of_sweep;
                }
            }
            T* to = out + image * pass.out.image_step() + channel * pass.out.channel_step();
            const N* some = sums.data();
            for (const PackedSweep& sweep : packing.sweeps) {
                const Place places = packing.places(sweep, tile);
                for (std::int64_t d = 0; d < places[0]; ++d)
                    for (std::int64_t h = 0; h < places[1]; ++h)
                        store_row(some + packing.row(d, h), places[2],
                                  to + packing.row_of(pass.out, sweep, tile, d, h),
                                  sweep.sweeps[2]->step * pass.out.step(), pass.out.size());
                some += sums_of_sweep;
            }
        }
        end_streams();
    });
    mend_infinite(pass, in, f, out);
}

// -- the gradient of the filter -------------------------------------------------------------------

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

template <class T>
void multiply_packed(const Pass& pass, const Packing& packing, const T* x, const T* dy, T* df) {
    using N = Wide<T>;
    constexpr std::int64_t v = kLanes<N>;
    const PackedSweep& sweep = packing.sweeps[0];
    const std::int64_t tiles = packing.tiles(), work = pass.in.images * tiles;
    FilterSums<N> all(pass, work);
    parallel_for(all.parts * pass.lanes, pass.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
        PackedTile<T> packed(packing);
        std::vector<N> grads(static_cast<std::size_t>(packing.volume() + v));
        std::vector<N> sums(static_cast<std::size_t>(pass.taps()));
        std::int64_t before = -1;
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t lane = unit % pass.lanes, part = unit / pass.lanes;
            for (std::int64_t i = work * part / all.parts; i < work * (part + 1) / all.parts; ++i) {
                const T* cells = x + i / tiles * pass.in.image_step() +
                                 pass.in_channel(lane) * pass.in.channel_step();
                const T* results = dy + i / tiles * pass.out.image_step() + lane * pass.out.channel_step();
                const Place tile = packing.tile(i % tiles), places = packing.places(sweep, tile);
                packed.pack(cells, i % tiles);
                if (std::exchange(before, i % tiles) != i % tiles)
                    std::fill(grads.begin(), grads.end(), N{0});
                for (std::int64_t d = 0; d < places[0]; ++d)
                    for (std::int64_t h = 0; h < places[1]; ++h)
                        widen_row(results + packing.row_of(pass.out, sweep, tile, d, h), pass.out.step(),
                                  places[2], grads.data() + packing.row(d, h));
                const std::int64_t count = packing.row(places[0] - 1, places[1] - 1) + places[2];
                bool nan = false;
                multiply_all(sweep.taps, packed.data(), v, grads.data(), v, (count - 1) / v + 1,
                             [&](const PackedTap& tap, const Vector<N>& some) {
                                 N& sum = sums[static_cast<std::size_t>(tap.number)] = 0;
                                 for (int l = 0; l < v; ++l) sum += some[l];
                                 nan |= std::isnan(sum);
                             });
                // Zeros for padding make NaN of what is not finite: then without them.
                if (nan) {
                    Place beyond;
                    for (std::size_t a = 0; a < 3; ++a) beyond[a] = tile[a] + places[a];
                    each_tap(sweep.sweeps, [&](const std::array<Tap, 3>& tap) {
                        N& sum = sums[static_cast<std::size_t>(pass.number(tap[0], tap[1], tap[2]))] = 0;
                        each_place(pass.out, sweep.sweeps, tile, beyond, [&](const Place& place, auto at) {
                            const std::int64_t cell = real_cell(pass.in, sweep.sweeps, tap, place);
                            if (cell >= 0) sum += widen(cells[cell]) * widen(results[at]);
                        });
                    });
                }
                for (const PackedTap& tap : sweep.taps)
                    all.part(part)[tap.number * pass.lanes + lane] +=
                        sums[static_cast<std::size_t>(tap.number)];
            }
        }
    });
    all.add_up(df);
}

// -- in place -------------------------------------------------------------------------------------

// to[p, c] = sum over taps t: from[p, distance of t + c] * f[number of t, c], for vectors of channels
template <int places, int vectors, class T>
BACKBLOCKS_INLINE void add_up_in_place(const std::vector<PackedTap>& taps, const T* from,
                                       std::int64_t from_step, const T* f, std::int64_t channels,
                                       T* to, std::int64_t to_step, bool streamed) {
    using N = Wide<T>;
    Vector<N> sum[places][vectors] = {};
    for (const PackedTap& tap : taps) {
        const T* x = from + tap.distance;
        Vector<N> weight[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) weight[v] = load(f + tap.number * channels + v * kLanes<N>);
#pragma GCC unroll 12
        for (int p = 0; p < places; ++p)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v)
                sum[p][v] += load(x + p * from_step + v * kLanes<N>) * weight[v];
    }
#pragma GCC unroll 12
    for (int p = 0; p < places; ++p)
        if (streamed) stream_bytes<sizeof sum[p]>(sum[p], to + p * to_step);
        else
#pragma GCC unroll 2
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
               (std::is_same_v<T, N> || kVectorBytes == 32);
    }

    void run(const T* in, const T* f, T* out) const {
        // Whole cache lines go past the cache if the result is too large for it.
        const bool streamed = kCanStream && std::is_same_v<T, N> && 2 * v * sizeof(N) == kCacheLine &&
                              pass_.lanes % (2 * v) == 0 &&
                              static_cast<std::size_t>(pass_.out.size()) * sizeof(T) > kStreamed &&
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
            std::size_t next = 0;
            for (const Line& line : axes_[2].lines) {
                const std::int64_t from_step = line.sweep.stride * in.step();
                for (const auto& [targets, _] : line.segments)
                    f(Stretch{row.taps[next++], targets.size(), from + targets.first * from_step, from_step,
                              to + line.target(targets.first) * out.step(),
                              line.sweep.step * out.step()});
            }
        }
    }

    void add_up(const Stretch& stretch, const T* from, const T* f, T* to, bool streamed) const {
        constexpr int most = kSums / 2;
        for (std::int64_t j = 0; j < stretch.count; j += most)
            with_constant<most>(std::min<std::int64_t>(stretch.count - j, most), [&](auto places) {
                const auto add = [&](std::int64_t c, auto vectors) {
                    add_up_in_place<places, vectors>(
                        stretch.taps, from + j * stretch.from_step + c, stretch.from_step, f + c,
                        pass_.lanes, to + j * stretch.to_step + c, stretch.to_step, streamed);
                };
                std::int64_t c = 0;
                for (; c + 2 * v <= pass_.lanes; c += 2 * v) add(c, std::integral_constant<int, 2>{});
                // The last vector may overlap the one before.
                for (; c < pass_.lanes; c += v)
                    add(std::min(c, pass_.lanes - v), std::integral_constant<int, 1>{});
            });
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

// -- kernels --------------------------------------------------------------------------------------

// y[b, o, c * multiplier + m] = sum over taps t: x[b, o * s - pads + t * d, c] * f[t, c, m]
// dx[b, i, c] = sum over m, taps t, outputs o with o * s - pads + t * d = i:
//                   dy[b, o, c * multiplier + m] * f[t, c, m]
// Ready for f, dy and dx if back is true, else for x, f and y.
template <class T>
ConvKernels::Ready convolve(const Conv& conv, bool back) {
    const auto pass = std::make_shared<const Pass>(conv, back);
    const auto zero = [=](void* result) { std::fill_n(out<T>(result), pass->out.size(), T{}); };
    if (!pass->reaches()) return [=](auto, auto, void* result) { zero(result); };
    if (InPlace<T>::can_take(*pass))
        return [=, rows = std::make_shared<const InPlace<T>>(pass)](const void* a, const void* b,
                                                                    void* result) {
            if (!pass->complete()) zero(result);
            rows->run(in<T>(back ? b : a), in<T>(back ? a : b), out<T>(result));
        };
    return [=, packing = Packing(*pass)](const void* a, const void* b, void* result) {
        if (!pass->complete()) zero(result);
        convolve_packed(*pass, packing, in<T>(back ? b : a), in<T>(back ? a : b), out<T>(result));
    };
}

// df[t, c, m] = sum over images b, outputs o:
//                   x[b, o * s - pads + t * d, c] * dy[b, o, c * multiplier + m]
template <class T>
ConvKernels::Ready filter_grad(const Conv& conv) {
    const auto pass = std::make_shared<const Pass>(conv, false);
    if (!pass->reaches())
        return [=](auto, auto, void* df) {
            std::fill_n(out<T>(df), pass->taps() * pass->lanes, T{});
        };
    if (InPlace<T>::can_take(*pass))
        return [=, rows = std::make_shared<const InPlace<T>>(pass)](auto x, auto dy, void* df) {
            rows->multiply(in<T>(x), in<T>(dy), out<T>(df));
        };
    return [=, packing = Packing(*pass)](const void* x, const void* dy, void* df) {
        multiply_packed(*pass, packing, in<T>(x), in<T>(dy), out<T>(df));
    };
}

}  // namespace

const DepthwiseKernels ISA::depthwise_kernels{{
    [](Type type, const Conv& conv) {
        return with_type(type, [&]<class T>(T) { return convolve<T>(conv, false); });
    },
    [](Type type, const Conv& conv) {
        return with_type(type, [&]<class T>(T) { return convolve<T>(conv, true); });
    },
    [](Type type, const Conv& conv) {
        return with_type(type, [&]<class T>(T) { return filter_grad<T>(conv); });
    },
}};

}  // namespace backblocks
