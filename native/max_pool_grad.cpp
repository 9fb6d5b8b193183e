// The gradient of max pooling, all of which goes to the argmax of a window:
//
//     dx[b, i, c] = sum over windows o that cover element i: dy[b, o, c] if i is the argmax of o, else 0
#include <algorithm>
#include <cstdint>

#include "geometry.hpp"
#include "max_pool_grad_argmax.hpp"
#include "max_pool_grad_nonoverlapping.hpp"
#include "pool_choice.hpp"
#include "pool_grad_separable.hpp"

namespace backblocks::ISA {
namespace {

template <class T>
void max_pool_grad(const T* x, const T* dy, T* dx, const Pool& given) {
    using enum PoolGradAlgorithm;
    const Pool pool = given.with_merged_width();
    const PoolGradAlgorithm algorithm = choose_pool_grad<Grad::max, T>(pool).algorithm;
    if (algorithm == zeros) std::fill_n(dx, pool.images * pool.elements() * pool.channels, T{});
    else if (algorithm == max_by_pairs) nonoverlapping_grad<MaxByPairs>(x, dy, dx, pool);
    else if (algorithm == max_by_columns) nonoverlapping_grad<MaxByColumns>(x, dy, dx, pool);
    else if (algorithm == max_by_channels) nonoverlapping_grad<MaxByChannels>(x, dy, dx, pool);
    else if (algorithm == argmax_rows) argmax_rows_grad(x, dy, dx, pool);
    else separable_grad<Grad::max>(x, dy, dx, pool, algorithm == dense_separable);
}

template <class T>
Choice explain(const Pool& given) {
    const Pool pool = given.with_merged_width();
    const auto chosen = choose_pool_grad<Grad::max, T>(pool);
    return explain_pool_grad<Grad::max, T>(pool, chosen,
                                           chosen.algorithm == PoolGradAlgorithm::argmax_rows
                                               ? ArgmaxRows<T>::bytes_of_row(pool)
                                               : Separable<T, Grad::max>::bytes_of_row(pool));
}

}  // namespace

Kernel max_pool_grad(const PoolCall& call) {
    return call.kernel(
        {call.input, call.output}, {call.input},
        []<class T>(T, void* const* t, const Pool& pool) {
            max_pool_grad(in<T>(t[0]), in<T>(t[1]), out<T>(t[2]), pool);
        },
        []<class T>(T, const Pool& pool) { return explain<T>(pool); });
}

}  // namespace backblocks::ISA
