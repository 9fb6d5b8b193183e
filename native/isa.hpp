// The instruction sets that kernels are compiled for, and which of them runs. No Python in here.
#pragma once

#include <vector>

#include "geometry.hpp"
#include "kernel.hpp"
#include "matmul.hpp"
#include "roofline.hpp"

namespace backblocks {

// The kernels of one instruction set, by name.
struct Isa {
    const char* name;
    const RooflineKernels& roofline;
#define SOURCE(file, widest, contraction, ...) __VA_ARGS__
#define KERNEL(name, parameters, tensors) Kernel(*name) parameters;
#include "kernels.def"
};

// Every kernel is declared in the namespace of each instruction set. Those without a v4 of their own have
// that of v3 there.
#define SOURCE(file, widest, contraction, ...) \
    namespace baseline { __VA_ARGS__ }         \
    namespace v3 { __VA_ARGS__ }               \
    DECLARE_##widest(__VA_ARGS__)
#define DECLARE_v3(...)
#define DECLARE_v4(...) namespace v4 { __VA_ARGS__ }
#define KERNEL(name, parameters, tensors) Kernel name parameters;
#include "kernels.def"
#undef DECLARE_v3
#undef DECLARE_v4

#define SOURCE(file, widest, contraction, ...) USE_##widest(__VA_ARGS__)
#define USE_v3(...) namespace v4 { __VA_ARGS__ }
#define USE_v4(...)
#define KERNEL(name, parameters, tensors) using v3::name;
#include "kernels.def"
#undef USE_v3
#undef USE_v4

namespace baseline {
extern const Isa isa;
}
namespace v3 {
extern const Isa isa;
}
namespace v4 {
extern const Isa isa;
}

// The instruction sets that this machine has and the kernels are compiled for, the least first.
std::vector<const Isa*> isas();

// The best of them, or the one that the environment variable BACKBLOCKS_ISA names.
const Isa& chosen_isa();

}  // namespace backblocks
