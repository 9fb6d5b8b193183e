// Turns rows into columns, a square of vectors at a time: where numbers must be read or written one
// by one, that takes longer than multiplying them. In the namespace of the instruction set, see
// tile.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tile.hpp"

namespace backblocks::ISA {

// The numbers of two vectors in turn, of the lower halves or of the upper ones.
template <bool upper, class V, std::size_t... lane>
BACKBLOCKS_INLINE V in_turn(const V& a, const V& b, std::index_sequence<lane...>) {
    constexpr std::size_t lanes = sizeof...(lane);
    return __builtin_shufflevector(
        a, b, (lane % 2 * lanes + lane / 2 + (upper ? lanes / 2 : 0))...);
}

// Makes the i-th numbers of all rows of a square the i-th row. Cutting the pack of rows in halves
// and shuffling these together, as one does with cards, turns it once it was done for every bit of
// a row's number.
template <class V, std::size_t lanes>
BACKBLOCKS_INLINE void turn(V (&square)[lanes]) {
    constexpr auto all = std::make_index_sequence<lanes>{};
#pragma GCC unroll 4
    for (std::size_t cut = 1; cut < lanes; cut *= 2) {
        V next[lanes];
#pragma GCC unroll 8
        for (std::size_t l = 0; l < lanes / 2; ++l) {
            next[2 * l] = in_turn<false>(square[l], square[l + lanes / 2], all);
            next[2 * l + 1] = in_turn<true>(square[l], square[l + lanes / 2], all);
        }
        std::copy(next, next + lanes, square);
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
            turn(square);
#pragma GCC unroll 16
            for (int l = 0; l < lanes; ++l) store_vector(to(j + l) + i, square[l]);
        }
}

}  // namespace backblocks::ISA
