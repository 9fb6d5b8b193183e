// Which algorithm a depthwise convolution or a gradient of one runs: choose_depthwise, and nothing else decides.
#pragma once

#include <type_traits>

#include "choice.hpp"
#include "depthwise_geometry.hpp"
#include "dtypes.hpp"
#include "vector.hpp"

namespace backblocks::ISA::depthwise {

enum class DepthwiseAlgorithm {
    zeros,
    direct,  // depthwise_direct.hpp
    packed,  // depthwise_pack.hpp
};

// Whether there is a direct algorithm for T. Before AVX2 a half is widened in so many instructions that it must not be
// done for every tap.
template <class T>
constexpr bool kHasDirect = kVectorBytes >= 32 || std::is_same_v<T, Wide<T>>;

template <class T>
Chosen<DepthwiseAlgorithm> choose_depthwise(const Pass& pass) {
    using enum DepthwiseAlgorithm;
    if (!pass.any_real_tap()) return {zeros, "no tap reads an element, only padding"};
    if (pass.in.channels_first || pass.multiplier > 1)
        return {packed, "channels are first, or have several filters: vectors run over positions"};
    if (pass.filters < kLanes<Wide<T>>)
        return {packed, "there are fewer channels than a vector has lanes: vectors run over positions"};
    if (!kHasDirect<T>)
        return {packed, "without instructions for it, halves are widened once, and not for every tap"};
    return {direct, "channels are last and fill vectors: elements are read in place"};
}

}  // namespace backblocks::ISA::depthwise
