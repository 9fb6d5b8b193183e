// The algorithms of convolution that have a file of their own, for the tables in conv.cpp. Each is prepared
// for what choose_conv chose; those that are not exact for infinities and NaN leave these to `direct`.
#pragma once

#include "choice.hpp"
#include "conv.hpp"
#include "conv_choice.hpp"

namespace backblocks::ISA {

// Depthwise: groups of one input channel, whose outputs are its multiplier. Padding takes no part, not even 0 times
// infinity.
ConvKernels::Ready plan_depthwise(Type, const Conv&, ConvPass);
ConvKernels::Ready depthwise_filter_grad(Type, const Conv&);
Choice explain_depthwise(Type, const Conv&, ConvPass);

ConvKernels::Ready winograd_conv(Type, const ConvChoice&, bool forward, ConvKernels::Ready direct);
void explain_winograd_conv(Type, const ConvChoice&, Choice&);

ConvKernels::Ready winograd_filter_grad(Type, const ConvChoice&, ConvKernels::Ready direct);
void explain_winograd_filter_grad(Type, const ConvChoice&, Choice&);

ConvKernels::Ready small_channels_filter_grad(Type, const Conv&, ConvKernels::Ready direct);
void explain_small_channels_filter_grad(Type, const Conv&, Choice&);

ConvKernels::Ready direct_filter_grad(Type, const Conv&);
void explain_direct_filter_grad(Type, const Conv&, Choice&);

}  // namespace backblocks::ISA
