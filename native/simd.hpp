// Loops over vectors of numbers, half types included.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "half.hpp"
#include "vector.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

// Vectors never cross from one file to another, so how they would be passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace backblocks::ISA {

// An integer as wide as N, so that vectors of both have as many lanes.
template <class N>
using Lane = std::conditional_t<sizeof(N) == 8, std::int64_t, std::int32_t>;

template <class N>
inline Vector<N> splat(N x) {
    return x - Vector<N>{};
}

// Either a whole vector, or only its first numbers.
struct Whole {};
struct Part {
    std::int64_t count;
};

template <class N>
    requires std::is_arithmetic_v<N>
inline Vector<N> load(const N* from, Whole = {}) {
    Vector<N> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

template <class N>
inline void store(const Vector<std::type_identity_t<N>>& v, N* to, Whole = {}) {
    std::memcpy(to, &v, sizeof v);
}

template <class N>
inline void store(const Vector<std::type_identity_t<N>>& v, N* to, Part part) {
    std::memcpy(to, &v, static_cast<std::size_t>(part.count) * sizeof(N));
}

// Halves are widened on the way.
inline Vector<float> load(const BFloat16* from, Whole = {}) {
#ifdef __AVX2__
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return (Vector<float>)_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
#else
    float wide[kLanes<float>];
    for (int i = 0; i < kLanes<float>; ++i) wide[i] = widen(from[i]);
    return load(wide);
#endif
}

inline Vector<float> load(const Float16* from, Whole = {}) {
#ifdef __F16C__
    return (Vector<float>)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
    float wide[kLanes<float>];
    for (int i = 0; i < kLanes<float>; ++i) wide[i] = widen(from[i]);
    return load(wide);
#endif
}

template <class T>
inline auto load(const T* from, Part part) {
    T some[kVectorBytes / std::max(sizeof(T), std::size_t{4})] = {};
    std::memcpy(some, from, static_cast<std::size_t>(part.count) * sizeof(T));
    return load(some);
}

// Stores numbers rounded to T.
template <class T>
inline void store_rounded(const Vector<Wide<T>>& v, T* to) {
    if constexpr (std::is_same_v<T, Wide<T>>) {
        store(v, to);
#ifdef __F16C__
    } else if constexpr (std::is_same_v<T, Float16>) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#endif
#ifdef __AVX2__
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        typedef std::uint32_t Bits __attribute__((vector_size(kVectorBytes)));
        const Bits bits = (Bits)v;
        const Bits near = bits + 0x7fffu + ((bits >> 16) & 1u);
        const __m256i high = (__m256i)((v != v ? bits | 0x400000u : near) >> 16);
        // Packs within each half of the vector, hence the reordering.
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0xd8);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
#endif
    } else {
        for (int i = 0; i < kLanes<Wide<T>>; ++i) to[i] = narrow<T>(v[i]);
    }
}

// In a lambda of the innermost loops: compilers tend to call one that is used twice.
#define BACKBLOCKS_INLINED __attribute__((always_inline))

// What a loop keeps of each of the vectors it takes at once, so that they need not wait for each
// other. No array: of that, compilers store every change.
template <class S, int count>
struct Few {
    S a{}, b{}, c{}, d{};
    static constexpr int size = count;

    template <class F>
    BACKBLOCKS_INLINED void each(F f) {
        f(a, 0);
        if constexpr (count > 1) f(b, 1);
        if constexpr (count > 2) {
            f(c, 2);
            f(d, 3);
        }
    }
};

template <int count>
struct Vectors {
    template <class S>
    using Of = Few<S, count>;
};

// Calls f(i, lanes, vectors) so that the numbers i .. i + lanes * vectors - 1 are together
// 0 .. count - 1. Some may be visited twice: f must not change what it reads.
template <class N, int most, class F>
BACKBLOCKS_INLINED inline void each_vectors(std::int64_t count, F f) {
    constexpr std::int64_t step = most * kLanes<N>;
    if (count < step) {
        if constexpr (most > 1) each_vectors<N, most / 2>(count, f);
        else if (count > 0) f(std::int64_t{0}, Part{count}, Vectors<1>{});
        return;
    }
    std::int64_t i = 0;
    for (; i + step <= count; i += step) f(i, Whole{}, Vectors<most>{});
    // As few vectors as hold the rest: many rows are shorter than two steps.
    if constexpr (most > 1)
        if (count - i <= step / 2) {
            if (i < count) f(count - step / 2, Whole{}, Vectors<most / 2>{});
            return;
        }
    if (i < count) f(count - step, Whole{}, Vectors<most>{});
}

// Calls f(i, lanes) so that the numbers i .. i + lanes - 1 are together 0 .. count - 1. Some may be
// visited twice: f must not change what it reads.
template <class N, class F>
BACKBLOCKS_INLINED inline void each_vector(std::int64_t count, F f) {
    each_vectors<N, 1>(count, [&](std::int64_t i, auto lanes, auto) BACKBLOCKS_INLINED {
        f(i, lanes);
    });
}

}  // namespace backblocks::ISA
