#include "geometry.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include "depthwise.hpp"

namespace backblocks {

PoolCall PoolCall::checked(Type dtype, const VolumeShape& input_shape, const VolumeShape& output_shape,
                           const Triple& window, const Triple& strides, const Triple& pads) {
    const Operand input = operand(dtype, input_shape), output = operand(dtype, output_shape);
    require(input_shape[0] == output_shape[0], "input and output must have as many images");
    require(input_shape[4] == output_shape[4], "input and output must have as many channels");
    Pool pool{input_shape[0], {}, input_shape[4]};
    for (std::size_t i = 0; i < 3; ++i) {
        require(window[i] >= 1, "window must be at least 1 on every axis");
        require(strides[i] >= 1, "strides must be at least 1 on every axis");
        require(pads[i] >= 0, "pads must not be negative");
        auto& axis = pool.axes[i] = {input_shape[i + 1], window[i], strides[i], pads[i], output_shape[i + 1]};
        require(axis.fits_int64(), "window, strides, pads or sizes are too large");
        require(axis.all_real(), "every window must have a real element");
    }
    require(pool.trimmed().supported(), "the window or its padding is too large");
    return {dtype, input, output, pool.trimmed()};
}

ArgmaxCall ArgmaxCall::checked(Type dtype, Type index, const VolumeShape& input_shape,
                               const VolumeShape& output_shape, const Triple& window, const Triple& strides,
                               const Triple& pads, bool of_batch) {
    const bool wide = index == Type::int64;
    if (!wide && index != Type::int32) throw WrongType("an index must be int32 or int64");
    const PoolCall call = PoolCall::checked(dtype, input_shape, output_shape, window, strides, pads);
    require(call.pool.indexable(), "an image has too many elements");
    return {call, {index, call.output.size}, {of_batch, wide}};
}

ConvCall ConvCall::checked(Type dtype, const VolumeShape& input_shape, const VolumeShape& output_shape,
                           const Triple& taps, const Triple& strides, const Triple& dilations, const Triple& pads,
                           std::int64_t groups, bool channels_first) {
    require(input_shape[0] == output_shape[0], "input and output must have as many images");
    require(groups >= 1 && input_shape[4] % groups == 0 && output_shape[4] % groups == 0,
            "groups must divide the channels of input and output");
    Conv conv{input_shape[0], {}, groups, input_shape[4] / groups, output_shape[4] / groups, channels_first};
    for (std::size_t i = 0; i < 3; ++i) {
        require(taps[i] >= 1, "there must be a tap on every axis");
        require(strides[i] >= 1, "strides must be at least 1 on every axis");
        require(dilations[i] >= 1, "dilations must be at least 1 on every axis");
        require(pads[i] >= 0, "pads must not be negative");
        // A single output has no next one, however far away that would be.
        const std::int64_t stride = output_shape[i + 1] > 1 ? strides[i] : 1;
        const std::int64_t dilation = taps[i] > 1 ? dilations[i] : 1;
        auto& axis = conv.axes[i] = {input_shape[i + 1], taps[i], stride, dilation, pads[i],
                                     output_shape[i + 1]};
        require(axis.fits_int64(), "filter, strides, dilations, pads or sizes are too large");
    }
    const VolumeShape filters{taps[0], taps[1], taps[2], conv.in, output_shape[4]};
    return {dtype, operand(dtype, input_shape), operand(dtype, filters), operand(dtype, output_shape), conv};
}

Kernel ConvCall::planned(const Operand& a, const Operand& b, const Operand& result,
                         ConvFunction (*plan)(Type, const Conv&),
                         Choice (*explain)(Type, const Conv&)) const {
    struct Planned {
        std::once_flag once;
        ConvFunction run;
    };
    return zeros_if_empty({{a, b}, {result}, [=, planned = std::make_shared<Planned>(), type = dtype,
                                       conv = conv](void* const* tensors) {
                        std::call_once(planned->once, [&] { planned->run = plan(type, conv); });
                        planned->run(tensors[0], tensors[1], tensors[2]);
                    }, [=, type = dtype, conv = conv] { return explain(type, conv); }});
}

const ConvCall& require_depthwise(const ConvCall& call) {
    require(call.conv.in == 1, "each input channel must be a group");
    require(spans_few_elements(call.conv), "taps are too far apart");
    return call;
}

const ConvCall& require_dilation(const ConvCall& call) {
    require_depthwise(call);
    const auto& depth = call.conv.axes[0];
    require(depth.n == 1 && depth.k == 1 && depth.out == 1 && depth.pads == 0,
            "must be of images, which have no depth");
    require(call.conv.out == 1, "each channel must have one output");
    require(!call.conv.channels_first, "channels must be the last axis");
    return call;
}

}  // namespace backblocks
