// Geometry of the windows along one axis: where they stand and which of their cells are real.
#pragma once

#include <algorithm>
#include <cstdint>

namespace backblocks {

// The cells first, first + 1, ..., last - 1; none when first >= last.
struct Range {
    std::int64_t first, last;

    constexpr std::int64_t size() const { return std::max<std::int64_t>(last - first, 0); }
};

struct WindowAxis {
    std::int64_t n;     // cells of the input
    std::int64_t k;     // cells of a window
    std::int64_t s;     // cells from one window to the next
    std::int64_t pads;  // cells of padding before the input
    std::int64_t out;   // windows

    // Whether the sums and products in cells() stay within int64 for every window.
    constexpr bool fits_int64() const {
        constexpr std::int64_t most = std::int64_t{1} << 60;
        return n <= most && k <= most && pads <= most && (out <= 1 || out - 1 <= most / s);
    }

    // The real cells of window o: those it covers, cut to 0 .. n - 1.
    constexpr Range cells(std::int64_t o) const {
        const std::int64_t begin = o * s - pads;
        return {std::max<std::int64_t>(begin, 0), std::min(begin + k, n)};
    }
};

}  // namespace backblocks
