// The pools themselves, and the second gradient of max pooling: window reductions, with one number for each window.
#include <cstdint>

#include "geometry.hpp"
#include "pool_choice.hpp"
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

Kernel max_pool(const PoolCall& call) {
    return call.kernel(
        {call.input}, {call.output},
        []<class T>(T, void* const* t, const Pool& pool) { max_pool(in<T>(t[0]), out<T>(t[1]), pool); },
        []<class T>(T, const Pool& pool) { return explain_reduction<Reduction::max, T>(pool); });
}

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

Kernel avg_pool(const PoolCall& call) {
    return call.kernel(
        {call.input}, {call.output},
        []<class T>(T, void* const* t, const Pool& pool) { avg_pool(in<T>(t[0]), out<T>(t[1]), pool); },
        []<class T>(T, const Pool& pool) { return explain_reduction<Reduction::sum, T>(pool); });
}

}  // namespace backblocks::ISA
