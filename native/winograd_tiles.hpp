// The tiles of Winograd's sums (see winograd.cpp): where they are, and how they come to the points.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "conv_plan.hpp"
#include "half.hpp"
#include "memory.hpp"
#include "simd.hpp"
#include "transpose.hpp"
#include "winograd_cube.hpp"

namespace backblocks::ISA {

using namespace convolution;

// Bytes of the filters, or of their gradients, at all points, at most.
constexpr double kFilters = 16 << 20;
// What it takes to bring a number to a point or from there, in products: measured.
constexpr double kToPoint = 10;
constexpr double kToPointOfVolumes = 20;
constexpr double kFilterToPoint = 32;

// An axis of space: targets side by side, in tiles of two if there are three taps.
struct TileAxis {
    std::int64_t sources, targets, first_cell, step, tiles;

    explicit TileAxis(const Sweep& sweep)
        : sources(sweep.n),
          targets(sweep.count),
          first_cell(sweep.taps[0].cell),
          step(sweep.taps.size() == 3 ? 2 : 1),
          tiles(div_up(targets, step)) {}

    static bool can_take(const LineAxis& axis, std::size_t taps) {
        if (!axis.complete || axis.lines.size() != 1) return false;
        const Sweep& sweep = axis.lines[0].sweep;
        return sweep.stride == 1 && sweep.step == 1 && sweep.taps.size() == taps &&
               sweep.taps.back().cell - sweep.taps[0].cell == static_cast<std::int64_t>(taps) - 1;
    }

    std::int64_t cells() const { return step == 2 ? 4 : 1; }
    std::int64_t cell(std::int64_t tile) const { return first_cell + tile * step; }
    // What some tiles read, and what they give.
    Range read(Range some) const {
        return {std::clamp<std::int64_t>(cell(some.first), 0, sources),
                std::clamp<std::int64_t>(cell(some.last - 1) + cells(), 0, sources)};
    }
    Range given(Range some) const {
        return {some.first * step, std::min(some.last * step, targets)};
    }
};

// Numbers of some cells, with the channels side by side.
template <class S>
struct View {
    S* first;
    std::array<Range, 3> cells;
    Order order;

    // Finds planes * side * side cells, from one on. Those that are not there are `none`.
    template <int planes, int side>
    void find(std::int64_t image, std::int64_t d, std::int64_t h, std::int64_t w, S* none,
              S** to) const {
        std::array<bool, side> there;
        for (int i = 0; i < side; ++i) there[static_cast<std::size_t>(i)] = cells[2].has(w + i);
        for (int i = 0; i < planes * side; ++i, to += side) {
            const std::int64_t di = d + i / side, hi = h + i % side;
            const bool row = cells[0].has(di) && cells[1].has(hi);
            const std::int64_t place = image * order.image +
                                       (di - cells[0].first) * order.cell[0] +
                                       (hi - cells[1].first) * order.cell[1] +
                                       (w - cells[2].first) * order.cell[2];
            for (int j = 0; j < side; ++j)
                to[j] = row && there[static_cast<std::size_t>(j)] ? first + place + j * order.cell[2]
                                                                  : none;
        }
    }
};

// All tiles, in boxes of some that are worked on together.
struct Tiles {
    std::vector<TileAxis> axes;
    std::array<Parts, 4> parts{};  // of the images, and of the tiles along each axis

    // Goes on with a convolution of three taps along each axis, of which the depth may have one, if
    // that is worth it.
    template <class T>
    bool pay(const ConvPlan& conv) {
        using N = Wide<T>;
        if (conv.groups != 1 || conv.rows.used || std::min(conv.ins, conv.outs) < kLanes<N> ||
            (conv.turned() && !std::is_same_v<T, N>))
            return false;
        if (!TileAxis::can_take(conv.axes[2], 3) || !TileAxis::can_take(conv.axes[1], 3) ||
            !(TileAxis::can_take(conv.axes[0], 3) || TileAxis::can_take(conv.axes[0], 1)))
            return false;
        const double ins = static_cast<double>(conv.ins), outs = static_cast<double>(conv.outs);
        double all = static_cast<double>(conv.images), plain = all * ins * outs;
        for (const LineAxis& axis : conv.axes) {
            const TileAxis& added = axes.emplace_back(axis.lines[0].sweep);
            all *= static_cast<double>(added.tiles);
            plain *= static_cast<double>(added.targets * axis.taps());
        }
        const double filters = points() * ins * outs;
        const double to_point = points() == 64 ? kToPointOfVolumes : kToPoint;
        return filters * (all + kFilterToPoint) + points() * all * to_point * (ins + outs) <= plain &&
               filters * sizeof(N) <= kFilters;
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

// Numbers from point to point. An odd number of cache lines: or they would be in each other's way.
template <class N>
constexpr std::int64_t apart(std::int64_t numbers) {
    constexpr std::int64_t line = kCacheLine / sizeof(N);
    return (div_up(numbers, line) | 1) * line;
}

struct TileBox {
    const Tiles& tiles;
    std::array<Range, 4> at;  // images, and tiles along each axis

    TileBox(const Tiles& tiles, std::int64_t number) : tiles(tiles) {
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
    View<S> in_place(S* first, const Order& order, std::int64_t TileAxis::*size) const {
        View<S> view{first, {}, order};
        for (std::size_t i = 0; i < 3; ++i) view.cells[i] = {0, tiles.axes[i].*size};
        view.first += at[0].first * order.image;
        return view;
    }

    // Room for copies that have the channels last.
    template <class N>
    View<N> copies(Room<N>& room, std::int64_t channels,
                   Range (TileAxis::*cells)(Range) const) const {
        View<N> view{};
        for (std::size_t i = 0; i < 3; ++i) view.cells[i] = (tiles.axes[i].*cells)(at[i + 1]);
        view.order = Order::of({view.cells[0].size(), view.cells[1].size(), view.cells[2].size()},
                               channels, false);
        view.first = room.of(at[0].size() * view.order.image);
        return view;
    }

    // Copies cells that have the channels first.
    template <class N>
    View<const N> turned(const N* from, const Order& order, std::int64_t channels,
                         Range (TileAxis::*cells)(Range) const, Room<N>& room) const {
        const View<N> view = copies(room, channels, cells);
        each_row(view, order, [&](std::int64_t place, N* row) {
            transpose(
                channels, view.cells[2].size(),
                [&](auto c) { return from + place + c * order.channel; },
                [&](auto i) { return row + i * channels; });
        });
        return {view.first, view.cells, view.order};
    }

    // Calls f(where a row begins, its copy) for each row of copies.
    template <class N, class F>
    void each_row(const View<N>& view, const Order& order, F f) const {
        const auto& [ds, hs, ws] = view.cells;
        for (std::int64_t image = 0; image < at[0].size(); ++image)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h)
                    f((at[0].first + image) * order.image + d * order.cell[0] +
                          h * order.cell[1] + ws.first * order.cell[2],
                      view.first + image * view.order.image +
                          (d - ds.first) * view.order.cell[0] + (h - hs.first) * view.order.cell[1]);
    }
};

// Brings what the tiles of a box read to the points, which are `apart`; there a tile has `pitch`
// numbers. Cells that are not there are `zeros`.
template <int planes, class N, class T>
void sources_to_points(const TileBox& box, const View<const T>& view, std::int64_t channels,
                       const T* zeros, N* to, std::int64_t pitch, std::int64_t apart) {
    const auto& axes = box.tiles.axes;
    box.each_tile([&](std::int64_t tile, std::int64_t image, const auto& at) {
        std::array<const T*, planes * 16> cells;
        view.template find<planes, 4>(image, axes[0].cell(at[0]), axes[1].cell(at[1]),
                                      axes[2].cell(at[2]), zeros, cells.data());
        Cube<N, planes> cube;
        each_vector<N>(channels, [&](std::int64_t c, auto) {
            cube.sources(cells.data(), c, to + tile * pitch + c, apart);
        });
    });
}

// The same of gradients in the targets.
template <int planes, class N, class T>
void gradients_to_points(const TileBox& box, const View<const T>& view, std::int64_t channels,
                         const T* zeros, N* to, std::int64_t pitch, std::int64_t apart) {
    const std::int64_t step = box.tiles.axes[0].step;
    box.each_tile([&](std::int64_t tile, std::int64_t image, const auto& at) {
        std::array<const T*, 8> cells;
        view.template find<(planes > 1 ? 2 : 1), 2>(image, at[0] * step, at[1] * 2, at[2] * 2, zeros,
                                                    cells.data());
        Cube<N, planes> cube;
        each_vector<N>(channels, [&](std::int64_t c, auto) {
            cube.gradients(cells.data(), c, to + tile * pitch + c, apart);
        });
    });
}

}  // namespace backblocks::ISA
