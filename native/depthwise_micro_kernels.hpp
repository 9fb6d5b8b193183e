// The micro-kernels of direct depthwise convolution. Taps that read adjacent elements make a run: each element
// is loaded, and a half widened, once for all of its taps.
//
//     for each run, and each element i that it reads for these positions:
//         for each tap t of the run, where the element belongs to a position p:
//             sums[p, c] += in[i, c] * f[t, c]        or, for the gradient of the filter,
//             sums[t, c] += in[i, c] * dy[p, c]
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "simd.hpp"
#include "stream.hpp"
#include "tile.hpp"

namespace backblocks::ISA::depthwise {

// Sums kept in registers. Fewer than 8 would wait for the multiply-adds before them.
constexpr int kSums = 12;
// Taps of a run, at most.
constexpr int kRun = 3;
// Places whose gradients are kept in registers, beside the sums of a window of 3 x 3.
constexpr int kPositions = 4;
// Taps whose sums are kept in registers: a window of 3 x 3.
constexpr int kTaps = 9;

// Makes the compiler compute an address at this point. Compilers would rather keep an address for each number that is
// loaded from there on, for which there are not enough registers.
template <class T>
BACKBLOCKS_INLINE const T* computed(const T* address) {
    asm("" : "+r"(address));
    return address;
}

// A run: taps that read adjacent elements, so that each position reads elements that its neighbours read too.
struct Run {
    std::int64_t distance;  // of the first
    std::array<std::int64_t, kRun> numbers;
};
// Runs by their number of taps, 1 to 3.
using Runs = std::array<std::vector<Run>, kRun>;

// The position, of some that are `stride` elements apart, for which tap t reads element i; -1 if none does.
template <int positions, int stride>
constexpr int position_of(int i, int t) {
    return i >= t && (i - t) % stride == 0 && (i - t) / stride < positions ? (i - t) / stride : -1;
}

// sum[p, c] += sum over runs and their taps t: from[distance + p * stride + t, c] * f[number of t, c]
template <int taps, int stride, int positions, int vectors, class T>
BACKBLOCKS_INLINE void add_runs(const Runs& all, const T* from, std::int64_t step, const Wide<T>* f,
                                std::int64_t f_step, Vector<Wide<T>> (&sum)[positions][vectors]) {
    constexpr int lanes = kLanes<Wide<T>>;
    for (const Run& run : all[taps - 1]) {
        Vector<Wide<T>> weight[taps][vectors];
#pragma GCC unroll 3
        for (int t = 0; t < taps; ++t) {
            const Wide<T>* w = computed(f + run.numbers[t] * f_step);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v) weight[t][v] = load(w + v * lanes);
        }
        const T* x = nullptr;
#pragma GCC unroll 16
        for (int i = 0; i < (positions - 1) * stride + taps; ++i) {
            // Two elements after an address can be reached by the step alone.
            if (i % 3 == 0) x = computed(from + run.distance + i * step);
            if (i % stride >= taps) continue;
            Vector<Wide<T>> element[vectors];
            load_unordered(x + i % 3 * step, element);
#pragma GCC unroll 3
            for (int t = 0; t < taps; ++t)
                if (const int p = position_of<positions, stride>(i, t); p >= 0)
#pragma GCC unroll 8
                    for (int v = 0; v < vectors; ++v) sum[p][v] += element[v] * weight[t][v];
        }
    }
}

// to[p, c] = sum over taps t: from[distance of t + p * stride, c] * f[number of t, c]
template <int stride, int positions, int vectors, class T>
BACKBLOCKS_INLINE void add_up_in_place(const Runs& runs, const T* from, std::int64_t step,
                                       const Wide<T>* f, std::int64_t f_step, T* to,
                                       std::int64_t to_step, bool streamed) {
    Vector<Wide<T>> sum[positions][vectors] = {};
    add_runs<3, stride>(runs, from, step, f, f_step, sum);
    add_runs<2, stride>(runs, from, step, f, f_step, sum);
    add_runs<1, stride>(runs, from, step, f, f_step, sum);
#pragma GCC unroll 12
    for (int p = 0; p < positions; ++p)
        if (streamed)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v)
                stream_bytes<kVectorBytes>(&sum[p][v], to + p * to_step + v * kLanes<Wide<T>>);
        else store_unordered(sum[p], to + p * to_step);
}

// Strides of x and dy for the filter gradient, and from an element to the one to prefetch for the next row.
struct Steps {
    std::int64_t x, dy, x_row, dy_row, x_soon;
};

// sum[r, t] += sum over positions p: x[r][p * stride + t] * dy[p]
template <int positions, int stride, int runs, int taps, class T>
BACKBLOCKS_INLINE void add_products(const T* const (&x)[runs], const T* soon, const T* dy,
                                    const Steps& steps, Vector<Wide<T>> (&sum)[runs][taps]) {
    Vector<Wide<T>> d[positions];
#pragma GCC unroll 4
    for (int p = 0; p < positions; ++p) {
        d[p] = in_register(load(dy + p * steps.dy));
        __builtin_prefetch(dy + p * steps.dy + steps.dy_row, 0, 2);
    }
#pragma GCC unroll 2
    for (int row = 0; row < stride; ++row)
#pragma GCC unroll 8
        for (int i = 0; i < positions * stride; ++i)
            __builtin_prefetch(soon + row * steps.x_row + i * steps.x, 0, 2);
#pragma GCC unroll 16
    for (int i = 0; i < (positions - 1) * stride + taps; ++i)
#pragma GCC unroll 9
        for (int r = 0; r < runs; ++r) {
            if (i % stride >= taps) continue;
            const Vector<Wide<T>> element = in_register(load(x[r] + i * steps.x));
#pragma GCC unroll 3
            for (int t = 0; t < taps; ++t)
                if (const int p = position_of<positions, stride>(i, t); p >= 0) sum[r][t] += element * d[p];
        }
}

// sums[r, t] = sum over i < count: x[distance of r + i * stride + t] * dy[i]
template <int stride, int runs, int taps, class T>
void multiply_runs(const Run* run, const T* x, const T* dy, const Steps& steps, std::int64_t count,
                   Vector<Wide<T>> (&sums)[runs][taps]) {
    Vector<Wide<T>> sum[runs][taps] = {};
    const T* elements[runs];
#pragma GCC unroll 9
    for (int r = 0; r < runs; ++r) elements[r] = x + run[r].distance;
    const T* soon = x + steps.x_soon;
    const auto add = [&](auto positions) BACKBLOCKS_INLINE_LAMBDA {
        add_products<positions, stride>(elements, soon, dy, steps, sum);
        dy += positions * steps.dy;
        soon += positions * stride * steps.x;
#pragma GCC unroll 9
        for (int r = 0; r < runs; ++r) elements[r] += positions * stride * steps.x;
    };
    for (; count >= kPositions; count -= kPositions) add(std::integral_constant<int, kPositions>{});
    for (; count > 0; --count) add(std::integral_constant<int, 1>{});
#pragma GCC unroll 9
    for (int r = 0; r < runs; ++r)
#pragma GCC unroll 3
        for (int t = 0; t < taps; ++t) sums[r][t] = sum[r][t];
}

}  // namespace backblocks::ISA::depthwise
