// How the gradients of pools are cut into pieces of work, and the lines that a piece keeps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fold.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "pool.hpp"

namespace backblocks::ISA {

// How the work is cut into tiles of rows of windows, whose cells are done together. Where windows
// overlap, a tile finds the lines of the windows before it once more.
struct Cut {
    std::int64_t planes, rows;            // of a tile
    std::int64_t kept_planes, kept_rows;  // so many lines are there at once
    std::int64_t tiles_d, tiles_h;

    Cut(const Pool& pool, std::int64_t bytes_of_line) {
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
            const std::int64_t fit = cache / (kept_planes * bytes_of_line);
            rows = std::clamp(fit - before_h, std::min(2 * before_h, rows), rows);
        }
        tiles_d = (depth.out - 1) / planes + 1;
        tiles_h = (height.out - 1) / rows + 1;
        share(rows, tiles_h, height.out, before_h, pool.images * tiles_d);
        share(planes, tiles_d, depth.out, before_d, pool.images * tiles_h);
        kept_rows = before_d ? rows + before_h : before_h + 1;
    }

   private:
    // Makes more tiles if there are too few for the threads, but none so small that much of the
    // work is done twice.
    static void share(std::int64_t& size, std::int64_t& tiles, std::int64_t all,
                      std::int64_t before, std::int64_t others) {
        const std::int64_t most = all / std::max<std::int64_t>(4 * before, 1);
        const std::int64_t wanted = std::min(15 / others + 1, most);
        if (tiles >= wanted) return;
        size = (all - 1) / wanted + 1;
        tiles = (all - 1) / size + 1;
    }
};

// The windows that cover each cell along an axis.
struct CoverAxis {
    std::vector<Range> windows;

    explicit CoverAxis(const WindowAxis& axis) {
        windows.reserve(static_cast<std::size_t>(axis.n));
        for (std::int64_t cell = 0; cell < axis.n; ++cell) windows.push_back(axis.windows(cell));
    }

    Range over(std::int64_t cell) const { return windows[static_cast<std::size_t>(cell)]; }
};

// What all threads know.
template <class T>
struct Gradients {
    const Pool& pool;
    const T *x, *dy;
    T* dx;
    bool large;
    Cut cut;
    CoverAxis depth{pool.axes[0]}, height{pool.axes[1]}, width{pool.axes[2]};
    Range whole{pool.axes[2].whole()};  // windows
    Range joined{0, 0};  // cells of a row that make vectors together: whole windows cover them

    Gradients(const Pool& given, const T* from_x, const T* from_dy, T* to, std::int64_t bytes_of_line)
        : pool(given), x(from_x), dy(from_dy), dx(to), cut(given, bytes_of_line) {
        const WindowAxis& axis = pool.axes[2];
        large = outgrows_cache<T>(pool.numbers(x ? 2 : 1));
        if (axis.s > 1 && pool.channels > 1) return;
        const std::int64_t first = whole.first + (axis.k - 1) / axis.s;
        const std::int64_t last = whole.last - (whole.last * axis.s > axis.n + axis.pads);
        if (axis.s == 1 ? last > first : last - first >= kLanes<Wide<T>>)
            joined = {axis.cell(first, 0), axis.cell(last, 0)};
    }

    // Where a row of cells begins.
    std::int64_t row(const RowPlace& at) const {
        const auto& [depth, height, width] = pool.axes;
        return ((at.image * depth.n + at.d) * height.n + at.h) * width.n * pool.channels;
    }

    // Fills dx, tile by tile, each thread with a `fill` of its own that `make` gives.
    template <class Make>
    void each_tile(const Make& make) const {
        const auto bytes = static_cast<std::int64_t>(sizeof(T)) * pool.images * pool.cells() *
                           pool.channels * (x ? 2 : 1);
        parallel_for(pool.images * cut.tiles_d * cut.tiles_h, bytes,
                     [&](std::int64_t begin, std::int64_t end) {
                         auto fill = make();
                         for (std::int64_t tile = begin; tile < end; ++tile) fill(tile);
                         end_streams();
                     });
    }
};

// One thread's lines: what is known of a row of windows, kept until no row of cells needs it.
template <class T, class L>
class Lines {
   public:
    Lines(const Gradients<T>& all, std::int64_t size)
        : all_(all), size_(size),
          made_(static_cast<std::size_t>(all.cut.kept_planes * all.cut.kept_rows)),
          lines_(room_.of(static_cast<std::int64_t>(made_.size()) * size)) {}

    // Calls gather(place) for the rows of cells of a tile.
    template <class Gather>
    void each_row(std::int64_t tile, const Gather& gather) {
        const Cut& cut = all_.cut;
        const auto& [depth, height, _] = all_.pool.axes;
        const auto part_of = [&](const WindowAxis& axis, std::int64_t count, std::int64_t size) {
            const std::int64_t first = tile % count * size;
            tile /= count;
            return Range{first, std::min(first + size, axis.out)};
        };
        const Range ohs = part_of(height, cut.tiles_h, cut.rows);
        const Range ds = depth.territory(part_of(depth, cut.tiles_d, cut.planes));
        std::ranges::fill(made_, -1);
        // What a row of windows covers is done at once, unless the next plane needs its line too.
        const std::int64_t step = cut.kept_planes > 1 ? cut.rows : 1;
        for (std::int64_t oh = ohs.first; oh < ohs.last; oh += step) {
            const Range hs = height.territory({oh, std::min(oh + step, ohs.last)});
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h) gather(RowPlace{tile, d, h});
        }
    }

    // Calls use(place, line) for the rows of windows that cover a row of cells; make(place, line)
    // makes lines that are not there.
    template <class Make, class Use>
    void each_above(const RowPlace& cells, const Make& make, const Use& use) {
        const Cut& cut = all_.cut;
        const Range ods = all_.depth.over(cells.d), ohs = all_.height.over(cells.h);
        for (std::int64_t od = ods.first; od < ods.last; ++od)
            for (std::int64_t oh = ohs.first; oh < ohs.last; ++oh) {
                const RowPlace place{cells.image, od, oh};
                const std::int64_t slot = od % cut.kept_planes * cut.kept_rows + oh % cut.kept_rows;
                const std::int64_t row = od * all_.pool.axes[1].out + oh;
                L* line = lines_ + slot * size_;
                std::int64_t& made = made_[static_cast<std::size_t>(slot)];
                if (made != row) make(place, line);
                made = row;
                use(place, line);
            }
    }

   private:
    const Gradients<T>& all_;
    std::int64_t size_;               // numbers of a line
    std::vector<std::int64_t> made_;  // whose line is in each place
    Room<L> room_;
    L* lines_;
};

}  // namespace backblocks::ISA
