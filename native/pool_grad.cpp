// The gradients of the pools: one number for each element.
//
//     dx[b, i, c] = sum over windows o that cover element i: the share of o in i, of dy[b, o, c]
//
// For average pooling a window's share is the same in all its elements; for max pooling the argmax has all of it.
#include <algorithm>
#include <cstdint>

#include "geometry.hpp"
#include "pool_choice.hpp"
#include "pool_grad_argmax.hpp"
#include "pool_grad_nonoverlapping.hpp"
#include "pool_grad_separable.hpp"
#include "pool_grad_tiles.hpp"

namespace backblocks::ISA {
namespace {

template <class T>
std::int64_t bytes_of_argmax_row(const Pool& pool) {
    return ArgmaxRows<T>::row_size(pool) * static_cast<std::int64_t>(sizeof(T));
}

template <Grad grad, class T>
void pool_grad(const T* x, const T* dy, T* dx, const Pool& given) {
    using enum PoolGradAlgorithm;
    const Pool pool = given.with_merged_width();
    const auto separable_grad = [&](bool dense) {
        const PoolGradient<T> all(pool, x, dy, dx, Separable<T, grad>::bytes_of_row(pool));
        all.each_tile([&] { return Separable<T, grad>(all, dense); });
    };
    const PoolGradAlgorithm algorithm = choose_pool_grad<grad, T>(pool).algorithm;
    if (algorithm == zeros) {
        std::fill_n(dx, pool.images * pool.elements() * pool.channels, T{});
        return;
    }
    if (algorithm == separable || algorithm == dense_separable)
        return separable_grad(algorithm == dense_separable);
    if constexpr (grad == Grad::max) {
        if (algorithm == max_by_pairs) return nonoverlapping_grad<MaxByPairs>(x, dy, dx, pool);
        if (algorithm == max_by_columns) return nonoverlapping_grad<MaxByColumns>(x, dy, dx, pool);
        if (algorithm == max_by_channels) return nonoverlapping_grad<MaxByChannels>(x, dy, dx, pool);
        const PoolGradient<T> all(pool, x, dy, dx, bytes_of_argmax_row<T>(pool));
        all.each_tile([&] { return ArgmaxRows<T>(all); });
    } else {
        if (algorithm == avg_by_elements) return nonoverlapping_grad<AvgByElements>(x, dy, dx, pool);
        nonoverlapping_grad<AvgByRows>(x, dy, dx, pool);
    }
}

template <Grad grad, class T>
Choice explain(const Pool& given) {
    using enum PoolGradAlgorithm;
    const Pool pool = given.with_merged_width();
    const auto [algorithm, reason] = choose_pool_grad<grad, T>(pool);
    Choice choice{kIsaName, name_of(algorithm), reason};
    if (algorithm == zeros) return choice;
    constexpr bool max = grad == Grad::max;
    const auto with_tiles = [&](std::int64_t bytes_of_row) {
        const GradTiling tiling(pool, bytes_of_row);
        choice.with("planes x rows of a tile", {tiling.planes, tiling.rows});
        choice.with("planes x rows of buffers", {tiling.kept_planes, tiling.kept_rows});
        return choice.with_loop(pool.images * tiling.tiles_d * tiling.tiles_h,
                                bytes_of_pool_grad<T>(pool, max));
    };
    if (algorithm == separable || algorithm == dense_separable)
        return with_tiles(Separable<T, grad>::bytes_of_row(pool));
    if (algorithm == argmax_rows) {
        choice.with("argmax by", name_of(choose_reduction<Reduction::argmax, T>(pool).algorithm));
        return with_tiles(bytes_of_argmax_row<T>(pool));
    }
    choice.with("streaming stores", outgrows_cache<T>(pool.numbers(max ? 2 : 1)) ? "if aligned" : "no");
    return choice.with_loop(pool.images * pool.axes[0].out * pool.axes[1].out,
                            bytes_of_pool_grad<T>(pool, max));
}

}  // namespace

Kernel max_pool_grad(const PoolCall& call) {
    return call.kernel(
        {call.input, call.output}, {call.input},
        []<class T>(T, void* const* t, const Pool& pool) {
            pool_grad<Grad::max>(in<T>(t[0]), in<T>(t[1]), out<T>(t[2]), pool);
        },
        []<class T>(T, const Pool& pool) { return explain<Grad::max, T>(pool); });
}

Kernel avg_pool_grad(const PoolCall& call) {
    return call.kernel(
        {call.output}, {call.input},
        []<class T>(T, void* const* t, const Pool& pool) {
            pool_grad<Grad::avg, T>(nullptr, in<T>(t[0]), out<T>(t[1]), pool);
        },
        []<class T>(T, const Pool& pool) { return explain<Grad::avg, T>(pool); });
}

}  // namespace backblocks::ISA
