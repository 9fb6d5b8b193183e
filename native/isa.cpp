#include "isa.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace backblocks {

std::vector<const Isa*> isas() {
    std::vector<const Isa*> all;
#ifdef HAS_baseline
#ifdef __x86_64__
    if (__builtin_cpu_supports("x86-64-v2"))
#endif
        all.push_back(&baseline::isa);
#endif
#ifdef HAS_v3
    if (__builtin_cpu_supports("x86-64-v3")) all.push_back(&v3::isa);
#endif
#ifdef HAS_v4
    if (__builtin_cpu_supports("x86-64-v4")) all.push_back(&v4::isa);
#endif
    return all;
}

const Isa& chosen_isa() {
    static const Isa& chosen = *[] {
        const std::vector<const Isa*> all = isas();
        if (all.empty())
            throw std::runtime_error(
                "backblocks needs a processor with x86-64-v2 (SSE4.2), or must be built on this machine");
        const char* wanted = std::getenv("BACKBLOCKS_ISA");
        if (!wanted || !*wanted) return all.back();
        std::string names;
        for (const Isa* isa : all) {
            if (isa->name == std::string(wanted)) return isa;
            names += std::string(" ") + isa->name;
        }
        throw std::runtime_error("BACKBLOCKS_ISA=" + std::string(wanted) +
                                 " is none of what this machine can run:" + names);
    }();
    return chosen;
}

}  // namespace backblocks
