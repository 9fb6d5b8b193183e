// Geometry of the windows along one axis: where they stand and which of their cells are real.
#pragma once

#include <algorithm>
#include <cstdint>

namespace backblocks {

// The numbers first, first + 1, ..., last - 1; none when first >= last.
struct Range {
    std::int64_t first, last;

    constexpr std::int64_t size() const { return std::max<std::int64_t>(last - first, 0); }
    constexpr bool has(std::int64_t i) const { return first <= i && i < last; }
};

struct WindowAxis {
    std::int64_t n;     // cells of the input
    std::int64_t k;     // cells of a window
    std::int64_t s;     // cells from one window to the next
    std::int64_t pads;  // cells of padding before the input
    std::int64_t out;   // windows

    // Whether the sums and products below stay within int64 for every window.
    constexpr bool fits_int64() const {
        constexpr std::int64_t most = std::int64_t{1} << 60;
        return n <= most && k <= most && pads <= most && (out <= 1 || out - 1 <= most / s);
    }

    // Whether every window has a real cell: then the first and the last have.
    constexpr bool all_real() const { return out == 0 || (k > pads && (out - 1) * s - pads < n); }

    // The same windows without the padding that all of them have.
    constexpr WindowAxis trimmed() const {
        WindowAxis axis = *this;
        if (out == 0) return axis;
        const std::int64_t before = std::max<std::int64_t>(pads - (out - 1) * s, 0);
        axis.pads -= before;
        axis.k = std::min(k - before, n + axis.pads);
        if (out == 1) axis.s = axis.k;
        return axis;
    }

    // All cells that windows cover, padding included.
    constexpr std::int64_t covered() const { return out == 0 ? 0 : (out - 1) * s + k; }

    // No cell is in two windows.
    constexpr bool apart() const { return k <= s; }

    // No cell is in more windows than this.
    constexpr std::int64_t most_windows() const { return std::min((k - 1) / s + 1, out); }

    // The real cells of window o: those it covers, cut to 0 .. n - 1.
    constexpr Range cells(std::int64_t o) const {
        const std::int64_t begin = o * s - pads;
        return {std::max<std::int64_t>(begin, 0), std::min(begin + k, n)};
    }

    // The cell with number i in window o, which need not be real.
    constexpr std::int64_t cell(std::int64_t o, std::int64_t i) const { return o * s - pads + i; }

    // The windows that cover a cell.
    constexpr Range windows(std::int64_t cell) const {
        const std::int64_t end = cell + pads;
        return {end < k ? 0 : (end - k) / s + 1, std::min(end / s + 1, out)};
    }

    // The windows all of whose cells are real.
    constexpr Range whole() const {
        return {(pads + s - 1) / s, k > n + pads ? 0 : std::min((n + pads - k) / s + 1, out)};
    }

    // The cells from windows o on to where the next ones begin. The first windows also have all
    // cells before them, the last ones all after them.
    constexpr Range territory(Range o) const {
        return {o.first == 0 ? 0 : std::max<std::int64_t>(o.first * s - pads, 0),
                o.last == out ? n : std::max<std::int64_t>(o.last * s - pads, 0)};
    }
};

}  // namespace backblocks
