// Elements packed tile by tile, a channel at a time: widened, with zeros around them for the padding, and
// sorted so that a tap is at the same distance from every place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "depthwise_geometry.hpp"
#include "half.hpp"
#include "simd.hpp"

namespace backblocks::ISA::depthwise {

// Numbers of a packed tile: half of the L1 cache.
constexpr std::int64_t kKept = 1 << 12;

inline std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

// One axis of a packed tile, in polyphase order: elements are sorted by phase, which is their remainder by the
// stride, so that those a stride apart are adjacent. Only phases that some tap reads are packed.
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
                starts.push_back(floor_div(tap.element, stride));
                phases.push_back(tap.element - starts.back() * stride);
            }
        }
        const auto [least, most] = std::minmax_element(starts.begin(), starts.end());
        low = *least;
        size = *most - low + tile;
        std::sort(phases.begin(), phases.end());
        phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
    }

    std::int64_t start(const Tap& tap) const { return floor_div(tap.element, stride) - low; }
    std::int64_t phase(const Tap& tap) const {
        const std::int64_t phase = tap.element - floor_div(tap.element, stride) * stride;
        return std::lower_bound(phases.begin(), phases.end(), phase) - phases.begin();
    }

    // Which numbers of a phase are real, of n elements, in the tile that begins with a place.
    Range real(std::int64_t phase, std::int64_t place, std::int64_t n) const {
        const std::int64_t first = std::clamp<std::int64_t>(-low - place, 0, size);
        return {first, std::clamp(floor_div(n - 1 - phase, stride) + 1 - low - place, first, size)};
    }
    std::int64_t element(std::int64_t phase, std::int64_t place, std::int64_t i) const {
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
    TensorLayout in;
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
    std::int64_t row_of(const TensorLayout& out, const PackedSweep& packed, const Place& tile,
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
        const TensorLayout& in = packing_.in;
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
    // Elements of one phase: which of its numbers are real, and the offset of number 0 in a channel.
    struct Phase {
        Range d, h, w;
        std::int64_t place;
    };

    void see(std::int64_t tile) {
        if (std::exchange(tile_, tile) == tile) return;
        std::fill(all_.begin(), all_.end(), N{0});  // for the padding, which stays
        phases_.clear();
        const auto& axes = packing_.axes;
        const TensorLayout& in = packing_.in;
        const Place first = packing_.tile(tile);
        for (const std::int64_t d : axes[0].phases)
            for (const std::int64_t h : axes[1].phases)
                for (const std::int64_t w : axes[2].phases)
                    phases_.push_back({axes[0].real(d, first[0], in.n[0]),
                                       axes[1].real(h, first[1], in.n[1]),
                                       axes[2].real(w, first[2], in.n[2]),
                                       in.row(axes[0].element(d, first[0], 0), axes[1].element(h, first[1], 0)) +
                                           axes[2].element(w, first[2], 0) * in.step()});
    }

    const Packing& packing_;
    std::vector<N> all_;
    std::vector<Phase> phases_;
    std::int64_t tile_ = -1;
};

}  // namespace backblocks::ISA::depthwise
