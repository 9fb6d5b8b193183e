// The parameters of pooling and convolution kernels, as Python names them, and their checks: every position
// of a geometry that passes is safe to compute. No Python in here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "conv.hpp"
#include "kernel.hpp"
#include "pool.hpp"

namespace backblocks {

using Triple = std::array<std::int64_t, 3>;  // one for depth, height and width
using Volumes = std::array<std::int64_t, 5>;  // shape (images, depth, height, width, channels)

struct PoolCall {
    static constexpr const char* kParameters = "dtype, cells, windows, window, strides, pads";
    static PoolCall checked(Type dtype, const Volumes& cells, const Volumes& windows, const Triple& window,
                            const Triple& strides, const Triple& pads);

    // A kernel in the element type: run(T{}, tensors, pool), and explain(T{}, pool).
    template <class Run, class Explain>
    Kernel kernel(std::vector<Operand> inputs, std::vector<Operand> outputs, Run run,
                  Explain explain) const {
        return with_type(dtype, [&]<class T>(T) {
            return summing({inputs, outputs, [run, pool = pool](void* const* tensors) {
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
        "dtype, index, cells, windows, window, strides, pads, of_batch";
    static ArgmaxCall checked(Type dtype, Type index, const Volumes& cells, const Volumes& windows,
                              const Triple& window, const Triple& strides, const Triple& pads,
                              bool of_batch);

    Operand argmax;
    Index index;
};

struct ConvCall {
    static constexpr const char* kParameters =
        "dtype, cells, outputs, taps, strides, dilations, pads, groups, channels_first";
    static ConvCall checked(Type dtype, const Volumes& cells, const Volumes& outputs, const Triple& taps,
                            const Triple& strides, const Triple& dilations, const Triple& pads,
                            std::int64_t groups, bool channels_first);

    // A kernel that works out at its first call what depends on the geometry alone: by then there are arrays
    // of this size, so planning ends.
    Kernel planned(const Operand& a, const Operand& b, const Operand& result,
                   ConvKernels::Ready (*plan)(Type, const Conv&),
                   Choice (*explain)(Type, const Conv&)) const;

    Type dtype;
    Operand input, filters, output;
    Conv conv;
};

// Refuses convolutions that are not of each channel by itself, or keep too much between their taps.
const ConvCall& require_depthwise(const ConvCall& call);
// Refuses convolutions that are not of images with channels last, each channel by itself.
const ConvCall& require_dilation(const ConvCall& call);

}  // namespace backblocks
