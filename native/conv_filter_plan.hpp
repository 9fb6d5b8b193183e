// The plan of the direct filter gradient of convolution: how it is divided into tasks, and tasks into steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "conv.hpp"
#include "conv_filter_pack.hpp"

namespace backblocks::ISA::filter_gradient {

// Windows that a task takes at a time. A panel of as many is half of the L1 cache. Fewer would load
// and store the sums more often; and a sum of sums of so many stays close to the true one.
constexpr std::int64_t kDepth = 256;

// Bytes of x that a task packs at a time: half of the L2 cache is left to other things.
constexpr double kBytesOfX = 256 << 10;

// Copying x pays when a number of it is used more often: measured with 64 to 2048 channels of dy.
constexpr double kUses = 128;

// There are at most so many tasks, each of at least so many products if there are that many. With
// twice as many it took up to a tenth longer to add up their sums.
constexpr double kTasks = 16;
constexpr double kProducts = 1 << 22;

// Chunks of the windows have sums of their own, so that rounding errors stay small; but these have no more than
// so many bytes, of which a task that rounds its own sums has a share.
constexpr double kWindows = 1 << 15;
constexpr double kBytesOfSums = 32 << 20;
constexpr double kBytesOfTask = 4 << 20;

constexpr Range intersection(Range a, Range b) {
    const std::int64_t first = std::max(a.first, b.first);
    return {first, std::max(first, std::min(a.last, b.last))};
}

// The windows whose element at a tap is real.
constexpr Range real_windows(const ConvAxis& axis, std::int64_t tap) {
    const std::int64_t shift = axis.pads - tap * axis.d, end = axis.n + shift;
    return intersection({shift <= 0 ? 0 : div_up(shift, axis.s), end <= 0 ? 0 : div_up(end, axis.s)},
                        {0, axis.out});
}

constexpr std::int64_t element_of(const ConvAxis& axis, std::int64_t window, std::int64_t tap) {
    return window * axis.s - axis.pads + tap * axis.d;
}

// A pointwise convolution with all axes merged into the width; any other as it is.
inline Conv simplified(Conv conv) {
    std::int64_t elements = 1;
    for (const ConvAxis& axis : conv.axes) {
        if (axis.k > 1 || axis.s > 1 || axis.pads > 0 || axis.out != axis.n) return conv;
        elements *= axis.n;
    }
    if (!conv.channels_first) elements *= std::exchange(conv.images, 1);
    conv.axes = {{{1, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 0, 1}, {elements, 1, 1, 1, 0, elements}}};
    return conv;
}

// How the sums are divided. It follows from the geometry alone, and so does the order of every sum.
template <class T>
struct FilterPlan {
    using N = Wide<T>;

    bool in_place;             // x is not copied
    bool dy_in_place;          // dy is not copied: it is a panel as it lies in memory
    bool taps_as_channels;     // x is copied window by window, and the taps along the width are channels
    std::int64_t width_taps;   // taps along the width that are not channels
    std::int64_t channels;     // of a group of x
    std::int64_t tile_rows;    // of the largest tile
    std::int64_t panel;        // columns of the largest tile
    std::int64_t row_segments;  // of a row of windows
    std::int64_t rows;         // rows of windows, or segments of them, in all
    std::int64_t at_once;      // how many of them a task takes at a time
    std::int64_t in_blocks = 1, out_blocks = 1, chunks = 1;  // of channels of x, of dy, of the rows
    double products;

    // The work, as bytes that could be moved meanwhile: a core multiplies some four times while it moves one.
    std::int64_t work() const { return static_cast<std::int64_t>(std::min(products / 4, 0x1p60)); }

    explicit FilterPlan(const Conv& conv) {
        const auto& [depth, height, width] = conv.axes;
        const auto real = [](std::int64_t n) { return static_cast<double>(n); };
        const double elements = real(depth.s) * real(height.s) * real(width.s);
        const double taps = real(depth.k) * real(height.k) * real(width.k);
        constexpr bool wide = std::is_same_v<T, N>;
        in_place = wide && !conv.channels_first && conv.in >= kSmallChannels &&
                   taps / elements * real(conv.out) <= kUses;
        // Window by window, an element is copied once for each of its windows, and no other is.
        const double span = std::min(real(width.n), real(width.out - 1) * real(width.s) +
                                                        real(width.k - 1) * real(width.d) + 1);
        taps_as_channels = !in_place && ((conv.in < kSmallChannels && width.k < 64) ||
                               real(width.k) * real(width.out) <= span);
        width_taps = taps_as_channels ? 1 : width.k;
        channels = taps_as_channels ? width.k * conv.in : conv.in;
        panel = conv.out > kLanes<N> ? kPanel<N> : kLanes<N>;
        dy_in_place = wide && !conv.channels_first && conv.groups == 1 && conv.out == panel;
        tile_rows = most_rows(panel == kPanel<N> ? 2 : 1);

        const double bytes = std::min(elements, taps) * real(conv.in) * sizeof(N);  // of a window of x
        const double fit = std::clamp(kBytesOfX / 2 / bytes, 64.0, real(kDepth));
        const std::int64_t deep = in_place ? static_cast<std::int64_t>(fit) : kDepth;
        row_segments = div_up(width.out, deep);
        rows = conv.images * depth.out * height.out * row_segments;
        at_once = std::clamp<std::int64_t>(deep / width.out, 1, rows);

        const double sums = taps * real(conv.in) * real(conv.out) * real(conv.groups);
        const double windows = real(rows / row_segments) * real(width.out);
        products = windows * sums / real(conv.groups);
        const double wanted = std::clamp(products / kProducts, 1.0, kTasks);
        const double most_chunks = std::max(
            1.0, std::min({real(rows), windows / (2 * kDepth), kBytesOfSums / sizeof(N) / sums}));
        const double x_rows =
            std::min(real(at_once - 1) * real(height.s) + real(height.k - 1) * real(height.d) + 1,
                     real(at_once) * real(height.k)) * real(depth.k);
        const double bytes_of_x = x_rows * std::min(real(width.n), real(deep) * real(width.s)) *
                                  real(channels) * kPitch / real(tile_rows) * sizeof(N);
        // The cheapest division, in steps of a register tile: products, copies and sums of chunks.
        double least = 0;
        for (std::int64_t in = 1; in == 1 || in * 2 * tile_rows <= channels; in *= 2)
            for (std::int64_t out = 1; out == 1 || out * panel <= conv.out; out *= 2) {
                const double blocks = real(conv.groups * in * out);
                const auto count = static_cast<std::int64_t>(std::clamp(
                    std::max(wanted / blocks, windows / kWindows) + 0.99, 1.0, most_chunks));
                const bool large = (!in_place && bytes_of_x / real(in) > kBytesOfX) ||
                                   (!wide && sums * sizeof(N) / blocks > kBytesOfTask);
                // Rows of x that several rows of windows read are copied for each few of them.
                const double again = in_place ? 0 : x_rows / real(at_once);
                const double copied = windows * real(conv.groups) *
                                      (real(in * conv.out) + real(out * channels) * again);
                const double cost = (products / kPanel<N> * (large ? 1.2 : 1) + copied / 2) *
                                        std::max(1.0, wanted / (blocks * real(count))) +
                                    real(count - 1) * sums;
                if (least > 0 && cost >= least) continue;
                least = cost;
                in_blocks = in;
                out_blocks = out;
                chunks = count;
            }
    }
};

// The offsets of a row of x and of the row of dy that a tap multiplies it with.
struct RowPair {
    std::int64_t x, dy;
};

// The windows of such a pair for which a tap along the width is real: how many, and the first position in x and in dy.
struct TapWindows {
    std::int64_t x, dy, windows;
};

template <class T>
struct Problem {
    Conv conv;
    FilterPlan<T> plan{conv};

    std::int64_t in_channels() const { return conv.in * conv.groups; }
    std::int64_t out_channels() const { return conv.out * conv.groups; }
    std::int64_t row_taps() const { return conv.axes[0].k * conv.axes[1].k; }
    std::int64_t taps() const { return row_taps() * plan.width_taps; }
    std::int64_t sums() const { return taps() * plan.channels * out_channels(); }
};

// Where sums are: strides from tap to tap, and from channel to channel of x.
template <class N>
struct Sums {
    N* first;
    std::int64_t tap, channel;
};

// What a task adds up: some channels of x, some of dy, and some rows of windows.
struct TaskRanges {
    std::int64_t group;
    Range in, out, rows;
};

// A step of a task: rows of windows that are added up at a time, and the addresses of what they read.
struct Step {
    Range rows, windows, positions;
    Range full;                               // of unrolled windows, those without padding
    std::vector<Range> real;                  // for each tap along the width, windows it is real for
    std::vector<TapWindows> tap_windows;      // for each tap along the width
    std::vector<std::vector<RowPair>> pairs;  // for each tap along depth and height
    std::vector<std::int64_t> x_rows;         // that are read, over all images
};

}  // namespace backblocks::ISA::filter_gradient
