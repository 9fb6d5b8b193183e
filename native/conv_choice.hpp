// Which algorithm a convolution or a gradient of one runs: choose_conv, and nothing else decides.
#pragma once

#include <cstdint>
#include <memory>

#include "choice.hpp"
#include "conv.hpp"
#include "conv_plan.hpp"

namespace backblocks::ISA {

enum class ConvPass { forward, input_grad, filter_grad };

enum class ConvAlgorithm {
    depthwise,       // depthwise.cpp, depthwise_filter.cpp
    winograd_2d,     // winograd.cpp, winograd_filter.cpp: F(2 x 2, 3 x 3)
    winograd_3d,     // the same along three axes
    small_channels,  // conv_filter_small_channels.cpp
    direct,          // conv.cpp, conv_filter.cpp
};

struct ConvChoice : Chosen<ConvAlgorithm> {
    // The plan that the choice was made from, for the algorithm to go on with. Depthwise has none.
    std::shared_ptr<const convolution::ConvPlan> plan;
};

// Which algorithm runs a pass of a convolution.
ConvChoice choose_conv(Type, const Conv&, ConvPass);

// Explains the choice for a convolution.
Choice explain_conv(Type, const Conv&, ConvPass);

}  // namespace backblocks::ISA
