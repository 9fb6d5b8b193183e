// How the gradients of pools are cut into pieces of work.
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace backblocks::ISA
