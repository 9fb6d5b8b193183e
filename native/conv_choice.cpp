#include "conv_choice.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "conv_filter_small_channels.hpp"
#include "conv_pack.hpp"
#include "depthwise.hpp"
#include "dtypes.hpp"
#include "winograd_tiles.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using enum ConvAlgorithm;

// Whether Winograd's algorithm can compute a pass: three taps along height and width, and three or one along
// the depth, one element apart, of windows one element apart; no groups, and a vector of channels at least.
template <class T>
bool winograd_fits(const ConvPlan& plan, const Conv& conv, ConvPass pass) {
    if (plan.groups != 1 || plan.rows.used || std::min(plan.ins, plan.outs) < kLanes<Wide<T>>) return false;
    // With channels first, halves would have to be widened and transposed.
    if (plan.channels_first() && !std::is_same_v<T, Wide<T>>) return false;
    // Taps that see only padding are not in the plan, but have gradients.
    if (pass == ConvPass::filter_grad)
        for (std::size_t i = 0; i < 3; ++i)
            if (plan.axes[i].taps() != conv.axes[i].k) return false;
    return TileAxis::fits(plan.axes[2], 3) && TileAxis::fits(plan.axes[1], 3) &&
           (TileAxis::fits(plan.axes[0], 3) || TileAxis::fits(plan.axes[0], 1));
}

// Whether it is faster than the direct algorithm, by a count of multiply-adds: it has 16 / 36 of the
// products for images and 64 / 216 for volumes, but transforms inputs, filters and outputs.
template <class T>
bool winograd_pays(const ConvPlan& plan, const WinogradTiles& tiles, ConvPass pass) {
    using N = Wide<T>;
    // The cost of transforming a number, in products: measured, for images, volumes and filters.
    constexpr double transform_2d = 10, transform_3d = 20, transform_filter = 32;
    // Bytes of the transformed filters, or of their gradients, that the caches can share.
    constexpr double most_filters = 16 << 20;
    const double ins = static_cast<double>(plan.ins), outs = static_cast<double>(plan.outs);
    double count = static_cast<double>(plan.images), direct = count * ins * outs;
    for (std::size_t i = 0; i < 3; ++i) {
        count *= static_cast<double>(tiles.axes[i].tiles);
        direct *= static_cast<double>(tiles.axes[i].targets * plan.axes[i].taps());
    }
    const double filters = tiles.points() * ins * outs;
    const double transform = tiles.points() == 64 ? transform_3d : transform_2d;
    if (filters * (count + transform_filter) + tiles.points() * count * transform * (ins + outs) > direct ||
        filters * sizeof(N) > most_filters)
        return false;
    // A box of fewer tiles would fetch the filters too often, and one of more bytes leaves the cache.
    return pass == ConvPass::filter_grad ||
           bytes_of_tile<N>(plan, tiles) * kLeastTilesOfBox <= kMostBytesOfBox;
}

template <class T>
ConvChoice choose(const Conv& conv, ConvPass pass) {
    using N = Wide<T>;
    // Each output reads one input channel: this is a depthwise convolution, which has vectors over the width,
    // while up to four channels would leave vectors over channels mostly empty.
    constexpr std::int64_t most_multiplier = 4;
    if (conv.in == 1 && conv.out <= most_multiplier && spans_few_elements(conv))
        return {{depthwise, "one input channel and at most four outputs in a group: depthwise, whose vectors "
                            "are full"}, nullptr};
    const auto plan = std::make_shared<const ConvPlan>(conv, pass != ConvPass::input_grad, kLanes<N>);
    if (winograd_fits<T>(*plan, conv, pass)) {
        const WinogradTiles tiles(*plan);
        if (winograd_pays<T>(*plan, tiles, pass))
            return {{tiles.points() == 64 ? winograd_3d : winograd_2d,
                     "three taps and stride 1 along each axis, and so many channels that fewer products "
                     "outweigh the transforms"}, plan};
    }
    if (pass == ConvPass::filter_grad && std::is_same_v<T, N> && SmallChannels<N>::fits(conv))
        return {{small_channels, "fewer than four input channels leave register tiles too few rows; those of "
                                 "all taps fill them"}, plan};
    return {{direct, "works for all geometries; nothing else is faster for this one"}, plan};
}

}  // namespace

ConvChoice ISA::choose_conv(Type type, const Conv& conv, ConvPass pass) {
    return with_type(type, [&]<class T>(T) { return choose<T>(conv, pass); });
}

}  // namespace backblocks
