// One axis of a convolution: stride, dilation and padding, and its polyphase decomposition.
//
// Targets, which are computed, are sorted into phases by the taps through which they read sources. Of a convolution the
// targets are the outputs, all in one phase; of its input gradient they are the inputs, in a phase for each remainder
// by the stride.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "window.hpp"

namespace backblocks {

// The geometry. Tap t of output o reads input element o * s - pads + t * d.
struct ConvAxis {
    std::int64_t n;     // elements of the input
    std::int64_t k;     // taps of a window
    std::int64_t s;     // stride: elements from one window to the next
    std::int64_t d;     // dilation: elements from one tap to the next
    std::int64_t pads;  // elements of padding before the input
    std::int64_t out;   // windows

    // Whether the position of every element, padding included, can be computed.
    constexpr bool fits_int64() const {
        constexpr std::int64_t most = std::int64_t{1} << 60;
        return n <= most && pads <= most && (k <= 1 || k - 1 <= most / d) &&
               (out <= 1 || out - 1 <= most / s);
    }
};

// A tap, and the source element that it reads for the first target of a phase.
struct Tap {
    std::int64_t number, element;
};

// A phase: the targets first, first + step, ... along an axis, at positions 0, 1, ... of the phase. At position j a
// tap reads source element tap.element + j * stride, one of n, unless that is padding.
struct Phase {
    std::int64_t first, step, count, stride, n;
    std::vector<Tap> taps;  // without those that read nothing but padding

    // The positions at which a tap reads a real element.
    Range positions(const Tap& tap) const {
        return {tap.element < 0 ? (-tap.element - 1) / stride + 1 : 0,
                tap.element < n ? std::min((n - 1 - tap.element) / stride + 1, count) : 0};
    }

    void add(Tap tap) {
        if (positions(tap).size() > 0) taps.push_back(tap);
    }
};

// All targets along an axis, in phases. A target whose taps read nothing but padding is in no phase.
struct AxisPhases {
    std::int64_t size;  // targets
    std::vector<Phase> phases;

    // The phases of a convolution: targets are outputs, sources are inputs.
    static AxisPhases outputs(const ConvAxis& axis) {
        Phase phase{0, 1, axis.out, axis.s, axis.n, {}};
        for (std::int64_t t = 0; t < axis.k; ++t) phase.add({t, t * axis.d - axis.pads});
        AxisPhases all{axis.out, {}};
        if (!phase.taps.empty()) all.phases.push_back(std::move(phase));
        return all;
    }

    // The phases of its input gradient: targets are inputs, sources are outputs. Inputs that are s apart are read
    // by the same taps.
    static AxisPhases inputs(const ConvAxis& axis) {
        std::map<std::int64_t, Phase> by_first;
        for (std::int64_t t = 0; t < axis.k; ++t) {
            const std::int64_t shift = t * axis.d - axis.pads;
            const std::int64_t first = (shift % axis.s + axis.s) % axis.s;
            if (first >= axis.n) continue;
            const std::int64_t count = (axis.n - 1 - first) / axis.s + 1;
            const Phase none{first, axis.s, count, 1, axis.out, {}};
            by_first.try_emplace(first, none).first->second.add({t, (first - shift) / axis.s});
        }
        AxisPhases all{axis.n, {}};
        for (auto& [_, phase] : by_first)
            if (!phase.taps.empty()) all.phases.push_back(std::move(phase));
        return all;
    }

    // Whether every target is in a phase.
    bool complete() const {
        std::int64_t count = 0;
        for (const Phase& phase : phases) count += phase.count;
        return count == size;
    }
};

}  // namespace backblocks
