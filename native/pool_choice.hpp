// Which algorithm a pool or a gradient of one runs: choose_reduction for kernels with one result for each window,
// choose_pool_grad for gradients, which have one result for each element. Nothing else decides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "choice.hpp"
#include "pool.hpp"
#include "reduce.hpp"

namespace backblocks::ISA {

// -- one result for each window ---------------------------------------------------------------------

enum class ReduceAlgorithm {
    each_window,    // reduce.hpp
    columns,        // reduce_columns.hpp: separable, columns first
    dense_columns,  // the same, and windows at every element of the width, of which some are stored
};

// How columns are buffered.
struct ColumnBuffer {
    std::int64_t step;     // windows that are reduced at a time
    std::int64_t columns;  // that there is room for

    explicit ColumnBuffer(const Pool& pool) {
        const WindowAxis& width = pool.axes[2];
        const std::int64_t channels = std::max<std::int64_t>(pool.channels, 1);
        // As many windows as have columns that stay in the L1 cache, or 16 if windows share columns.
        step = std::max<std::int64_t>(2048 / (channels * width.s), width.overlaps() ? 16 : 1);
        // As many as these windows have, or a whole row if it is short. Longer rows are not buffered
        // whole: for each thread, that would take much memory.
        constexpr std::int64_t most = 1 << 16;
        columns = std::min(width.n, std::max(step * width.s + width.k, most / channels));
    }
};

// Whether the indices of a window's elements fit in an integer as wide as the numbers that are compared.
template <Reduction reduction, class T>
bool indices_fit(const Pool& pool) {
    const auto& [depth, height, width] = pool.axes;
    using Index = SameSizeInt<Reduced<reduction, T>>;
    return depth.k * height.k <= std::numeric_limits<Index>::max() / width.k;
}

// Which algorithm reduces the windows of a pool. A window of k x k x k elements takes k * k * k steps by
// itself, and some k * k + k by columns, which have to be stored and read again.
template <Reduction reduction, class T>
Chosen<ReduceAlgorithm> choose_reduction(const Pool& pool) {
    using enum ReduceAlgorithm;
    constexpr std::int64_t lanes = kLanes<Reduced<reduction, T>>;
    const auto& [depth, height, width] = pool.axes;
    const std::int64_t channels = pool.channels;
    if (reduction == Reduction::max_with_argmax || channels == 0)
        return {each_window, "the index in the image is found with the maximum, in one pass"};

    // A window of few channels, alone, makes a vector that is mostly empty. Windows at every element fill
    // the vectors, although all but one in s are dropped: it pays up to twelve times the work.
    const bool dense = width.s > 1 && channels > 1 && channels < lanes &&
                       channels * width.s <= lanes + 12 * lanes / width.k;

    if constexpr (reduction == Reduction::sum) {
        // By columns a sum is rounded otherwise, so it must not depend on the size of the image: only
        // the untrimmed windows and the channels count.
        const auto& [d, h, w] = pool.untrimmed;
        constexpr std::int64_t widest = 16, longest = (1 << 18) / (2 * widest);
        if (w.k > widest || channels > longest)
            return {each_window, "the columns of a window wider than 16, or of more than 8192 channels, "
                                 "do not fit in the cache"};
        const std::int64_t rows = std::min(d.k, widest) * std::min(h.k, widest);
        if (w.s > 1 && channels < 8 && (channels > 1 || (rows > 1 && w.overlaps())))
            return {dense ? dense_columns : columns,
                    "fewer than 8 channels, of windows more than one element apart, leave vectors mostly "
                    "empty; columns fill them"};
        // Summing rows * k elements against storing rows and zeros_if_empty k columns. Halves are widened once.
        const bool saves = rows * w.k > (kHalf<T> ? 1 : 2) * rows + w.k;
        // By columns, non-overlapping windows that are wide and have many channels are read in longer contiguous runs.
        constexpr std::int64_t wide = 5, many = 512;
        const bool long_runs = w.s == w.k && w.k >= wide && channels >= many;
        if ((w.s == 1 || long_runs) && saves)
            return {dense ? dense_columns : columns,
                    "neighbouring windows share columns, whose sums are used again"};
        return {each_window, "windows share too few elements for the sums of columns to be used again"};
    }

    constexpr std::int64_t most_buffered = 1 << 18;
    if (ColumnBuffer(pool).columns * channels > most_buffered)
        return {each_window, "the columns of a few windows do not fit in the cache"};
    if (reduction != Reduction::max && !indices_fit<reduction, T>(pool))
        return {each_window, "the indices of a window do not fit in the lanes of what is compared"};
    const bool over_windows = channels == 1 && width.full().size() >= lanes;
    if (over_windows && width.k == 2 && width.s == 2)
        return {each_window, "pairs of elements are deinterleaved while they are loaded"};
    if (dense)
        return width.out > 1
                   ? Chosen{dense_columns, "few channels, of windows more than one element apart, leave "
                                           "vectors mostly empty; windows at every element fill them"}
                   : Chosen{each_window, "there is one window in a row"};
    // Numbers that a window takes: its channels, or what its vectors hold if it is alone in them. Of one
    // channel, vectors over windows take three for loading with a stride.
    const std::int64_t alone = std::max((channels + lanes - 1) / lanes * lanes, 2 * lanes);
    const std::int64_t window = width.s == 1 ? channels : over_windows ? 3 : alone;
    const std::int64_t rows = depth.k * height.k;
    if (rows > 1 && width.out > 1 &&
        rows * width.k * window > 2 * rows * width.s * channels + width.k * window)
        return {columns, "neighbouring windows share columns, whose maxima are used again"};
    return {each_window, "windows share too few elements for the maxima of columns to be used again"};
}

inline const char* name_of(ReduceAlgorithm algorithm) {
    switch (algorithm) {
        case ReduceAlgorithm::each_window: return "direct (each window in registers)";
        case ReduceAlgorithm::columns: return "separable (columns, then windows)";
        case ReduceAlgorithm::dense_columns: break;
    }
    return "separable (columns, then windows at every element of the width)";
}

inline const char* name_of(VectorsOver over) {
    switch (over) {
        case VectorsOver::channels: return "channels";
        case VectorsOver::windows: return "channels and windows of a row";
        case VectorsOver::paired_windows: return "windows of a row, deinterleaved";
        case VectorsOver::strided_windows: break;
    }
    return "windows of a row, strided";
}

template <Reduction reduction, class T>
Choice explain_reduction(const Pool& pool) {
    const auto [algorithm, reason] = choose_reduction<reduction, T>(pool);
    Choice choice{kIsaName, name_of(algorithm), reason};
    using N = Reduced<reduction, T>;
    choice.with("lanes of a vector", kLanes<N>);
    if (algorithm == ReduceAlgorithm::each_window) {
        choice.with("vectors over", name_of(vectors_over<N>(pool, pool.axes[2].full())));
    } else {
        const ColumnBuffer buffer(pool);
        choice.with("windows at a time", buffer.step).with("buffered columns", buffer.columns);
    }
    const std::int64_t height = pool.axes[1].out;
    choice.with("rows of a tile", rows_of_tile<T>(pool, height));
    return choice.with_loop(pool.images * pool.axes[0].out * height,
                            bytes_of_reduction<reduction, T>(pool));
}

// -- one result for each element --------------------------------------------------------------------

enum class Grad { avg, max };

// Bytes of elements that a gradient writes, and reads of x, for parallel_for.
template <class T>
std::int64_t bytes_of_pool_grad(const Pool& pool, bool reads_x) {
    return static_cast<std::int64_t>(sizeof(T)) * pool.images * pool.elements() * pool.channels *
           (reads_x ? 2 : 1);
}

enum class PoolGradAlgorithm {
    zeros,            // there is no window
    max_by_pairs,     // max_pool_grad_nonoverlapping.hpp
    max_by_columns,   //
    max_by_channels,  //
    avg_copied_rows,  // avg_pool_grad_nonoverlapping.hpp
    avg_broadcast,    //
    argmax_rows,      // max_pool_grad_argmax.hpp
    separable,        // pool_grad_separable.hpp
    dense_separable,  // the same, as if windows began at every element of the width
};

// Which algorithm finds the gradient of a pool whose width is merged into the channels if it can be.
template <Grad grad, class T>
Chosen<PoolGradAlgorithm> choose_pool_grad(const Pool& pool) {
    using enum PoolGradAlgorithm;
    constexpr bool max = grad == Grad::max;
    constexpr std::int64_t raw_lanes = kLanes<Raw<T>>, lanes = kLanes<Wide<T>>;
    const WindowAxis& width = pool.axes[2];
    const std::int64_t channels = pool.channels;
    if (pool.images * pool.windows() * channels == 0) return {zeros, "there is no window"};

    // Non-overlapping windows: each element is read once and written once. For max they must have no gaps
    // either, and no more elements than this: such windows are read from more places at once than the
    // processor's prefetcher follows.
    constexpr std::int64_t most_elements = 64;
    bool separate = true;
    std::int64_t elements = 1;
    for (const WindowAxis& axis : pool.axes) {
        separate &= max ? axis.k == axis.s : !axis.overlaps();
        elements = std::min(axis.k, most_elements + 1) * elements;
    }
    if (separate && max && elements <= most_elements) {
        if (channels == 1 && width.k == 2 && width.s == 2 && width.full().size() >= raw_lanes)
            return {max_by_pairs, "non-overlapping windows of one channel, two wide: pairs of elements are "
                                  "deinterleaved into vectors of windows"};
        if (channels < raw_lanes)
            return {max_by_columns, "non-overlapping windows with fewer channels than a vector has lanes: "
                                    "columns fill vectors"};
        return {max_by_channels, "non-overlapping windows with at least as many channels as a vector has "
                                 "lanes, and at most 64 elements"};
    }
    if (separate && !max) {
        // A row of results is made once and copied to all rows of its windows; but in the cache, long
        // elements are written faster from their window's share, which is a row's k-th part.
        constexpr std::int64_t long_element = 256;  // bytes
        const bool no_gaps = width.out == 1 || width.k == width.s;
        if (!outgrows_cache<T>(pool.numbers(1)) && no_gaps &&
            channels * std::int64_t{sizeof(T)} >= long_element)
            return {avg_broadcast, "non-overlapping windows of at least 256 bytes an element, in the "
                                     "cache: each share is stored to its elements"};
        return {avg_copied_rows, "non-overlapping windows: a row of shares is copied to all rows of its windows"};
    }

    if constexpr (max) {
        // An element adds up one product for each of its windows. With more windows it is better to add up
        // rows first, along each axis; of halves, which are compared as they are, with many more.
        constexpr std::int64_t most = std::is_same_v<T, BFloat16> ? 49 : kHalf<T> ? 8 : 4;
        std::int64_t windows = 1;
        for (const WindowAxis& axis : pool.axes) windows *= std::min(axis.most_windows(), most + 1);
        if (windows <= most && channels >= raw_lanes && indices_fit<Reduction::argmax, T>(pool))
            return {argmax_rows, "few windows overlap at an element (at most 4, of float16 8, of bfloat16 "
                                 "49), and the channels fill vectors"};
    }
    // Few channels leave vectors mostly empty, unless windows are as if at every element.
    if (channels > 1 && width.s > 1 && channels <= (max ? 8 : 16) * lanes / width.k)
        return {dense_separable, "windows overlap, and few channels would leave vectors mostly empty"};
    return {separable, "windows overlap: along the width first, then along height and depth"};
}

inline const char* name_of(PoolGradAlgorithm algorithm) {
    switch (algorithm) {
        case PoolGradAlgorithm::zeros: return "zeros";
        case PoolGradAlgorithm::max_by_pairs: return "non-overlapping windows, by pairs";
        case PoolGradAlgorithm::max_by_columns: return "non-overlapping windows, by columns";
        case PoolGradAlgorithm::max_by_channels: return "non-overlapping windows, by channels";
        case PoolGradAlgorithm::avg_copied_rows: return "non-overlapping windows, by rows";
        case PoolGradAlgorithm::avg_broadcast: return "non-overlapping windows, by elements";
        case PoolGradAlgorithm::argmax_rows: return "argmax rows";
        case PoolGradAlgorithm::separable: return "separable";
        case PoolGradAlgorithm::dense_separable: break;
    }
    return "separable, windows at every element of the width";
}

}  // namespace backblocks::ISA
