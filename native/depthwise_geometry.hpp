// Geometry of depthwise convolution: which elements each result reads, forward and in the gradient.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "conv.hpp"

namespace backblocks::ISA::depthwise {

using Place = std::array<std::int64_t, 3>;

// The sizes and strides of an input or an output.
struct TensorLayout {
    std::int64_t images, channels;
    Place n;
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

// A pass of a convolution: forward, from inputs to outputs, or back.
struct Pass {
    TensorLayout in, out;
    std::array<Side, 3> sides;  // of `out`
    Place k;
    std::int64_t multiplier, lanes;
    bool back;

    Pass(const Conv& conv, bool back)
        : in(back ? outputs_of(conv) : inputs_of(conv)),
          out(back ? inputs_of(conv) : outputs_of(conv)),
          k{conv.axes[0].k, conv.axes[1].k, conv.axes[2].k},
          multiplier(conv.out),
          lanes(conv.groups * conv.out),
          back(back) {
        for (std::size_t i = 0; i < 3; ++i)
            sides[i] = back ? Side::inputs(conv.axes[i]) : Side::outputs(conv.axes[i]);
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
    std::int64_t numbers() const { return in.size() + out.size(); }
    // The work, in bytes for parallel_for.
    template <class T>
    std::int64_t bytes() const {
        return static_cast<std::int64_t>(sizeof(T)) * numbers() +
               in.images * lanes * std::min(in.elements(), out.elements()) * taps();
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

// Calls f(place, its offset in a channel) for the places of sweeps from `first` to `last`.
template <class F>
void each_place(const TensorLayout& out, const Sweeps& sweeps, const Place& first, const Place& last, F f) {
    const auto end = [&](std::size_t i) { return std::min(last[i], sweeps[i]->count); };
    const auto at = [&](std::size_t i, std::int64_t j) { return sweeps[i]->first + j * sweeps[i]->step; };
    for (std::int64_t d = first[0]; d < end(0); ++d)
        for (std::int64_t h = first[1]; h < end(1); ++h)
            for (std::int64_t w = first[2]; w < end(2); ++w)
                f(Place{d, h, w}, out.row(at(0, d), at(1, h)) + at(2, w) * out.step());
}

// The offset of a tap's element in a channel of `in`; -1 if it is padding.
inline std::int64_t real_element(const TensorLayout& in, const Sweeps& sweeps, const std::array<Tap, 3>& tap,
                       const Place& place) {
    Place element;
    for (std::size_t i = 0; i < 3; ++i) {
        element[i] = tap[i].element + place[i] * sweeps[i]->stride;
        if (element[i] < 0 || element[i] >= in.n[i]) return -1;
    }
    return in.row(element[0], element[1]) + element[2] * in.step();
}

}  // namespace backblocks::ISA::depthwise
