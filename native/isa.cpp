#include "isa.hpp"

#include <cstdlib>
#include <stdexcept>

namespace backblocks {

std::vector<Isa> isas() {
    std::vector<Isa> all{{"baseline", baseline::pool_kernels, baseline::limit_kernels}};
#ifdef X86_64_LEVELS
    if (__builtin_cpu_supports("x86-64-v2")) all.push_back({"v2", v2::pool_kernels, v2::limit_kernels});
    if (__builtin_cpu_supports("x86-64-v3")) all.push_back({"v3", v3::pool_kernels, v3::limit_kernels});
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
