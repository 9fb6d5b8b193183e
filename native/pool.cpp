// The pools themselves, and the second gradient of max pooling: one number for each window.
#include "pool.hpp"

#include <cstdint>
#include <limits>

#include "fold.hpp"
#include "pool_grad.hpp"

namespace backblocks::ISA {
namespace {

// y[b, o, c] = max over cells i of window o: x[b, i, c]
template <class T>
void max_pool(const T* x, T* y, const Pool& pool) {
    fold_windows<Fold::largest, T>({x, nullptr}, pool, [&](const auto& folded) {
        store_windows(folded, pool, folded.windows.value, folded.pitch, y);
    });
}

// y[b, o, c] = v[b, argmax over cells i of window o: x[b, i, c], c]
template <class T>
void max_pool_grad_grad(const T* x, const T* v, T* y, const Pool& pool) {
    fold_windows<Fold::pick, T>({x, v}, pool, [&](const auto& folded) {
        store_windows(folded, pool, folded.windows.picked, folded.pitch, y);
    });
}

// y[b, o, c] = sum over cells i of window o: x[b, i, c] / (number of real cells of o)
template <class T>
void avg_pool(const T* x, T* y, const Pool& pool) {
    using N = Wide<T>;
    const auto& [depth, height, width] = pool.axes;
    const Range whole = width.whole();
    fold_windows<Fold::sum, T>({x, nullptr}, pool, [&](const Folded<N>& folded) {
        const std::int64_t pitch = folded.stretch.size() * pool.channels;
        const std::int64_t length = folded.rows * pitch;
        Scratch<1> scratch(Scratch<1>::bytes_of<N>(length));
        N* mean = scratch.template line<N>(length);
        each_row(folded, pool, [&](const RowPlace& place, std::int64_t r) {
            const std::int64_t rows =
                depth.cells(place.d).size() * height.cells(place.h).size();
            each_stretch(width, whole, folded.stretch, [&](Range windows, std::int64_t real) {
                const N count = static_cast<N>(rows * real);
                const std::int64_t at = (windows.first - folded.stretch.first) * pool.channels;
                const N* sum = folded.windows.value + r * folded.pitch + at;
                N* to = mean + r * pitch + at;
                each_vector<N>(windows.size() * pool.channels, [=](std::int64_t i, auto lanes) {
                    store(load(sum + i, lanes) / count, to + i, lanes);
                });
            });
        });
        store_windows(folded, pool, mean, pitch, y);
    });
}

}  // namespace

const PoolKernels pool_kernels{
    [](Type type, const void* x, void* y, const Pool& pool) {
        with_type(type, [&]<class T>(T) { max_pool(in<T>(x), out<T>(y), pool); });
    },
    max_pool_grad,
    [](Type type, const void* x, const void* ddx, void* ddy, const Pool& pool) {
        with_type(type, [&]<class T>(T) {
            max_pool_grad_grad(in<T>(x), in<T>(ddx), out<T>(ddy), pool);
        });
    },
    [](Type type, const void* x, void* y, const Pool& pool) {
        with_type(type, [&]<class T>(T) { avg_pool(in<T>(x), out<T>(y), pool); });
    },
    avg_pool_grad,
    max_pool_with_argmax,
    max_pool_grad_with_argmax,
    max_pool_grad_grad_with_argmax,
};

}  // namespace backblocks::ISA
