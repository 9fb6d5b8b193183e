// The tiles of Winograd's algorithm (winograd.cpp): where they are, and the transforms of their inputs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "conv_pack.hpp"
#include "conv_plan.hpp"
#include "dtypes.hpp"
#include "memory.hpp"
#include "simd.hpp"
#include "transpose.hpp"
#include "winograd_transforms.hpp"

namespace backblocks::ISA {

using namespace convolution;

// Bytes of a box's transformed inputs and products: as many as the L2 cache has room for, unless so few
// tiles would fetch the filters too often; and the most for which Winograd is chosen.
constexpr std::int64_t kBytesOfBox = 320 << 10, kMostBytesOfBox = 4 << 20;
constexpr std::int64_t kLeastTilesOfBox = 24;

// An axis of space: targets one element apart, in tiles of two if there are three taps.
struct TileAxis {
    std::int64_t sources, targets, first_element, step, tiles;

    explicit TileAxis(const Phase& phase)
        : sources(phase.n),
          targets(phase.count),
          first_element(phase.taps[0].element),
          step(phase.taps.size() == 3 ? 2 : 1),
          tiles(div_up(targets, step)) {}

    // Whether targets along an axis are one element apart, and have so many taps, one element apart.
    static bool fits(const SegmentedAxis& axis, std::size_t taps) {
        if (!axis.complete || axis.phases.size() != 1) return false;
        const Phase& phase = axis.phases[0];
        return phase.stride == 1 && phase.step == 1 && phase.taps.size() == taps &&
               phase.taps.back().element - phase.taps[0].element == static_cast<std::int64_t>(taps) - 1;
    }

    std::int64_t elements() const { return step == 2 ? 4 : 1; }
    std::int64_t element(std::int64_t tile) const { return first_element + tile * step; }
    // The source elements that some tiles read, and the target elements they write.
    Range read(Range some) const {
        return {std::clamp<std::int64_t>(element(some.first), 0, sources),
                std::clamp<std::int64_t>(element(some.last - 1) + elements(), 0, sources)};
    }
    Range written(Range some) const {
        return {some.first * step, std::min(some.last * step, targets)};
    }
};

// Numbers of some elements, with contiguous channels.
template <class S>
struct View {
    S* first;
    std::array<Range, 3> elements;
    Strides strides;

    // Finds planes * side * side elements, from one on. Those that are not there are `none`.
    template <int planes, int side>
    void find(std::int64_t image, std::int64_t d, std::int64_t h, std::int64_t w, S* none,
              S** to) const {
        std::array<bool, side> there;
        for (int i = 0; i < side; ++i) there[static_cast<std::size_t>(i)] = elements[2].has(w + i);
        for (int i = 0; i < planes * side; ++i, to += side) {
            const std::int64_t di = d + i / side, hi = h + i % side;
            const bool row = elements[0].has(di) && elements[1].has(hi);
            const std::int64_t offset = image * strides.image +
                                       (di - elements[0].first) * strides.element[0] +
                                       (hi - elements[1].first) * strides.element[1] +
                                       (w - elements[2].first) * strides.element[2];
            for (int j = 0; j < side; ++j)
                to[j] = row && there[static_cast<std::size_t>(j)] ? first + offset + j * strides.element[2]
                                                                  : none;
        }
    }
};

// All tiles of a plan that Winograd's algorithm fits, in boxes of some that are worked on together.
struct WinogradTiles {
    std::vector<TileAxis> axes;
    std::array<Parts, 4> parts{};  // of the images, and of the tiles along each axis

    explicit WinogradTiles(const ConvPlan& plan) {
        for (const SegmentedAxis& axis : plan.axes) axes.emplace_back(axis.phases[0]);
    }

    // Boxes of at most `room` tiles, whose numbers follow each other.
    void cut_into_boxes(std::int64_t room, std::int64_t images) {
        for (std::size_t i = 4; i-- > 0; room /= parts[i].largest())
            parts[i] = Parts::of_at_most(room, i ? axes[i - 1].tiles : images);
    }

    int points() const { return axes[0].step == 2 ? 64 : 16; }
    std::int64_t boxes() const {
        return parts[0].count * parts[1].count * parts[2].count * parts[3].count;
    }
    std::int64_t largest_box() const {
        return parts[0].largest() * parts[1].largest() * parts[2].largest() * parts[3].largest();
    }
};

// The stride from point to point for so many numbers. An odd number of cache lines: or points would be in
// the same sets of the cache.
template <class N>
constexpr std::int64_t point_stride(std::int64_t numbers) {
    constexpr std::int64_t line_size = kCacheLine / sizeof(N);
    return (div_up(numbers, line_size) | 1) * line_size;
}

// Bytes of a tile's inputs and products at all points.
template <class N>
std::int64_t bytes_of_tile(const ConvPlan& plan, const WinogradTiles& tiles) {
    return tiles.points() * (plan.ins + FilterPanels<N>(plan).all()) * std::int64_t{sizeof(N)};
}

struct TileBox {
    const WinogradTiles& tiles;
    std::array<Range, 4> at;  // images, and tiles along each axis

    TileBox(const WinogradTiles& tiles, std::int64_t number) : tiles(tiles) {
        for (std::size_t i = 4; i-- > 0; number /= tiles.parts[i].count)
            at[i] = tiles.parts[i][number % tiles.parts[i].count];
    }

    std::int64_t count() const {
        return at[0].size() * at[1].size() * at[2].size() * at[3].size();
    }

    // Calls f(tile, image, tile along each axis).
    template <class F>
    void each_tile(F f) const {
        std::int64_t tile = 0;
        for (std::int64_t image = 0; image < at[0].size(); ++image)
            for (std::int64_t d = at[1].first; d < at[1].last; ++d)
                for (std::int64_t h = at[2].first; h < at[2].last; ++h)
                    for (std::int64_t w = at[3].first; w < at[3].last; ++w)
                        f(tile++, image, std::array<std::int64_t, 3>{d, h, w});
    }

    template <class S>
    View<S> in_place(S* first, const Strides& strides, std::int64_t TileAxis::*size) const {
        View<S> view{first, {}, strides};
        for (std::size_t i = 0; i < 3; ++i) view.elements[i] = {0, tiles.axes[i].*size};
        view.first += at[0].first * strides.image;
        return view;
    }

    // Room for copies that have the channels last.
    template <class N>
    View<N> copies(Scratch<N>& room, std::int64_t channels,
                   Range (TileAxis::*elements)(Range) const) const {
        View<N> view{};
        for (std::size_t i = 0; i < 3; ++i) view.elements[i] = (tiles.axes[i].*elements)(at[i + 1]);
        view.strides = Strides::of({view.elements[0].size(), view.elements[1].size(), view.elements[2].size()},
                               channels, false);
        view.first = room.of(at[0].size() * view.strides.image);
        return view;
    }

    // Copies elements that have the channels first.
    template <class N>
    View<const N> transposed(const N* from, const Strides& strides, std::int64_t channels,
                         Range (TileAxis::*elements)(Range) const, Scratch<N>& room) const {
        const View<N> view = copies(room, channels, elements);
        each_row(view, strides, [&](std::int64_t offset, N* row) {
            transpose(
                channels, view.elements[2].size(),
                [&](auto c) { return from + offset + c * strides.channel; },
                [&](auto i) { return row + i * channels; });
        });
        return {view.first, view.elements, view.strides};
    }

    // Calls f(where a row begins, its copy) for each row of copies.
    template <class N, class F>
    void each_row(const View<N>& view, const Strides& strides, F f) const {
        const auto& [ds, hs, ws] = view.elements;
        for (std::int64_t image = 0; image < at[0].size(); ++image)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h)
                    f((at[0].first + image) * strides.image + d * strides.element[0] +
                          h * strides.element[1] + ws.first * strides.element[2],
                      view.first + image * view.strides.image +
                          (d - ds.first) * view.strides.element[0] + (h - hs.first) * view.strides.element[1]);
    }
};

// Transforms the inputs of the tiles of a box. Points are `stride` numbers apart; at each a tile has `pitch` numbers.
// Elements that are padding are `zeros`.
template <int planes, class N, class T>
void transform_inputs(const TileBox& box, const View<const T>& view, std::int64_t channels,
                       const T* zeros, N* to, std::int64_t pitch, std::int64_t stride) {
    const auto& axes = box.tiles.axes;
    box.each_tile([&](std::int64_t tile, std::int64_t image, const auto& at) {
        std::array<const T*, planes * 16> elements;
        view.template find<planes, 4>(image, axes[0].element(at[0]), axes[1].element(at[1]),
                                      axes[2].element(at[2]), zeros, elements.data());
        WinogradTile<N, planes> cube;
        each_vector<N>(channels, [&](std::int64_t c, auto) {
            cube.inputs(elements.data(), c, to + tile * pitch + c, stride);
        });
    });
}

// The same of gradients in the outputs.
template <int planes, class N, class T>
void transform_gradients(const TileBox& box, const View<const T>& view, std::int64_t channels,
                         const T* zeros, N* to, std::int64_t pitch, std::int64_t stride) {
    const std::int64_t step = box.tiles.axes[0].step;
    box.each_tile([&](std::int64_t tile, std::int64_t image, const auto& at) {
        std::array<const T*, 8> elements;
        view.template find<(planes > 1 ? 2 : 1), 2>(image, at[0] * step, at[1] * 2, at[2] * 2, zeros,
                                                    elements.data());
        WinogradTile<N, planes> cube;
        each_vector<N>(channels, [&](std::int64_t c, auto) {
            cube.gradients(elements.data(), c, to + tile * pitch + c, stride);
        });
    });
}

}  // namespace backblocks::ISA
