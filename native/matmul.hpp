// The geometry of products of matrices. No Python in here.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "dtypes.hpp"

namespace backblocks {

// c[i, j] = sum over k of a[i, k] * b[k, j]. All are in row-major order; one that is transposed lies in
// memory as a[k, i] or b[j, k].
struct Matmul {
    std::int64_t rows, inner, columns;
    bool a_transposed, b_transposed;
    // The loops over the matrices of a batch, outermost first. A step counts numbers, and is 0 where a or b is
    // broadcast: one matrix serves the whole loop.
    struct BatchLoop {
        std::int64_t n, a_step, b_step;
    };
    std::vector<BatchLoop> batch;
};

// The batch axes, as Python has them: the size of each, and whether a and b have it. A matrix without the axis
// is broadcast along it.
using BatchAxes = std::vector<std::tuple<std::int64_t, bool, bool>>;

}  // namespace backblocks
