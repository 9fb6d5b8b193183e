// Stores that go around the cache: the processor need not read what will be overwritten whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache.hpp"

#ifdef __AVX__
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace backblocks::ISA {

// Whether the cache cannot hold so many numbers: all that a kernel reads and writes. Else its result
// is best left there, where the next kernel finds it.
template <class T>
bool outgrows_cache(std::int64_t numbers) {
    return static_cast<std::size_t>(numbers) * sizeof(T) > cache_bytes;
}

constexpr std::size_t kCacheLine = 64;

// Whether results are stored past the cache, and how: in vectors if they begin a cache line, else in
// pieces, which can begin where arrays of NumPy do.
enum class Past { no, in_vectors, in_pieces };
constexpr std::size_t kStreamed = 16;  // bytes of a piece

// How results that begin here can be stored past the cache.
inline Past past_from(const void* to) {
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    return address % kCacheLine == 0 ? Past::in_vectors
           : address % kStreamed == 0 ? Past::in_pieces
                                      : Past::no;
}

// Stores so many bytes, all of a cache line sooner or later. The compiler keeps what it knows to be in
// registers there.
template <std::size_t bytes>
inline void stream_pieces(const void* from, void* to) {
#ifdef __SSE2__
    static_assert(bytes % kStreamed == 0);
    for (std::size_t i = 0; i < bytes / kStreamed; ++i)
        _mm_stream_si128(static_cast<__m128i*>(to) + i,
                         _mm_loadu_si128(static_cast<const __m128i*>(from) + i));
#endif
}

// The same at a multiple of as many bytes.
template <std::size_t bytes>
inline void stream_bytes(const void* from, void* to) {
#ifdef __AVX512F__
    if constexpr (bytes % sizeof(__m512i) == 0) {
        for (std::size_t i = 0; i < bytes / sizeof(__m512i); ++i)
            _mm512_stream_si512(static_cast<__m512i*>(to) + i,
                                _mm512_loadu_si512(static_cast<const __m512i*>(from) + i));
        return;
    }
#endif
#ifdef __AVX__
    if constexpr (bytes % sizeof(__m256i) == 0) {
        for (std::size_t i = 0; i < bytes / sizeof(__m256i); ++i)
            _mm256_stream_si256(static_cast<__m256i*>(to) + i,
                                _mm256_loadu_si256(static_cast<const __m256i*>(from) + i));
        return;
    }
#endif
    stream_pieces<bytes>(from, to);
}

// The same, as is asked for.
template <std::size_t bytes>
inline void stream_bytes(const void* from, void* to, Past past) {
    if (past == Past::in_vectors) stream_bytes<bytes>(from, to);
    else stream_pieces<bytes>(from, to);
}

inline void stream_line(const void* from, void* to) { stream_bytes<kCacheLine>(from, to); }

#ifdef __SSE2__

// Lets other threads see what was streamed; to be called before they are told that it is there.
inline void end_streams() { _mm_sfence(); }
constexpr bool kCanStream = true;

#else

inline void end_streams() {}
constexpr bool kCanStream = false;

#endif

}  // namespace backblocks::ISA
