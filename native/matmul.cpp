// Products of matrices (GEMM), one or a batch of them: which algorithm multiplies two matrices
// (matmul_algorithms.hpp), and how threads share a batch.
#include "matmul.hpp"

#include <algorithm>
#include <cstdint>

#include "choice.hpp"
#include "isa.hpp"
#include "matmul_algorithms.hpp"
#include "parallel.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace ISA::gemm;

// -- which algorithm ------------------------------------------------------------------------------

enum class MatmulAlgorithm {
    one_dot,
    dots,
    dots_of_transposed,
    rows,
    rows_of_transposed,
    few_rows,
    few_rows_of_transposed,
    packed,
};

// Which algorithm multiplies two matrices. Nothing else decides.
template <class N>
Chosen<MatmulAlgorithm> choose_matmul(const Operands<N>& p) {
    using enum MatmulAlgorithm;
    const bool a_contiguous = p.a.column == 1, b_contiguous = p.b.column == 1;
    // Dot products add up the lanes of each sum at its end: so they must be long, unless there is one.
    constexpr std::int64_t short_dot = 16;
    const auto few_dots = [&](std::int64_t n) {
        return n == 1 ? p.inner >= kLanes<N> / 2 : n <= kMostDots && p.inner >= n * short_dot;
    };
    if (p.rows == 1 && p.columns == 1 && p.inner < kLongDot) return {one_dot, "it is one short dot product"};
    if (a_contiguous && few_dots(p.columns))
        return {dots, "b has at most 8 columns, and sums of 16 numbers a column: lanes run along the sum"};
    if (p.b.row == 1 && few_dots(p.rows))
        return {dots_of_transposed,
                "a has at most 8 rows, and sums of 16 numbers a row: lanes run along the sum"};
    // Two rows, if b does not fit in the cache of a core and its rows are long: reading it is the work.
    constexpr std::int64_t large = std::int64_t{1} << 18, long_row = 256;
    const auto few_long_rows = [&](std::int64_t rows, std::int64_t columns) {
        return rows == 1 || (rows <= 2 && columns >= long_row && p.inner * columns >= large);
    };
    if (b_contiguous && few_long_rows(p.rows, p.columns))
        return {rows, "a has one row, or two and b is large: rows of b are added as they lie in memory"};
    // Twice the rows of a register tile use b too seldom to pack all of it.
    if (p.rows <= 2 * most_rows(2)) return {few_rows, "a has so few rows that packing b would not pay"};
    // Of a short sum, writing is most of the work, and the transpose would write with a stride.
    if (p.columns == 1 || (!a_contiguous && p.columns <= most_rows(2) && p.inner > short_dot)) {
        if (!a_contiguous && few_long_rows(p.columns, p.rows))
            return {rows_of_transposed, "b has one column, and rows of the transpose of a are contiguous"};
        return {few_rows_of_transposed, "b has so few columns that packing the transpose of a would not pay"};
    }
    return {packed, "there are rows and columns enough to use packed panels of b again"};
}

template <class N>
void multiply(const Operands<N>& p, bool serial) {
    switch (choose_matmul(p).algorithm) {
        case MatmulAlgorithm::one_dot: return multiply_one_dot(p);
        case MatmulAlgorithm::dots: return multiply_dots(p, serial);
        case MatmulAlgorithm::dots_of_transposed: return multiply_dots(p.transposed(), serial);
        case MatmulAlgorithm::rows: return multiply_rows(p, serial);
        case MatmulAlgorithm::rows_of_transposed: return multiply_rows(p.transposed(), serial);
        case MatmulAlgorithm::few_rows: return multiply_few_rows(p, serial);
        case MatmulAlgorithm::few_rows_of_transposed: return multiply_few_rows(p.transposed(), serial);
        case MatmulAlgorithm::packed: break;
    }
    multiply_packed(p, serial);
}

template <class N>
Choice explain(const Operands<N>& p) {
    const auto [algorithm, reason] = choose_matmul(p);
    const auto dots = [&](const Operands<N>& p) {
        return Choice{kIsaName, "dot products", reason}.with_loop(tasks_of_dots(p), p.bytes());
    };
    const auto rows = [&](const Operands<N>& p) {
        return Choice{kIsaName, "sum of rows", reason}.with_loop(tasks_of_rows(p), p.bytes());
    };
    const auto few_rows = [&](const Operands<N>& p) {
        Choice choice{kIsaName, "register tiles", reason};
        choice.with("b", p.b.column == 1 ? "read in place" : "packed a little at a time");
        choice.with("register tile", {most_rows(2), kPanel<N>});
        return choice.with_loop(tasks_of_few_rows(p), p.bytes());
    };
    switch (algorithm) {
        case MatmulAlgorithm::one_dot: return {kIsaName, "one dot product", reason};
        case MatmulAlgorithm::dots: return dots(p);
        case MatmulAlgorithm::dots_of_transposed: return dots(p.transposed());
        case MatmulAlgorithm::rows: return rows(p);
        case MatmulAlgorithm::rows_of_transposed: return rows(p.transposed());
        case MatmulAlgorithm::few_rows: return few_rows(p);
        case MatmulAlgorithm::few_rows_of_transposed: return few_rows(p.transposed());
        case MatmulAlgorithm::packed: break;
    }
    Choice choice{kIsaName, "packed register tiles (GEMM)", reason};
    choice.with("register tile", {most_rows(2), kPanel<N>});
    choice.with("block of rows x depth", {std::min(p.rows, kRows), std::min(p.inner, kDepth)});
    return choice.with_loop(tasks_of_packed(p), p.bytes());
}

// -- batches --------------------------------------------------------------------------------------

// The matrices of a product, by their number in the batch.
template <class N>
Operands<N> operands_of(const N* a, const N* b, N* c, const Matmul& p, std::int64_t number) {
    std::int64_t of_a = 0, of_b = 0, left = number;
    for (auto axis = p.batch.rbegin(); axis != p.batch.rend(); ++axis) {
        const bool last = axis + 1 == p.batch.rend();
        const std::int64_t rest = last ? 0 : left / axis->n, index = left - rest * axis->n;
        of_a += index * axis->a_step;
        of_b += index * axis->b_step;
        left = rest;
    }
    const Matrix<const N> of_rows{a + of_a, p.a_transposed ? 1 : p.inner, p.a_transposed ? p.rows : 1};
    const Matrix<const N> of_columns{b + of_b, p.b_transposed ? 1 : p.columns,
                                     p.b_transposed ? p.inner : 1};
    return {p.rows, p.inner, p.columns, of_rows, of_columns,
            {c + number * p.rows * p.columns, p.columns, 1}};
}

// Whether threads share the matrices of a batch: many small ones. Each of few large ones is divided.
struct Batch {
    std::int64_t count = 1;
    bool shared;

    Batch(const Matmul& p, std::int64_t bytes_of_each) {
        for (const auto& axis : p.batch) count *= axis.n;
        shared = count > 1 && bytes_of_each <= std::int64_t{1} << 22;
    }
};

template <class N>
void multiply_batch(const N* a, const N* b, N* c, const Matmul& p) {
    const std::int64_t each = operands_of(a, b, c, p, 0).bytes();
    const Batch batch(p, each);
    if (!batch.shared) {
        for (std::int64_t i = 0; i < batch.count; ++i) multiply(operands_of(a, b, c, p, i), false);
        return;
    }
    parallel_for(batch.count, batch.count * each, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) multiply(operands_of(a, b, c, p, i), true);
    });
}

template <class N>
Choice explain_batch(const Matmul& p) {
    const Operands<N> operands = operands_of<N>(nullptr, nullptr, nullptr, p, 0);
    const Batch batch(p, operands.bytes());
    Choice choice = explain(operands);
    if (batch.shared)
        choice.with("matrices", batch.count).split =
            split_loop(batch.count, batch.count * operands.bytes());
    return choice;
}

}  // namespace

Kernel ISA::matmul(Type dtype, std::int64_t rows, std::int64_t inner, std::int64_t columns,
                   bool a_transposed, bool b_transposed, const BatchAxes& batch) {
    Matmul matmul{rows, inner, columns, a_transposed, b_transposed, {}};
    Shape a{rows, inner}, b{inner, columns}, c{rows, columns};
    for (auto axis = batch.rbegin(); axis != batch.rend(); ++axis) {
        const auto [n, in_a, in_b] = *axis;
        const std::int64_t of_a = operand(dtype, a).size, of_b = operand(dtype, b).size;
        matmul.batch.insert(matmul.batch.begin(), {n, in_a ? of_a : 0, in_b ? of_b : 0});
        if (in_a) a.push_back(n);
        if (in_b) b.push_back(n);
        c.push_back(n);
    }
    const auto kernel = [&]<class N>(N) {
        return zeros_if_empty({{operand(dtype, a), operand(dtype, b)}, {operand(dtype, c)}, [matmul](void* const* t) {
                            multiply_batch(in<N>(t[0]), in<N>(t[1]), out<N>(t[2]), matmul);
                        }, [matmul] { return explain_batch<N>(matmul); }});
    };
    if (dtype == Type::float64) return kernel(double{});
    require(dtype == Type::float32, "must be float32 or float64");
    return kernel(float{});
}

}  // namespace backblocks
