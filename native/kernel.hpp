// The interface of a kernel: which tensors it reads and writes, and a function of their memory. No Python in here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "choice.hpp"
#include "dtypes.hpp"

namespace backblocks {

// A tensor that a kernel reads or writes.
struct Operand {
    Type dtype;
    std::int64_t size;  // number of elements
};

// A kernel prepared for one geometry.
struct Kernel {
    std::vector<Operand> inputs, outputs;
    // Takes where the elements of the inputs are, then those of the outputs. All are aligned and in row-major
    // order; an output shares no memory with any other tensor. Not called if all outputs are empty.
    std::function<void(void* const* tensors)> run;
    // Which algorithm it runs, if it has more than one.
    std::function<Choice()> explain{};
};

// A shape of any rank.
using Shape = std::vector<std::int64_t>;

// The operand of a shape, whose size must fit in memory.
Operand operand(Type dtype, std::span<const std::int64_t> shape);

// The same kernel where outputs are sums over the inputs: if an input is empty, outputs are zeros without a call.
Kernel zeros_if_empty(Kernel kernel);

// Refuses parameters that would be unsafe in a kernel; in Python a ValueError with the kernel's name.
inline void require(bool holds, const char* rule) {
    if (!holds) throw std::invalid_argument(rule);
}

}  // namespace backblocks
