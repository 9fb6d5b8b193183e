// Grey-scale dilation of images, and its gradients. No Python in here.
#pragma once

#include "conv.hpp"

namespace backblocks {

// As ConvKernels, for images with channels last, of which each channel is a group of its own with
// one output. Padding never wins a window. The winner of a window is its first NaN or, without one,
// its first maximum.
struct DilationKernels {
    void (*forward)(Type, const void* x, const void* f, void* y, const Conv&);
    void (*input_grad)(Type, const void* x, const void* f, const void* dy, void* dx, const Conv&);
    void (*filter_grad)(Type, const void* x, const void* f, const void* dy, void* df, const Conv&);
};

// The same kernels, built for each instruction set.
namespace baseline {
extern const DilationKernels dilation_kernels;
}
namespace v2 {
extern const DilationKernels dilation_kernels;
}
namespace v3 {
extern const DilationKernels dilation_kernels;
}

}  // namespace backblocks
