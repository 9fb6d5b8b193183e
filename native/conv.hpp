// The geometry of a convolution over three axes of space. No Python in here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "conv_axis.hpp"
#include "dtypes.hpp"

namespace backblocks {

// Inputs are (images, axes[0].n, axes[1].n, axes[2].n, groups * in), or with channels first
// (images, groups * in, axes[0].n, ...); outputs have `out` for `n` and `in`.
// Filters are (axes[0].k, axes[1].k, axes[2].k, in, groups * out), whatever the format.
// Images are volumes of depth 1.
struct Conv {
    std::int64_t images;
    std::array<ConvAxis, 3> axes;
    std::int64_t groups;
    std::int64_t in, out;  // channels of one group
    bool channels_first;
};

// A convolution or a gradient of one, planned for its geometry: a function of the arrays. All are row-major and of the
// planned element type; the result shares no memory with the inputs. Half types are summed in float. Each sum runs in
// one order, whatever the number of threads.
using ConvFunction = std::function<void(const void* a, const void* b, void* result)>;

}  // namespace backblocks
