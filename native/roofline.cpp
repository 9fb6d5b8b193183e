#include "roofline.hpp"

#include <algorithm>
#include <atomic>

#include "parallel.hpp"
#include "stream.hpp"
#include "vector.hpp"

namespace backblocks::ISA {
namespace {

// A vector of a cache line, at any address.
using Part [[gnu::vector_size(kVectorBytes), gnu::aligned(1), gnu::may_alias]] = std::uint64_t;
constexpr std::size_t kParts = kCacheLine / kVectorBytes;

struct CacheLine {
    Vector<std::uint64_t> parts[kParts];
};

// A result that is stored keeps the compiler from leaving out the work that led to it.
std::atomic<std::uint64_t> sink;

// Block i of n, cut at cache lines.
template <class Byte>
std::span<Byte> block(std::span<Byte> all, std::int64_t i, std::int64_t n) {
    const auto lines = static_cast<std::int64_t>(all.size() / kCacheLine);
    const auto at = [&](std::int64_t j) {
        return static_cast<std::size_t>(lines * j / n) * kCacheLine;
    };
    return all.subspan(at(i), at(i + 1) - at(i));
}

void read(std::span<const std::byte> from, CacheLine& all) {
    CacheLine sum = all;  // in registers
    for (std::size_t at = 0; at < from.size(); at += kCacheLine) {
        for (std::size_t i = 0; i < kParts; ++i)
            sum.parts[i] |= *reinterpret_cast<const Part*>(from.data() + at + i * kVectorBytes);
    }
    all = sum;
}

void write(const CacheLine& line, std::span<std::byte> to, bool around_cache) {
    const CacheLine same = line;  // in registers
    for (std::size_t at = 0; at < to.size(); at += kCacheLine) {
        auto* parts = reinterpret_cast<Part*>(to.data() + at);
        if (around_cache) stream_line(&line, parts);
        else
            for (std::size_t i = 0; i < kParts; ++i) parts[i] = same.parts[i];
    }
}

// The bytes from the first whole cache line on. Bytes before it are left out, as block() leaves out those after the
// last one.
std::span<std::byte> from_line(std::span<std::byte> all) {
    const auto past = reinterpret_cast<std::uintptr_t>(all.data()) % kCacheLine;
    return all.subspan(std::min(all.size(), past ? kCacheLine - past : 0));
}

// for each block: for each input: all |= its lines; output lines = all
void stream(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> output,
            bool around_cache) {
    // Reads and writes alternate in blocks that stay in the innermost cache, as in a real kernel.
    constexpr std::size_t kBlock = 1 << 13;
    const bool around = around_cache && kCanStream;
    output = from_line(output);
    std::size_t longest = output.size(), bytes = output.size();
    for (const auto input : inputs) {
        longest = std::max(longest, input.size());
        bytes += input.size();
    }
    const auto blocks = static_cast<std::int64_t>(longest / kBlock + 1);
    parallel_for(blocks, static_cast<std::int64_t>(bytes), [&](std::int64_t first, std::int64_t last) {
        CacheLine all{};
        // Some machines write zeros twice as fast as numbers.
        for (auto& part : all.parts) part += 1;
        for (std::int64_t i = first; i < last; ++i) {
            for (const auto input : inputs) read(block(input, i, blocks), all);
            write(all, block(output, i, blocks), around);
        }
        sink.store(all.parts[0][0], std::memory_order_relaxed);
        if (around) stream_fence();
    });
}

// Enough to keep two units with a latency of five busy, and few enough for sixteen registers.
constexpr int kChains = 12;

// for each step: for each chain: sum = sum * factor + term
template <class T>
void chains(std::int64_t steps) {
    const Vector<T> factor = Vector<T>{} + T(0.5), term = Vector<T>{} + T(0.3);
    Vector<T> sums[kChains];
    // Chains that begin alike would be computed once, and one that stays as it is not at all.
    for (int i = 0; i < kChains; ++i) sums[i] = Vector<T>{} + static_cast<T>(i);
    for (std::int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
        for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + term;
    Vector<T> all{};
    for (const auto& sum : sums) all += sum;
    sink.store(static_cast<std::uint64_t>(all[0]), std::memory_order_relaxed);
}

double multiply_add(bool doubles, std::int64_t steps) {
    constexpr std::int64_t pieces = 64;
    // Said to move many bytes, so that it is shared among the threads.
    parallel_for(pieces, std::int64_t{1} << 40, [&](std::int64_t first, std::int64_t last) {
        (doubles ? chains<double> : chains<float>)((last - first) * steps);
    });
    const std::size_t lanes = kVectorBytes / (doubles ? sizeof(double) : sizeof(float));
    return 2.0 * kChains * static_cast<double>(lanes) * static_cast<double>(pieces * steps);
}

}  // namespace

const RooflineKernels roofline_kernels{stream, multiply_add};

}  // namespace backblocks::ISA
