// Products of matrices. No Python in here.
#pragma once

#include <cstdint>
#include <tuple>
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

// The axes in front of the matrices, as Python has them: the size of each, and whether a and b have it. A
// matrix that has not is taken again and again.
using BatchAxes = std::vector<std::tuple<std::int64_t, bool, bool>>;

}  // namespace backblocks
