// Max pooling:
//
//     y[b, o, c] = max over elements i of window o: x[b, i, c]
#include <cstdint>

#include "geometry.hpp"
#include "pool_reduce.hpp"

namespace backblocks::ISA {
namespace {

template <class T>
void max_pool(const T* x, T* y, const Pool& pool) {
    reduce_pool<Reduction::max>({x, nullptr}, y, pool,
                                [](const auto& state, std::int64_t) BACKBLOCKS_INLINE_LAMBDA {
                                    return state.value;
                                });
}

}  // namespace

Kernel max_pool(const PoolCall& call) {
    return call.kernel(
        {call.input}, {call.output},
        []<class T>(T, void* const* t, const Pool& pool) { max_pool(in<T>(t[0]), out<T>(t[1]), pool); },
        []<class T>(T, const Pool& pool) { return explain_reduction<Reduction::max, T>(pool); });
}

}  // namespace backblocks::ISA
