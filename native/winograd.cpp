// Convolution with three taps along each axis, and its gradient in the input, by fewer products.
//
// Two targets y that are neighbours read four sources d. With
//
//     m0 = (d0 - d2) * g0        m1 = (d1 + d2) * (g0 + g1 + g2) / 2
//     m3 = (d1 - d3) * g2        m2 = (d2 - d1) * (g0 - g1 + g2) / 2
//
// they are y0 = m0 + m1 + m2 and y1 = m1 - m2 - m3: four products instead of six (Winograd). Along
// each axis in turn, that is 16 instead of 36 for a square of targets, and 64 instead of 216 for a
// cube. For each of these 16 or 64 points:
//
//     products[point, tile, n] = sum over channels c: sources[point, tile, c] * filters[point, c, n]
//
// which are as many products of matrices. Neither y reads a source that is not in its window, halves
// are exact, and sums are shorter: errors are about half of those of the plain sums. But what is not
// finite can meet others, or padding, on the way: if a result is not finite, all are computed the
// plain way.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "conv.hpp"
#include "conv_pack.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "winograd_cube.hpp"

namespace backblocks {
namespace {

using namespace ISA;

// Bytes of the filters at all points, at most.
constexpr double kFilters = 16 << 20;
// Bytes of a box's sources and products at all points: what the L2 cache has room for, unless so
// few tiles would fetch the filters too often, and what is too much.
constexpr std::int64_t kNear = 320 << 10;
constexpr std::int64_t kFewTiles = 24;
constexpr std::int64_t kFar = 4 << 20;
// What it takes to bring a number to a point or from there, in products: measured.
constexpr double kToPoint = 10;
constexpr double kToPointOfVolumes = 20;
constexpr double kFilterToPoint = 32;

// -- tiles ----------------------------------------------------------------------------------------

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

template <class T>
struct Plan {
    using N = Wide<T>;
    ConvPlan conv;
    Panels<N> panels;
    std::vector<TileAxis> axes;
    std::array<Parts, 4> parts;  // of the images, and of the tiles along each axis
    std::vector<std::int64_t> places, sums;  // of a tile's sources and products at a point

    Plan(const Conv& given, bool forward) : conv(given, forward, kLanes<N>), panels(conv) {}

    // Goes on with a convolution that it can take, if that is worth it.
    bool pays() {
        if (conv.groups != 1 || conv.rows.used || std::min(conv.ins, conv.outs) < kLanes<N> ||
            (conv.source.channel > 1 && !std::is_same_v<T, N>))
            return false;
        if (!TileAxis::can_take(conv.axes[2], 3) || !TileAxis::can_take(conv.axes[1], 3) ||
            !(TileAxis::can_take(conv.axes[0], 3) || TileAxis::can_take(conv.axes[0], 1)))
            return false;
        const double ins = static_cast<double>(conv.ins), outs = static_cast<double>(conv.outs);
        double tiles = static_cast<double>(conv.images), plain = tiles * ins * outs;
        for (const LineAxis& axis : conv.axes) {
            const TileAxis& added = axes.emplace_back(axis.lines[0].sweep);
            tiles *= static_cast<double>(added.tiles);
            plain *= static_cast<double>(added.targets * axis.taps());
        }
        const double filters = points() * ins * outs;
        const double to_point = points() == 64 ? kToPointOfVolumes : kToPoint;
        if (filters * (tiles + kFilterToPoint) + points() * tiles * to_point * (ins + outs) > plain ||
            filters * sizeof(N) > kFilters)
            return false;
        const std::int64_t each = points() * (conv.ins + panels.all()) * std::int64_t{sizeof(N)};
        if (each * kFewTiles > kFar) return false;
        cut_into_boxes(std::max(kFewTiles, kNear / each));
        return true;
    }

    int points() const { return axes[0].step == 2 ? 64 : 16; }
    std::int64_t boxes() const {
        return parts[0].count * parts[1].count * parts[2].count * parts[3].count;
    }
    // From point to point. An odd number of cache lines: or they would be in each other's way.
    static std::int64_t apart(std::int64_t numbers) {
        constexpr std::int64_t line = kCacheLine / sizeof(N);
        return (div_up(numbers, line) | 1) * line;
    }
    std::int64_t sources_apart() const { return apart(size_of(places) * conv.ins); }
    std::int64_t sums_apart() const { return apart(size_of(places) * panels.all()); }

   private:
    void cut_into_boxes(std::int64_t room) {
        std::int64_t largest = 1;
        for (std::size_t i = 4; i-- > 0; room /= parts[i].largest()) {
            parts[i] = Parts::of_at_most(room, i ? axes[i - 1].tiles : conv.images);
            largest *= parts[i].largest();
        }
        for (std::int64_t tile = 0; tile < largest; ++tile) {
            places.push_back(tile * conv.ins);
            sums.push_back(tile * panels.all());
        }
    }
};

// -- boxes ----------------------------------------------------------------------------------------

// Brings filters to all points, packed panel by panel.
template <int planes, class T>
void pack_points(const Plan<T>& plan, const T* filters, Wide<T>* packed) {
    using N = Wide<T>;
    const std::int64_t ins = plan.conv.ins, apart = ins * plan.panels.all();
    parallel_for(plan.panels.count(), apart * plan.points(), [&](std::int64_t begin, std::int64_t end) {
        Room<N> taps;
        for (std::int64_t panel = begin; panel < end; ++panel) {
            const std::int64_t size = ins * plan.panels.width(panel), all = plan.conv.depth.n;
            N* from = taps.of(all / ins * size);
            pack(plan.conv, filters, panel, {0, all}, from);
            for (std::int64_t i = 0; i < size; i += kLanes<N>)
                Cube<N, planes>{}.taps(from + i, size, packed + ins * plan.panels.first(panel) + i,
                                       apart);
        }
    });
}

// Products of a tile of rows, which are in `places` and go to `sums`. Apart from what surrounds it, so
// that all their addresses are in registers.
template <int rows, int vectors, class N>
__attribute__((noinline)) void multiply_rows(const N* from, const std::int64_t* places,
                                             std::int64_t depth, const N* filters, N* to,
                                             const std::int64_t* sums) {
    Tile<N, rows, vectors> tile;
    tile.clear();
    tile.add(depth, from, places, 1, filters, vectors * kLanes<N>);
    tile.store(to, sums);
}

template <class T, int planes>
class Worker {
    using N = Wide<T>;
    using Cube = ISA::Cube<N, planes>;

   public:
    Worker(const Plan<T>& plan, const T* sources, const N* filters, T* targets)
        : plan_(plan), sources_(sources), filters_(filters), targets_(targets) {}

    // Whether all that it gives is finite.
    bool run(std::int64_t box) {
        for (std::size_t i = 4; i-- > 0; box /= plan_.parts[i].count)
            box_[i] = plan_.parts[i][box % plan_.parts[i].count];
        if constexpr (std::is_same_v<T, N>)
            if (plan_.conv.source.channel > 1) return run_turned();
        from_sources(in_place(sources_, plan_.conv.source, &TileAxis::sources));
        multiply();
        return to_targets(in_place(targets_, plan_.conv.target, &TileAxis::targets));
    }

   private:
    template <class S>
    View<S> in_place(S* first, const Order& order, std::int64_t TileAxis::*size) const {
        View<S> view{first, {}, order};
        for (std::size_t i = 0; i < 3; ++i) view.cells[i] = {0, plan_.axes[i].*size};
        view.first += box_[0].first * order.image;
        return view;
    }

    // Calls f(tile, image, tile along each axis) for the tiles of a box.
    template <class F>
    void each_tile(F f) const {
        std::int64_t tile = 0;
        for (std::int64_t image = 0; image < box_[0].size(); ++image)
            for (std::int64_t d = box_[1].first; d < box_[1].last; ++d)
                for (std::int64_t h = box_[2].first; h < box_[2].last; ++h)
                    for (std::int64_t w = box_[3].first; w < box_[3].last; ++w)
                        f(tile++, image, std::array<std::int64_t, 3>{d, h, w});
    }

    void from_sources(const View<const T>& view) {
        const std::int64_t ins = plan_.conv.ins, apart = plan_.sources_apart();
        N* const all = points_.of(apart * Cube::points);
        zeros_.resize(static_cast<std::size_t>(ins));
        each_tile([&](std::int64_t tile, std::int64_t image, const auto& at) {
            std::array<const T*, Cube::points> cells;
            view.template find<planes, 4>(image, plan_.axes[0].cell(at[0]),
                                          plan_.axes[1].cell(at[1]), plan_.axes[2].cell(at[2]),
                                          zeros_.data(), cells.data());
            N* const to = all + tile * ins;
            Cube cube;
            each_vector<N>(ins, [&](std::int64_t c, auto) {
                cube.sources(cells.data(), c, to + c, apart);
            });
        });
        count_ = box_[0].size() * box_[1].size() * box_[2].size() * box_[3].size();
    }

    void multiply() {
        sums_.of(plan_.sums_apart() * Cube::points);
        for (std::int64_t point = 0; point < Cube::points; ++point)
            for (std::int64_t panel = 0; panel < plan_.panels.count(); ++panel)
                if (plan_.panels.width(panel) == kPanel<N>) multiply_panel<2>(point, panel);
                else multiply_panel<1>(point, panel);
    }

    template <int vectors>
    void multiply_panel(std::int64_t point, std::int64_t panel) {
        const std::int64_t ins = plan_.conv.ins, first = plan_.panels.first(panel);
        const N* const from = points_.get() + point * plan_.sources_apart();
        const N* const filters = filters_ + ins * (point * plan_.panels.all() + first);
        N* const to = sums_.get() + point * plan_.sums_apart() + first;
        const Parts parts = Parts::of_at_most(most_rows(vectors), count_);
        for (std::int64_t i = 0; i < parts.count; ++i)
            with_constant<most_rows(vectors)>(parts[i].size(), [&](auto rows) {
                const auto tile = static_cast<std::size_t>(parts[i].first);
                multiply_rows<rows, vectors>(from, &plan_.places[tile], ins, filters, to,
                                             &plan_.sums[tile]);
            });
    }

    bool to_targets(const View<T>& view) const {
        const std::int64_t apart = plan_.sums_apart();
        Vector<N> zeros{};
        each_tile([&](std::int64_t tile, std::int64_t image, const auto& at) {
            std::array<T*, 8> cells;
            view.template find<(planes > 1 ? 2 : 1), 2>(image, at[0] * plan_.axes[0].step,
                                                        at[1] * 2, at[2] * 2, nullptr,
                                                        cells.data());
            const N* const from = sums_.get() + tile * plan_.panels.all();
            Cube cube;
            each_vector<N>(plan_.conv.outs, [&](std::int64_t c, auto) {
                zeros += cube.targets(from + c, apart, cells.data(), c);
            });
        });
        return !any_nan(zeros);
    }

    // With channels first: in copies that have them last.
    bool run_turned() {
        const View<N> sources = copies(sources_room_, plan_.conv.ins, &TileAxis::read);
        const View<N> targets = copies(targets_room_, plan_.conv.outs, &TileAxis::given);
        each_row(sources, plan_.conv.source, [&](std::int64_t place, N* row) {
            transpose(
                plan_.conv.ins, sources.cells[2].size(),
                [&](auto c) { return sources_ + place + c * plan_.conv.source.channel; },
                [&](auto i) { return row + i * plan_.conv.ins; });
        });
        from_sources({sources.first, sources.cells, sources.order});
        multiply();
        const bool finite = to_targets(targets);
        each_row(targets, plan_.conv.target, [&](std::int64_t place, const N* row) {
            transpose(
                targets.cells[2].size(), plan_.conv.outs,
                [&](auto i) { return row + i * plan_.conv.outs; },
                [&](auto n) { return targets_ + place + n * plan_.conv.target.channel; });
        });
        return finite;
    }

    View<N> copies(Room<N>& room, std::int64_t channels, Range (TileAxis::*cells)(Range) const) const {
        View<N> view{};
        for (std::size_t i = 0; i < 3; ++i) view.cells[i] = (plan_.axes[i].*cells)(box_[i + 1]);
        view.order = Order::of({view.cells[0].size(), view.cells[1].size(), view.cells[2].size()},
                               channels, false);
        view.first = room.of(box_[0].size() * view.order.image);
        return view;
    }

    // Calls f(where a row begins, its copy) for each row of copies.
    template <class F>
    void each_row(const View<N>& view, const Order& order, F f) const {
        const auto& [ds, hs, ws] = view.cells;
        for (std::int64_t image = 0; image < box_[0].size(); ++image)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h)
                    f((box_[0].first + image) * order.image + d * order.cell[0] +
                          h * order.cell[1] + ws.first * order.cell[2],
                      view.first + image * view.order.image +
                          (d - ds.first) * view.order.cell[0] + (h - hs.first) * view.order.cell[1]);
    }

    const Plan<T>& plan_;
    const T* const sources_;
    const N* const filters_;
    T* const targets_;
    std::array<Range, 4> box_{};
    std::int64_t count_ = 0;  // tiles of the box
    std::vector<T> zeros_;
    Room<N> points_, sums_, sources_room_, targets_room_;
};

template <int planes, class T>
bool convolve(const Plan<T>& plan, const T* sources, const T* filters, T* targets) {
    Room<Wide<T>> packed;
    packed.of(plan.points() * plan.conv.ins * plan.panels.all());
    pack_points<planes>(plan, filters, packed.get());
    std::atomic<bool> finite{true};
    parallel_for(plan.boxes(), plan.conv.work, [&](std::int64_t begin, std::int64_t end) {
        Worker<T, planes> worker(plan, sources, packed.get(), targets);
        for (std::int64_t box = begin; box < end && finite; ++box)
            if (!worker.run(box)) finite = false;
    });
    return finite;
}

template <class T>
ConvKernels::Ready by_fewer_products(const Conv& conv, bool forward, ConvKernels::Ready plain) {
    const auto plan = std::make_shared<Plan<T>>(conv, forward);
    if (!plan->pays()) return plain;
    return [=](const void* a, const void* b, void* result) {
        const T *sources = in<T>(forward ? a : b), *filters = in<T>(forward ? b : a);
        const auto run = plan->points() == 64 ? convolve<4, T> : convolve<1, T>;
        if (!run(*plan, sources, filters, out<T>(result))) plain(a, b, result);
    };
}

}  // namespace

ConvKernels::Ready ISA::conv_by_fewer_products(Type type, const Conv& conv, bool forward,
                                               ConvKernels::Ready plain) {
    return with_type(type, [&]<class T>(T) { return by_fewer_products<T>(conv, forward, plain); });
}

}  // namespace backblocks
