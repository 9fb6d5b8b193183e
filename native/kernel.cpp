#include "kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

namespace backblocks {

Operand operand(Type dtype, std::span<const std::int64_t> shape) {
    // Sixteen bytes are the largest element.
    std::int64_t size = 1, left = std::numeric_limits<std::int64_t>::max() / 16;
    for (const std::int64_t n : shape) {
        require(n >= 0, "sizes must not be negative");
        require(n <= left, "an array is too large");
        left /= std::max<std::int64_t>(n, 1);
        size *= n;
    }
    return {dtype, size};
}

Kernel zeros_if_empty(Kernel kernel) {
    const auto empty = [](const Operand& each) { return each.size == 0; };
    if (std::ranges::none_of(kernel.inputs, empty)) return kernel;
    kernel.run = [first = kernel.inputs.size(), outputs = kernel.outputs](void* const* tensors) {
        for (std::size_t i = 0; i < outputs.size(); ++i)
            std::memset(tensors[first + i], 0,
                        static_cast<std::size_t>(outputs[i].size) * bytes_of(outputs[i].dtype));
    };
    return kernel;
}

}  // namespace backblocks
