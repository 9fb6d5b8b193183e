// Products of matrices. No Python in here.
#pragma once

#include <cstdint>
#include <vector>

#include "half.hpp"

namespace backblocks {

// c[i, j] = sum over k of a[i, k] * b[k, j]. All are in row-major order; one that is transposed lies in
// memory as a[k, i] or b[j, k].
struct Product {
    std::int64_t rows, inner, columns;
    bool a_transposed, b_transposed;
    // The axes in front of the matrices, outermost first. A step counts numbers, and is 0 where one
    // matrix is taken again and again.
    struct Front {
        std::int64_t n, a_step, b_step;
    };
    std::vector<Front> front;
};

// Of float32 and float64, with fused multiply-adds. Each sum runs in one order, whatever the number of
// threads. `c` shares no memory with `a` and `b`.
struct ProductKernels {
    void (*multiply)(Type, const void* a, const void* b, void* c, const Product&);
};

// The same kernels, built for each instruction set.
namespace baseline {
extern const ProductKernels product_kernels;
}
namespace v2 {
extern const ProductKernels product_kernels;
}
namespace v3 {
extern const ProductKernels product_kernels;
}
namespace v4 {
extern const ProductKernels product_kernels;
}

}  // namespace backblocks
