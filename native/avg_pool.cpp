// Average pooling. Padding takes no part in an average:
//
//     y[b, o, c] = sum over elements i of window o: x[b, i, c] / (number of real elements of o)
#include <cstdint>

#include "geometry.hpp"
#include "pool_reduce.hpp"

namespace backblocks::ISA {
namespace {

template <class T>
void avg_pool(const T* x, T* y, const Pool& pool) {
    reduce_pool<Reduction::sum>({x, nullptr}, y, pool,
                                [](const auto& state, std::int64_t real) BACKBLOCKS_INLINE_LAMBDA {
                                    return state.value / static_cast<Wide<T>>(real);
                                });
}

}  // namespace

Kernel avg_pool(const PoolCall& call) {
    return call.kernel(
        {call.input}, {call.output},
        []<class T>(T, void* const* t, const Pool& pool) { avg_pool(in<T>(t[0]), out<T>(t[1]), pool); },
        []<class T>(T, const Pool& pool) { return explain_reduction<Reduction::sum, T>(pool); });
}

}  // namespace backblocks::ISA
