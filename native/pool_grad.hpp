// Gradients of pooling over three spatial axes, channels last. No Python in here.
#pragma once

#include <array>
#include <cstdint>

#include "window.hpp"

namespace backblocks {

// Inputs are (batch, axes[0].n, axes[1].n, axes[2].n, channels), outputs have `out` for `n`.
struct Pool3D {
    std::int64_t batch;
    std::array<WindowAxis, 3> axes;
    std::int64_t channels;

    std::int64_t cells() const { return axes[0].n * axes[1].n * axes[2].n; }
    std::int64_t windows() const { return axes[0].out * axes[1].out * axes[2].out; }
};

// Every array is C-contiguous. dx is overwritten and shares no memory with x or dy.
// Sums run in T over the windows in row-major order, so a result can be repeated bit for bit.

// Gives each window's dy to its first NaN or, without one, to its first maximum.
template <class T>
void max_pool_3d_grad(const T* x, const T* dy, T* dx, const Pool3D& pool);

// Spreads each window's dy evenly over its real cells.
template <class T>
void avg_pool_3d_grad(const T* dy, T* dx, const Pool3D& pool);

}  // namespace backblocks
