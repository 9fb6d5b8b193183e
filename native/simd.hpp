// SIMD operations: loads, stores, shuffles and loops over vectors, half types included.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "dtypes.hpp"
#include "stream.hpp"
#include "vector.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

// Vectors never cross from one file to another, so how they would be passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace backblocks::ISA {

// The integer that is as wide as N, so that vectors of both have as many lanes.
template <class N>
using SameSizeInt = std::conditional_t<sizeof(N) == 8, std::int64_t,
                                       std::conditional_t<sizeof(N) == 2, std::int16_t, std::int32_t>>;

template <class N>
BACKBLOCKS_INLINE Vector<N> broadcast(N x) {
    return x - Vector<N>{};
}

// How many lanes of a vector an access is for: all, or in a tail loop the first ones.
struct FullVector {};
struct Tail {
    std::int64_t count;
};

template <class N>
constexpr std::int64_t count_of(FullVector) {
    return kLanes<N>;
}
template <class N>
constexpr std::int64_t count_of(Tail tail) {
    return tail.count;
}

// Copies less than a vector, by two overlapping accesses: a call of memcpy takes longer than all else
// that is done with the numbers.
BACKBLOCKS_INLINE void copy_tail(const void* from, void* to, std::size_t bytes) {
    const auto ends = [=](auto chunk) {
        constexpr std::size_t size = sizeof chunk;
        const auto* begin = static_cast<const char*>(from);
        auto last = chunk;
        std::memcpy(&chunk, begin, size);
        std::memcpy(&last, begin + bytes - size, size);
        std::memcpy(to, &chunk, size);
        std::memcpy(static_cast<char*>(to) + bytes - size, &last, size);
    };
    if (bytes >= 32) ends(std::array<std::uint64_t, 4>{});
    else if (bytes >= 16) ends(std::array<std::uint64_t, 2>{});
    else if (bytes >= 8) ends(std::uint64_t{});
    else if (bytes >= 4) ends(std::uint32_t{});
    else if (bytes >= 2) ends(std::uint16_t{});
    else if (bytes) ends(char{});
}

template <class N>
    requires std::is_arithmetic_v<N>
BACKBLOCKS_INLINE Vector<N> load(const N* from, FullVector = {}) {
    Vector<N> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

template <class N>
BACKBLOCKS_INLINE void store(const Vector<std::type_identity_t<N>>& v, N* to, FullVector = {}) {
    std::memcpy(to, &v, sizeof v);
}

template <class N>
BACKBLOCKS_INLINE void store(const Vector<std::type_identity_t<N>>& v, N* to, Tail tail) {
    copy_tail(&v, to, static_cast<std::size_t>(tail.count) * sizeof(N));
}

// Loads of halves widen them.
BACKBLOCKS_INLINE Vector<float> load(const BFloat16* from, FullVector = {}) {
#if defined(__AVX512F__)
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return (Vector<float>)((Vector<std::uint32_t>)_mm512_maskz_cvtepu16_epi32(0xffff, bits) << 16);
#elif defined(__AVX2__)
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return (Vector<float>)_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
#else
    float wide[kLanes<float>];
    for (int i = 0; i < kLanes<float>; ++i) wide[i] = widen(from[i]);
    return load(wide);
#endif
}

BACKBLOCKS_INLINE Vector<float> load(const Float16* from, FullVector = {}) {
#if defined(__AVX512F__)
    // With a mask, of all lanes: without, GCC 12 warns of what it leaves out.
    return (Vector<float>)_mm512_maskz_cvtph_ps(
        0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__F16C__)
    return (Vector<float>)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
    float wide[kLanes<float>];
    for (int i = 0; i < kLanes<float>; ++i) wide[i] = widen(from[i]);
    return load(wide);
#endif
}

template <class T>
BACKBLOCKS_INLINE auto load(const T* from, Tail tail) {
    T some[kLanes<Wide<T>>] = {};
    copy_tail(from, some, static_cast<std::size_t>(tail.count) * sizeof(T));
    return load(some);
}

// Masked loads: a vector that was stored in two parts cannot be loaded at once without a stall.
#if defined(__AVX512F__)
BACKBLOCKS_INLINE Vector<float> load(const float* from, Tail tail) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1 << tail.count) - 1), from);
}
BACKBLOCKS_INLINE Vector<double> load(const double* from, Tail tail) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1 << tail.count) - 1), from);
}
#elif defined(__AVX2__)
BACKBLOCKS_INLINE Vector<float> load(const float* from, Tail tail) {
    const Vector<std::int32_t> lanes{0, 1, 2, 3, 4, 5, 6, 7};
    return _mm256_maskload_ps(from, (__m256i)(lanes < static_cast<std::int32_t>(tail.count)));
}
BACKBLOCKS_INLINE Vector<double> load(const double* from, Tail tail) {
    const Vector<std::int64_t> lanes{0, 1, 2, 3};
    return _mm256_maskload_pd(from, (__m256i)(lanes < tail.count));
}

// A tail of 1 to 7 halves, widened.
template <class T>
    requires std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>
BACKBLOCKS_INLINE Vector<float> load(const T* from, Tail tail) {
    const auto bits = [=](auto chunk, std::int64_t first) BACKBLOCKS_INLINE_LAMBDA {
        std::memcpy(&chunk, from + first, sizeof chunk);
        return static_cast<std::uint64_t>(chunk);
    };
    const std::int64_t count = tail.count;
    std::uint64_t low = 0, high = 0;
    if (count > 4) {
        low = bits(std::uint64_t{}, 0);
        high = bits(std::uint64_t{}, count - 4) >> (16 * (8 - count));
    } else if (count > 1) {
        // Of two or three halves some are in both chunks.
        const int shift = static_cast<int>(16 * (count - 2));
        low = bits(std::uint32_t{}, 0) | bits(std::uint32_t{}, count - 2) << shift;
    } else {
        low = bits(std::uint16_t{}, 0);
    }
    const auto all = _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
    if constexpr (std::is_same_v<T, Float16>) return (Vector<float>)_mm256_cvtph_ps(all);
    else return (Vector<float>)_mm256_slli_epi32(_mm256_cvtepu16_epi32(all), 16);
}
#endif

// A strided load: every s-th number, beginning with the first. Reads nothing after the last.
template <class T, std::size_t... lane>
BACKBLOCKS_INLINE Vector<Wide<T>> load_strided(const T* from, std::int64_t s,
                                              std::index_sequence<lane...>) {
    constexpr std::size_t lanes = sizeof...(lane);
    if (s == 2)
        return __builtin_shufflevector(load(from), load(from + lanes - 1),
                                       (2 * lane < lanes ? 2 * lane : 2 * lane + 1)...);
    return Vector<Wide<T>>{widen(from[static_cast<std::int64_t>(lane) * s])...};
}

template <class T>
BACKBLOCKS_INLINE Vector<Wide<T>> load_strided(const T* from, std::int64_t s) {
    return load_strided(from, s, std::make_index_sequence<kLanes<Wide<T>>>{});
}

// Bytes of a vector within which one instruction shuffles: a group of lanes.
constexpr std::size_t kShuffleGroup = 16;

// Every second number of two vectors, from the given one of each on, deinterleaved: those of a group of a
// come first, then those of the same group of b. Of floats and doubles that is one instruction.
template <int in_a, int in_b, class V, std::size_t... lane>
BACKBLOCKS_INLINE V deinterleave(const V& a, const V& b, std::index_sequence<lane...>) {
    constexpr std::size_t lanes = sizeof...(lane), group = kShuffleGroup / sizeof a[0], half = group / 2;
    return __builtin_shufflevector(
        a, b,
        (lane / group * group + lane % half * 2 + (lane % group < half ? in_a : lanes + in_b))...);
}

// From the order of memory to that of deinterleaved lanes.
template <class V, std::size_t... lane>
BACKBLOCKS_INLINE V deinterleaved(const V& v, std::index_sequence<lane...>) {
    constexpr std::size_t half = kShuffleGroup / 2 / sizeof v[0], groups = sizeof v / kShuffleGroup;
    return __builtin_shufflevector(
        v, v, ((lane / half % 2 * groups + lane / half / 2) * half + lane % half)...);
}

// From the order of deinterleaved lanes to that of memory.
template <class V, std::size_t... lane>
BACKBLOCKS_INLINE V reinterleaved(const V& v, std::index_sequence<lane...>) {
    constexpr std::size_t half = kShuffleGroup / 2 / sizeof v[0], groups = sizeof v / kShuffleGroup;
    return __builtin_shufflevector(
        v, v, ((lane / half % groups * 2 + lane / half / groups) * half + lane % half)...);
}

// Interleaves a, the first numbers of pairs, and b, the second ones, both deinterleaved.
template <class V, std::size_t... lane>
BACKBLOCKS_INLINE void interleave_groups(V& a, V& b, std::index_sequence<lane...>) {
    constexpr std::size_t lanes = sizeof...(lane), group = kShuffleGroup / sizeof a[0], half = group / 2;
    const V lower = __builtin_shufflevector(
        a, b, (lane / group * group + lane % group / 2 + lane % 2 * lanes)...);
    b = __builtin_shufflevector(
        a, b, (lane / group * group + lane % group / 2 + lane % 2 * lanes + half)...);
    a = lower;
}

// Numbers whose upper halves are theirs rounded to BFloat16. A NaN has no low bits, as all of them come
// from halves, and stays one.
BACKBLOCKS_INLINE Vector<std::uint32_t> rounded_bits(const Vector<float>& v) {
    using Bits = Vector<std::uint32_t>;
    const Bits bits = (Bits)v;
    return bits + 0x7fffu + ((bits >> 16) & 1u);
}

// Stores numbers rounded to T.
template <class T>
BACKBLOCKS_INLINE void store_rounded(const Vector<Wide<T>>& v, T* to, FullVector = {}) {
    if constexpr (std::is_same_v<T, Wide<T>>) {
        store(v, to);
#if defined(__AVX512F__)
    } else if constexpr (std::is_same_v<T, Float16>) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                            _mm512_maskz_cvtps_ph(0xffff, (__m512)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    } else if constexpr (std::is_same_v<T, Float16>) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#endif
#ifdef __AVX2__
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        const Vector<std::uint32_t> high = rounded_bits(v) >> 16;
#ifdef __AVX512F__
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                            _mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)high));
#else
        // Packs within each half of the vector, hence the reordering.
        const __m256i packed = _mm256_permute4x64_epi64(
            _mm256_packus_epi32((__m256i)high, (__m256i)high), 0xd8);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
#endif
#endif
    } else {
        for (int i = 0; i < kLanes<Wide<T>>; ++i) to[i] = narrow<T>(v[i]);
    }
}

template <class T>
BACKBLOCKS_INLINE void store_rounded(const Vector<Wide<T>>& v, T* to, Tail tail) {
    T all[kLanes<Wide<T>>];
    store_rounded(v, all);
    copy_tail(all, to, static_cast<std::size_t>(tail.count) * sizeof(T));
}

// Numbers with the signs of others; zeros stay without one.
BACKBLOCKS_INLINE Vector<std::int16_t> copy_sign(const Vector<std::int16_t>& sizes,
                                                 const Vector<std::int16_t>& signs) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    return (Vector<std::int16_t>)_mm256_sign_epi16((__m256i)sizes, (__m256i)signs);
#else
    const Vector<std::int16_t> negative = signs < 0;
    return (sizes ^ negative) - negative;
#endif
}

// Sums of vectors of T that are given as raw bits, and rounded when all are added.
template <class T>
struct RawSums {
    Vector<T> sum{};

    BACKBLOCKS_INLINE void add(const Vector<SameSizeInt<T>>& bits) { sum += (Vector<T>)bits; }
    BACKBLOCKS_INLINE Vector<SameSizeInt<T>> rounded() const { return (Vector<SameSizeInt<T>>)sum; }
};

// The halves in even places and those in odd ones.
template <>
struct RawSums<BFloat16> {
    using Pairs = Vector<std::uint32_t>;
    Vector<float> even{}, odd{};

    BACKBLOCKS_INLINE void add(const Vector<std::int16_t>& bits) {
        even += (Vector<float>)((Pairs)bits << 16);
        odd += (Vector<float>)((Pairs)bits & 0xffff0000u);
    }
    BACKBLOCKS_INLINE Vector<std::int16_t> rounded() const {
        return (Vector<std::int16_t>)((rounded_bits(even) >> 16) |
                                      (rounded_bits(odd) & 0xffff0000u));
    }
};

// The first halves and the last.
template <>
struct RawSums<Float16> {
    static constexpr int count = kLanes<float>;
    Vector<float> first{}, last{};

#if defined(__F16C__) && !defined(__AVX512F__)
    BACKBLOCKS_INLINE void add(const Vector<std::int16_t>& bits) {
        first += (Vector<float>)_mm256_cvtph_ps(_mm256_castsi256_si128((__m256i)bits));
        last += (Vector<float>)_mm256_cvtph_ps(_mm256_extracti128_si256((__m256i)bits, 1));
    }
    BACKBLOCKS_INLINE Vector<std::int16_t> rounded() const {
        const auto near = [](Vector<float> sum) BACKBLOCKS_INLINE_LAMBDA {
            return _mm256_cvtps_ph((__m256)sum, _MM_FROUND_TO_NEAREST_INT);
        };
        return (Vector<std::int16_t>)_mm256_set_m128i(near(last), near(first));
    }
#else
    BACKBLOCKS_INLINE void add(const Vector<std::int16_t>& bits) {
        Float16 all[2 * count];
        std::memcpy(all, &bits, sizeof all);
        first += load(all);
        last += load(all + count);
    }
    BACKBLOCKS_INLINE Vector<std::int16_t> rounded() const {
        Float16 all[2 * count];
        store_rounded(first, all);
        store_rounded(last, all + count);
        return load(reinterpret_cast<const std::int16_t*>(all));
    }
#endif
};

// Keeps a number in a register from here on. Compilers would rather load it again for each use, or merge
// the instruction that makes it with those that use it.
template <class V>
BACKBLOCKS_INLINE V in_register(V x) {
#ifdef __SSE2__
    asm("" : "+v"(x));
#endif
    return x;
}

// Loads contiguous vectors for elementwise work, where the order of lanes does not matter as long as it
// is the same in every such load: halves are widened faster out of order.
template <int vectors, class T>
BACKBLOCKS_INLINE void load_unordered(const T* from, Vector<Wide<T>> (&to)[vectors]) {
    constexpr int lanes = kLanes<Wide<T>>;
    if constexpr (std::is_same_v<T, BFloat16> && vectors % 2 == 0)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v += 2) {
            Vector<std::uint32_t> pairs;
            std::memcpy(&pairs, from + v * lanes, sizeof pairs);
            pairs = in_register(pairs);
            to[v] = (Vector<float>)(pairs << 16);
            to[v + 1] = (Vector<float>)(pairs & 0xffff0000u);
        }
    else
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) to[v] = in_register(load(from + v * lanes));
}

// Stores vectors in that order of lanes, rounded to T.
template <int vectors, class T>
BACKBLOCKS_INLINE void store_unordered(const Vector<Wide<T>> (&from)[vectors], T* to) {
    constexpr int lanes = kLanes<Wide<T>>;
    if constexpr (std::is_same_v<T, BFloat16> && vectors % 2 == 0)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v += 2) {
            const Vector<std::uint32_t> pairs =
                (rounded_bits(from[v]) >> 16) | (rounded_bits(from[v + 1]) & 0xffff0000u);
            std::memcpy(to + v * lanes, &pairs, sizeof pairs);
        }
    else
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) store_rounded(from[v], to + v * lanes);
}

// Whether a vector of T is large enough for a streaming store.
template <class T>
constexpr bool kStreamable = kCanStream && kLanes<Wide<T>> * sizeof(T) >= 16;

// Stores numbers rounded to T, with a streaming store if that is asked for and the vector is full.
template <class T, class Lanes>
BACKBLOCKS_INLINE void store_rounded(const Vector<Wide<T>>& v, T* to, Lanes full_or_tail,
                                     Streaming streaming) {
    if constexpr (kStreamable<T> && std::is_same_v<Lanes, FullVector>)
        if (streaming != Streaming::off) {
            T all[kLanes<Wide<T>>];
            store_rounded(v, all);
            return stream_bytes<sizeof all>(all, to, streaming);
        }
    store_rounded(v, to, full_or_tail);
}

template <class V>
BACKBLOCKS_INLINE bool any_nan(const V& v) {
#if defined(__AVX512F__)
    if constexpr (sizeof v[0] == 4) return _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
    else return _mm512_cmp_pd_mask((__m512d)v, (__m512d)v, _CMP_UNORD_Q);
#elif defined(__AVX2__)
    if constexpr (sizeof v[0] == 4) return !_mm256_testz_ps((__m256)(v != v), (__m256)(v != v));
    else return !_mm256_testz_pd((__m256d)(v != v), (__m256d)(v != v));
#else
    const auto nan = v != v;
    auto any = nan[0];
    for (std::size_t lane = 1; lane < sizeof v / sizeof v[0]; ++lane) any |= nan[lane];
    return any != 0;
#endif
}

// Copies a row, with streaming stores if `streamed`.
template <class T>
BACKBLOCKS_INLINE void copy_row(const T* from, std::int64_t count, T* to, bool streamed) {
    std::int64_t i = 0;
    constexpr std::int64_t block = kCacheLine / sizeof(T);
    if (kCanStream && streamed) {
        const auto beyond = reinterpret_cast<std::uintptr_t>(to) % kCacheLine;
        if (beyond) {
            i = std::min<std::int64_t>((kCacheLine - beyond) / sizeof(T), count);
            std::memcpy(to, from, static_cast<std::size_t>(i) * sizeof(T));
        }
        for (; i + block <= count; i += block) stream_line(from + i, to + i);
    }
    // Many rows are short: a call for nothing would take as long as they do.
    if (i < count) std::memcpy(to + i, from + i, static_cast<std::size_t>(count - i) * sizeof(T));
}

// Interleaves the numbers of two vectors.
template <class V, std::size_t... lane>
BACKBLOCKS_INLINE void interleave(V& a, V& b, std::index_sequence<lane...>) {
    constexpr std::size_t lanes = sizeof...(lane), half = lanes / 2;
    const V lower = __builtin_shufflevector(a, b, (lane % 2 * lanes + lane / 2)...);
    b = __builtin_shufflevector(a, b, (lane % 2 * lanes + lane / 2 + half)...);
    a = lower;
}

// The state of an unrolled loop: one for each of the vectors it takes at once, so that they need not wait
// for each other. No array: of that, compilers store every change.
template <class S, int count>
struct Unrolled {
    S a{}, b{}, c{}, d{}, e{}, g{}, h{}, i{};
    static constexpr int size = count;

    BACKBLOCKS_INLINE const S& get(int at) const {
        static_assert(count <= 4);
        return at == 0 ? a : at == 1 ? b : at == 2 ? c : d;
    }

    template <class F>
    BACKBLOCKS_INLINE void each(F f) {
        f(a, 0);
        if constexpr (count > 1) f(b, 1);
        if constexpr (count > 2) {
            f(c, 2);
            f(d, 3);
        }
        if constexpr (count > 4) {
            f(e, 4);
            f(g, 5);
            f(h, 6);
            f(i, 7);
        }
    }
};

template <int count>
struct Vectors {
    template <class S>
    using Of = Unrolled<S, count>;
};

// A vector loop with a tail, unrolled up to `most` times: calls f(i, full_or_tail, vectors) so that the
// numbers i .. i + lanes * vectors - 1 are together 0 .. count - 1. The last vectors may overlap those
// before, so f must not change what it reads.
template <class N, int most, class F>
BACKBLOCKS_INLINE void each_vectors(std::int64_t count, F f) {
    constexpr std::int64_t step = most * kLanes<N>;
    if (count < step) {
        if constexpr (most > 1) each_vectors<N, most / 2>(count, f);
        else if (count > 0) f(std::int64_t{0}, Tail{count}, Vectors<1>{});
        return;
    }
    std::int64_t i = 0;
    for (; i + step <= count; i += step) f(i, FullVector{}, Vectors<most>{});
    // As few vectors as hold the rest: many rows are shorter than two steps.
    if constexpr (most > 1)
        if (count - i <= step / 2) {
            if (i < count) f(count - step / 2, FullVector{}, Vectors<most / 2>{});
            return;
        }
    if (i < count) f(count - step, FullVector{}, Vectors<most>{});
}

// The same without unrolling: calls f(i, full_or_tail).
template <class N, class F>
BACKBLOCKS_INLINE void each_vector(std::int64_t count, F f) {
    each_vectors<N, 1>(count, [&](std::int64_t i, auto full_or_tail, auto) BACKBLOCKS_INLINE_LAMBDA {
        f(i, full_or_tail);
    });
}

// Rounds a row of numbers and stores it, with streaming stores if the cache cannot hold `all` numbers
// that the kernel reads and writes.
template <class T>
void store_row(const Wide<T>* row, std::int64_t count, T* to, std::int64_t all) {
    std::int64_t i = 0;
    constexpr std::int64_t block = kCacheLine / sizeof(T), lanes = kLanes<Wide<T>>;
    if (kStreamable<T> && outgrows_cache<T>(all)) {
        while (i < count && reinterpret_cast<std::uintptr_t>(to + i) % kCacheLine) {
            to[i] = narrow<T>(row[i]);
            ++i;
        }
        for (; i + block <= count; i += block)
            for (std::int64_t j = 0; j < block; j += lanes)
                store_rounded(load(row + i + j), to + i + j, FullVector{}, Streaming::vectors);
    }
    each_vector<Wide<T>>(count - i, [=](std::int64_t j, auto full_or_tail) {
        store_rounded(load(row + i + j, full_or_tail), to + i + j, full_or_tail);
    });
}

}  // namespace backblocks::ISA
