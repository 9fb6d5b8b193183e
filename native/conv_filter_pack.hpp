// Packing for the filter gradient of convolution: rows of x and dy, copied in the order in which register tiles
// (tile.hpp) read them. And the sum of partial sums, rounded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "conv_filter_small_channels.hpp"
#include "dtypes.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "tile.hpp"
#include "transpose.hpp"
#include "window.hpp"

namespace backblocks::ISA::filter_gradient {

// With fewer channels a register tile has too few rows to hide the latency of a multiply-add.
constexpr std::int64_t kSmallChannels = SmallChannels<float>::kEnough;

// Numbers of a position in a packed block of x: as many as the largest register tile has rows.
constexpr int kPitch = most_rows(1);

constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The i-th of `count` parts of 0 .. n - 1, whose sizes differ by at most 1.
constexpr Range part(std::int64_t n, std::int64_t count, std::int64_t i) {
    const auto begin = [&](std::int64_t k) { return n / count * k + std::min(n % count, k); };
    return {begin(i), begin(i + 1)};
}

// A row of x or dy as it lies in memory.
template <class T>
struct StridedRow {
    const T* first;
    std::int64_t position_stride, channel_stride;

    // The row from a position and a channel on.
    StridedRow from(std::int64_t p, std::int64_t c) const {
        return {first + p * position_stride + c * channel_stride, position_stride, channel_stride};
    }
};

// Channels in blocks, as register tiles read them. A packed row has all its positions for one block, then for the next,
// with `pitch` numbers a position.
struct ChannelBlocks {
    std::vector<Range> channels;
    std::int64_t pitch;

    ChannelBlocks(std::int64_t pitch) : pitch(pitch) {}

    // Blocks of `size` channels, but for the last one.
    static ChannelBlocks panels(std::int64_t all, std::int64_t size) {
        ChannelBlocks blocks(size);
        for (std::int64_t c = 0; c < all; c += size)
            blocks.channels.push_back({c, std::min(c + size, all)});
        return blocks;
    }

    // The same, but the last two blocks are of about equal size where the last would be small.
    static ChannelBlocks tiles(std::int64_t all, std::int64_t size) {
        ChannelBlocks blocks = panels(all, size);
        blocks.pitch = kPitch;
        if (const auto count = blocks.channels.size(); count > 1) {
            Range &a = blocks.channels[count - 2], &b = blocks.channels[count - 1];
            if (b.size() < kSmallChannels) a.last = b.first = a.first + div_up(all - a.first, 2);
        }
        return blocks;
    }

    std::int64_t count() const { return static_cast<std::int64_t>(channels.size()); }
    std::int64_t all() const { return channels.back().last; }
};

template <class T>
void widen_all(const T* from, std::int64_t count, Wide<T>* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = widen(from[i]);
}

// to[p * pitch + c] = source[p, c], of a row whose positions are contiguous.
template <int pitch, class T>
void transpose_block(const StridedRow<T>& source, std::int64_t positions, std::int64_t channels, Wide<T>* to) {
    using N = Wide<T>;
    constexpr std::int64_t lanes = kLanes<N>;
    for (std::int64_t c = 0; c < channels; c += lanes) {
        // The last square may overlap the one before.
        for (std::int64_t begin = 0; lanes <= positions && begin < positions; begin += lanes) {
            const std::int64_t p = std::min(begin, positions - lanes);
            Vector<N> v[lanes];
            // Numbers stored after the last channel are not read, or are the next position's, which is stored later.
#pragma GCC unroll 16
            for (std::int64_t i = 0; i < lanes; ++i)
                v[i] = load(source.first + std::min(c + i, channels - 1) * source.channel_stride + p);
            transpose_square(v);
#pragma GCC unroll 16
            for (std::int64_t i = 0; i < lanes; ++i) store_vector(to + (p + i) * pitch + c, v[i]);
        }
        for (std::int64_t p = 0; p < positions && positions < lanes; ++p)
            for (std::int64_t i = c; i < std::min(c + lanes, channels); ++i)
                to[p * pitch + i] = widen(source.first[i * source.channel_stride + p]);
    }
}

// Packs some positions of a row. Packed blocks begin `stride` numbers apart.
template <int pitch, class T>
void pack_row(const StridedRow<T>& source, std::int64_t positions, const ChannelBlocks& blocks, std::int64_t stride,
              Wide<T>* to, Scratch<Wide<T>>& scratch) {
    using N = Wide<T>;
    if (source.channel_stride != 1) {
        for (const Range& channels : blocks.channels) {
            const StridedRow<T> from = source.from(0, channels.first);
            if (source.position_stride == 1) transpose_block<pitch>(from, positions, channels.size(), to);
            else
                for (std::int64_t c = 0; c < channels.size(); ++c)
                    for (std::int64_t p = 0; p < positions; ++p)
                        to[p * pitch + c] = widen(*from.from(p, c).first);
            to += stride;
        }
        return;
    }
    const std::int64_t all = blocks.all();
    for (std::int64_t p = 0; p < positions; ++p, to += pitch) {
        const N* wide;
        if constexpr (std::is_same_v<T, N>) {
            wide = source.from(p, 0).first;
        } else {
            wide = scratch.of(all);
            widen_all(source.from(p, 0).first, all, scratch.of(all));
        }
        N* block = to;
        for (const Range& channels : blocks.channels) {
            // A known number of bytes takes few instructions. There is room for the pitch.
            const N* const from = wide + channels.first;
            if (channels.first + pitch <= all) std::memcpy(block, from, pitch * sizeof(N));
            else
                with_constant<pitch>(channels.size(), [&](auto count) {
                    std::memcpy(block, from, count.value * sizeof(N));
                });
            block += stride;
        }
    }
}

template <class N>
void add_all(const N* from, std::int64_t count, N* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

template <class T>
void narrow_all(const Wide<T>* from, std::int64_t count, T* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<T>(from[i]);
}

// dw[i] = the sum of chunks[c * size + i] over c
template <class T>
void add_chunks(const Wide<T>* chunks, std::int64_t count, std::int64_t size, T* dw) {
    const auto bytes = size * count * static_cast<std::int64_t>(sizeof(*chunks));
    parallel_for(size, bytes, [=](std::int64_t begin, std::int64_t end) {
        std::array<Wide<T>, 512> sum;  // of adjacent numbers
        for (std::int64_t i = begin; i < end; i += std::ssize(sum)) {
            const std::int64_t some = std::min(end - i, std::ssize(sum));
            sum.fill(0);
            for (std::int64_t c = 0; c < count; ++c)
                add_all(chunks + c * size + i, some, sum.data());
            narrow_all(sum.data(), some, dw + i);
        }
    });
}

}  // namespace backblocks::ISA::filter_gradient
