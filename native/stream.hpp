// Streaming (non-temporal) stores, which bypass the cache: the processor need not read cache lines that will be
// overwritten whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache_size.hpp"

#ifdef __AVX__
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace backblocks::ISA {

// Whether so many numbers, all that a kernel reads and writes, do not fit in the cache. A result that fits is best left
// there, where the next kernel finds it.
template <class T>
bool outgrows_cache(std::int64_t numbers) {
    return static_cast<std::size_t>(numbers) * sizeof(T) > cache_bytes;
}

constexpr std::size_t kCacheLine = 64;

// Whether results are stored with streaming stores, and of which size: full vectors if they begin a cache
// line, else chunks, which are aligned wherever arrays of NumPy begin.
enum class Streaming { off, vectors, chunks };
constexpr std::size_t kStreamChunk = 16;  // bytes

// Which streaming stores the alignment of an address allows.
inline Streaming streaming_to(const void* to) {
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    return address % kCacheLine == 0 ? Streaming::vectors
           : address % kStreamChunk == 0 ? Streaming::chunks
                                      : Streaming::off;
}

// Stores so many bytes in chunks; a cache line must be written whole sooner or later. A source that is in
// registers stays there.
template <std::size_t bytes>
inline void stream_chunks(const void* from, void* to) {
#ifdef __SSE2__
    static_assert(bytes % kStreamChunk == 0);
    for (std::size_t i = 0; i < bytes / kStreamChunk; ++i)
        _mm_stream_si128(static_cast<__m128i*>(to) + i,
                         _mm_loadu_si128(static_cast<const __m128i*>(from) + i));
#endif
}

// The same at an address that is a multiple of as many bytes: in full vectors.
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
    stream_chunks<bytes>(from, to);
}

template <std::size_t bytes>
inline void stream_bytes(const void* from, void* to, Streaming streaming) {
    if (streaming == Streaming::vectors) stream_bytes<bytes>(from, to);
    else stream_chunks<bytes>(from, to);
}

inline void stream_line(const void* from, void* to) { stream_bytes<kCacheLine>(from, to); }

#ifdef __SSE2__

// Orders streaming stores before later stores; to be called before other threads are told of the results.
inline void stream_fence() { _mm_sfence(); }
constexpr bool kCanStream = true;

#else

inline void stream_fence() {}
constexpr bool kCanStream = false;

#endif

}  // namespace backblocks::ISA
