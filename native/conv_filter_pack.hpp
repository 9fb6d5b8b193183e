// Packing for the filter gradient: rows of a tensor, copied in the order in which register tiles (see
// tile.hpp) read them; and sums of chunks, added up and rounded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "conv_filter_small_channels.hpp"
#include "half.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "tile.hpp"
#include "transpose.hpp"
#include "window.hpp"

namespace backblocks::ISA::filter_gradient {

// With fewer channels a register tile has too few rows to hide the latency of a multiply-add.
constexpr std::int64_t kSmallChannels = SmallChannels<float>::kEnough;

// Numbers of a place in a packed group of x: as many as the largest register tile has rows.
constexpr int kPitch = most_rows(1);

constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The i-th of `count` parts of 0 .. n - 1, whose sizes differ by at most 1.
constexpr Range part(std::int64_t n, std::int64_t count, std::int64_t i) {
    const auto begin = [&](std::int64_t k) { return n / count * k + std::min(n % count, k); };
    return {begin(i), begin(i + 1)};
}

// A row of x or dy as it lies in memory: numbers from place to place, and from channel to channel.
template <class T>
struct Line {
    const T* first;
    std::int64_t place, channel;

    Line from(std::int64_t p, std::int64_t c) const {
        return {first + p * place + c * channel, place, channel};
    }
};

// Channels in groups, as register tiles read them. A packed row has a line of places for each group, with
// `pitch` numbers for each place.
struct Groups {
    std::vector<Range> channels;
    std::int64_t pitch;

    Groups(std::int64_t pitch) : pitch(pitch) {}

    // Groups of `size`, but for the last one.
    static Groups panels(std::int64_t all, std::int64_t size) {
        Groups groups(size);
        for (std::int64_t c = 0; c < all; c += size)
            groups.channels.push_back({c, std::min(c + size, all)});
        return groups;
    }

    // The last two share what is left, so that none is small.
    static Groups tiles(std::int64_t all, std::int64_t size) {
        Groups groups = panels(all, size);
        groups.pitch = kPitch;
        if (const auto count = groups.channels.size(); count > 1) {
            Range &a = groups.channels[count - 2], &b = groups.channels[count - 1];
            if (b.size() < kSmallChannels) a.last = b.first = a.first + div_up(all - a.first, 2);
        }
        return groups;
    }

    std::int64_t count() const { return static_cast<std::int64_t>(channels.size()); }
    std::int64_t all() const { return channels.back().last; }
};

template <class T>
void widen_all(const T* from, std::int64_t count, Wide<T>* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = widen(from[i]);
}

// to[p * pitch + c] = line[p, c], of a line whose places are contiguous.
template <int pitch, class T>
void transpose_group(const Line<T>& line, std::int64_t places, std::int64_t channels, Wide<T>* to) {
    using N = Wide<T>;
    constexpr std::int64_t lanes = kLanes<N>;
    for (std::int64_t c = 0; c < channels; c += lanes) {
        // The last square may overlap the one before.
        for (std::int64_t begin = 0; lanes <= places && begin < places; begin += lanes) {
            const std::int64_t p = std::min(begin, places - lanes);
            Vector<N> v[lanes];
            // Numbers stored after the last channel are not read, or are the next place's, which is stored later.
#pragma GCC unroll 16
            for (std::int64_t i = 0; i < lanes; ++i)
                v[i] = load(line.first + std::min(c + i, channels - 1) * line.channel + p);
            transpose_square(v);
#pragma GCC unroll 16
            for (std::int64_t i = 0; i < lanes; ++i) store_vector(to + (p + i) * pitch + c, v[i]);
        }
        for (std::int64_t p = 0; p < places && places < lanes; ++p)
            for (std::int64_t i = c; i < std::min(c + lanes, channels); ++i)
                to[p * pitch + i] = widen(line.first[i * line.channel + p]);
    }
}

// Packs some places of a row. The groups' lines begin `stride` numbers apart.
template <int pitch, class T>
void pack_line(const Line<T>& line, std::int64_t places, const Groups& groups, std::int64_t stride,
          Wide<T>* to, Scratch<Wide<T>>& scratch) {
    using N = Wide<T>;
    if (line.channel != 1) {
        for (const Range& channels : groups.channels) {
            const Line<T> from = line.from(0, channels.first);
            if (line.place == 1) transpose_group<pitch>(from, places, channels.size(), to);
            else
                for (std::int64_t c = 0; c < channels.size(); ++c)
                    for (std::int64_t p = 0; p < places; ++p)
                        to[p * pitch + c] = widen(*from.from(p, c).first);
            to += stride;
        }
        return;
    }
    const std::int64_t all = groups.all();
    for (std::int64_t p = 0; p < places; ++p, to += pitch) {
        const N* wide;
        if constexpr (std::is_same_v<T, N>) {
            wide = line.from(p, 0).first;
        } else {
            wide = scratch.of(all);
            widen_all(line.from(p, 0).first, all, scratch.of(all));
        }
        N* place = to;
        for (const Range& channels : groups.channels) {
            // A known number of bytes takes few instructions. There is room for the pitch.
            const N* const from = wide + channels.first;
            if (channels.first + pitch <= all) std::memcpy(place, from, pitch * sizeof(N));
            else
                with_constant<pitch>(channels.size(), [&](auto count) {
                    std::memcpy(place, from, count.value * sizeof(N));
                });
            place += stride;
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
