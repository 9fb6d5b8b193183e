// The pools themselves, and the second gradient of max pooling: window reductions, with one number for each window.
#include "pool.hpp"

#include <cstdint>

#include "pool_choice.hpp"
#include "pool_grad.hpp"
#include "reduce_columns.hpp"

namespace backblocks::ISA {
namespace {

// Where a row of windows begins in the result, and how to store there.
template <Reduction reduction, class T>
struct Results {
    using S = Stored<reduction, T>;
    S* y;
    Streaming streaming;

    Results(T* all, const Pool& pool, std::int64_t arrays_read = 1)
        : y(reinterpret_cast<S*>(all)), streaming(streaming_for(y, pool, arrays_read)) {}

    S* row(const Pool& pool, const RowPlace& place) const {
        return y + place.row(pool) * pool.axes[2].out * pool.channels;
    }
};

// y[b, o, c] = max over elements i of window o: x[b, i, c]
template <class T>
void max_pool(const T* x, T* y, const Pool& pool) {
    const Results<Reduction::max, T> results(y, pool);
    reduce_all<Reduction::max, T>({x, nullptr}, pool, [&](const RowPlace& place) {
        return [streaming = results.streaming, to = results.row(pool, place)](
                   std::int64_t i, const auto& state, auto full_or_tail, std::int64_t) BACKBLOCKS_INLINED {
            store_rounded(state.value, to + i, full_or_tail, streaming);
        };
    });
}

// y[b, o, c] = v[b, argmax over elements i of window o: x[b, i, c], c]
template <class T>
void max_pool_grad_grad(const T* x, const T* v, T* y, const Pool& pool) {
    const Results<Reduction::value_at_argmax, T> results(y, pool, 2);
    reduce_all<Reduction::value_at_argmax, T>({x, v}, pool, [&](const RowPlace& place) {
        return [streaming = results.streaming, to = results.row(pool, place)](
                   std::int64_t i, const auto& state, auto full_or_tail, std::int64_t) BACKBLOCKS_INLINED {
            store_rounded(state.picked, to + i, full_or_tail, streaming);
        };
    });
}

// y[b, o, c] = sum over elements i of window o: x[b, i, c] / (number of real elements of o)
template <class T>
void avg_pool(const T* x, T* y, const Pool& pool) {
    const Results<Reduction::sum, T> results(y, pool);
    reduce_all<Reduction::sum, T>({x, nullptr}, pool, [&](const RowPlace& place) {
        return [streaming = results.streaming, to = results.row(pool, place)](
                   std::int64_t i, const auto& state, auto full_or_tail,
                   std::int64_t real) BACKBLOCKS_INLINED {
            store_rounded(state.value / static_cast<Wide<T>>(real), to + i, full_or_tail, streaming);
        };
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

Choice explain_max_pool(Type type, const Pool& pool) {
    return with_type(type, [&]<class T>(T) { return explain_reduction<Reduction::max, T>(pool); });
}

Choice explain_max_pool_grad_grad(Type type, const Pool& pool) {
    return with_type(type, [&]<class T>(T) {
        return explain_reduction<Reduction::value_at_argmax, T>(pool);
    });
}

Choice explain_avg_pool(Type type, const Pool& pool) {
    return with_type(type, [&]<class T>(T) { return explain_reduction<Reduction::sum, T>(pool); });
}

}  // namespace backblocks::ISA
