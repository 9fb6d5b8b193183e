// The geometry of a pool over three axes of space. No Python in here.
#pragma once

#include <array>
#include <cstdint>

#include "dtypes.hpp"
#include "window.hpp"

namespace backblocks {

// Inputs are (images, axes[0].n, axes[1].n, axes[2].n, channels), outputs have `out` for `n`.
// Images are volumes of depth 1. With channels first, each channel is an image of its own.
struct Pool {
    std::int64_t images;
    std::array<WindowAxis, 3> axes;
    std::int64_t channels;
    // The axes before they were trimmed. The order of a sum, and so its rounding, may depend on these only: then it
    // does not depend on the size of the image.
    std::array<WindowAxis, 3> untrimmed{};

    std::int64_t elements() const { return axes[0].n * axes[1].n * axes[2].n; }
    std::int64_t windows() const { return axes[0].out * axes[1].out * axes[2].out; }

    // Numbers of so many arrays that have a number for each element, and of one that has one for each window.
    std::int64_t numbers(std::int64_t arrays) const {
        return images * (arrays * elements() + windows()) * channels;
    }

    // Whether indices of an image's elements, padding included, have 30 bits at most.
    bool indexable() const {
        constexpr std::int64_t most = std::int64_t{1} << 29;
        return elements() < most && axes[2].covered() < most;
    }

    // The same windows without the padding that all of them have.
    Pool trimmed() const {
        return {images, {axes[0].trimmed(), axes[1].trimmed(), axes[2].trimmed()}, channels, axes};
    }

    // The same windows with the width merged into the channels, if every element of a row is a window of
    // its own. Heights may have more padding than widths can.
    Pool with_merged_width() const {
        const auto& [depth, height, width] = axes;
        if (width.k > 1 || width.out < width.n) return *this;
        constexpr WindowAxis one{1, 1, 1, 0, 1};
        const Pool merged{images, {one, depth, height}, channels * width.n,
                          {one, untrimmed[0], untrimmed[1]}};
        return merged.supported() ? merged : *this;
    }

    // Whether the kernels support these windows, trimmed: indices in a window, padding included, have 30
    // bits, and row buffers have room for the padding along the width.
    bool supported() const {
        std::int64_t left = (std::int64_t{1} << 30) - 1;
        for (const WindowAxis& axis : axes) left /= std::max<std::int64_t>(axis.k, 1);
        return left > 0 && axes[2].covered() <= 4 * axes[2].n + 256;
    }
};

// How an argmax counts elements: within its image or through the batch, in 32 or 64 bits.
struct ArgmaxIndex {
    bool of_batch, wide;
};

// The kernels take trimmed pools only. Every array is C-contiguous and of the given type; results
// share no memory with inputs. Each sum runs in one order, whatever the number of threads: results
// can be repeated bit for bit. The winner of a window is its first NaN or, without one, its first
// maximum.

}  // namespace backblocks
