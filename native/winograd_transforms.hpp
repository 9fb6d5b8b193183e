// The transforms of Winograd's algorithm (winograd.cpp): of inputs, filters and gradients to the interpolation points,
// and of products back from them.
#pragma once

#include <cstdint>

#include "simd.hpp"
#include "tile.hpp"

namespace backblocks::ISA {

template <class V>
BACKBLOCKS_INLINE void input_transform(V* d, int step) {
    const V &d0 = d[0], &d1 = d[step], &d2 = d[2 * step], &d3 = d[3 * step];
    const V m0 = d0 - d2, m1 = d1 + d2, m2 = d2 - d1, m3 = d1 - d3;
    d[0] = m0;
    d[step] = m1;
    d[2 * step] = m2;
    d[3 * step] = m3;
}

template <class V>
BACKBLOCKS_INLINE void filter_transform(V* g, int step) {
    const V g0 = g[0], g1 = g[step], g2 = g[2 * step];
    const V outer = (g0 + g2) / 2, half = g1 / 2;
    g[step] = outer + half;
    g[2 * step] = outer - half;
    g[3 * step] = g2;
}

template <class V>
BACKBLOCKS_INLINE void output_transform(V* m, int step) {
    const V m0 = m[0], m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    m[0] = m0 + m1 + m2;
    m[step] = m1 - m2 - m3;
}

// The same for the filter gradient: g[0] and g[step] are the gradients of two outputs.
template <class V>
BACKBLOCKS_INLINE void gradient_transform(V* g, int step) {
    const V g0 = g[0], g1 = g[step];
    g[step] = g0 + g1;
    g[2 * step] = g0 - g1;
    g[3 * step] = g1;
}

template <class V>
BACKBLOCKS_INLINE void filter_gradient_transform(V* m, int step) {
    const V m0 = m[0], m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    const V outer = (m1 + m2) / 2;
    m[0] = m0 + outer;
    m[step] = (m1 - m2) / 2;
    m[2 * step] = outer - m3;
}

// The transforms of a tile of four by four elements and, if the depth has three taps, by four. Each plane is
// transformed in registers.
template <class N, int planes>
struct WinogradTile {
    using V = Vector<N>;
    static constexpr int points = planes * 16;
    V all[points];

    template <class S>
    BACKBLOCKS_INLINE void inputs(const S* const* elements, std::int64_t c, N* to,
                                   std::int64_t stride) {
        for (int d = 0; d < points; d += 16) {
            V plane[16];
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i) plane[i] = load(elements[d + i] + c);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) input_transform(plane + i * 4, 1);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) input_transform(plane + i, 4);
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i)
                if constexpr (planes > 1) all[d + i] = plane[i];
                else store(plane[i], to + i * stride);
        }
        if constexpr (planes > 1)
            for (int i = 0; i < 16; ++i) {
                V line[4]{all[i], all[16 + i], all[32 + i], all[48 + i]};
                input_transform(line, 1);
#pragma GCC unroll 4
                for (int d = 0; d < 4; ++d) store(line[d], to + (d * 16 + i) * stride);
            }
    }

    void filters(const N* from, std::int64_t step, N* to, std::int64_t stride) {
        for (int t = 0; t < (planes > 1 ? 27 : 9); ++t)
            all[t / 9 * 16 + t % 9 / 3 * 4 + t % 3] = load(from + t * step);
        for (int d = 0; d < (planes > 1 ? 48 : 16); d += 16) {
            for (int i = 0; i < 3; ++i) filter_transform(all + d + i * 4, 1);
            for (int i = 0; i < 4; ++i) filter_transform(all + d + i, 4);
        }
        if constexpr (planes > 1)
            for (int i = 0; i < 16; ++i) filter_transform(all + i, 16);
        for (int i = 0; i < points; ++i) store(all[i], to + i * stride);
    }

    // Transforms products to outputs. Gives zeros, or NaN if one is not finite.
    template <class S>
    BACKBLOCKS_INLINE V outputs(const N* from, std::int64_t stride, S* const* elements,
                                std::int64_t c) {
        for (int d = 0; d < points; d += 16) {
            V plane[16];
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i) plane[i] = load(from + (d + i) * stride);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) output_transform(plane + i * 4, 1);
#pragma GCC unroll 2
            for (int i = 0; i < 2; ++i) output_transform(plane + i, 4);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) all[d + i] = plane[i / 2 * 4 + i % 2];
        }
        V zeros{};
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            if constexpr (planes > 1) output_transform(all + i, 16);
#pragma GCC unroll 2
            for (int d = 0; d < (planes > 1 ? 2 : 1); ++d)
                if (S* element = elements[d * 4 + i]) {
                    store_rounded(all[d * 16 + i], element + c);
                    zeros += all[d * 16 + i] * N{0};
                }
        }
        return zeros;
    }

    // Transforms the gradients in the outputs of a tile.
    template <class S>
    BACKBLOCKS_INLINE void gradients(const S* const* elements, std::int64_t c, N* to,
                                     std::int64_t stride) {
        for (int d = 0; d < (planes > 1 ? 2 : 1); ++d) {
            V plane[16];
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) plane[i / 2 * 4 + i % 2] = load(elements[d * 4 + i] + c);
#pragma GCC unroll 2
            for (int i = 0; i < 2; ++i) gradient_transform(plane + i * 4, 1);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) gradient_transform(plane + i, 4);
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i)
                if constexpr (planes > 1) all[d * 16 + i] = plane[i];
                else store(plane[i], to + i * stride);
        }
        if constexpr (planes > 1)
            for (int i = 0; i < 16; ++i) {
                V line[4]{all[i], all[16 + i]};
                gradient_transform(line, 1);
#pragma GCC unroll 4
                for (int d = 0; d < 4; ++d) store(line[d], to + (d * 16 + i) * stride);
            }
    }

    // Transforms sums of products to the gradients in the taps. Gives zeros, or NaN if one is not finite.
    template <class S>
    V tap_gradients(const N* from, std::int64_t stride, S* to, std::int64_t step) {
        for (int i = 0; i < points; ++i) all[i] = load(from + i * stride);
        if constexpr (planes > 1)
            for (int i = 0; i < 16; ++i) filter_gradient_transform(all + i, 16);
        V zeros{};
        for (int d = 0; d < (planes > 1 ? 3 : 1); ++d) {
            for (int i = 0; i < 4; ++i) filter_gradient_transform(all + d * 16 + i, 4);
            for (int h = 0; h < 3; ++h) {
                V* const line = all + d * 16 + h * 4;
                filter_gradient_transform(line, 1);
                for (int w = 0; w < 3; ++w, to += step) {
                    store_rounded(line[w], to);
                    zeros += line[w] * N{0};
                }
            }
        }
        return zeros;
    }
};

}  // namespace backblocks::ISA
