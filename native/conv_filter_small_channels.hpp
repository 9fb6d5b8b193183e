// Block sizes of the filter gradient for a small channel count (conv_filter_small_channels.cpp), and for which
// convolutions it is used.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conv.hpp"
#include "vector.hpp"

namespace backblocks::ISA {

template <class N>
struct SmallChannels {
    // Windows that are added up at a time; a sum of sums of so many stays close to the true one.
    static constexpr std::int64_t kWindows = 256;
    // With this many channels a register tile has enough rows to hide the latency of a multiply-add.
    static constexpr std::int64_t kEnough = 4;

    // Rows of windows that are added up together.
    static std::int64_t rows_at_once(const Conv& conv) {
        return std::clamp<std::int64_t>(kWindows / conv.axes[2].out, 1, conv.axes[1].out);
    }

    // Elements from the first to the last that so many windows read.
    static std::int64_t extent(const ConvAxis& axis, std::int64_t windows) {
        return (windows - 1) * axis.s + (axis.k - 1) * axis.d + 1;
    }

    static std::int64_t bytes_of_sums(const Conv& conv) {
        const auto& [depth, height, width] = conv.axes;
        const double sums = static_cast<double>(depth.k) * static_cast<double>(height.k) *
                            static_cast<double>(width.k * conv.in) * static_cast<double>(conv.out);
        return static_cast<std::int64_t>(std::min(sums * sizeof(N), 0x1p60));
    }

    // Whether rows of dy are vectors as they lie in memory, there are three taps at least besides those along
    // the width, and a task's copy of x and its sums fit in the L2 cache.
    static bool fits(const Conv& conv) {
        constexpr double most_copied = 1 << 19, least_taps = 3;
        constexpr std::int64_t most_sums = 1 << 19;
        const auto& [depth, height, width] = conv.axes;
        if (conv.channels_first || conv.groups > 1 || conv.in >= kEnough || conv.out % kLanes<N>)
            return false;
        const auto real = [](std::int64_t n) { return static_cast<double>(n); };
        const double row = real(extent(width, width.out)) * real(conv.in);
        const double rows = real(extent(height, rows_at_once(conv))) * real(depth.k);
        return real(depth.k) * real(height.k) >= least_taps && row * rows * sizeof(N) <= most_copied &&
               bytes_of_sums(conv) <= most_sums;
    }
};

}  // namespace backblocks::ISA
