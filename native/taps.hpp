// Geometry of dilated windows along one axis, seen from the outputs (convolution) or from the inputs (its gradient).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "window.hpp"

namespace backblocks {

// Tap t of output o reads element o * s - pads + t * d.
struct TapAxis {
    std::int64_t n;     // elements of the input
    std::int64_t k;     // taps of a window
    std::int64_t s;     // stride: elements from one window to the next
    std::int64_t d;     // dilation: elements from one tap to the next
    std::int64_t pads;  // elements of padding before the input
    std::int64_t out;   // windows

    // Whether the place of every element, padding included, can be computed.
    constexpr bool fits_int64() const {
        constexpr std::int64_t most = std::int64_t{1} << 60;
        return n <= most && pads <= most && (k <= 1 || k - 1 <= most / d) &&
               (out <= 1 || out - 1 <= most / s);
    }
};

// A tap, and the element it reads for place 0 of a sweep.
struct Tap {
    std::int64_t number, element;
};

// A sweep: the places first, first + step, ... of one side (outputs or inputs), which all use the same taps.
// For place j, a tap reads element element + j * stride of the n of the other side, unless that is padding.
struct Sweep {
    std::int64_t first, step, count, stride, n;
    std::vector<Tap> taps;  // those that are real for some place

    // The places for which a tap is real.
    Range places(const Tap& tap) const {
        return {tap.element < 0 ? (-tap.element - 1) / stride + 1 : 0,
                tap.element < n ? std::min((n - 1 - tap.element) / stride + 1, count) : 0};
    }

    void add(Tap tap) {
        if (places(tap).size() > 0) taps.push_back(tap);
    }
};

// All places of one side, in sweeps. A place that no tap reaches is in no sweep.
struct Side {
    std::int64_t size;
    std::vector<Sweep> sweeps;

    // The outputs, which read inputs.
    static Side outputs(const TapAxis& axis) {
        Sweep sweep{0, 1, axis.out, axis.s, axis.n, {}};
        for (std::int64_t t = 0; t < axis.k; ++t) sweep.add({t, t * axis.d - axis.pads});
        Side side{axis.out, {}};
        if (!sweep.taps.empty()) side.sweeps.push_back(std::move(sweep));
        return side;
    }

    // The inputs, each of which adds up the gradients of the outputs that read it. Inputs that are s
    // apart are read by the same taps.
    static Side inputs(const TapAxis& axis) {
        std::map<std::int64_t, Sweep> by_first;
        for (std::int64_t t = 0; t < axis.k; ++t) {
            const std::int64_t shift = t * axis.d - axis.pads;
            const std::int64_t first = (shift % axis.s + axis.s) % axis.s;
            if (first >= axis.n) continue;
            const std::int64_t count = (axis.n - 1 - first) / axis.s + 1;
            const Sweep none{first, axis.s, count, 1, axis.out, {}};
            by_first.try_emplace(first, none).first->second.add({t, (first - shift) / axis.s});
        }
        Side side{axis.n, {}};
        for (auto& [_, sweep] : by_first)
            if (!sweep.taps.empty()) side.sweeps.push_back(std::move(sweep));
        return side;
    }

    // Whether every place is in a sweep.
    bool complete() const {
        std::int64_t count = 0;
        for (const Sweep& sweep : sweeps) count += sweep.count;
        return count == size;
    }
};

}  // namespace backblocks
