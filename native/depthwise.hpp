// Convolution of each channel by itself, and its gradients. No Python in here.
#pragma once

#include "conv.hpp"

namespace backblocks {

// As ConvKernels, for groups of one input channel; those of the output are its multiplier.
// Padding takes no part: not even 0 times infinity.
struct DepthwiseKernels : ConvKernels {};

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

// The same kernels, built for each instruction set.
namespace baseline {
extern const DepthwiseKernels depthwise_kernels;
}
namespace v2 {
extern const DepthwiseKernels depthwise_kernels;
}
namespace v3 {
extern const DepthwiseKernels depthwise_kernels;
}
namespace v4 {
extern const DepthwiseKernels depthwise_kernels;
}

}  // namespace backblocks
