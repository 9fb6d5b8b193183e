// The kernels of one instruction set, as a table. Constants only: nothing runs before it is known that the
// machine has these instructions.
#include "isa.hpp"

#define NAME_OF(isa) #isa
#define NAME(isa) NAME_OF(isa)

namespace backblocks {

#define SOURCE(file, widest, contraction, ...) __VA_ARGS__
#define KERNEL(name, parameters, tensors) ISA::name,
constinit const Isa ISA::isa{
    NAME(ISA),
    ISA::roofline_kernels,
#include "kernels.def"
};

}  // namespace backblocks
