// Convolution over three axes of space, and its gradients. No Python in here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "half.hpp"
#include "taps.hpp"

namespace backblocks {

// Inputs are (images, axes[0].n, axes[1].n, axes[2].n, groups * in), or with channels first
// (images, groups * in, axes[0].n, ...); outputs have `out` for `n` and `in`.
// Filters are (axes[0].k, axes[1].k, axes[2].k, in, groups * out), whatever the format.
// Images are volumes of depth 1.
struct Conv {
    std::int64_t images;
    std::array<TapAxis, 3> axes;
    std::int64_t groups;
    std::int64_t in, out;  // channels of one group
    bool channels_first;
};

// Every array is C-contiguous and of the given type; results share no memory with inputs.
// Half types are summed in float. Each sum runs in one order, whatever the number of threads.
// Each works out once what depends on the geometry alone, and gives a function of the arrays.
struct ConvKernels {
    using Ready = std::function<void(const void* a, const void* b, void* result)>;
};

}  // namespace backblocks
