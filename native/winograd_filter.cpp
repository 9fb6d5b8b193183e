// The filter gradient of convolution with three taps along each axis, by Winograd's algorithm.
//
// The algorithm is the transpose of that in winograd.cpp. Two neighbouring gradients dy belong to four inputs d and
// three taps; they add to the gradients of these taps, with
//
//     m0 = (d0 - d2) * dy0       m1 = (d1 + d2) * (dy0 + dy1)
//     m3 = (d1 - d3) * dy1       m2 = (d2 - d1) * (dy0 - dy1)
//
// dg0 = m0 + (m1 + m2) / 2, dg1 = (m1 - m2) / 2 and dg2 = (m1 + m2) / 2 - m3. The transform
// from products to dg is the same for all tiles: it is done once, to their sums. For each of the 16 or 64
// points of a tile:
//
//     sums[point, c, n] = sum over tiles: sources[point, tile, c] * gradients[point, tile, n]
//
// which are as many products of matrices. Some tiles at a time are transformed and multiplied: by a thread
// alone, since cores may be far apart, and the sums of threads are added up in the end. Where so many sums
// would be too much memory, all threads transform the same tiles, and each multiplies at some of the points.
// Numbers that a tap has no part in are added and subtracted again: errors are one and a half to two times those of the
// direct sums, and as large at a tap of small numbers as at its neighbours. As in winograd.cpp, if a result is not
// finite, all are computed by the direct algorithm.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "conv_algorithms.hpp"
#include "conv_filter_pack.hpp"
#include "conv_pack.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "tile.hpp"
#include "winograd_tiles.hpp"
#include "winograd_transforms.hpp"

namespace backblocks {
namespace {

using namespace ISA;

// Bytes of the tiles that are transformed at a time, by one thread or by all: the caches have room for them
// and the sums.
constexpr std::int64_t kOwnStep = 1 << 20, kStep = 4 << 20;
// Tiles whose products are added up before they are added to the sums.
constexpr std::int64_t kDepth = 256;
// Parts of the tiles that have sums of their own. Fewer would leave cores idle; all take so many bytes.
constexpr std::int64_t kMostParts = 16, kLeastParts = 8;
constexpr std::int64_t kBytesOfParts = 9 << 20;

template <class T>
struct Plan {
    using N = Wide<T>;
    const std::shared_ptr<const ConvPlan> kept;
    const ConvPlan& conv;
    FilterPanels<N> panels;
    WinogradTiles tiles;
    std::int64_t boxes_at_once = 0;
    std::int64_t parts = 1;

    explicit Plan(std::shared_ptr<const ConvPlan> plan)
        : kept(std::move(plan)), conv(*kept), panels(conv), tiles(conv) {
        cut(kOwnStep);
        const std::int64_t fit = kBytesOfParts / (sums_size() * std::int64_t{sizeof(N)});
        parts = std::min({kMostParts, fit, steps()});
        if (parts >= kLeastParts) return;
        parts = 1;
        cut(kStep);
    }

    void cut(std::int64_t bytes) {
        const std::int64_t room = bytes / (tiles.points() * (x_pitch() + dy_pitch()) *
                                           std::int64_t{sizeof(N)});
        tiles.cut_into_boxes(std::max<std::int64_t>(room / 16, 4), conv.images);
        boxes_at_once = std::max<std::int64_t>(room / tiles.largest_box(), 1);
    }

    std::int64_t steps() const { return convolution::div_up(tiles.boxes(), boxes_at_once); }
    // The boxes that are transformed at a time.
    Range boxes(std::int64_t step) const {
        return {step * boxes_at_once, std::min((step + 1) * boxes_at_once, tiles.boxes())};
    }

    // Numbers of a tile, and of all that are worked on at a time, at a point.
    std::int64_t x_pitch() const { return point_stride<N>(conv.ins); }
    std::int64_t dy_pitch() const { return point_stride<N>(panels.all()); }
    std::int64_t most_tiles() const { return boxes_at_once * tiles.largest_box(); }
    std::int64_t x_stride() const { return point_stride<N>(most_tiles() * x_pitch()); }
    std::int64_t dy_stride() const { return point_stride<N>(most_tiles() * dy_pitch()); }
    std::int64_t sums_stride() const { return point_stride<N>(conv.ins * panels.all()); }
    std::int64_t sums_size() const { return tiles.points() * sums_stride(); }
};

// sums[i, j] += sum over tiles: x[tile, i] * dy[tile, j], for the rows and columns of a tile of
// tile.hpp. Without `more` this is their first value. Not inlined, so that all addresses are in
// registers.
template <int rows, int vectors, class N>
__attribute__((noinline)) void add_rows(const N* x, std::int64_t x_pitch, const N* dy,
                                        std::int64_t dy_pitch, std::int64_t depth, bool more,
                                        N* sums, std::int64_t pitch) {
    Tile<N, rows, vectors> tile;
    tile.clear();
    tile.add_contiguous(depth, x, x_pitch, dy, dy_pitch);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i, sums += pitch)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            N* const to = sums + v * kLanes<N>;
            store(more ? load(to) + tile.sum[i][v] : tile.sum[i][v], to);
        }
}

template <class T, int planes>
class Gradient {
    using N = Wide<T>;
    static constexpr std::int64_t points = WinogradTile<N, planes>::points;

   public:
    Gradient(const Plan<T>& plan, const T* x, const T* dy)
        : plan_(plan),
          all_x_(x),
          all_dy_(dy),
          zeros_(static_cast<std::size_t>(std::max(plan.conv.ins, plan.conv.outs))) {
        x_.of(points * plan.x_stride());
        dy_.of(points * plan.dy_stride());
        // Columns beyond the last are multiplied too, and some numbers that are left over take long.
        if (plan.panels.all() > plan.conv.outs)
            std::fill_n(dy_.get(), points * plan.dy_stride(), N{0});
    }

    // Finds the sums of a part of the tiles.
    void add_up(const Parts& parts, std::int64_t part, N* sums) {
        for (std::int64_t step = parts[part].first; step < parts[part].last; ++step) {
            transform(plan_.boxes(step));
            multiply(sums, step > parts[part].first);
        }
    }

   private:
    void transform(Range boxes) {
        std::vector<std::int64_t> firsts{0};  // where the boxes' tiles begin
        for (std::int64_t box = boxes.first; box < boxes.last; ++box)
            firsts.push_back(firsts.back() + TileBox(plan_.tiles, box).count());
        count_ = firsts.back();
        const std::int64_t bytes = shared(count_ * points * (plan_.conv.ins + plan_.conv.outs) *
                                          std::int64_t{sizeof(N)});
        parallel_for(boxes.size(), bytes, [&](std::int64_t begin, std::int64_t end) {
            Scratch<N> scratch;
            for (std::int64_t i = begin; i < end; ++i)
                transform(TileBox(plan_.tiles, boxes.first + i), firsts[static_cast<std::size_t>(i)],
                          scratch);
        });
    }

    void transform(const TileBox& box, std::int64_t first, Scratch<N>& scratch) {
        const ConvPlan& conv = plan_.conv;
        const auto transform_x = [&](const View<const T>& view) {
            transform_inputs<planes>(box, view, conv.ins, zeros_.data(),
                                      x_.get() + first * plan_.x_pitch(), plan_.x_pitch(),
                                      plan_.x_stride());
        };
        const auto transform_dy = [&](const View<const T>& view) {
            transform_gradients<planes>(box, view, conv.outs, zeros_.data(),
                                        dy_.get() + first * plan_.dy_pitch(), plan_.dy_pitch(),
                                        plan_.dy_stride());
        };
        if constexpr (std::is_same_v<T, N>)
            if (conv.channels_first()) {
                transform_x(box.transposed(all_x_, conv.source, conv.ins, &TileAxis::read, scratch));
                transform_dy(box.transposed(all_dy_, conv.target, conv.outs, &TileAxis::written, scratch));
                return;
            }
        transform_x(box.in_place(all_x_, conv.source, &TileAxis::sources));
        transform_dy(box.in_place(all_dy_, conv.target, &TileAxis::targets));
    }

    // The bytes of a loop that all threads share; of none, a thread runs it alone.
    std::int64_t shared(std::int64_t bytes) const { return plan_.parts == 1 ? bytes : 0; }

    void multiply(N* sums, bool more) {
        const Parts depths = Parts::of_at_most(kDepth, count_);
        const std::int64_t panels = plan_.panels.count();
        // A core multiplies some four times while it moves a byte.
        const std::int64_t bytes = shared(count_ * plan_.sums_stride() * points / 4);
        parallel_for(points * panels, bytes, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                for (std::int64_t part = 0; part < depths.count; ++part)
                    if (plan_.panels.width(i % panels) == kPanel<N>)
                        multiply_panel<2>(i / panels, i % panels, depths[part], more || part > 0, sums);
                    else multiply_panel<1>(i / panels, i % panels, depths[part], more || part > 0, sums);
        });
    }

    template <int vectors>
    void multiply_panel(std::int64_t point, std::int64_t panel, Range depth, bool more, N* all) const {
        const std::int64_t column = plan_.panels.first(panel), pitch = plan_.panels.all();
        const N* const x = x_.get() + point * plan_.x_stride() + depth.first * plan_.x_pitch();
        const N* const dy =
            dy_.get() + point * plan_.dy_stride() + depth.first * plan_.dy_pitch() + column;
        N* const sums = all + point * plan_.sums_stride() + column;
        const Parts parts = Parts::of_at_most(most_rows(vectors), plan_.conv.ins);
        for (std::int64_t i = 0; i < parts.count; ++i)
            with_constant<most_rows(vectors)>(parts[i].size(), [&](auto rows) {
                add_rows<rows, vectors>(x + parts[i].first, plan_.x_pitch(), dy, plan_.dy_pitch(),
                                        depth.size(), more, sums + parts[i].first * pitch, pitch);
            });
    }

    const Plan<T>& plan_;
    const T* const all_x_;
    const T* const all_dy_;
    const std::vector<T> zeros_;
    std::int64_t count_ = 0;  // tiles that are at the points
    Scratch<N> x_, dy_;
};

// Transforms the sums to dw. Gives whether all of it is finite.
template <int planes, class T>
bool inverse_transform(const Plan<T>& plan, const Wide<T>* sums, T* dw) {
    using N = Wide<T>;
    const std::int64_t ins = plan.conv.ins, outs = plan.conv.outs;
    std::atomic<bool> finite{true};
    parallel_for(ins, plan.sums_size() * std::int64_t{sizeof(N)},
                 [&](std::int64_t begin, std::int64_t end) {
                     Vector<N> zeros{};
                     WinogradTile<N, planes> cube;
                     for (std::int64_t c = begin; c < end; ++c)
                         each_vector<N>(outs, [&](std::int64_t n, auto) {
                             zeros += cube.tap_gradients(sums + c * plan.panels.all() + n,
                                                         plan.sums_stride(), dw + c * outs + n,
                                                         ins * outs);
                         });
                     if (any_nan(zeros)) finite = false;
                 });
    return finite;
}

// Computes dw. Gives whether all of it is finite.
template <int planes, class T>
bool run(const Plan<T>& plan, const T* x, const T* dy, T* dw) {
    using N = Wide<T>;
    Scratch<N> room;
    N* const sums = room.of(plan.parts * plan.sums_size());
    const Parts parts{plan.steps(), plan.parts};
    parallel_for(plan.parts, plan.conv.work, [&](std::int64_t begin, std::int64_t end) {
        Gradient<T, planes> gradient(plan, x, dy);
        for (std::int64_t part = begin; part < end; ++part)
            gradient.add_up(parts, part, sums + part * plan.sums_size());
    });
    if (plan.parts > 1) filter_gradient::add_chunks<N>(sums, plan.parts, plan.sums_size(), sums);
    return inverse_transform<planes>(plan, sums, dw);
}

template <class T>
ConvFunction prepare(const ConvChoice& choice, ConvFunction direct) {
    return [=, plan = std::make_shared<const Plan<T>>(choice.plan)](const void* x, const void* dy,
                                                                    void* dw) {
        const bool finite = plan->tiles.points() == 64
                                ? run<4>(*plan, in<T>(x), in<T>(dy), out<T>(dw))
                                : run<1>(*plan, in<T>(x), in<T>(dy), out<T>(dw));
        if (!finite) direct(x, dy, dw);
    };
}

}  // namespace

ConvFunction ISA::winograd_filter_grad(Type type, const ConvChoice& choice,
                                             ConvFunction direct) {
    return with_type(type, [&]<class T>(T) { return prepare<T>(choice, direct); });
}

void ISA::explain_winograd_filter_grad(Type type, const ConvChoice& chosen, Choice& choice) {
    with_type(type, [&]<class T>(T) {
        const Plan<T> plan(chosen.plan);
        choice.with("tiles of a step", plan.most_tiles()).with("partial sums", plan.parts);
        choice.with("register tile", {most_rows(2), kPanel<Wide<T>>});
        // One part is computed by all threads together: they share its points.
        if (plan.parts == 1) choice.with_loop(plan.tiles.points() * plan.panels.count(), plan.conv.work);
        else choice.with_loop(plan.parts, plan.conv.work);
    });
}

}  // namespace backblocks
