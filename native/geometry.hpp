// The parameters of pooling and convolution kernels, by the names that they have in Python, and their checks: in a
// geometry that passes, every position can be computed without overflow. No Python in here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "conv.hpp"
#include "kernel.hpp"
#include "pool.hpp"

namespace backblocks {

using Triple = std::array<std::int64_t, 3>;  // one for depth, height and width
using VolumeShape = std::array<std::int64_t, 5>;  // (images, depth, height, width, channels)

struct PoolCall {
    static constexpr const char* kParameters = "dtype, input_shape, output_shape, window, strides, pads";
    static PoolCall checked(Type dtype, const VolumeShape& input_shape, const VolumeShape& output_shape,
                            const Triple& window, const Triple& strides, const Triple& pads);

    // A kernel in the element type: run(T{}, tensors, pool), and explain(T{}, pool).
    template <class Run, class Explain>
    Kernel kernel(std::vector<Operand> inputs, std::vector<Operand> outputs, Run run,
                  Explain explain) const {
        return with_type(dtype, [&]<class T>(T) {
            return zeros_if_empty({inputs, outputs, [run, pool = pool](void* const* tensors) {
                                run(T{}, tensors, pool);
                            }, [explain, pool = pool] { return explain(T{}, pool); }});
        });
    }

    Type dtype;
    Operand input, output;
    Pool pool;  // trimmed
};

struct ArgmaxCall : PoolCall {
    static constexpr const char* kParameters =
        "dtype, index, input_shape, output_shape, window, strides, pads, of_batch";
    static ArgmaxCall checked(Type dtype, Type index, const VolumeShape& input_shape,
                              const VolumeShape& output_shape, const Triple& window, const Triple& strides,
                              const Triple& pads, bool of_batch);

    Operand argmax;
    ArgmaxIndex index;
};

struct ConvCall {
    static constexpr const char* kParameters =
        "dtype, input_shape, output_shape, taps, strides, dilations, pads, groups, channels_first";
    static ConvCall checked(Type dtype, const VolumeShape& input_shape, const VolumeShape& output_shape,
                            const Triple& taps, const Triple& strides, const Triple& dilations,
                            const Triple& pads, std::int64_t groups, bool channels_first);

    // A kernel that works out at its first call what depends on the geometry alone: by then there are arrays
    // of this size, so planning ends.
    Kernel planned(const Operand& a, const Operand& b, const Operand& result,
                   ConvFunction (*plan)(Type, const Conv&),
                   Choice (*explain)(Type, const Conv&)) const;

    Type dtype;
    Operand input, filters, output;
    Conv conv;
};

// Refuses convolutions that are not depthwise, or whose windows span too many elements.
const ConvCall& require_depthwise(const ConvCall& call);
// Refuses geometries that are not of images with channels last, each channel with one filter of its own.
const ConvCall& require_dilation(const ConvCall& call);

}  // namespace backblocks
