// What the machine can do at most: the yardsticks of the benchmark. No Python in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace backblocks {

struct LimitKernels {
    // Reads every input once and writes the output once, as no kernel can do with less.
    void (*stream)(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> output,
                   bool around_cache);
    // Multiplies and adds in registers on every thread; gives the number of operations.
    double (*multiply_add)(bool doubles, std::int64_t steps);
};

#ifdef ISA
namespace ISA {
extern const LimitKernels limit_kernels;
}
#endif

}  // namespace backblocks
