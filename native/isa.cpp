#include "isa.hpp"

#include <cstdlib>
#include <stdexcept>

namespace backblocks {

#define KERNELS(isa)                                                            \
    Isa {                                                                       \
        #isa, isa::pool_kernels, isa::conv_kernels, isa::depthwise_kernels,     \
            isa::dilation_kernels, isa::limit_kernels                           \
    }

#ifdef X86_64_LEVELS
// Channels that would leave half of a vector empty are left to vectors of half the length.
const ConvKernels& conv_of_v4(Type type, std::int64_t channels) {
    return channels > (type == Type::float64 ? 4 : 8) ? v4::conv_kernels : v3::conv_kernels;
}

constexpr ConvKernels conv_kernels_of_v4{
    [](Type type, const Conv& conv) { return conv_of_v4(type, conv.out).forward(type, conv); },
    [](Type type, const Conv& conv) { return conv_of_v4(type, conv.in).input_grad(type, conv); },
    [](Type type, const Conv& conv) { return conv_of_v4(type, conv.out).filter_grad(type, conv); },
};
#endif

std::vector<Isa> isas() {
    std::vector<Isa> all{KERNELS(baseline)};
#ifdef X86_64_LEVELS
    if (__builtin_cpu_supports("x86-64-v2")) all.push_back(KERNELS(v2));
    if (__builtin_cpu_supports("x86-64-v3")) all.push_back(KERNELS(v3));
    // Pools are no faster with longer vectors: they wait for the memory.
    if (__builtin_cpu_supports("x86-64-v4"))
        all.push_back({"v4", v3::pool_kernels, conv_kernels_of_v4, v4::depthwise_kernels,
                       v3::dilation_kernels, v4::limit_kernels});
#endif
    return all;
}

const Isa& chosen_isa() {
    static const Isa chosen = [] {
        const std::vector<Isa> all = isas();
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
