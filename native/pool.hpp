// Pooling over three axes of space, and its gradients. No Python in here.
#pragma once

#include <array>
#include <cstdint>

#include "window.hpp"

namespace backblocks {

enum class Type { float16, bfloat16, float32, float64 };

// Inputs are (images, axes[0].n, axes[1].n, axes[2].n, channels), outputs have `out` for `n`.
// Images are volumes of depth 1. With channels first, each channel is an image of its own.
struct Pool {
    std::int64_t images;
    std::array<WindowAxis, 3> axes;
    std::int64_t channels;

    std::int64_t cells() const { return axes[0].n * axes[1].n * axes[2].n; }
    std::int64_t windows() const { return axes[0].out * axes[1].out * axes[2].out; }
    std::int64_t cells_of_window() const {  // at most
        return axes[0].most_real() * axes[1].most_real() * axes[2].most_real();
    }
};

// Every array is C-contiguous and of the given type; results share no memory with inputs.
// Each sum runs in one order, whatever the number of threads: results can be repeated bit for bit.
// The winner of a window is its first NaN or, without one, its first maximum.
struct PoolKernels {
    void (*max_pool)(Type, const void* x, void* y, const Pool&);
    void (*max_pool_grad)(Type, const void* x, const void* dy, void* dx, const Pool&);
    void (*max_pool_grad_grad)(Type, const void* x, const void* ddx, void* ddy, const Pool&);
    void (*avg_pool)(Type, const void* x, void* y, const Pool&);
    void (*avg_pool_grad)(Type, const void* dy, void* dx, const Pool&);
};

// The same kernels, built for each instruction set.
namespace baseline {
extern const PoolKernels pool_kernels;
}
namespace v2 {
extern const PoolKernels pool_kernels;
}
namespace v3 {
extern const PoolKernels pool_kernels;
}

}  // namespace backblocks
