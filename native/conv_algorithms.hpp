// The algorithms of convolution that have a file of their own; conv.cpp calls the one that choose_conv gives. Winograd
// and the filter gradient of a small channel count are not exact for infinities and NaN, and leave them to `direct`.
#pragma once

#include "choice.hpp"
#include "conv.hpp"
#include "conv_choice.hpp"

namespace backblocks::ISA {

// Depthwise: groups of one input channel, whose outputs are its multiplier. Padding takes no part, not even 0 times
// infinity.
ConvFunction plan_depthwise(Type, const Conv&, ConvPass);
ConvFunction depthwise_filter_grad(Type, const Conv&);
Choice explain_depthwise(Type, const Conv&, ConvPass);

ConvFunction winograd_conv(Type, const ConvChoice&, bool forward, ConvFunction direct);
void explain_winograd_conv(Type, const ConvChoice&, Choice&);

ConvFunction winograd_filter_grad(Type, const ConvChoice&, ConvFunction direct);
void explain_winograd_filter_grad(Type, const ConvChoice&, Choice&);

ConvFunction small_channels_filter_grad(Type, const Conv&, ConvFunction direct);
void explain_small_channels_filter_grad(Type, const Conv&, Choice&);

ConvFunction direct_filter_grad(Type, const Conv&);
void explain_direct_filter_grad(Type, const Conv&, Choice&);

}  // namespace backblocks::ISA
