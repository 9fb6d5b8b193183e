// The geometry of a pass of depthwise convolution: which elements each target reads, forward and in the input gradient.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "conv.hpp"

namespace backblocks::ISA::depthwise {

// A position along depth, height and width, or a size along each.
using Position = std::array<std::int64_t, 3>;

// The sizes and strides of an input or an output.
struct TensorLayout {
    std::int64_t images, channels;
    Position n;
    bool channels_first;

    std::int64_t elements() const { return n[0] * n[1] * n[2]; }
    std::int64_t size() const { return images * elements() * channels; }
    // Strides from an element of a channel to the next, and to the next channel.
    std::int64_t step() const { return channels_first ? 1 : channels; }
    std::int64_t channel_step() const { return channels_first ? elements() : 1; }
    std::int64_t image_step() const { return elements() * channels; }
    std::int64_t row(std::int64_t d, std::int64_t h) const { return (d * n[1] + h) * n[2] * step(); }
};

inline TensorLayout inputs_of(const Conv& conv) {
    const auto& [d, h, w] = conv.axes;
    return {conv.images, conv.groups, {d.n, h.n, w.n}, conv.channels_first};
}

inline TensorLayout outputs_of(const Conv& conv) {
    const auto& [d, h, w] = conv.axes;
    return {conv.images, conv.groups * conv.out, {d.out, h.out, w.out}, conv.channels_first};
}

// A pass: forward, from inputs to outputs, or backward, from gradients in the outputs to those in the inputs.
struct Pass {
    TensorLayout in, out;
    std::array<AxisPhases, 3> axes;  // the targets are those of `out`
    Position k;                      // taps
    std::int64_t multiplier;         // filters of an input channel
    std::int64_t filters;            // of all input channels: the channels of the convolution's output
    bool back;

    Pass(const Conv& conv, bool back)
        : in(back ? outputs_of(conv) : inputs_of(conv)),
          out(back ? inputs_of(conv) : outputs_of(conv)),
          k{conv.axes[0].k, conv.axes[1].k, conv.axes[2].k},
          multiplier(conv.out),
          filters(conv.groups * conv.out),
          back(back) {
        for (std::size_t i = 0; i < 3; ++i)
            axes[i] = back ? AxisPhases::inputs(conv.axes[i]) : AxisPhases::outputs(conv.axes[i]);
    }

    std::int64_t taps() const { return k[0] * k[1] * k[2]; }
    std::int64_t number(const Tap& d, const Tap& h, const Tap& w) const {
        return (d.number * k[1] + h.number) * k[2] + w.number;
    }
    // The filters whose products a channel of `out` adds up, and the channel of `in` that a filter reads.
    Range filters_of(std::int64_t channel) const {
        return back ? Range{channel * multiplier, (channel + 1) * multiplier} : Range{channel, channel + 1};
    }
    std::int64_t in_channel(std::int64_t filter) const { return back ? filter : filter / multiplier; }
    // Whether any tap of any target reads a real element.
    bool any_real_tap() const {
        return std::none_of(axes.begin(), axes.end(), [](auto& axis) { return axis.phases.empty(); });
    }
    // Whether every target has a tap that reads a real element.
    bool complete() const {
        return std::all_of(axes.begin(), axes.end(), [](auto& axis) { return axis.complete(); });
    }
    std::int64_t numbers() const { return in.size() + out.size(); }
    // Rows of targets.
    std::int64_t rows() const { return out.images * out.n[0] * out.n[1]; }
    // The work, in bytes for parallel_for.
    template <class T>
    std::int64_t bytes() const {
        return static_cast<std::int64_t>(sizeof(T)) * numbers() +
               in.images * filters * std::min(in.elements(), out.elements()) * taps();
    }
};

// One phase along each axis.
using PhaseTriple = std::array<const Phase*, 3>;

template <class F>
void each_phase_triple(const Pass& pass, F f) {
    for (const Phase& d : pass.axes[0].phases)
        for (const Phase& h : pass.axes[1].phases)
            for (const Phase& w : pass.axes[2].phases) f(PhaseTriple{&d, &h, &w});
}

template <class F>
void each_tap(const PhaseTriple& phases, F f) {
    for (const Tap& d : phases[0]->taps)
        for (const Tap& h : phases[1]->taps)
            for (const Tap& w : phases[2]->taps) f(std::array<Tap, 3>{d, h, w});
}

// Calls f(position, offset of its target in a channel) for the positions of phases from `first` to `last`.
template <class F>
void each_position(const TensorLayout& out, const PhaseTriple& phases, const Position& first,
                   const Position& last, F f) {
    const auto end = [&](std::size_t i) { return std::min(last[i], phases[i]->count); };
    const auto at = [&](std::size_t i, std::int64_t j) { return phases[i]->first + j * phases[i]->step; };
    for (std::int64_t d = first[0]; d < end(0); ++d)
        for (std::int64_t h = first[1]; h < end(1); ++h)
            for (std::int64_t w = first[2]; w < end(2); ++w)
                f(Position{d, h, w}, out.row(at(0, d), at(1, h)) + at(2, w) * out.step());
}

// The offset of a tap's element in a channel of `in`; -1 if it is padding.
inline std::int64_t real_element(const TensorLayout& in, const PhaseTriple& phases,
                                 const std::array<Tap, 3>& tap, const Position& position) {
    Position element;
    for (std::size_t i = 0; i < 3; ++i) {
        element[i] = tap[i].element + position[i] * phases[i]->stride;
        if (element[i] < 0 || element[i] >= in.n[i]) return -1;
    }
    return in.row(element[0], element[1]) + element[2] * in.step();
}

}  // namespace backblocks::ISA::depthwise
