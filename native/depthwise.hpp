// Convolution of each channel by itself, and its gradients. No Python in here.
#pragma once

#include "conv.hpp"

namespace backblocks {

// Taps further apart than this, in all elements from the first to the last, are not for the kernels:
// they keep what lies between.
constexpr std::int64_t kMostReach = std::int64_t{1} << 16;

// Of axes that fit_int64.
inline bool within_reach(const Conv& conv) {
    std::int64_t left = kMostReach;
    for (const TapAxis& axis : conv.axes) {
        if ((axis.k - 1) * axis.d >= left) return false;
        left /= (axis.k - 1) * axis.d + 1;
    }
    return true;
}

}  // namespace backblocks
