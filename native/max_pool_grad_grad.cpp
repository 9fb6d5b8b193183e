// The second gradient of max pooling, which reads ddx where each window has its maximum:
//
//     ddy[b, o, c] = ddx[b, argmax over elements i of window o: x[b, i, c], c]
#include <cstdint>

#include "geometry.hpp"
#include "pool_reduce.hpp"

namespace backblocks::ISA {
namespace {

template <class T>
void max_pool_grad_grad(const T* x, const T* ddx, T* ddy, const Pool& pool) {
    reduce_pool<Reduction::value_at_argmax>({x, ddx}, ddy, pool,
                                            [](const auto& state, std::int64_t) BACKBLOCKS_INLINE_LAMBDA {
                                                return state.picked;
                                            });
}

}  // namespace

Kernel max_pool_grad_grad(const PoolCall& call) {
    return call.kernel(
        {call.input, call.input}, {call.output},
        []<class T>(T, void* const* t, const Pool& pool) {
            max_pool_grad_grad(in<T>(t[0]), in<T>(t[1]), out<T>(t[2]), pool);
        },
        []<class T>(T, const Pool& pool) {
            return explain_reduction<Reduction::value_at_argmax, T>(pool);
        });
}

}  // namespace backblocks::ISA
