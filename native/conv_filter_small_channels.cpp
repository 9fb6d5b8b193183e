// The filter gradient of convolution for a small number of input channels. Channels alone would not fill the rows of a
// register tile (tile.hpp); channels of all taps do:
//
//     for each task: some rows of windows o of an image
//         copy the rows of x that they read, with zeros for padding but along the depth
//         for few taps t of these and channels ci at a time, and a panel of co:
//             dw[t, ci, co] += sum over o: copy[o * s + t * d, ci] * dy[o, co]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "conv_algorithms.hpp"
#include "conv_filter_pack.hpp"
#include "conv_filter_small_channels.hpp"
#include "dtypes.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace ISA::filter_gradient;

// Rows of windows are shared out among so many tasks, whose sums are added in their order. There are
// more if one would have more windows than this, but no more than these bytes of sums.
constexpr std::int64_t kTasks = 32;
constexpr std::int64_t kWindowsOfTask = 1 << 15;
constexpr std::int64_t kBytesOfTasks = 16 << 20;

template <class N>
class SmallChannelsGrad {
    using Sizes = SmallChannels<N>;

   public:
    explicit SmallChannelsGrad(const Conv& conv) : conv_(conv) {
        const auto& [depth, height, width] = conv.axes;
        at_once_ = Sizes::rows_at_once(conv);
        bands_ = div_up(height.out, at_once_);
        units_ = conv.images * depth.out * bands_;
        const std::int64_t wanted = std::max(kTasks, units_ * at_once_ * width.out / kWindowsOfTask);
        tasks_ = std::min({units_, wanted, kBytesOfTasks / Sizes::bytes_of_sums(conv)});
        row_ = extent(width, width.out) * conv.in;
        plane_ = extent(height, at_once_) * row_;
        for (std::int64_t d = 0; d < depth.k; ++d)
            for (std::int64_t h = 0; h < height.k; ++h)
                for (std::int64_t w = 0; w < width.k; ++w)
                    for (std::int64_t c = 0; c < conv.in; ++c)
                        offsets_.push_back(d * plane_ + h * height.d * row_ +
                                          w * width.d * conv.in + c);
    }

    std::int64_t rows_at_once() const { return at_once_; }
    std::int64_t tasks() const { return tasks_; }

    // The work, as bytes that could be moved meanwhile: a core multiplies some four times while it moves one.
    std::int64_t work() const {
        const double bytes = static_cast<double>(units_ * at_once_) *
                             static_cast<double>(conv_.axes[2].out * std::ssize(offsets_) * conv_.out) / 4;
        return static_cast<std::int64_t>(std::min(bytes, 0x1p60));
    }

    // Gives whether no sum is NaN: an infinity times a zero that stands for padding is, and may not
    // be in the true sum.
    bool run(const N* x, const N* dy, N* dw) const {
        const std::int64_t size = std::ssize(offsets_) * conv_.out;
        Scratch<N> room;
        N* const all = room.of(tasks_ * size);
        parallel_for(tasks_, work(), [&](std::int64_t begin, std::int64_t end) {
            Scratch<N> copied;
            N* const copy = copied.of(conv_.axes[0].k * plane_);
            for (std::int64_t task = begin; task < end; ++task) {
                N* const sums = all + task * size;
                std::fill_n(sums, size, N{0});
                const Range units = part(units_, tasks_, task);
                for (std::int64_t unit = units.first; unit < units.last; ++unit)
                    add_rows(unit, x, dy, copy, sums);
            }
        });
        add_chunks(all, tasks_, size, dw);
        return std::none_of(dw, dw + size, [](N sum) { return std::isnan(sum); });
    }

   private:
    static std::int64_t extent(const ConvAxis& axis, std::int64_t windows) {
        return Sizes::extent(axis, windows);
    }

    void add_rows(std::int64_t unit, const N* x, const N* dy, N* copy, N* sums) const {
        const auto& [depth, height, width] = conv_.axes;
        const std::int64_t first = unit % bands_ * at_once_, plane = unit / bands_;
        const std::int64_t rows = std::min(at_once_, height.out - first);
        const std::int64_t image = plane / depth.out;
        Range real{depth.k, depth.k};  // taps along the depth
        for (std::int64_t d = 0; d < depth.k; ++d) {
            const std::int64_t element = plane % depth.out * depth.s - depth.pads + d * depth.d;
            if (element < 0 || element >= depth.n) continue;
            real = {std::min(real.first, d), d + 1};
            for (std::int64_t h = 0; h < extent(height, rows); ++h)
                copy_row(x, image * depth.n + element, first * height.s - height.pads + h,
                         copy + d * plane_ + h * row_);
        }
        const std::int64_t each = std::ssize(offsets_) / depth.k;
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
    void multiply(Range offsets, const N* copy, const N* dy, std::int64_t rows, N* sums) const {
        const std::int64_t width = conv_.axes[2].out;
        const std::int64_t tiles = div_up(offsets.size(), most_rows(vectors));
        for (std::int64_t o = 0; o < width; o += Sizes::kWindows)
            for (std::int64_t i = 0; i < tiles; ++i) {
                const Range some = part(offsets.size(), tiles, i);
                add_tile<vectors>({offsets.first + some.first, offsets.first + some.last},
                                  {o, std::min(o + Sizes::kWindows, width)}, copy, dy, rows, sums);
            }
    }

    // A register tile: some taps and channels, over some windows of each row.
    template <int vectors>
    void add_tile(Range some, Range windows, const N* copy, const N* dy, std::int64_t rows,
                  N* sums) const {
        const std::int64_t x_step = conv_.axes[2].s * conv_.in;
        copy += windows.first * x_step;
        dy += windows.first * conv_.out;
        sums += some.first * conv_.out;
        with_constant<most_rows(vectors)>(some.size(), [&](auto count) {
            Tile<N, count, vectors> tile;
            tile.clear();
            for (std::int64_t o = 0; o < rows; ++o)
                tile.add(windows.size(),
                         {copy + o * conv_.axes[1].s * row_, offsets_.data() + some.first}, 0, x_step,
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
    std::vector<std::int64_t> offsets_;  // of each tap and channel, from a window's first element
};

}  // namespace

ConvFunction ISA::small_channels_filter_grad(Type type, const Conv& conv,
                                                   ConvFunction direct) {
    return with_type(type, [&]<class T>(T) -> ConvFunction {
        if constexpr (std::is_same_v<T, Wide<T>>)
            return [grad = SmallChannelsGrad<T>(conv), direct](const void* x, const void* dy, void* dw) {
                if (!grad.run(in<T>(x), in<T>(dy), out<T>(dw))) direct(x, dy, dw);
            };
        return direct;
    });
}

void ISA::explain_small_channels_filter_grad(Type type, const Conv& conv, Choice& choice) {
    with_type(type, [&]<class T>(T) {
        const SmallChannelsGrad<Wide<T>> grad(conv);
        choice.with("rows of windows at a time", grad.rows_at_once());
        choice.with("register tile", {most_rows(2), kPanel<Wide<T>>});
        choice.with_loop(grad.tasks(), grad.work());
    });
}

}  // namespace backblocks
