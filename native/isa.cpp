#include "isa.hpp"

#include <cstdlib>
#include <stdexcept>

namespace backblocks {

#define KERNELS(isa)                                                            \
    Isa {                                                                       \
        #isa, isa::pool_kernels, isa::conv_kernels, isa::depthwise_kernels,     \
            isa::dilation_kernels, isa::limit_kernels                           \
    }

std::vector<Isa> isas() {
    std::vector<Isa> all{KERNELS(baseline)};
#ifdef X86_64_LEVELS
    if (__builtin_cpu_supports("x86-64-v2")) all.push_back(KERNELS(v2));
    if (__builtin_cpu_supports("x86-64-v3")) all.push_back(KERNELS(v3));
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
