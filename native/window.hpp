// One axis of a pool: where its windows are, and which of their elements are real and no padding.
#pragma once

#include <algorithm>
#include <cstdint>

namespace backblocks {

// A half-open range: first, first + 1, ..., last - 1; empty when first >= last.
struct Range {
    std::int64_t first, last;

    constexpr std::int64_t size() const { return std::max<std::int64_t>(last - first, 0); }
    constexpr bool has(std::int64_t i) const { return first <= i && i < last; }
};

// The geometry. Window o has elements o * s - pads + i for 0 <= i < k.
struct WindowAxis {
    std::int64_t n;     // elements of the input
    std::int64_t k;     // elements of a window
    std::int64_t s;     // elements from one window to the next
    std::int64_t pads;  // elements of padding before the input
    std::int64_t out;   // windows

    // Whether the sums and products below stay within int64 for every window.
    constexpr bool fits_int64() const {
        constexpr std::int64_t most = std::int64_t{1} << 60;
        return n <= most && k <= most && pads <= most && (out <= 1 || out - 1 <= most / s);
    }

    // Whether every window has a real element: then the first and the last have.
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

    // All elements that windows cover, padding included.
    constexpr std::int64_t covered() const { return out == 0 ? 0 : (out - 1) * s + k; }

    // Whether an element may be in two windows.
    constexpr bool overlaps() const { return k > s; }

    // The most windows that an element may be in.
    constexpr std::int64_t most_windows() const { return std::min((k - 1) / s + 1, out); }

    // The real elements of window o: those it covers, clipped to 0 .. n - 1.
    constexpr Range elements(std::int64_t o) const {
        const std::int64_t begin = o * s - pads;
        return {std::max<std::int64_t>(begin, 0), std::min(begin + k, n)};
    }

    // Element i of window o, which need not be real.
    constexpr std::int64_t element(std::int64_t o, std::int64_t i) const { return o * s - pads + i; }

    // The windows that cover an element.
    constexpr Range windows(std::int64_t element) const {
        const std::int64_t end = element + pads;
        return {end < k ? 0 : (end - k) / s + 1, std::min(end / s + 1, out)};
    }

    // The full windows: those all of whose elements are real.
    constexpr Range full() const {
        return {(pads + s - 1) / s, k > n + pads ? 0 : std::min((n + pads - k) / s + 1, out)};
    }

    // The elements that windows o own in a partition of all elements: from the first of these windows on to where
    // the next window begins. The first window also owns all elements before it, the last one all after it.
    constexpr Range owned_elements(Range o) const {
        return {o.first == 0 ? 0 : std::max<std::int64_t>(o.first * s - pads, 0),
                o.last == out ? n : std::max<std::int64_t>(o.last * s - pads, 0)};
    }
};

}  // namespace backblocks
