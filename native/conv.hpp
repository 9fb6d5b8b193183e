// Convolution over three axes of space, and its gradients. No Python in here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "pool.hpp"
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
    Ready (*forward)(Type, const Conv&);      // of x, w and y
    Ready (*input_grad)(Type, const Conv&);   // of w, dy and dx
    Ready (*filter_grad)(Type, const Conv&);  // of x, dy and dw
};

// The same kernels, built for each instruction set.
namespace baseline {
extern const ConvKernels conv_kernels;
}
namespace v2 {
extern const ConvKernels conv_kernels;
}
namespace v3 {
extern const ConvKernels conv_kernels;
}
namespace v4 {
extern const ConvKernels conv_kernels;
}

#ifdef ISA
namespace ISA {
ConvKernels::Ready conv_filter_grad(Type, const Conv&);
// Forward or a gradient, by fewer products where that pays and all is finite.
ConvKernels::Ready conv_by_fewer_products(Type, const Conv&, bool forward, ConvKernels::Ready plain);
ConvKernels::Ready filter_grad_by_fewer_products(Type, const Conv&, ConvKernels::Ready plain);
// Where there are few input channels, and no sum is NaN.
ConvKernels::Ready filter_grad_of_few_channels(Type, const Conv&, ConvKernels::Ready plain);
}
#endif

}  // namespace backblocks
