// Depthwise convolution: each output channel has one filter and sees one input channel. The gradient
// of the input is the same sum seen from the other side (taps.hpp), so both are one function.
//
// What is read is packed tile by tile: widened, with zeros around it for the padding, and sorted so
// that a tap is the same distance for every place. A tile has a group of channels:
// * one or two vectors of them, where channels are last. Vectors run over channels.
// * a single one, where channels are first. Vectors run over places, from row to row.
#include "depthwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "half.hpp"
#include "parallel.hpp"
#include "stream.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using Place = std::array<std::int64_t, 3>;

// Numbers of a packed tile: a part of the L2 cache of a thread or, where all of a tile is packed
// before it is used, of the L1 cache.
constexpr std::int64_t kKept = 1 << 15, kKeptAtOnce = 1 << 12;
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

// group: how many channels are packed together, number by number.
template <int group>
struct Packing {
    using Channels = std::array<std::int64_t, group>;  // where each stands in a cell

    const Volumes& in;
    std::vector<PackedAxis> axes;
    std::vector<PackedSweep> sweeps;

    explicit Packing(const Pass& pass) : in(pass.in) {
        for (const Side& side : pass.sides) axes.emplace_back(side);
        for (PackedAxis& axis : axes) {
            const std::int64_t places = axis.tile;
            while (axis.tile > 1 && estimate() > (group == 1 ? kKeptAtOnce : kKept)) {
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
        double size = group;
        for (const PackedAxis& axis : axes)
            size *= static_cast<double>(axis.size) * static_cast<double>(axis.phases.size());
        return size;
    }

    std::int64_t row(std::int64_t d, std::int64_t h) const {
        return (d * axes[1].size + h) * axes[2].size * group;
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
               axes[2].start(tap[2]) * group;
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

    // The channels of `in` that results from channel `first` on see in one of their terms.
    Channels channels(const Pass& pass, std::int64_t first, std::int64_t term) const {
        Channels all;
        for (std::int64_t i = 0; i < group; ++i)
            all[static_cast<std::size_t>(i)] =
                pass.in_channel(pass.lane(first + i, term)) * in.channel_step();
        return all;
    }
};

// Copies a row of cells, which are `step` numbers apart, and have a group of channels each.
template <int group, class From, class To, class Convert>
void copy_row(const From* from, std::int64_t step, std::int64_t cells, To* to, std::int64_t to_step,
              Convert convert) {
    constexpr std::int64_t v = kLanes<Wide<To>>;
    if constexpr (std::is_same_v<From, To> && group == 1)
        if (step == 1 && to_step == 1 && cells >= v) {
            // The last vector may overlap the one before.
            for (std::int64_t i = 0; i < cells; i += v)
                store_vector(to + std::min(i, cells - v), load_vector(from + std::min(i, cells - v)));
            return;
        }
    if (group == 1 && step == 2 && to_step == 1)  // a constant, which makes it vector code
        for (std::int64_t w = 0; w < cells; ++w) to[w] = convert(from[w * 2]);
    else if (step == group && to_step == group)
        for (std::int64_t i = 0; i < cells * group; ++i) to[i] = convert(from[i]);
    else
        for (std::int64_t w = 0; w < cells; ++w)
            for (int i = 0; i < group; ++i) to[w * to_step + i] = convert(from[w * step + i]);
}

// A packed tile of some images, one after the other.
template <int group, class T>
class PackedTile {
   public:
    using N = Wide<T>;
    using Channels = typename Packing<group>::Channels;
    // Numbers that may be read beyond the end.
    static constexpr std::int64_t kSpare = 16 * kLanes<N>;

    explicit PackedTile(const Packing<group>& packing)
        : packing_(packing), all_(static_cast<std::size_t>(packing.size() + kSpare)) {}

    const N* data() const { return all_.data(); }

    // Sees a tile of an image, of which nothing is packed yet.
    void see(const T* image, std::int64_t tile, const Channels& channels, std::int64_t count) {
        image_ = image;
        channels_ = channels;
        count_ = count;
        next_ = {};
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

    // Packs what places before row (d, h) and in it see.
    void pack(std::int64_t d, std::int64_t h) {
        const auto& axes = packing_.axes;
        const std::int64_t height = axes[1].size;
        d += axes[0].size - axes[0].tile;
        h += height - axes[1].tile;
        while (next_[0] < d || (next_[0] == d && next_[1] <= h)) {
            pack_row(next_[0], next_[1]);
            if (++next_[1] == height) next_ = {next_[0] + 1, 0};
        }
    }

   private:
    // Cells of one phase: which of its numbers are real, and where number 0 stands in a channel.
    struct Phase {
        Range d, h, w;
        std::int64_t place;
    };

    void pack_row(std::int64_t d, std::int64_t h) {
        const auto& axes = packing_.axes;
        const Volumes& in = packing_.in;
        const bool side_by_side = count_ == group && channels_[group - 1] == channels_[0] + group - 1;
        const std::int64_t step = axes[2].stride * in.step();
        N* to = all_.data() + packing_.row(d, h);
        for (const Phase& phase : phases_) {
            if (phase.d.has(d) && phase.h.has(h) && phase.w.size() > 0) {
                const T* from = image_ + phase.place + phase.w.first * step +
                                in.row(d * axes[0].stride, h * axes[1].stride);
                N* cells = to + phase.w.first * group;
                if (side_by_side)
                    copy_row<group>(from + channels_[0], step, phase.w.size(), cells, group,
                                    [](T x) { return widen(x); });
                else
                    for (std::int64_t w = 0; w < phase.w.size(); ++w)
                        for (std::int64_t i = 0; i < count_; ++i)
                            cells[w * group + i] =
                                widen(from[w * step + channels_[static_cast<std::size_t>(i)]]);
            }
            to += packing_.volume();
        }
    }

    const Packing<group>& packing_;
    std::vector<N> all_;
    std::vector<Phase> phases_;
    std::int64_t tile_ = -1;
    const T* image_ = nullptr;
    Channels channels_{};
    std::int64_t count_ = 0;
    Place next_{};  // the row to be packed next
};

// -- forward and back -----------------------------------------------------------------------------

// Sums kept in registers. Fewer than 8 would wait for the multiply-adds before them.
constexpr int kSums = 12;

// to[p] (+)= sum over taps t: from[p + distance of t] * filter[t], for places p with a group each
template <int places, int vectors, class N>
BACKBLOCKS_INLINE void add_up(const std::vector<PackedTap>& taps, const N* from, const N* filter,
                              N* to, std::int64_t to_step, bool adds) {
    constexpr int group = vectors * kLanes<N>;
    Vector<N> sum[places][vectors] = {};
    if (adds)
#pragma GCC unroll 12
        for (int p = 0; p < places; ++p)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) sum[p][v] = load_vector(to + p * to_step + v * kLanes<N>);
    for (const PackedTap& tap : taps) {
        const N* x = from + tap.distance;
        Vector<N> weight[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
            weight[v] = load_vector(filter + tap.number * group + v * kLanes<N>);
#pragma GCC unroll 12
        for (int p = 0; p < places; ++p)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v)
                sum[p][v] += load_vector(x + p * group + v * kLanes<N>) * weight[v];
    }
#pragma GCC unroll 12
    for (int p = 0; p < places; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) store_vector(to + p * to_step + v * kLanes<N>, sum[p][v]);
}

template <int group, class N>
void add_up_row(const std::vector<PackedTap>& taps, const N* from, const N* filter, N* to,
                std::int64_t to_step, std::int64_t count, bool adds) {
    constexpr int vectors = group / kLanes<N>, most = kSums / vectors;
    for (std::int64_t p = 0; p < count; p += most)
        with_constant<most>(std::min<std::int64_t>(count - p, most), [&](auto places) {
            add_up<places, vectors>(taps, from + p * group, filter, to + p * to_step, to_step, adds);
        });
}

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
template <int group, class T>
void store_row(const Wide<T>* sums, std::int64_t places, std::int64_t channels, T* to,
               std::int64_t to_step) {
    const auto convert = [](Wide<T> x) { return narrow<T>(x); };
    if (channels == group) return copy_row<group>(sums, group, places, to, to_step, convert);
    for (std::int64_t p = 0; p < places; ++p)
        for (std::int64_t i = 0; i < channels; ++i)
            to[p * to_step + i] = convert(sums[p * group + i]);
}

// The filters of each group of results: [group][term][tap][channel].
template <int group, class T>
std::vector<Wide<T>> grouped_filters(const Pass& pass, const T* f) {
    const std::int64_t groups = (pass.out.channels + group - 1) / group, taps = pass.taps();
    std::vector<Wide<T>> all(static_cast<std::size_t>(groups * pass.terms() * taps * group));
    for (std::int64_t c = 0; c < pass.out.channels; ++c)
        for (std::int64_t i = 0; i < pass.terms(); ++i)
            for (std::int64_t t = 0; t < taps; ++t) {
                const std::int64_t place = ((c / group * pass.terms() + i) * taps + t) * group;
                all[static_cast<std::size_t>(place + c % group)] =
                    widen(f[t * pass.lanes + pass.lane(c, i)]);
            }
    return all;
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

template <int group, class T>
void convolve_groups(const Pass& pass, const T* in, const T* f, T* out) {
    using N = Wide<T>;
    const Packing<group> packing(pass);
    const auto filters = grouped_filters<group>(pass, f);
    const std::int64_t groups = (pass.out.channels + group - 1) / group, tiles = packing.tiles();
    // Where sums need not be rounded, or added to others, they go straight to the result.
    const bool straight = std::is_same_v<T, N> && pass.terms() == 1 && group > 1;
    const std::int64_t sums_of_sweep = packing.volume() + PackedTile<group, T>::kSpare;
    parallel_for(pass.in.images * tiles * groups, pass.bytes<T>(), [&](auto begin, auto end) {
        PackedTile<group, T> packed(packing);
        std::vector<N> sums(packing.sweeps.size() * static_cast<std::size_t>(sums_of_sweep));
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t first = unit % groups * group, image = unit / groups / tiles;
            const std::int64_t count = std::min<std::int64_t>(group, pass.out.channels - first);
            const Place tile = packing.tile(unit / groups % tiles);
            T* to = out + image * pass.out.image_step() + first * pass.out.channel_step();
            const N* filter = filters.data() + first / group * pass.terms() * pass.taps() * group;
            for (std::int64_t term = 0; term < pass.terms(); ++term, filter += pass.taps() * group) {
                packed.see(in + image * pass.in.image_step(), unit / groups % tiles,
                           packing.channels(pass, first, term), count);
                if constexpr (group == 1) {
                    packed.pack(packing.axes[0].tile - 1, packing.axes[1].tile - 1);
                    N* some = sums.data();
                    for (const PackedSweep& sweep : packing.sweeps) {
                        const Place places = packing.places(sweep, tile);
                        add_up_flat(sweep.taps, packed.data(), filter, some,
                                    packing.row(places[0] - 1, places[1] - 1) + places[2], term > 0);
                        some += sums_of_sweep;
                    }
                }
                for (std::int64_t d = 0; d < packing.axes[0].tile; ++d)
                    for (std::int64_t h = 0; h < packing.axes[1].tile; ++h) {
                        packed.pack(d, h);
                        N* some = sums.data() + packing.row(d, h);
                        for (const PackedSweep& sweep : packing.sweeps) {
                            const Place places = packing.places(sweep, tile);
                            N* row = std::exchange(some, some + sums_of_sweep);
                            if (d >= places[0] || h >= places[1]) continue;
                            T* at = to + packing.row_of(pass.out, sweep, tile, d, h);
                            const std::int64_t to_step = sweep.sweeps[2]->step * pass.out.step();
                            if constexpr (group > 1) {
                                const N* from = packed.data() + packing.row(d, h);
                                if constexpr (std::is_same_v<T, N>)
                                    if (straight && count == group) {
                                        add_up_row<group>(sweep.taps, from, filter, at, to_step, places[2],
                                                          false);
                                        continue;
                                    }
                                add_up_row<group>(sweep.taps, from, filter, row, group, places[2],
                                                  term > 0);
                            }
                            if (term + 1 == pass.terms())
                                store_row<group>(row, places[2], count, at, to_step);
                        }
                    }
            }
        }
    });
    mend_infinite(pass, in, f, out);
}

// Calls f with the number of channels to take together, as a constant.
template <class N, class F>
void with_group(const Pass& pass, F f) {
    constexpr int v = kLanes<N>;
    if (pass.in.channels_first || pass.lanes == 1) f(std::integral_constant<int, 1>{});
    else if (pass.out.channels <= v) f(std::integral_constant<int, v>{});
    else f(std::integral_constant<int, 2 * v>{});
}

// y[b, o, c * multiplier + m] = sum over taps t: x[b, o * s - pads + t * d, c] * f[t, c, m]
// dx[b, i, c] = sum over m, taps t, outputs o with o * s - pads + t * d = i:
//                   dy[b, o, c * multiplier + m] * f[t, c, m]
template <class T>
void convolve(const T* in, const T* f, T* out, const Conv& conv, bool back) {
    const Pass pass(conv, back);
    if (std::any_of(pass.sides.begin(), pass.sides.end(), [](auto& side) { return !side.complete(); }))
        std::fill_n(out, pass.out.size(), T{});
    if (pass.reaches())
        with_group<Wide<T>>(pass, [&](auto group) { convolve_groups<group>(pass, in, f, out); });
}

// -- the gradient of the filter -------------------------------------------------------------------

// Taps whose sums are kept in registers: a window of 3 x 3.
constexpr int kTaps = 9;

// sums[t] = sum over i < count: x[i * step + distance of t] * dy[i * step]
template <int taps, class N>
void multiply(const PackedTap* tap, const N* x, const N* dy, std::int64_t step, std::int64_t count,
              Vector<N>* sums) {
    Vector<N> sum[taps] = {};
    const N* cells[taps];
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) cells[t] = x + tap[t].distance;
    for (std::int64_t i = 0; i < count * step; i += step) {
        const Vector<N> d = load_vector(dy + i);
#pragma GCC unroll 9
        for (int t = 0; t < taps; ++t) sum[t] += load_vector(cells[t] + i) * d;
    }
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) sums[t] = sum[t];
}

// sums[t, c] = sum over places p < count: x[p + distance of t, c] * dy[p, c], for a group of channels
template <int group, class N>
void multiply_all(const std::vector<PackedTap>& taps, const N* x, const N* dy, std::int64_t count,
                  N* sums) {
    constexpr std::int64_t v = kLanes<N>, step = std::max<std::int64_t>(group, v);
    Vector<N> some[kTaps];
    for (std::int64_t t = 0; t < std::ssize(taps); t += kTaps)
        for (std::int64_t c = 0; c < group; c += v) {
            const std::int64_t left = std::min<std::int64_t>(kTaps, std::ssize(taps) - t);
            with_constant<kTaps>(left, [&](auto n) {
                const std::int64_t steps = group == 1 ? (count - 1) / v + 1 : count;
                multiply<n>(taps.data() + t, x + c, dy + c, step, steps, some);
            });
            for (std::int64_t i = 0; i < left; ++i)
                if constexpr (group > 1) {
                    store_vector(sums + (t + i) * group + c, some[i]);
                } else {
                    sums[t + i] = 0;
                    for (int lane = 0; lane < v; ++lane) sums[t + i] += some[i][lane];
                }
        }
}

// Whether a sum of the first `count` channels is NaN.
template <int group, class N>
bool has_nan(const std::vector<N>& sums, std::int64_t count) {
    for (std::size_t i = 0; i < sums.size(); ++i)
        if (static_cast<std::int64_t>(i % group) < count && std::isnan(sums[i])) return true;
    return false;
}

template <int group, class T>
void multiply_groups(const Pass& pass, const T* x, const T* dy, T* df) {
    using N = Wide<T>;
    const Packing<group> packing(pass);
    const PackedSweep& sweep = packing.sweeps[0];
    const std::int64_t groups = (pass.lanes + group - 1) / group, tiles = packing.tiles();
    const std::int64_t work = pass.in.images * tiles, size = pass.taps() * pass.lanes;
    // As many parts, added in the same order, whatever the number of threads.
    const std::int64_t parts = std::clamp<std::int64_t>(std::min(work, kPartNumbers / size), 1, kParts);
    std::vector<N> all(static_cast<std::size_t>(parts * size));
    parallel_for(parts * groups, pass.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
        PackedTile<group, T> packed(packing);
        std::vector<N> grads(static_cast<std::size_t>(packing.volume() + kLanes<N>));
        std::vector<N> sums(sweep.taps.size() * group);
        std::int64_t before = -1;
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t first = unit % groups * group, part = unit / groups;
            const std::int64_t count = std::min<std::int64_t>(group, pass.lanes - first);
            const std::int64_t last = work * (part + 1) / parts;
            const auto channels = packing.channels(pass, first, 0);
            typename Packing<group>::Channels lanes;
            for (std::int64_t c = 0; c < group; ++c)
                lanes[static_cast<std::size_t>(c)] = (first + c) * pass.out.channel_step();
            N* to = all.data() + part * size + first;
            for (std::int64_t i = work * part / parts; i < last; ++i) {
                const T* cells = x + i / tiles * pass.in.image_step();
                const T* results = dy + i / tiles * pass.out.image_step();
                const Place tile = packing.tile(i % tiles), places = packing.places(sweep, tile);
                packed.see(cells, i % tiles, channels, count);
                packed.pack(packing.axes[0].tile - 1, packing.axes[1].tile - 1);
                if (std::exchange(before, i % tiles) != i % tiles || count < group)
                    std::fill(grads.begin(), grads.end(), N{0});
                for (std::int64_t d = 0; d < places[0]; ++d)
                    for (std::int64_t h = 0; h < places[1]; ++h) {
                        const T* from = results + packing.row_of(pass.out, sweep, tile, d, h);
                        N* row = grads.data() + packing.row(d, h);
                        if (count == group)
                            copy_row<group>(from + lanes[0], pass.out.step(), places[2], row, group,
                                            [](T x) { return widen(x); });
                        else
                            for (std::int64_t w = 0; w < places[2]; ++w)
                                for (std::int64_t c = 0; c < count; ++c)
                                    row[w * group + c] =
                                        widen(from[w * pass.out.step() + lanes[static_cast<std::size_t>(c)]]);
                    }
                multiply_all<group>(sweep.taps, packed.data(), grads.data(),
                                    packing.row(places[0] - 1, places[1] - 1) / group + places[2],
                                    sums.data());
                // Zeros for padding make NaN of what is not finite: then without them.
                if (has_nan<group>(sums, count)) {
                    std::fill(sums.begin(), sums.end(), N{0});
                    N* sum = sums.data();
                    Place beyond;
                    for (std::size_t a = 0; a < 3; ++a) beyond[a] = tile[a] + places[a];
                    each_tap(sweep.sweeps, [&](const std::array<Tap, 3>& tap) {
                        each_place(pass.out, sweep.sweeps, tile, beyond, [&](const Place& place, auto at) {
                            const std::int64_t cell = real_cell(pass.in, sweep.sweeps, tap, place);
                            for (std::size_t c = 0; cell >= 0 && c < static_cast<std::size_t>(count); ++c)
                                sum[c] += widen(cells[cell + channels[c]]) * widen(results[at + lanes[c]]);
                        });
                        sum += group;
                    });
                }
                for (std::size_t t = 0; t < sweep.taps.size(); ++t)
                    for (std::int64_t c = 0; c < count; ++c)
                        to[sweep.taps[t].number * pass.lanes + c] +=
                            sums[t * group + static_cast<std::size_t>(c)];
            }
        }
    });
    for (std::int64_t i = 0; i < size; ++i) {
        N sum{0};
        for (std::int64_t part = 0; part < parts; ++part)
            sum += all[static_cast<std::size_t>(part * size + i)];
        df[i] = narrow<T>(sum);
    }
}

// df[t, c, m] = sum over images b, outputs o:
//                   x[b, o * s - pads + t * d, c] * dy[b, o, c * multiplier + m]
template <class T>
void filter_grad(const T* x, const T* dy, T* df, const Conv& conv) {
    const Pass pass(conv, false);
    if (pass.reaches())
        with_group<Wide<T>>(pass, [&](auto group) { multiply_groups<group>(pass, x, dy, df); });
    else std::fill_n(df, pass.taps() * pass.lanes, T{});
}

}  // namespace

const DepthwiseKernels ISA::depthwise_kernels{
    [](Type type, const void* x, const void* f, void* y, const Conv& conv) {
        with_type(type, [&]<class T>(T) { convolve(in<T>(x), in<T>(f), out<T>(y), conv, false); });
    },
    [](Type type, const void* f, const void* dy, void* dx, const Conv& conv) {
        with_type(type, [&]<class T>(T) { convolve(in<T>(dy), in<T>(f), out<T>(dx), conv, true); });
    },
    [](Type type, const void* x, const void* dy, void* df, const Conv& conv) {
        with_type(type, [&]<class T>(T) { filter_grad(in<T>(x), in<T>(dy), out<T>(df), conv); });
    },
};

}  // namespace backblocks
