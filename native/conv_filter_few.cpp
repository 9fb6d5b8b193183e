// The gradient of convolution in its filter, of few input channels. Their rows would not fill a tile
// (see tile.hpp); those of all taps do:
//
//     for each task: some rows of windows o of an image
//         copy the rows of x that they see, with zeros for padding but along the depth
//         for few taps t of these and channels ci at a time, and a panel of co:
//             dw[t, ci, co] += sum over o: copy[o * s + t * d, ci] * dy[o, co]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "conv.hpp"
#include "conv_filter_copy.hpp"
#include "half.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace ISA::filter_gradient;

// Windows that are added up at a time; a sum of sums of so many stays close to the true one.
constexpr std::int64_t kTogether = 256;
// Rows of windows are shared out among so many tasks, whose sums are added in their order. There are
// more if one would have more windows than this.
constexpr std::int64_t kTasks = 32;
constexpr std::int64_t kWindows = 1 << 15;
// Bytes of the sums of a task and of all of them, and of what a task copies at a time, at most.
constexpr std::int64_t kBytesOfSums = 1 << 19;
constexpr std::int64_t kBytesOfTasks = 16 << 20;
constexpr double kBytesCopied = 1 << 19;

template <class N>
class FewChannels {
   public:
    explicit FewChannels(const Conv& conv) : conv_(conv) {
        const auto& [depth, height, width] = conv.axes;
        at_once_ = at_once(conv);
        bands_ = div_up(height.out, at_once_);
        units_ = conv.images * depth.out * bands_;
        const std::int64_t wanted = std::max(kTasks, units_ * at_once_ * width.out / kWindows);
        tasks_ = std::min({units_, wanted, kBytesOfTasks / bytes_of_sums(conv)});
        row_ = reach(width, width.out) * conv.in;
        plane_ = reach(height, at_once_) * row_;
        for (std::int64_t d = 0; d < depth.k; ++d)
            for (std::int64_t h = 0; h < height.k; ++h)
                for (std::int64_t w = 0; w < width.k; ++w)
                    for (std::int64_t c = 0; c < conv.in; ++c)
                        places_.push_back(d * plane_ + h * height.d * row_ +
                                          w * width.d * conv.in + c);
    }

    // Rows of a panel of dy are vectors as they stand. Several taps but along the width make it pay.
    static bool takes(const Conv& conv) {
        const auto& [depth, height, width] = conv.axes;
        if (conv.channels_first || conv.groups > 1 || conv.in >= kFew || conv.out % kLanes<N>)
            return false;
        const auto real = [](std::int64_t n) { return static_cast<double>(n); };
        const double row = real(reach(width, width.out)) * real(conv.in);
        const double rows = real(reach(height, at_once(conv))) * real(depth.k);
        return real(depth.k) * real(height.k) >= 3 && row * rows * sizeof(N) <= kBytesCopied &&
               bytes_of_sums(conv) <= kBytesOfSums;
    }

    // Gives whether no sum is NaN: an infinity times a zero that stands for padding is, and may not
    // be in the true sum.
    bool run(const N* x, const N* dy, N* dw) const {
        const std::int64_t size = std::ssize(places_) * conv_.out;
        Room<N> room;
        N* const all = room.of(tasks_ * size);
        // A core multiplies some four times while it moves a byte.
        const double bytes = static_cast<double>(units_ * at_once_) *
                             static_cast<double>(conv_.axes[2].out * size) / 4;
        const auto work = static_cast<std::int64_t>(std::min(bytes, 0x1p60));
        parallel_for(tasks_, work, [&](std::int64_t begin, std::int64_t end) {
            Room<N> copied;
            N* const copy = copied.of(conv_.axes[0].k * plane_);
            for (std::int64_t task = begin; task < end; ++task) {
                N* const sums = all + task * size;
                std::fill_n(sums, size, N{0});
                const Range some = part(units_, tasks_, task);
                for (std::int64_t unit = some.first; unit < some.last; ++unit)
                    add_rows(unit, x, dy, copy, sums);
            }
        });
        add_chunks(all, tasks_, size, dw);
        return std::none_of(dw, dw + size, [](N sum) { return std::isnan(sum); });
    }

   private:
    static std::int64_t bytes_of_sums(const Conv& conv) {
        const auto& [depth, height, width] = conv.axes;
        const double sums = static_cast<double>(depth.k) * static_cast<double>(height.k) *
                            static_cast<double>(width.k * conv.in) * static_cast<double>(conv.out);
        return static_cast<std::int64_t>(std::min(sums * sizeof(N), 0x1p60));
    }

    static std::int64_t at_once(const Conv& conv) {
        return std::clamp<std::int64_t>(kTogether / conv.axes[2].out, 1, conv.axes[1].out);
    }

    // Cells from the first to the last that so many windows see.
    static std::int64_t reach(const TapAxis& axis, std::int64_t windows) {
        return (windows - 1) * axis.s + (axis.k - 1) * axis.d + 1;
    }

    void add_rows(std::int64_t unit, const N* x, const N* dy, N* copy, N* sums) const {
        const auto& [depth, height, width] = conv_.axes;
        const std::int64_t first = unit % bands_ * at_once_, plane = unit / bands_;
        const std::int64_t rows = std::min(at_once_, height.out - first);
        const std::int64_t image = plane / depth.out;
        Range real{depth.k, depth.k};  // taps along the depth
        for (std::int64_t d = 0; d < depth.k; ++d) {
            const std::int64_t cell = plane % depth.out * depth.s - depth.pads + d * depth.d;
            if (cell < 0 || cell >= depth.n) continue;
            real = {std::min(real.first, d), d + 1};
            for (std::int64_t h = 0; h < reach(height, rows); ++h)
                copy_row(x, image * depth.n + cell, first * height.s - height.pads + h,
                         copy + d * plane_ + h * row_);
        }
        const std::int64_t each = std::ssize(places_) / depth.k;
        real = {real.first * each, real.last * each};
        dy += (plane * height.out + first) * width.out * conv_.out;
        std::int64_t c = 0;
        for (; c + kPanel<N> <= conv_.out; c += kPanel<N>)
            multiply<2>(real, copy, dy + c, rows, sums + c);
        if (c < conv_.out) multiply<1>(real, copy, dy + c, rows, sums + c);
    }

    void copy_row(const N* x, std::int64_t plane, std::int64_t h, N* to) const {
        const auto& [depth, height, width] = conv_.axes;
        const bool real = h >= 0 && h < height.n;
        const std::int64_t before = std::min(std::min(width.pads, row_) * conv_.in, row_);
        const std::int64_t here = real ? std::min(width.n * conv_.in, row_ - before) : 0;
        std::fill_n(to, before, N{0});
        if (here > 0)
            std::copy_n(x + (plane * height.n + h) * width.n * conv_.in, here, to + before);
        std::fill_n(to + before + here, row_ - before - here, N{0});
    }

    template <int vectors>
    void multiply(Range places, const N* copy, const N* dy, std::int64_t rows, N* sums) const {
        const std::int64_t width = conv_.axes[2].out;
        const std::int64_t tiles = div_up(places.size(), most_rows(vectors));
        for (std::int64_t o = 0; o < width; o += kTogether)
            for (std::int64_t i = 0; i < tiles; ++i) {
                const Range few = part(places.size(), tiles, i);
                add_tile<vectors>({places.first + few.first, places.first + few.last},
                                  {o, std::min(o + kTogether, width)}, copy, dy, rows, sums);
            }
    }

    // Few taps and channels, over some windows of each row.
    template <int vectors>
    void add_tile(Range few, Range windows, const N* copy, const N* dy, std::int64_t rows,
                  N* sums) const {
        const std::int64_t x_step = conv_.axes[2].s * conv_.in;
        copy += windows.first * x_step;
        dy += windows.first * conv_.out;
        sums += few.first * conv_.out;
        with_constant<most_rows(vectors)>(few.size(), [&](auto count) {
            Tile<N, count, vectors> tile;
            tile.clear();
            for (std::int64_t o = 0; o < rows; ++o)
                tile.add(windows.size(),
                         {copy + o * conv_.axes[1].s * row_, places_.data() + few.first}, 0, x_step,
                         dy + o * conv_.axes[2].out * conv_.out, conv_.out);
            for (int i = 0; i < count; ++i, sums += conv_.out)
                for (int v = 0; v < vectors; ++v) {
                    N* const to = sums + v * kLanes<N>;
                    store_vector(to, load_vector(to) + tile.sum[i][v]);
                }
        });
    }

    const Conv conv_;
    std::int64_t at_once_, bands_;  // rows of windows that are added up together, and how many times
    std::int64_t units_, tasks_;    // bands of all planes
    std::int64_t row_, plane_;      // numbers of the copy
    std::vector<std::int64_t> places_;  // of each tap and channel, from a window's first cell
};

}  // namespace

ConvKernels::Ready ISA::filter_grad_of_few_channels(Type type, const Conv& conv,
                                                    ConvKernels::Ready plain) {
    return with_type(type, [&]<class T>(T) -> ConvKernels::Ready {
        if constexpr (std::is_same_v<T, Wide<T>>)
            if (FewChannels<T>::takes(conv))
                return [few = FewChannels<T>(conv), plain](const void* x, const void* dy, void* dw) {
                    if (!few.run(in<T>(x), in<T>(dy), out<T>(dw))) plain(x, dy, dw);
                };
        return plain;
    });
}

}  // namespace backblocks
