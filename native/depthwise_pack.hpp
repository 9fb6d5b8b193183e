// Packing for depthwise convolution: elements are packed tile by tile, a channel at a time, widened, with zeros for
// the padding, and in polyphase order, so that a tap reads at the same distance from every position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "depthwise_geometry.hpp"
#include "dtypes.hpp"
#include "simd.hpp"

namespace backblocks::ISA::depthwise {

// The most numbers of a packed tile: half of the L1 cache.
constexpr std::int64_t kMostPacked = 1 << 12;

inline std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

// One axis of a packed tile, in polyphase order: elements are sorted by their remainder by the stride, so that those a
// stride apart are adjacent. Elements of one remainder are a component; components that no tap reads are not packed.
struct PackedAxis {
    std::int64_t tile = 0;   // positions of a tile
    std::int64_t tiles = 0;  // how many there are
    std::int64_t stride = 1;
    std::int64_t low, size;  // where a component begins for position 0, and how long it is
    std::vector<std::int64_t> components;  // their remainders

    explicit PackedAxis(const AxisPhases& axis) {
        std::vector<std::int64_t> starts;
        for (const Phase& phase : axis.phases) {
            tile = std::max(tile, phase.count);
            stride = phase.stride;
            for (const Tap& tap : phase.taps) {
                starts.push_back(floor_div(tap.element, stride));
                components.push_back(tap.element - starts.back() * stride);
            }
        }
        const auto [least, most] = std::minmax_element(starts.begin(), starts.end());
        low = *least;
        size = *most - low + tile;
        std::sort(components.begin(), components.end());
        components.erase(std::unique(components.begin(), components.end()), components.end());
    }

    std::int64_t start(const Tap& tap) const { return floor_div(tap.element, stride) - low; }
    std::int64_t component(const Tap& tap) const {
        const std::int64_t component = tap.element - floor_div(tap.element, stride) * stride;
        return std::lower_bound(components.begin(), components.end(), component) - components.begin();
    }

    // Which numbers of a component are real, of n elements, in the tile that begins with a position.
    Range real(std::int64_t component, std::int64_t position, std::int64_t n) const {
        const std::int64_t first = std::clamp<std::int64_t>(-low - position, 0, size);
        return {first, std::clamp(floor_div(n - 1 - component, stride) + 1 - low - position, first, size)};
    }
    std::int64_t element(std::int64_t component, std::int64_t position, std::int64_t i) const {
        return (position + low + i) * stride + component;
    }
};

// A tap of a packed tile: the number in the tile that it reads for position 0, and its number in the filter.
struct PackedTap {
    std::int64_t distance, number;
};

// The targets of one phase along each axis, and their taps.
struct PackedPhase {
    PhaseTriple phases;
    std::vector<PackedTap> taps;
};

// How a pass is packed.
struct Packing {
    TensorLayout in;
    std::vector<PackedAxis> axes;
    std::vector<PackedPhase> phases;

    explicit Packing(const Pass& pass) : in(pass.in) {
        for (const AxisPhases& axis : pass.axes) axes.emplace_back(axis);
        for (PackedAxis& axis : axes) {
            const std::int64_t positions = axis.tile;
            while (axis.tile > 1 && estimate() > kMostPacked) {
                axis.size -= axis.tile / 2;
                axis.tile -= axis.tile / 2;
            }
            axis.tiles = (positions - 1) / axis.tile + 1;
        }
        each_phase_triple(pass, [&](const PhaseTriple& each) {
            PackedPhase& packed = phases.emplace_back(PackedPhase{each, {}});
            each_tap(each, [&](const std::array<Tap, 3>& tap) {
                packed.taps.push_back({distance(tap), pass.number(tap[0], tap[1], tap[2])});
            });
        });
    }

    // The numbers of a tile, as a double: they may be too many for an integer.
    double estimate() const {
        double size = 1;
        for (const PackedAxis& axis : axes)
            size *= static_cast<double>(axis.size) * static_cast<double>(axis.components.size());
        return size;
    }

    std::int64_t row(std::int64_t d, std::int64_t h) const {
        return (d * axes[1].size + h) * axes[2].size;
    }
    // Numbers of a component, and of all of them.
    std::int64_t volume() const { return row(axes[0].size, 0); }
    std::int64_t size() const {
        return volume() * std::ssize(axes[0].components) * std::ssize(axes[1].components) *
               std::ssize(axes[2].components);
    }
    std::int64_t distance(const std::array<Tap, 3>& tap) const {
        std::int64_t component = 0;
        for (std::size_t i = 0; i < 3; ++i)
            component = component * std::ssize(axes[i].components) + axes[i].component(tap[i]);
        return component * volume() + row(axes[0].start(tap[0]), axes[1].start(tap[1])) +
               axes[2].start(tap[2]);
    }

    std::int64_t tiles() const { return axes[0].tiles * axes[1].tiles * axes[2].tiles; }
    // The position where a tile begins.
    Position tile(std::int64_t i) const {
        const auto &h = axes[1], &w = axes[2];
        return {i / w.tiles / h.tiles * axes[0].tile, i / w.tiles % h.tiles * h.tile,
                i % w.tiles * w.tile};
    }
    // How many positions of a phase a tile has along each axis; none if it lies beyond.
    Position positions(const PackedPhase& packed, const Position& tile) const {
        Position count;
        for (std::size_t i = 0; i < 3; ++i)
            count[i] = std::min(axes[i].tile, packed.phases[i]->count - tile[i]);
        return *std::min_element(count.begin(), count.end()) > 0 ? count : Position{};
    }

    // Where a row of a tile begins in a channel of `out`.
    std::int64_t row_of(const TensorLayout& out, const PackedPhase& packed, const Position& tile,
                        std::int64_t d, std::int64_t h) const {
        const auto at = [&](std::size_t i, std::int64_t j) {
            return packed.phases[i]->first + (tile[i] + j) * packed.phases[i]->step;
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

// The buffer of a packed tile, filled for one image and channel after the other.
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
        enter(tile);
        const auto& axes = packing_.axes;
        const TensorLayout& in = packing_.in;
        const std::int64_t step = axes[2].stride * in.step();
        N* to = all_.data();
        for (const Component& component : components_) {
            for (std::int64_t d = component.d.first; d < component.d.last; ++d)
                for (std::int64_t h = component.h.first; h < component.h.last; ++h)
                    widen_row(channel + component.offset + component.w.first * step +
                                  in.row(d * axes[0].stride, h * axes[1].stride),
                              step, component.w.size(), to + packing_.row(d, h) + component.w.first);
            to += packing_.volume();
        }
    }

   private:
    // Elements of one component: which of its numbers are real, and the offset of number 0 in a channel.
    struct Component {
        Range d, h, w;
        std::int64_t offset;
    };

    // Prepares the buffer for a tile, if it is another than before.
    void enter(std::int64_t tile) {
        if (std::exchange(tile_, tile) == tile) return;
        std::fill(all_.begin(), all_.end(), N{0});  // padding stays zero
        components_.clear();
        const auto& axes = packing_.axes;
        const TensorLayout& in = packing_.in;
        const Position first = packing_.tile(tile);
        for (const std::int64_t d : axes[0].components)
            for (const std::int64_t h : axes[1].components)
                for (const std::int64_t w : axes[2].components)
                    components_.push_back({axes[0].real(d, first[0], in.n[0]),
                                       axes[1].real(h, first[1], in.n[1]),
                                       axes[2].real(w, first[2], in.n[2]),
                                       in.row(axes[0].element(d, first[0], 0), axes[1].element(h, first[1], 0)) +
                                           axes[2].element(w, first[2], 0) * in.step()});
    }

    const Packing& packing_;
    std::vector<N> all_;
    std::vector<Component> components_;
    std::int64_t tile_ = -1;
};

}  // namespace backblocks::ISA::depthwise
