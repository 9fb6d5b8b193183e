// Which depthwise convolutions the kernels support. No Python in here.
#pragma once

#include "conv.hpp"

namespace backblocks {

// The most elements that a dilated window may span, from its first tap to its last: the packed algorithm keeps all.
constexpr std::int64_t kMostSpanned = std::int64_t{1} << 16;

// Whether a window spans few enough elements. Its axes must pass fits_int64.
inline bool spans_few_elements(const Conv& conv) {
    std::int64_t left = kMostSpanned;
    for (const ConvAxis& axis : conv.axes) {
        if ((axis.k - 1) * axis.d >= left) return false;
        left /= (axis.k - 1) * axis.d + 1;
    }
    return true;
}

}  // namespace backblocks
