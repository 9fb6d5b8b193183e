// Stores that go around the cache: the processor need not read what will be overwritten whole.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace backblocks {

// A result of more bytes than this would not stay in the cache anyway.
constexpr std::size_t kStreamed = std::size_t{8} << 20;
constexpr std::size_t kCacheLine = 64;

#ifdef __SSE2__

// Copies a cache line to an address that begins one.
inline void stream_line(const void* from, void* to) {
    for (std::size_t i = 0; i < kCacheLine / sizeof(__m128i); ++i)
        _mm_stream_si128(static_cast<__m128i*>(to) + i,
                         _mm_loadu_si128(static_cast<const __m128i*>(from) + i));
}

// Lets other threads see what was streamed; to be called before they are told that it is there.
inline void end_streams() { _mm_sfence(); }

constexpr bool kCanStream = true;

#else

inline void stream_line(const void*, void*) {}
inline void end_streams() {}
constexpr bool kCanStream = false;

#endif

}  // namespace backblocks
