#include "pool_grad.hpp"

#include <algorithm>
#include <limits>

#include "parallel.hpp"

namespace backblocks {
namespace {

// Channels worked on at a time: enough for long vector loops, few enough to stay in the L1 cache.
constexpr std::int64_t kBlock = 64;

// The real cells of one window.
struct Box {
    Range d, h, w;

    std::int64_t size() const { return d.size() * h.size() * w.size(); }
};

// Calls visit(window, box) for every window that has a real cell, in row-major order.
template <class Visit>
void each_window(const Pool3D& pool, Visit visit) {
    const auto& [d, h, w] = pool.axes;
    std::int64_t window = 0;
    for (std::int64_t od = 0; od < d.out; ++od)
        for (std::int64_t oh = 0; oh < h.out; ++oh)
            for (std::int64_t ow = 0; ow < w.out; ++ow, ++window) {
                const Box box{d.cells(od), h.cells(oh), w.cells(ow)};
                if (box.size() > 0) visit(window, box);
            }
}

// Calls visit(cell) for every cell of the box, in row-major order.
template <class Visit>
void each_cell(const Pool3D& pool, const Box& box, Visit visit) {
    for (std::int64_t d = box.d.first; d < box.d.last; ++d)
        for (std::int64_t h = box.h.first; h < box.h.last; ++h) {
            const std::int64_t row = (d * pool.axes[1].n + h) * pool.axes[2].n;
            for (std::int64_t w = box.w.first; w < box.w.last; ++w) visit(row + w);
        }
}

// Sets dx to zero, then calls visit(image, window, box, c, count) for every window of every
// image and every block of channels c .. c + count - 1. Windows of one block are visited in order
// by one thread, so the sums are the same for any number of threads.
template <class T, class Visit>
void scatter(T* dx, const Pool3D& pool, Visit visit) {
    const std::int64_t size = pool.batch * pool.cells() * pool.channels;
    std::fill_n(dx, size, T{0});
    // An empty dy may still have huge axes, which the loops below would walk for nothing.
    if (pool.windows() == 0 || pool.channels == 0) return;
    const std::int64_t blocks = (pool.channels + kBlock - 1) / kBlock;
    const auto bytes = size * static_cast<std::int64_t>(sizeof(T));
    parallel_for(pool.batch * blocks, bytes, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t image = i / blocks, c = i % blocks * kBlock;
            const std::int64_t count = std::min(kBlock, pool.channels - c);
            each_window(pool, [&](std::int64_t window, const Box& box) {
                visit(image, window, box, c, count);
            });
        }
    });
}

// Puts v[i] and its cell in the place of best[i] and at[i] wherever v[i] is better.
template <class T, class Cell>
void keep_better(const T* __restrict v, Cell cell, std::int64_t count, T* __restrict best,
                 Cell* __restrict at) {
    for (std::int64_t i = 0; i < count; ++i) {
        // True for a larger value and for the first NaN; false once best is NaN.
        // & and not &&: without a branch the loop becomes vector code.
        const bool better = !(v[i] <= best[i]) & (best[i] == best[i]);
        best[i] = better ? v[i] : best[i];
        at[i] = better ? cell : at[i];
    }
}

// Cell is an integer that can number the cells of one image.
template <class Cell, class T>
void max_pool_3d_grad_with(const T* x, const T* dy, T* dx, const Pool3D& pool) {
    scatter(dx, pool, [&](auto image, auto window, const Box& box, auto c, auto count) {
        const std::int64_t C = pool.channels;
        const T* xs = x + image * pool.cells() * C + c;
        T* dxs = dx + image * pool.cells() * C + c;
        const T* dys = dy + (image * pool.windows() + window) * C + c;

        const std::int64_t first =
            (box.d.first * pool.axes[1].n + box.h.first) * pool.axes[2].n + box.w.first;
        T best[kBlock];
        Cell at[kBlock];
        std::copy_n(xs + first * C, count, best);
        std::fill_n(at, count, static_cast<Cell>(first));
        each_cell(pool, box, [&](std::int64_t cell) {
            keep_better(xs + cell * C, static_cast<Cell>(cell), count, best, at);
        });
        for (std::int64_t i = 0; i < count; ++i) dxs[at[i] * C + i] += dys[i];
    });
}

}  // namespace

// dx[b, i, c] = sum over windows o with i = argmax over j in o of x[b, j, c]: dy[b, o, c]
template <class T>
void max_pool_3d_grad(const T* x, const T* dy, T* dx, const Pool3D& pool) {
    // 64-bit cell numbers are for huge images only: without AVX2 they keep keep_better scalar.
    if (pool.cells() <= std::numeric_limits<std::int32_t>::max())
        max_pool_3d_grad_with<std::int32_t>(x, dy, dx, pool);
    else
        max_pool_3d_grad_with<std::int64_t>(x, dy, dx, pool);
}

// dx[b, i, c] = sum over windows o that hold i: dy[b, o, c] / (number of real cells of o)
template <class T>
void avg_pool_3d_grad(const T* dy, T* dx, const Pool3D& pool) {
    scatter(dx, pool, [&](auto image, auto window, const Box& box, auto c, auto count) {
        const std::int64_t C = pool.channels;
        T* dxs = dx + image * pool.cells() * C + c;
        const T* dys = dy + (image * pool.windows() + window) * C + c;

        T share[kBlock];
        const T size = static_cast<T>(box.size());
        for (std::int64_t i = 0; i < count; ++i) share[i] = dys[i] / size;
        each_cell(pool, box, [&](std::int64_t cell) {
            T* out = dxs + cell * C;
            for (std::int64_t i = 0; i < count; ++i) out[i] += share[i];
        });
    });
}

template void max_pool_3d_grad(const float*, const float*, float*, const Pool3D&);
template void max_pool_3d_grad(const double*, const double*, double*, const Pool3D&);
template void avg_pool_3d_grad(const float*, float*, const Pool3D&);
template void avg_pool_3d_grad(const double*, double*, const Pool3D&);

}  // namespace backblocks
