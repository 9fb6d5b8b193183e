// Geometry of windows whose cells stand apart, along one axis, seen from either side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "window.hpp"

namespace backblocks {

// Tap t of output o reads cell o * s - pads + t * d.
struct TapAxis {
    std::int64_t n;     // cells of the input
    std::int64_t k;     // taps of a window
    std::int64_t s;     // cells from one window to the next
    std::int64_t d;     // cells from one tap to the next
    std::int64_t pads;  // cells of padding before the input
    std::int64_t out;   // windows

    // Whether every cell above can be computed, of padding too.
    constexpr bool fits_int64() const {
        constexpr std::int64_t most = std::int64_t{1} << 60;
        return n <= most && pads <= most && (k <= 1 || k - 1 <= most / d) &&
               (out <= 1 || out - 1 <= most / s);
    }
};

// A tap, and the cell it reads for place 0.
struct Tap {
    std::int64_t number, cell;
};

// The places first, first + step, ... of one side. What belongs to place j stands on the other side,
// which has n cells: each tap has its own at cell + j * stride, unless that is padding.
struct Sweep {
    std::int64_t first, step, count, stride, n;
    std::vector<Tap> taps;  // those that are real for some place

    // The places for which a tap is real.
    Range places(const Tap& tap) const {
        return {tap.cell < 0 ? (-tap.cell - 1) / stride + 1 : 0,
                tap.cell < n ? std::min((n - 1 - tap.cell) / stride + 1, count) : 0};
    }

    void add(Tap tap) {
        if (places(tap).size() > 0) taps.push_back(tap);
    }
};

// All the places of one side. Those of no sweep have no tap.
struct Side {
    std::int64_t size;
    std::vector<Sweep> sweeps;

    // The outputs, which read cells.
    static Side outputs(const TapAxis& axis) {
        Sweep sweep{0, 1, axis.out, axis.s, axis.n, {}};
        for (std::int64_t t = 0; t < axis.k; ++t) sweep.add({t, t * axis.d - axis.pads});
        Side side{axis.out, {}};
        if (!sweep.taps.empty()) side.sweeps.push_back(std::move(sweep));
        return side;
    }

    // The cells, each of which adds up what the outputs that read it send back. Cells that are s
    // apart are read by the same taps.
    static Side cells(const TapAxis& axis) {
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

    bool complete() const {
        std::int64_t count = 0;
        for (const Sweep& sweep : sweeps) count += sweep.count;
        return count == size;
    }
};

}  // namespace backblocks
