#include "isa.hpp"

#include <cstdlib>
#include <stdexcept>

namespace backblocks {

#define KERNELS(isa)                                                            \
    Isa {                                                                       \
        #isa, isa::pool_kernels, isa::conv_kernels, isa::depthwise_kernels,     \
            isa::dilation_kernels, isa::product_kernels, isa::limit_kernels     \
    }

#ifdef HAS_v4
// v4 has vectors of twice the length of v3. Each case goes to those that were faster.

// Few channels are left to v3 if they would leave half of the last vector empty.
const ConvKernels& conv_for(Type type, std::int64_t channels) {
    const std::int64_t half = type == Type::float64 ? 4 : 8, halves = (channels + half - 1) / half;
    return halves % 2 == 1 && halves < 6 ? v3::conv_kernels : v4::conv_kernels;
}

// Of packed cells, depthwise convolution loads a vector for each product; unless it has to be widened,
// a longer one takes as much longer. In place it loads fewer.
const ConvKernels& depthwise_for(Type type, const Conv& conv, bool of_filter) {
    const bool half = type == Type::float16 || type == Type::bfloat16;
    const bool large = conv.groups >= 512;  // cells are read in longer pieces
    const bool in_place = type == Type::float32 && !conv.channels_first && conv.out == 1;
    if ((half || of_filter || large || in_place) && conv.groups * conv.out >= 16) return v4::depthwise_kernels;
    return v3::depthwise_kernels;
}

const ConvKernels conv_of_v4{
    [](Type type, const Conv& conv) { return conv_for(type, conv.out).forward(type, conv); },
    [](Type type, const Conv& conv) { return conv_for(type, conv.in).input_grad(type, conv); },
    [](Type type, const Conv& conv) { return conv_for(type, conv.out).filter_grad(type, conv); },
};

const DepthwiseKernels depthwise_of_v4{{
    [](Type type, const Conv& conv) { return depthwise_for(type, conv, false).forward(type, conv); },
    [](Type type, const Conv& conv) { return depthwise_for(type, conv, false).input_grad(type, conv); },
    [](Type type, const Conv& conv) { return depthwise_for(type, conv, true).filter_grad(type, conv); },
}};
#endif

std::vector<Isa> isas() {
    std::vector<Isa> all;
#ifdef HAS_baseline
    all.push_back(KERNELS(baseline));
#endif
#ifdef HAS_v2
    if (__builtin_cpu_supports("x86-64-v2")) all.push_back(KERNELS(v2));
#endif
#ifdef HAS_v3
    if (__builtin_cpu_supports("x86-64-v3")) all.push_back(KERNELS(v3));
#endif
#ifdef HAS_v4
    // Pools are slower with longer vectors about as often as they are faster.
    if (__builtin_cpu_supports("x86-64-v4"))
        all.push_back({"v4", v3::pool_kernels, conv_of_v4, depthwise_of_v4,
                       v3::dilation_kernels, v4::product_kernels, v4::limit_kernels});
#endif
    return all;
}

const Isa& chosen_isa() {
    static const Isa chosen = [] {
        const std::vector<Isa> all = isas();
        if (all.empty())
            throw std::runtime_error(
                "backblocks needs a processor with x86-64-v2 (SSE4.2), or must be built on this machine");
        const char* wanted = std::getenv("BACKBLOCKS_ISA");
        if (!wanted || !*wanted) return all.back();
        std::string names;
        for (const Isa& isa : all) {
            if (isa.name == wanted) return isa;
            names += " " + isa.name;
        }
        throw std::runtime_error("BACKBLOCKS_ISA=" + std::string(wanted) +
                                 " is none of what this machine can run:" + names);
    }();
    return chosen;
}

}  // namespace backblocks
