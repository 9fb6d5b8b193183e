#include "geometry.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include "depthwise.hpp"

namespace backblocks {

PoolCall PoolCall::checked(Type dtype, const Volumes& cells, const Volumes& windows,
                           const Triple& window, const Triple& strides, const Triple& pads) {
    const Operand of_cells = operand(dtype, cells), of_windows = operand(dtype, windows);
    require(cells[0] == windows[0], "input and output must have as many images");
    require(cells[4] == windows[4], "input and output must have as many channels");
    Pool pool{cells[0], {}, cells[4]};
    for (std::size_t i = 0; i < 3; ++i) {
        require(window[i] >= 1, "window must be at least 1 on every axis");
        require(strides[i] >= 1, "strides must be at least 1 on every axis");
        require(pads[i] >= 0, "pads must not be negative");
        auto& axis = pool.axes[i] = {cells[i + 1], window[i], strides[i], pads[i], windows[i + 1]};
        require(axis.fits_int64(), "window, strides, pads or sizes are too large");
        require(axis.all_real(), "every window must have a real cell");
    }
    require(pool.trimmed().supported(), "the window or its padding is too large");
    return {dtype, of_cells, of_windows, pool.trimmed()};
}

ArgmaxCall ArgmaxCall::checked(Type dtype, Type index, const Volumes& cells, const Volumes& windows,
                               const Triple& window, const Triple& strides, const Triple& pads,
                               bool of_batch) {
    const bool wide = index == Type::int64;
    if (!wide && index != Type::int32) throw WrongType("an index must be int32 or int64");
    const PoolCall call = PoolCall::checked(dtype, cells, windows, window, strides, pads);
    require(call.pool.indexable(), "an image has too many cells");
    return {call, {index, call.output.size}, {of_batch, wide}};
}

ConvCall ConvCall::checked(Type dtype, const Volumes& cells, const Volumes& outputs, const Triple& taps,
                           const Triple& strides, const Triple& dilations, const Triple& pads,
                           std::int64_t groups, bool channels_first) {
    require(cells[0] == outputs[0], "input and output must have as many images");
    require(groups >= 1 && cells[4] % groups == 0 && outputs[4] % groups == 0,
            "groups must divide the channels of input and output");
    Conv conv{cells[0], {}, groups, cells[4] / groups, outputs[4] / groups, channels_first};
    for (std::size_t i = 0; i < 3; ++i) {
        require(taps[i] >= 1, "there must be a tap on every axis");
        require(strides[i] >= 1, "strides must be at least 1 on every axis");
        require(dilations[i] >= 1, "dilations must be at least 1 on every axis");
        require(pads[i] >= 0, "pads must not be negative");
        // A single output has no next one, however far away that would be.
        const std::int64_t stride = outputs[i + 1] > 1 ? strides[i] : 1;
        const std::int64_t dilation = taps[i] > 1 ? dilations[i] : 1;
        auto& axis = conv.axes[i] = {cells[i + 1], taps[i], stride, dilation, pads[i],
                                     outputs[i + 1]};
        require(axis.fits_int64(), "filter, strides, dilations, pads or sizes are too large");
    }
    const Volumes filters{taps[0], taps[1], taps[2], conv.in, outputs[4]};
    return {dtype, operand(dtype, cells), operand(dtype, filters), operand(dtype, outputs), conv};
}

Kernel ConvCall::planned(const Operand& a, const Operand& b, const Operand& result,
                         ConvKernels::Ready (*plan)(Type, const Conv&),
                         Choice (*explain)(Type, const Conv&)) const {
    struct Planned {
        std::once_flag once;
        ConvKernels::Ready run;
    };
    return summing({{a, b}, {result}, [=, planned = std::make_shared<Planned>(), type = dtype,
                                       conv = conv](void* const* tensors) {
                        std::call_once(planned->once, [&] { planned->run = plan(type, conv); });
                        planned->run(tensors[0], tensors[1], tensors[2]);
                    }, [=, type = dtype, conv = conv] { return explain(type, conv); }});
}

const ConvCall& require_depthwise(const ConvCall& call) {
    require(call.conv.in == 1, "each input channel must be a group");
    require(within_reach(call.conv), "taps are too far apart");
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
