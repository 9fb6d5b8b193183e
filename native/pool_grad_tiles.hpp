// What the gradients of pools with overlapping windows share: how they are divided into tiles, and row buffers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "choice.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "pool_choice.hpp"

namespace backblocks::ISA {

// Tiles of rows of windows, whose elements are computed together. Where windows overlap, a tile recomputes the row
// buffers of the windows before it.
struct GradTiling {
    std::int64_t planes, rows;            // of a tile
    std::int64_t kept_planes, kept_rows;  // so many row buffers are kept at once
    std::int64_t tiles_d, tiles_h;

    GradTiling(const Pool& pool, std::int64_t bytes_of_row) {
        // 4 MB for each thread, and 48 for all.
        const std::int64_t cache = (std::int64_t{48} << 20) / std::max(num_threads(), 12);
        const auto& [depth, height, width] = pool.axes;
        const std::int64_t before_d = depth.most_windows() - 1;
        const std::int64_t before_h = height.most_windows() - 1;
        kept_planes = before_d + 1;
        rows = height.out;
        planes = before_d ? depth.out : 1;
        if (before_d && !before_h) rows = 1;
        if (before_d && before_h) {
            const std::int64_t fit = cache / (kept_planes * bytes_of_row);
            rows = std::clamp(fit - before_h, std::min(2 * before_h, rows), rows);
        }
        tiles_d = (depth.out - 1) / planes + 1;
        tiles_h = (height.out - 1) / rows + 1;
        split(rows, tiles_h, height.out, before_h, pool.images * tiles_d);
        split(planes, tiles_d, depth.out, before_d, pool.images * tiles_h);
        kept_rows = before_d ? rows + before_h : before_h + 1;
    }

   private:
    // Makes more tiles if there are too few for the threads, but none so small that much of the work is done twice.
    static void split(std::int64_t& size, std::int64_t& tiles, std::int64_t all,
                      std::int64_t before, std::int64_t others) {
        const std::int64_t most = all / std::max<std::int64_t>(4 * before, 1);
        const std::int64_t wanted = std::min(15 / others + 1, most);
        if (tiles >= wanted) return;
        size = (all - 1) / wanted + 1;
        tiles = (all - 1) / size + 1;
    }
};

// The windows that cover each element along an axis.
struct CoverAxis {
    std::vector<Range> windows;

    explicit CoverAxis(const WindowAxis& axis) {
        windows.reserve(static_cast<std::size_t>(axis.n));
        for (std::int64_t element = 0; element < axis.n; ++element) windows.push_back(axis.windows(element));
    }

    Range covering(std::int64_t element) const { return windows[static_cast<std::size_t>(element)]; }
};

// The gradient of a pool, as all threads share it.
template <class T>
struct PoolGradient {
    const Pool& pool;
    const T *x, *dy;
    T* dx;
    bool large;
    GradTiling tiling;
    CoverAxis depth{pool.axes[0]}, height{pool.axes[1]}, width{pool.axes[2]};
    Range full{pool.axes[2].full()};  // windows
    Range joined{0, 0};  // elements of a row that make vectors together: full windows cover them

    PoolGradient(const Pool& given, const T* from_x, const T* from_dy, T* to, std::int64_t bytes_of_row)
        : pool(given), x(from_x), dy(from_dy), dx(to), tiling(given, bytes_of_row) {
        const WindowAxis& axis = pool.axes[2];
        large = outgrows_cache<T>(pool.numbers(x ? 2 : 1));
        if (axis.s > 1 && pool.channels > 1) return;
        const std::int64_t first = full.first + (axis.k - 1) / axis.s;
        const std::int64_t last = full.last - (full.last * axis.s > axis.n + axis.pads);
        if (axis.s == 1 ? last > first : last - first >= kLanes<Wide<T>>)
            joined = {axis.element(first, 0), axis.element(last, 0)};
    }

    // Where a row of elements begins.
    std::int64_t row(const RowPosition& at) const {
        const auto& [depth, height, width] = pool.axes;
        return ((at.image * depth.n + at.d) * height.n + at.h) * width.n * pool.channels;
    }

    std::int64_t tiles() const { return pool.images * tiling.tiles_d * tiling.tiles_h; }

    // Fills dx, tile by tile, each thread with a `fill` of its own that `make` gives.
    template <class Make>
    void each_tile(const Make& make) const {
        parallel_for(tiles(), bytes_of_pool_grad<T>(pool, x != nullptr),
                     [&](std::int64_t begin, std::int64_t end) {
                         auto fill = make();
                         for (std::int64_t tile = begin; tile < end; ++tile) fill(tile);
                         stream_fence();
                     });
    }
};

// Row buffers of one thread: results of rows of windows, kept until no row of elements needs them.
template <class T, class N>
class RowBuffers {
   public:
    RowBuffers(const PoolGradient<T>& all, std::int64_t size)
        : all_(all), size_(size),
          made_(static_cast<std::size_t>(all.tiling.kept_planes * all.tiling.kept_rows)),
          rows_(scratch_.of(static_cast<std::int64_t>(made_.size()) * size)) {}

    // Calls gather(position) for the rows of elements of a tile.
    template <class Gather>
    void each_row(std::int64_t tile, const Gather& gather) {
        const GradTiling& tiling = all_.tiling;
        const auto& [depth, height, _] = all_.pool.axes;
        const auto part_of = [&](const WindowAxis& axis, std::int64_t count, std::int64_t size) {
            const std::int64_t first = tile % count * size;
            tile /= count;
            return Range{first, std::min(first + size, axis.out)};
        };
        const Range ohs = part_of(height, tiling.tiles_h, tiling.rows);
        const Range ds = depth.owned_elements(part_of(depth, tiling.tiles_d, tiling.planes));
        std::ranges::fill(made_, -1);
        // The elements of a row of windows are done at once, unless the next plane needs its buffer too.
        const std::int64_t step = tiling.kept_planes > 1 ? tiling.rows : 1;
        for (std::int64_t oh = ohs.first; oh < ohs.last; oh += step) {
            const Range hs = height.owned_elements({oh, std::min(oh + step, ohs.last)});
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h) gather(RowPosition{tile, d, h});
        }
    }

    // Calls use(position, buffer) for the rows of windows that cover a row of elements, after make(position, buffer)
    // for those that are not in a buffer yet.
    template <class Make, class Use>
    void each_covering_row(const RowPosition& elements, const Make& make, const Use& use) {
        const GradTiling& tiling = all_.tiling;
        const Range ods = all_.depth.covering(elements.d), ohs = all_.height.covering(elements.h);
        for (std::int64_t od = ods.first; od < ods.last; ++od)
            for (std::int64_t oh = ohs.first; oh < ohs.last; ++oh) {
                const RowPosition position{elements.image, od, oh};
                const std::int64_t slot = od % tiling.kept_planes * tiling.kept_rows + oh % tiling.kept_rows;
                const std::int64_t row = od * all_.pool.axes[1].out + oh;
                N* buffer = rows_ + slot * size_;
                std::int64_t& made = made_[static_cast<std::size_t>(slot)];
                if (made != row) make(position, buffer);
                made = row;
                use(position, buffer);
            }
    }

   private:
    const PoolGradient<T>& all_;
    std::int64_t size_;               // numbers of a buffer
    std::vector<std::int64_t> made_;  // the row of windows in each buffer
    Scratch<N> scratch_;
    N* rows_;
};

// Explains the choice for a gradient of a pool. Where rows are buffered, a buffer has so many bytes.
template <Grad grad, class T>
Choice explain_pool_grad(const Pool& pool, const Chosen<PoolGradAlgorithm>& chosen, std::int64_t bytes_of_row) {
    using enum PoolGradAlgorithm;
    const auto [algorithm, reason] = chosen;
    Choice choice{kIsaName, name_of(algorithm), reason};
    if (algorithm == zeros) return choice;
    constexpr bool max = grad == Grad::max;
    if (algorithm == argmax_rows)
        choice.with("argmax by", name_of(choose_reduction<Reduction::argmax, T>(pool).algorithm));
    if (algorithm == argmax_rows || algorithm == separable || algorithm == dense_separable) {
        const GradTiling tiling(pool, bytes_of_row);
        choice.with("planes x rows of a tile", {tiling.planes, tiling.rows});
        choice.with("planes x rows of buffers", {tiling.kept_planes, tiling.kept_rows});
        return choice.with_loop(pool.images * tiling.tiles_d * tiling.tiles_h,
                                bytes_of_pool_grad<T>(pool, max));
    }
    choice.with("streaming stores", outgrows_cache<T>(pool.numbers(max ? 2 : 1)) ? "if aligned" : "no");
    return choice.with_loop(pool.images * pool.axes[0].out * pool.axes[1].out,
                            bytes_of_pool_grad<T>(pool, max));
}

}  // namespace backblocks::ISA
