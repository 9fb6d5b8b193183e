// The gradient of average pooling, of which all real elements of a window have an equal share:
//
//     dx[b, i, c] = sum over windows o that cover element i: dy[b, o, c] / (number of real elements of o)
#include <algorithm>
#include <cstdint>

#include "avg_pool_grad_nonoverlapping.hpp"
#include "geometry.hpp"
#include "pool_choice.hpp"
#include "pool_grad_separable.hpp"

namespace backblocks::ISA {
namespace {

template <class T>
void avg_pool_grad(const T* dy, T* dx, const Pool& given) {
    using enum PoolGradAlgorithm;
    const Pool pool = given.with_merged_width();
    const T* const no_x = nullptr;
    const PoolGradAlgorithm algorithm = choose_pool_grad<Grad::avg, T>(pool).algorithm;
    if (algorithm == zeros) std::fill_n(dx, pool.images * pool.elements() * pool.channels, T{});
    else if (algorithm == avg_broadcast) nonoverlapping_grad<AvgBroadcast>(no_x, dy, dx, pool);
    else if (algorithm == avg_copied_rows) nonoverlapping_grad<AvgCopiedRows>(no_x, dy, dx, pool);
    else separable_grad<Grad::avg>(no_x, dy, dx, pool, algorithm == dense_separable);
}

template <class T>
Choice explain(const Pool& given) {
    const Pool pool = given.with_merged_width();
    return explain_pool_grad<Grad::avg, T>(pool, choose_pool_grad<Grad::avg, T>(pool),
                                           Separable<T, Grad::avg>::bytes_of_row(pool));
}

}  // namespace

Kernel avg_pool_grad(const PoolCall& call) {
    return call.kernel(
        {call.output}, {call.input},
        []<class T>(T, void* const* t, const Pool& pool) {
            avg_pool_grad(in<T>(t[0]), out<T>(t[1]), pool);
        },
        []<class T>(T, const Pool& pool) { return explain<T>(pool); });
}

}  // namespace backblocks::ISA
