// Lines of numbers to work in, and the way from them to results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "simd.hpp"
#include "stream.hpp"

namespace backblocks::ISA {

// Beyond its end, a line may be read and written by as many numbers as this.
constexpr std::int64_t kSlack = 32;

// Hands out lines from memory that a thread keeps from call to call: asking for fresh memory would
// take longer than many a call. The lines last until the thread makes another Scratch of this tag.
template <int tag>
class Scratch {
   public:
    explicit Scratch(std::int64_t bytes) {
        thread_local std::unique_ptr<std::byte[]> kept;
        thread_local std::int64_t size = 0;
        if (bytes > size) {
            size = 0;
            kept = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes));
            size = bytes;
        }
        next_ = kept.get();
    }

    template <class N>
    N* line(std::int64_t length) {
        const auto at = reinterpret_cast<std::uintptr_t>(next_);
        std::byte* begin = next_ + (kCacheLine - at % kCacheLine) % kCacheLine;
        next_ = begin + bytes_of<N>(length) - kCacheLine;
        return reinterpret_cast<N*>(begin);
    }

    // What a line takes, at most.
    template <class N>
    static constexpr std::int64_t bytes_of(std::int64_t length) {
        return (length + kSlack) * static_cast<std::int64_t>(sizeof(N)) +
               static_cast<std::int64_t>(kCacheLine);
    }

   private:
    std::byte* next_;
};

// Rounds a line and stores it where it belongs in the result, past the cache if that is large.
template <class T>
void store_line(const Wide<T>* line, std::int64_t count, T* to, std::int64_t size_of_result) {
    std::int64_t i = 0;
    constexpr std::int64_t block = kCacheLine / sizeof(T), lanes = kLanes<Wide<T>>;
    // Halves are streamed where a vector of them is no less than a machine can stream.
    constexpr bool can = kCanStream && lanes * sizeof(T) >= 16;
    if (can && static_cast<std::size_t>(size_of_result) * sizeof(T) > kStreamed) {
        while (i < count && reinterpret_cast<std::uintptr_t>(to + i) % kCacheLine) {
            to[i] = narrow<T>(line[i]);
            ++i;
        }
        for (; i + block <= count; i += block)
            for (std::int64_t j = 0; j < block; j += lanes) {
                T some[lanes];
                store_rounded(load(line + i + j), some);
                if constexpr (can) stream_bytes<sizeof some>(some, to + i + j);
            }
    }
    each_vector<Wide<T>>(count - i, [=](std::int64_t j, auto lanes) {
        if constexpr (std::is_same_v<decltype(lanes), Part>)
            for (std::int64_t rest = i; rest < count; ++rest) to[rest] = narrow<T>(line[rest]);
        else
            store_rounded(load(line + i + j), to + i + j);
    });
}

// Copies whole numbers to a line of another type.
template <class From, class To>
void convert(const From* __restrict from, std::int64_t count, To* __restrict to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

// Calls f(0) .. f(count - 1) in blocks that are vector code; the last two may overlap.
template <class F>
inline void each_block(std::int64_t count, F f) {
    constexpr std::int64_t block = 8;
    const auto whole = [&](std::int64_t begin) {
        for (std::int64_t i = 0; i < block; ++i) f(begin + i);
    };
    std::int64_t i = 0;
    for (; i + block <= count; i += block) whole(i);
    if (i == count) return;
    if (count >= block) return whole(count - block);
    for (; i < count; ++i) f(i);
}

// Cells of few numbers that are s apart are brought together: parts[p] gets cells p, p + s, ...
template <class N>
void split(const N* __restrict line, std::int64_t cells, std::int64_t s, std::int64_t channels,
           N* __restrict parts, std::int64_t pitch, std::int64_t count) {
    if (s == 2 && channels == 1 && count == 2) {
        N* __restrict second = parts + pitch;
        each_block(cells, [=](std::int64_t i) {
            parts[i] = line[2 * i];
            second[i] = line[2 * i + 1];
        });
        return;
    }
    // A fixed number is copied, of which the next cell overwrites what is too much.
    for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t i = 0; i < cells; ++i)
            std::memcpy(parts + p * pitch + i * channels, line + (i * s + p) * channels,
                        8 * sizeof(N));
}

// The other way, from the cell `first` of the parts on.
template <class N>
void merge(const N* __restrict parts, std::int64_t pitch, std::int64_t first, std::int64_t s,
           std::int64_t channels, N* __restrict line, std::int64_t cells) {
    std::int64_t i = 0;
    if (s == 2 && channels == 1) {
        const N *even = parts + first / 2, *odd = parts + pitch + first / 2;
        if (first % 2) {
            line[i++] = *odd;
            ++even;
            ++odd;
        }
        N* to = line + i;
        const std::int64_t pairs = (cells - i) / 2;
        each_block(pairs, [=](std::int64_t j) {
            to[2 * j] = even[j];
            to[2 * j + 1] = odd[j];
        });
        if ((cells - i) % 2) to[2 * pairs] = even[pairs];
        return;
    }
    // A fixed number is copied, as long as the next cells overwrite what is too much.
    std::int64_t p = first % s, at = first / s;
    for (; i < cells; ++i) {
        const N* from = parts + p * pitch + at * channels;
        if ((cells - i) * channels >= 8) std::memcpy(line + i * channels, from, 8 * sizeof(N));
        else std::copy_n(from, channels, line + i * channels);
        if (++p == s) p = 0, ++at;
    }
}

}  // namespace backblocks::ISA
