// Geometry of the windows along one axis: where they stand and which of their cells are real.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace backblocks {

// The numbers first, first + 1, ..., last - 1; none when first >= last.
struct Range {
    std::int64_t first, last;

    constexpr std::int64_t size() const { return std::max<std::int64_t>(last - first, 0); }
    constexpr bool has(std::int64_t i) const { return first <= i && i < last; }
};

// Windows that cover their part of a tile in the same way, next to each other.
struct Run {
    Range windows;      // counted from the tile's first window
    std::int64_t cell;  // the first window's first cell in the tile, counted from the tile's first
    std::int64_t size;  // how many cells of the tile each window has
    std::int64_t skip;  // how many real cells each has before them
    std::int64_t real;  // how many real cells each has in all
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

    // No window has more real cells than this.
    constexpr std::int64_t most_real() const { return std::min(k, n); }

    // The real cells of window o: those it covers, cut to 0 .. n - 1.
    constexpr Range cells(std::int64_t o) const {
        const std::int64_t begin = o * s - pads;
        return {std::max<std::int64_t>(begin, 0), std::min(begin + k, n)};
    }

    // The windows that cover a cell.
    constexpr Range windows(std::int64_t cell) const {
        const std::int64_t end = cell + pads;
        return {end < k ? 0 : (end - k) / s + 1, std::min(end / s + 1, out)};
    }

    // How the given windows cover the given cells.
    std::vector<Run> runs(Range windows, Range tile) const {
        std::vector<Run> all;
        for (std::int64_t o = windows.first; o < windows.last; ++o) {
            const Range real = cells(o);
            const Range here{std::max(real.first, tile.first), std::min(real.last, tile.last)};
            if (here.size() == 0) continue;
            const std::int64_t at = o - windows.first;
            // A window without padding and wholly in the tile continues one that was so too.
            if (here.size() == k && !all.empty() && all.back().size == k)
                all.back().windows.last = at + 1;
            else
                all.push_back({{at, at + 1}, here.first - tile.first, here.size(),
                               here.first - real.first, real.size()});
        }
        return all;
    }
};

}  // namespace backblocks
