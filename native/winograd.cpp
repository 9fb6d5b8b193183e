// Convolution with three taps along each axis, and its input gradient, by Winograd's algorithm.
//
// Two neighbouring outputs y read four inputs d. With
//
//     m0 = (d0 - d2) * g0        m1 = (d1 + d2) * (g0 + g1 + g2) / 2
//     m3 = (d1 - d3) * g2        m2 = (d2 - d1) * (g0 - g1 + g2) / 2
//
// they are y0 = m0 + m1 + m2 and y1 = m1 - m2 - m3: four products instead of six. Along
// each axis in turn, that is 16 instead of 36 for a square of outputs, and 64 instead of 216 for a
// cube. For each of these 16 or 64 points:
//
//     products[point, tile, n] = sum over channels c: sources[point, tile, c] * filters[point, c, n]
//
// which are as many products of matrices. Neither y reads an input that is not in its window, halves
// are exact, and sums are shorter: errors are about half of those of the direct sums. But an input
// that is not finite is combined with others, or with padding, on the way: if a result is not finite, all are
// computed by the direct algorithm. Products that are too large for the type may cancel before they are made.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "conv_algorithms.hpp"
#include "conv_pack.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "winograd_tiles.hpp"
#include "winograd_transforms.hpp"

namespace backblocks {
namespace {

using namespace ISA;

template <class T>
struct Plan {
    using N = Wide<T>;
    const std::shared_ptr<const ConvPlan> kept;
    const ConvPlan& conv;
    FilterPanels<N> panels;
    WinogradTiles tiles;
    std::vector<std::int64_t> offsets, sums;  // of a tile's inputs and products at a point

    explicit Plan(std::shared_ptr<const ConvPlan> plan)
        : kept(std::move(plan)), conv(*kept), panels(conv), tiles(conv) {
        tiles.cut_into_boxes(std::max(kLeastTilesOfBox, kBytesOfBox / bytes_of_tile<N>(conv, tiles)),
                             conv.images);
        for (std::int64_t tile = 0; tile < tiles.largest_box(); ++tile) {
            offsets.push_back(tile * conv.ins);
            sums.push_back(tile * panels.all());
        }
    }

    std::int64_t inputs_stride() const { return point_stride<N>(size_of(offsets) * conv.ins); }
    std::int64_t sums_stride() const { return point_stride<N>(size_of(offsets) * panels.all()); }
};

// -- boxes ----------------------------------------------------------------------------------------

// Transforms the filters, packed panel by panel.
template <int planes, class T>
void transform_filters(const Plan<T>& plan, const T* filters, Wide<T>* packed) {
    using N = Wide<T>;
    const std::int64_t ins = plan.conv.ins, stride = ins * plan.panels.all();
    const std::int64_t work = stride * plan.tiles.points();
    parallel_for(plan.panels.count(), work, [&](std::int64_t begin, std::int64_t end) {
        Scratch<N> taps;
        for (std::int64_t panel = begin; panel < end; ++panel) {
            const std::int64_t size = ins * plan.panels.width(panel), all = plan.conv.depth.n;
            N* from = taps.of(all / ins * size);
            pack(plan.conv, filters, panel, {0, all}, from);
            for (std::int64_t i = 0; i < size; i += kLanes<N>)
                WinogradTile<N, planes>{}.filters(from + i, size, packed + ins * plan.panels.first(panel) + i,
                                       stride);
        }
    });
}

// Products of a tile of rows, which are in `offsets` and go to `sums`. Not inlined, so that all their
// addresses are in registers.
template <int rows, int vectors, class N>
__attribute__((noinline)) void multiply_rows(const N* from, const std::int64_t* offsets,
                                             std::int64_t depth, const N* filters, N* to,
                                             const std::int64_t* sums) {
    Tile<N, rows, vectors> tile;
    tile.clear();
    tile.add(depth, {from, offsets}, 0, 1, filters, vectors * kLanes<N>);
    tile.store(to, sums);
}

template <class T, int planes>
class Worker {
    using N = Wide<T>;
    using WinogradTile = ISA::WinogradTile<N, planes>;

   public:
    Worker(const Plan<T>& plan, const T* sources, const N* filters, T* targets)
        : plan_(plan), sources_(sources), filters_(filters), targets_(targets) {}

    // Computes a box. Gives whether all its outputs are finite.
    bool run(const TileBox& box) {
        const Strides &source = plan_.conv.source, &target = plan_.conv.target;
        if constexpr (std::is_same_v<T, N>)
            if (plan_.conv.channels_first()) {
                multiply(box, box.transposed(sources_, source, plan_.conv.ins, &TileAxis::read,
                                         sources_room_));
                return to_transposed_targets(box);
            }
        multiply(box, box.in_place(sources_, source, &TileAxis::sources));
        return to_targets(box, box.in_place(targets_, target, &TileAxis::targets));
    }

   private:
    void multiply(const TileBox& box, const View<const T>& view) {
        const std::int64_t ins = plan_.conv.ins, stride = plan_.inputs_stride();
        zeros_.resize(static_cast<std::size_t>(ins));
        transform_inputs<planes>(box, view, ins, zeros_.data(), points_.of(stride * WinogradTile::points),
                                  ins, stride);
        count_ = box.count();
        sums_.of(plan_.sums_stride() * WinogradTile::points);
        for (std::int64_t point = 0; point < WinogradTile::points; ++point)
            for (std::int64_t panel = 0; panel < plan_.panels.count(); ++panel)
                if (plan_.panels.width(panel) == kPanel<N>) multiply_panel<2>(point, panel);
                else multiply_panel<1>(point, panel);
    }

    template <int vectors>
    void multiply_panel(std::int64_t point, std::int64_t panel) {
        const std::int64_t ins = plan_.conv.ins, first = plan_.panels.first(panel);
        const N* const from = points_.get() + point * plan_.inputs_stride();
        const N* const filters = filters_ + ins * (point * plan_.panels.all() + first);
        N* const to = sums_.get() + point * plan_.sums_stride() + first;
        const Parts parts = Parts::of_at_most(most_rows(vectors), count_);
        for (std::int64_t i = 0; i < parts.count; ++i)
            with_constant<most_rows(vectors)>(parts[i].size(), [&](auto rows) {
                const auto tile = static_cast<std::size_t>(parts[i].first);
                multiply_rows<rows, vectors>(from, &plan_.offsets[tile], ins, filters, to,
                                             &plan_.sums[tile]);
            });
    }

    bool to_targets(const TileBox& box, const View<T>& view) const {
        const std::int64_t stride = plan_.sums_stride();
        Vector<N> zeros{};
        box.each_tile([&](std::int64_t tile, std::int64_t image, const auto& at) {
            std::array<T*, 8> elements;
            view.template find<(planes > 1 ? 2 : 1), 2>(image, at[0] * plan_.tiles.axes[0].step,
                                                        at[1] * 2, at[2] * 2, nullptr,
                                                        elements.data());
            const N* const from = sums_.get() + tile * plan_.panels.all();
            WinogradTile cube;
            each_vector<N>(plan_.conv.outs, [&](std::int64_t c, auto) {
                zeros += cube.outputs(from + c, stride, elements.data(), c);
            });
        });
        return !any_nan(zeros);
    }

    // With channels first: by transposed copies.
    bool to_transposed_targets(const TileBox& box) {
        const View<N> copies = box.copies(targets_room_, plan_.conv.outs, &TileAxis::written);
        const bool finite = to_targets(box, copies);
        box.each_row(copies, plan_.conv.target, [&](std::int64_t offset, const N* row) {
            transpose(
                copies.elements[2].size(), plan_.conv.outs,
                [&](auto i) { return row + i * plan_.conv.outs; },
                [&](auto n) { return targets_ + offset + n * plan_.conv.target.channel; });
        });
        return finite;
    }

    const Plan<T>& plan_;
    const T* const sources_;
    const N* const filters_;
    T* const targets_;
    std::int64_t count_ = 0;  // tiles of the box
    std::vector<T> zeros_;
    Scratch<N> points_, sums_, sources_room_, targets_room_;
};

template <int planes, class T>
bool convolve(const Plan<T>& plan, const T* sources, const T* filters, T* targets) {
    Scratch<Wide<T>> packed;
    packed.of(plan.tiles.points() * plan.conv.ins * plan.panels.all());
    transform_filters<planes>(plan, filters, packed.get());
    std::atomic<bool> finite{true};
    parallel_for(plan.tiles.boxes(), plan.conv.work, [&](std::int64_t begin, std::int64_t end) {
        Worker<T, planes> worker(plan, sources, packed.get(), targets);
        for (std::int64_t box = begin; box < end && finite; ++box)
            if (!worker.run(TileBox(plan.tiles, box))) finite = false;
    });
    return finite;
}

template <class T>
ConvFunction prepare(const ConvChoice& choice, bool forward, ConvFunction direct) {
    return [=, plan = std::make_shared<const Plan<T>>(choice.plan)](const void* a, const void* b,
                                                                    void* result) {
        const T *sources = in<T>(forward ? a : b), *filters = in<T>(forward ? b : a);
        const auto run = plan->tiles.points() == 64 ? convolve<4, T> : convolve<1, T>;
        if (!run(*plan, sources, filters, out<T>(result))) direct(a, b, result);
    };
}

}  // namespace

ConvFunction ISA::winograd_conv(Type type, const ConvChoice& choice, bool forward,
                                      ConvFunction direct) {
    return with_type(type, [&]<class T>(T) { return prepare<T>(choice, forward, direct); });
}

void ISA::explain_winograd_conv(Type type, const ConvChoice& chosen, Choice& choice) {
    with_type(type, [&]<class T>(T) {
        const Plan<T> plan(chosen.plan);
        choice.with("tiles of a box", plan.tiles.largest_box());
        choice.with("register tile", {most_rows(2), kPanel<Wide<T>>});
        choice.with_loop(plan.tiles.boxes(), plan.conv.work);
    });
}

}  // namespace backblocks
