// From lines of numbers to results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd.hpp"
#include "stream.hpp"

namespace backblocks::ISA {

// Rounds a line and stores it where it belongs in the result, past the cache if that cannot hold
// `all` numbers that are read and written.
template <class T>
void store_line(const Wide<T>* line, std::int64_t count, T* to, std::int64_t all) {
    std::int64_t i = 0;
    constexpr std::int64_t block = kCacheLine / sizeof(T), lanes = kLanes<Wide<T>>;
    if (kStreams<T> && outgrows_cache<T>(all)) {
        while (i < count && reinterpret_cast<std::uintptr_t>(to + i) % kCacheLine) {
            to[i] = narrow<T>(line[i]);
            ++i;
        }
        for (; i + block <= count; i += block)
            for (std::int64_t j = 0; j < block; j += lanes)
                store_rounded(load(line + i + j), to + i + j, Whole{}, Past::in_vectors);
    }
    each_vector<Wide<T>>(count - i, [=](std::int64_t j, auto some) {
        store_rounded(load(line + i + j, some), to + i + j, some);
    });
}

}  // namespace backblocks::ISA
