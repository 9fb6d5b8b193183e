// The register tile, micro-kernel of all matrix products: a small tile of the result stays in registers while all
// products are added to it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "stream.hpp"
#include "vector.hpp"

namespace backblocks::ISA {

// Columns of a full tile.
template <class N>
constexpr int kPanel = 2 * kLanes<N>;

// Rows of the largest tile of that many vectors. With two vectors there are 12 sums, two vectors of
// b and one number of a in 16 registers; with one, 8 sums hide the latency of a multiply-add.
// Where there are 32 vector registers, addresses of more than 8 rows would not fit in the general registers.
constexpr int most_rows(int vectors) { return vectors == 2 && kVectorBytes < 64 ? 6 : 8; }

template <class N>
BACKBLOCKS_INLINE Vector<N> load_vector(const N* from) {
    return *reinterpret_cast<const typename VectorOf<N>::loose*>(from);
}

template <class N>
BACKBLOCKS_INLINE void store_vector(N* to, const Vector<N>& v) {
    *reinterpret_cast<typename VectorOf<N>::loose*>(to) = v;
}

// Sums of `rows` rows and `vectors` vectors of columns. Rows may be anywhere: each has an offset
// in a and one in c.
template <class N, int rows, int vectors>
struct Tile {
    Vector<N> sum[rows][vectors];

    BACKBLOCKS_INLINE void clear() {
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) sum[i][v] = Vector<N>{};
    }

    BACKBLOCKS_INLINE void load(const N* c, const std::int64_t* offsets) {
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v)
                sum[i][v] = load_vector(c + offsets[i] + v * kLanes<N>);
    }

    BACKBLOCKS_INLINE void store(N* c, const std::int64_t* offsets) const {
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v)
                store_vector(c + offsets[i] + v * kLanes<N>, sum[i][v]);
    }

    // The same with streaming stores. Places must be multiples of a cache line.
    BACKBLOCKS_INLINE void stream(N* c, const std::int64_t* offsets) const {
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) stream_bytes<sizeof sum[i]>(sum[i], c + offsets[i]);
    }

    // Where the rows of a begin.
    struct Rows {
        const N* row[rows];

        BACKBLOCKS_INLINE Rows(const N* a, const std::int64_t* offsets) {
#pragma GCC unroll 8
            for (int i = 0; i < rows; ++i) row[i] = a + offsets[i];
        }
    };

    // sum[i, j] += sum over k < depth: a.row[i][first + k * a_step] * b[k * b_step + j]
    BACKBLOCKS_INLINE void add(std::int64_t depth, const Rows& a, std::int64_t first,
                               std::int64_t a_step, const N* b, std::int64_t b_step) {
        repeat(depth, [&]() BACKBLOCKS_INLINE_LAMBDA {
            add_products(b, [&](int i) { return a.row[i][first]; });
            b += b_step;
            first += a_step;
        });
    }

    // The same for a whose rows are contiguous:
    // sum[i, j] += sum over k < depth: a[k * a_step + i] * b[k * b_step + j]
    BACKBLOCKS_INLINE void add_contiguous(std::int64_t depth, const N* a, std::int64_t a_step,
                                            const N* b, std::int64_t b_step) {
        repeat(depth, [&]() BACKBLOCKS_INLINE_LAMBDA {
            add_products(b, [&](int i) { return a[i]; });
            b += b_step;
            a += a_step;
        });
    }

   private:
    // Four at a time: the end of a short loop is predicted more often.
    template <class F>
    BACKBLOCKS_INLINE static void repeat(std::int64_t times, F f) {
        for (; times >= 4; times -= 4) {
            f();
            f();
            f();
            f();
        }
        for (; times > 0; --times) f();
    }

    template <class At>
    BACKBLOCKS_INLINE void add_products(const N* b, At at) {
        Vector<N> column[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) column[v] = load_vector(b + v * kLanes<N>);
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) sum[i][v] += column[v] * at(i);
    }
};

// Calls f with std::integral_constant<int, n>, for 1 <= n <= most.
template <int most, class F>
BACKBLOCKS_INLINE void with_constant(std::int64_t n, F f) {
    if constexpr (most > 1)
        if (n < most) return with_constant<most - 1>(n, f);
    f(std::integral_constant<int, most>{});
}

}  // namespace backblocks::ISA
