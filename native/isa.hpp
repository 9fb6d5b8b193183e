// Which instructions the kernels use. No Python in here.
#pragma once

#include <string>
#include <vector>

#include "conv.hpp"
#include "depthwise.hpp"
#include "dilation.hpp"
#include "limits.hpp"
#include "pool.hpp"
#include "product.hpp"

namespace backblocks {

// The kernels built for one instruction set.
struct Isa {
    std::string name;
    const PoolKernels& pool;
    const ConvKernels& conv;
    const DepthwiseKernels& depthwise;
    const DilationKernels& dilation;
    const ProductKernels& product;
    const LimitKernels& limits;
};

// The instruction sets this machine has and the kernels are built for, the least first.
std::vector<Isa> isas();

// The best of them, or the one that the environment variable BACKBLOCKS_ISA names.
const Isa& chosen_isa();

}  // namespace backblocks
