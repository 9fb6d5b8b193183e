// Pooling over three axes of space, and its gradients. No Python in here.
#pragma once

#include <array>
#include <cstdint>

#include "half.hpp"
#include "window.hpp"

namespace backblocks {

// Inputs are (images, axes[0].n, axes[1].n, axes[2].n, channels), outputs have `out` for `n`.
// Images are volumes of depth 1. With channels first, each channel is an image of its own.
struct Pool {
    std::int64_t images;
    std::array<WindowAxis, 3> axes;
    std::int64_t channels;
    // As they were before they were trimmed: what follows from them follows for images of all sizes.
    std::array<WindowAxis, 3> asked{};

    std::int64_t cells() const { return axes[0].n * axes[1].n * axes[2].n; }
    std::int64_t windows() const { return axes[0].out * axes[1].out * axes[2].out; }

    // How many numbers so many arrays of cells and one of windows have.
    std::int64_t numbers(std::int64_t arrays) const {
        return images * (arrays * cells() + windows()) * channels;
    }

    // Whether the cells of an image, padding included, can be numbered with 30 bits.
    bool few_cells() const {
        constexpr std::int64_t most = std::int64_t{1} << 29;
        return cells() < most && axes[2].covered() < most;
    }

    // The same windows without the padding that all of them have.
    Pool trimmed() const {
        return {images, {axes[0].trimmed(), axes[1].trimmed(), axes[2].trimmed()}, channels, axes};
    }

    // The same windows over rows that are taken for cells of more channels, if each cell of a row is
    // by itself: along the width windows have one cell, and every cell has one. Heights may have more
    // padding than widths can.
    Pool with_rows_as_cells() const {
        const auto& [depth, height, width] = axes;
        if (width.k > 1 || width.out < width.n) return *this;
        constexpr WindowAxis one{1, 1, 1, 0, 1};
        const Pool cells{images, {one, depth, height}, channels * width.n, {one, asked[0], asked[1]}};
        return cells.can_be_taken() ? cells : *this;
    }

    // Whether the kernels can take these windows, trimmed: they number a window's cells, padding
    // included, with 30 bits, and along the width padding has a place in their lines.
    bool can_be_taken() const {
        std::int64_t left = (std::int64_t{1} << 30) - 1;
        for (const WindowAxis& axis : axes) left /= std::max<std::int64_t>(axis.k, 1);
        return left > 0 && axes[2].covered() <= 4 * axes[2].n + 256;
    }
};

// How the place of a cell is told: in its image or through the batch, with 32 or 64 bits.
struct Index {
    bool of_batch, wide;
};

// The kernels take trimmed pools only. Every array is C-contiguous and of the given type; results
// share no memory with inputs. Each sum runs in one order, whatever the number of threads: results
// can be repeated bit for bit. The winner of a window is its first NaN or, without one, its first
// maximum.
struct PoolKernels {
    void (*max_pool)(Type, const void* x, void* y, const Pool&);
    void (*max_pool_grad)(Type, const void* x, const void* dy, void* dx, const Pool&);
    void (*max_pool_grad_grad)(Type, const void* x, const void* ddx, void* ddy, const Pool&);
    void (*avg_pool)(Type, const void* x, void* y, const Pool&);
    void (*avg_pool_grad)(Type, const void* dy, void* dx, const Pool&);
    // For images of less than 2^30 cells, padding included. Indices that are outside do no harm.
    void (*max_pool_with_argmax)(Type, const void* x, void* y, void* argmax, const Pool&, Index);
    void (*max_pool_grad_with_argmax)(Type, const void* dy, const void* argmax, void* dx,
                                      const Pool&, Index);
    void (*max_pool_grad_grad_with_argmax)(Type, const void* ddx, const void* argmax, void* ddy,
                                           const Pool&, Index);
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
