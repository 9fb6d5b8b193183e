// Measures the limits of the machine for the benchmark's roofline: memory bandwidth and peak rate of multiply-adds. No
// Python in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace backblocks {

struct RooflineKernels {
    // Reads every input once and writes the output once: the least memory traffic that a kernel can have.
    void (*stream)(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> output,
                   bool around_cache);
    // Multiplies and adds in registers on every thread; gives the number of operations.
    double (*multiply_add)(bool doubles, std::int64_t steps);
};

#ifdef ISA
namespace ISA {
extern const RooflineKernels roofline_kernels;
}
#endif

}  // namespace backblocks
