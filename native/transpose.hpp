// Transposition of matrices in registers, a square of vectors at a time: moving numbers one by one would take longer
// than multiplying them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tile.hpp"

namespace backblocks::ISA {

// Interleaves two vectors: the lower halves, or the upper ones, of each group of lanes.
template <bool upper, std::size_t width, class V, std::size_t... lane>
BACKBLOCKS_INLINE V interleave_halves(const V& a, const V& b, std::index_sequence<lane...>) {
    constexpr std::size_t lanes = sizeof...(lane);
    return __builtin_shufflevector(a, b,
                                   (lane % 2 * lanes + lane / width * width + lane % width / 2 +
                                    (upper ? width / 2 : 0))...);
}

// Transposes a square in registers. A perfect shuffle of its rows, once for every bit of a row's number, is
// the transpose. Squares narrower than a vector are side by side in it.
template <class V, std::size_t width>
BACKBLOCKS_INLINE void transpose_square(V (&square)[width]) {
    constexpr auto all = std::make_index_sequence<sizeof(V) / sizeof(square[0][0])>{};
#pragma GCC unroll 4
    for (std::size_t cut = 1; cut < width; cut *= 2) {
        V next[width];
#pragma GCC unroll 8
        for (std::size_t l = 0; l < width / 2; ++l) {
            next[2 * l] = interleave_halves<false, width>(square[l], square[l + width / 2], all);
            next[2 * l + 1] = interleave_halves<true, width>(square[l], square[l + width / 2], all);
        }
        std::copy(next, next + width, square);
    }
}

// to(j)[i] = from(i)[j] for i < rows and j < columns, where from and to give pointers.
template <class From, class To>
void transpose(std::int64_t rows, std::int64_t columns, From from, To to) {
    using N = std::remove_cvref_t<decltype(*to(0))>;
    constexpr int lanes = kLanes<N>;
    if (rows < lanes || columns < lanes) {
        for (std::int64_t j = 0; j < columns; ++j)
            for (std::int64_t i = 0; i < rows; ++i) to(j)[i] = from(i)[j];
        return;
    }
    // The last square may overlap the one before.
    for (std::int64_t row = 0; row < rows; row += lanes)
        for (std::int64_t column = 0; column < columns; column += lanes) {
            const std::int64_t i = std::min(row, rows - lanes), j = std::min(column, columns - lanes);
            Vector<N> square[lanes];
#pragma GCC unroll 16
            for (int l = 0; l < lanes; ++l) square[l] = load_vector(from(i + l) + j);
            transpose_square(square);
#pragma GCC unroll 16
            for (int l = 0; l < lanes; ++l) store_vector(to(j + l) + i, square[l]);
        }
}

// A vector of `lanes` numbers.
template <class N, int lanes>
struct VectorOfLanes {
    typedef N type __attribute__((vector_size(lanes * sizeof(N))));
    typedef N loose __attribute__((vector_size(lanes * sizeof(N)), aligned(alignof(N)), may_alias));
};

// The first `width` numbers of as many rows as fill a vector, side by side.
template <class N, int lanes, int width>
BACKBLOCKS_INLINE typename VectorOfLanes<N, lanes>::type load_rows(const N* from, std::int64_t row) {
    if constexpr (lanes == width) {
        return *reinterpret_cast<const typename VectorOfLanes<N, lanes>::loose*>(from);
    } else {
        const auto first = load_rows<N, lanes / 2, width>(from, row);
        const auto rest = load_rows<N, lanes / 2, width>(from + lanes / 2 / width * row, row);
        return [&]<std::size_t... lane>(std::index_sequence<lane...>) BACKBLOCKS_INLINE_LAMBDA {
            return __builtin_shufflevector(first, rest, lane...);
        }(std::make_index_sequence<lanes>{});
    }
}

// transpose_lines for as many rows as can be transposed in vectors of `lanes` and narrower ones;
// returns how many. It reads `width` numbers of each, which may be more than there are columns, but no
// more than `readable` numbers in all.
template <class N, int lanes, int width>
std::int64_t transpose_rows(std::int64_t rows, std::int64_t columns, const N* from, std::int64_t row,
                        std::int64_t readable, N* to, std::int64_t step) {
    std::int64_t i = 0;
    for (; i + lanes <= rows && (i + lanes - 1) * row + width <= readable; i += lanes) {
        typename VectorOfLanes<N, lanes>::type square[width];
#pragma GCC unroll 16
        for (int l = 0; l < width; ++l)
            square[l] = load_rows<N, lanes, width>(from + (i + l) * row, width * row);
        transpose_square(square);
#pragma GCC unroll 16
        for (int l = 0; l < width; ++l)
            if (l < columns)
                *reinterpret_cast<typename VectorOfLanes<N, lanes>::loose*>(to + l * step + i) =
                    square[l];
    }
    if constexpr (lanes > width)
        i += transpose_rows<N, lanes / 2, width>(rows - i, columns, from + i * row, row,
                                             readable - i * row, to + i, step);
    return i;
}

// The same by the narrowest squares that hold the columns.
template <class N, int width = 2>
std::int64_t transpose_narrow(std::int64_t rows, std::int64_t columns, const N* from, std::int64_t row,
                      std::int64_t readable, N* to, std::int64_t step) {
    if constexpr (width < kLanes<N>)
        if (columns > width)
            return transpose_narrow<N, 2 * width>(rows, columns, from, row, readable, to, step);
    return transpose_rows<N, kLanes<N>, width>(rows, columns, from, row, readable, to, step);
}

// to[j * step + i] = from[i * row + j] for i < rows and j < columns. The numbers of a row are
// contiguous; rows may be shorter than a vector, and there may be fewer of them.
template <class N>
void transpose_lines(std::int64_t rows, std::int64_t columns, const N* from, std::int64_t row, N* to,
                     std::int64_t step) {
    const std::int64_t end = (rows - 1) * row + columns;
    std::int64_t widest = kLanes<N>;
    // Rows that fill vectors first, then the others in narrower ones.
    for (std::int64_t from_row = 0, count; from_row < rows; from_row += count) {
        count = rows - from_row;
        if (count > kLanes<N>) count -= count % kLanes<N>;
        while (widest > 2 && widest > count) widest /= 2;
        for (std::int64_t first = 0; first < columns; first += widest) {
            const std::int64_t some = std::min(columns - first, widest);
            const N* const lines = from + from_row * row + first;
            N* const transposed = to + first * step + from_row;
            const std::int64_t readable = end - from_row * row - first;
            for (std::int64_t i = transpose_narrow(count, some, lines, row, readable, transposed, step); i < count;
                 ++i)
                for (std::int64_t j = 0; j < some; ++j) transposed[j * step + i] = lines[i * row + j];
        }
    }
}

}  // namespace backblocks::ISA
