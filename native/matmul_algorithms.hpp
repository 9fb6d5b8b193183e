// The algorithms that multiply two matrices (GEMM), each in a file of its own, and what they share. Which of them
// runs is chosen in matmul.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conv_plan.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "tile.hpp"

namespace backblocks::ISA::gemm {

using convolution::div_up;

// Products that take about as long as moving a byte.
constexpr double kProductsPerByte = 8;

// A matrix whose entry (i, k) is at data[i * row + k * column].
template <class N>
struct Matrix {
    N* data;
    std::int64_t row, column;

    Matrix transposed() const { return {data, column, row}; }
    N* at(std::int64_t i, std::int64_t k) const { return data + i * row + k * column; }
};

template <class N>
struct Operands {
    std::int64_t rows, inner, columns;
    Matrix<const N> a, b;
    Matrix<N> c;

    // The transpose of c is the product of the other's transposes.
    Operands transposed() const {
        return {columns, inner, rows, b.transposed(), a.transposed(), c.transposed()};
    }

    // The work, in bytes for parallel_for.
    std::int64_t bytes() const {
        const auto m = static_cast<double>(rows), k = static_cast<double>(inner),
                   n = static_cast<double>(columns);
        return static_cast<std::int64_t>(std::min(
            m * k * n / kProductsPerByte + (m * k + k * n + m * n) * double{sizeof(N)}, 1e18));
    }
};

// Bytes ahead of those that are read, which are prefetched.
constexpr std::uintptr_t kAhead = 1024;

template <class N>
BACKBLOCKS_INLINE void fetch_ahead(const N* from) {
    // As a number: there may be no array so far on, and nothing is read there then.
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + kAhead));
}

// The numbers that are left of so many after full vectors.
template <class N>
BACKBLOCKS_INLINE Tail tail_of(std::int64_t count) {
    return {count & (kLanes<N> - 1)};
}

// Masked stores.
#if defined(__AVX512F__)
BACKBLOCKS_INLINE void store_tail(const Vector<float>& v, float* to, Tail tail) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1 << tail.count) - 1), v);
}
BACKBLOCKS_INLINE void store_tail(const Vector<double>& v, double* to, Tail tail) {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1 << tail.count) - 1), v);
}
#else
template <class N>
BACKBLOCKS_INLINE void store_tail(const Vector<N>& v, N* to, Tail tail) {
    store(v, to, tail);
}
#endif

// A partition of 0 .. n - 1 into as few parts as have at most so many numbers; their sizes differ by one at most.
struct EvenParts {
    std::int64_t parts, each, longer;

    EvenParts(std::int64_t n, std::int64_t most)
        : parts(div_up(n, most)), each(parts == 1 ? n : n / parts), longer(n - parts * each) {}

    std::int64_t first(std::int64_t part) const { return part * each + std::min(part, longer); }
};

// Calls body(begin, end) for chunks of 0 .. n - 1: in parallel, or `serial` where the caller is one of several
// threads already.
template <class Body>
void for_chunks(bool serial, std::int64_t n, std::int64_t bytes, const Body& body) {
    if (serial) body(0, n);
    else parallel_for(n, bytes, body);
}

// -- the algorithms -------------------------------------------------------------------------------

// Each computes c, in parallel unless it is `serial`. The functions whose names begin with tasks_ give how many
// tasks the threads share.

// matmul_dots.cpp: dot products of rows of a and columns of b, at most kMostDots of these; lanes run along k.
// Rows of a, and columns of b if there is one, are contiguous. One dot product shorter than kLongDot is faster
// without tasks.
constexpr std::int64_t kMostDots = 8;
constexpr std::int64_t kLongDot = std::int64_t{1} << 15;
template <class N>
void multiply_one_dot(const Operands<N>& p);
template <class N>
void multiply_dots(const Operands<N>& p, bool serial);
template <class N>
std::int64_t tasks_of_dots(const Operands<N>& p);

// matmul_rows.cpp: for few rows of a. Rows of b, which are contiguous, are scaled and added.
template <class N>
void multiply_rows(const Operands<N>& p, bool serial);
template <class N>
std::int64_t tasks_of_rows(const Operands<N>& p);

// matmul_tiles.cpp: register tiles. For few rows of a, b is read in place or packed a little at a time; else all
// of it is packed into panels, which blocks of kRows rows of a and kDepth numbers of a sum use again.
constexpr std::int64_t kRows = 96, kDepth = 512;
template <class N>
void multiply_few_rows(const Operands<N>& p, bool serial);
template <class N>
std::int64_t tasks_of_few_rows(const Operands<N>& p);
template <class N>
void multiply_packed(const Operands<N>& p, bool serial);
template <class N>
std::int64_t tasks_of_packed(const Operands<N>& p);

}  // namespace backblocks::ISA::gemm
