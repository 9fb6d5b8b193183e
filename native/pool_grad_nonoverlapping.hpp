// The gradients of pools with non-overlapping windows: no element is in two of them.
//
//     dx[b, i, c] = the share of the window o that covers element i, if there is one: for max
//                   dy[b, o, c] if i is the argmax, for average dy[b, o, c] / (its real elements)
//
// Every element is read once and written once, as the bits of its type: a half is never widened to be
// compared. The shares of a row of windows are found first, because memory takes long rows faster than a
// few elements here and a few there.
//
// Each algorithm (max_pool_grad_nonoverlapping.hpp, avg_pool_grad_nonoverlapping.hpp) is a class with two
// functions: begin_row(rows, dy) finds the shares of a row of windows, write_row(to, i) writes row i of the
// elements that they cover. NonOverlapping walks the rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pool_choice.hpp"
#include "reduce.hpp"

namespace backblocks::ISA {

// The geometry of a row of windows.
struct WindowRow {
    const WindowAxis width;
    const std::int64_t channels;
    const Range full = width.full();                             // windows
    const std::int64_t size = width.n * channels;                // numbers of a row of elements
    const std::int64_t windows_size = width.out * channels;      // and of a row of windows
    const std::int64_t covered = width.elements(width.out - 1).last * channels;

    explicit WindowRow(const Pool& pool) : width(pool.axes[2]), channels(pool.channels) {}

    // Calls work(o, count) for `count` windows from o on that have equally many elements.
    template <class Work>
    void each_of_equal_size(const Work& work) const {
        for (std::int64_t o = 0, count; o < width.out; o += count)
            work(o, count = full.has(o) ? full.last - o : 1);
    }
};

using Offsets = std::vector<std::int64_t>;  // where the rows of elements begin

// Walks rows of windows, on one thread.
template <class T, class Algorithm>
class NonOverlapping {
    using B = Raw<T>;

   public:
    NonOverlapping(const Pool& pool, const T* x, const T* dy, T* dx)
        : pool_(pool), row_(pool), dy_(dy), dx_(dx), algorithm_(pool, x, dx) {}

    // Fills the elements from a row of windows on to the next.
    void operator()(const RowPosition& position) {
        const auto& [depth, height, _] = pool_.axes;
        const Range ds = depth.elements(position.d), hs = height.elements(position.h);
        const auto row_of = [&, &n = depth.n, &m = height.n](std::int64_t d, std::int64_t h) {
            return ((position.image * n + d) * m + h) * row_.size;
        };
        rows_.clear();
        for (std::int64_t d = ds.first; d < ds.last; ++d)
            for (std::int64_t h = hs.first; h < hs.last; ++h) rows_.push_back(row_of(d, h));
        algorithm_.begin_row(rows_, dy_ + position.row(pool_) * row_.windows_size);
        const Range all_ds = depth.owned_elements({position.d, position.d + 1});
        const Range all_hs = height.owned_elements({position.h, position.h + 1});
        B row = 0;
        for (std::int64_t d = all_ds.first; d < all_ds.last; ++d)
            for (std::int64_t h = all_hs.first; h < all_hs.last; ++h) {
                B* const to = reinterpret_cast<B*>(dx_ + row_of(d, h));
                const bool real = ds.has(d) && hs.has(h);
                if (real) algorithm_.write_row(to, row++);
                const std::int64_t written =
                    !real ? 0 : Algorithm::kWritesFullRows ? row_.size : row_.covered;
                if (written < row_.size) std::fill(to + written, to + row_.size, B{});
            }
    }

   private:
    const Pool& pool_;
    const WindowRow row_;
    const T* const dy_;
    T* const dx_;
    Algorithm algorithm_;
    Offsets rows_;  // of the elements that the windows cover
};

template <template <class> class Algorithm, class T>
void nonoverlapping_grad(const T* x, const T* dy, T* dx, const Pool& pool) {
    const std::int64_t rows = pool.axes[1].out;
    each_row(pool.images, pool.axes[0].out, rows, rows, bytes_of_pool_grad<T>(pool, x != nullptr),
             [&] { return NonOverlapping<T, Algorithm<T>>(pool, x, dy, dx); });
}

}  // namespace backblocks::ISA
