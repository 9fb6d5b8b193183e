// The pools themselves, and the second gradient of max pooling: one number for each window.
#include "pool.hpp"

#include <cstdint>

#include "fold_columns.hpp"
#include "pool_grad.hpp"

namespace backblocks::ISA {
namespace {

// Where a row of windows begins in the result, and how to store there.
template <Fold fold, class T>
struct Results {
    using S = Stored<fold, T>;
    S* y;
    Past past;

    Results(T* all, const Pool& pool, std::int64_t arrays_read = 1)
        : y(reinterpret_cast<S*>(all)), past(past_cache(y, pool, arrays_read)) {}

    S* row(const Pool& pool, const RowPlace& place) const {
        return y + place.row(pool) * pool.axes[2].out * pool.channels;
    }
};

// y[b, o, c] = max over cells i of window o: x[b, i, c]
template <class T>
void max_pool(const T* x, T* y, const Pool& pool) {
    const Results<Fold::largest, T> results(y, pool);
    fold_all<Fold::largest, T>({x, nullptr}, pool, [&](const RowPlace& place) {
        return [past = results.past, to = results.row(pool, place)](
                   std::int64_t i, const auto& state, auto lanes, std::int64_t) BACKBLOCKS_INLINED {
            store_rounded(state.value, to + i, lanes, past);
        };
    });
}

// y[b, o, c] = v[b, argmax over cells i of window o: x[b, i, c], c]
template <class T>
void max_pool_grad_grad(const T* x, const T* v, T* y, const Pool& pool) {
    const Results<Fold::pick, T> results(y, pool, 2);
    fold_all<Fold::pick, T>({x, v}, pool, [&](const RowPlace& place) {
        return [past = results.past, to = results.row(pool, place)](
                   std::int64_t i, const auto& state, auto lanes, std::int64_t) BACKBLOCKS_INLINED {
            store_rounded(state.picked, to + i, lanes, past);
        };
    });
}

// y[b, o, c] = sum over cells i of window o: x[b, i, c] / (number of real cells of o)
template <class T>
void avg_pool(const T* x, T* y, const Pool& pool) {
    const Results<Fold::sum, T> results(y, pool);
    fold_all<Fold::sum, T>({x, nullptr}, pool, [&](const RowPlace& place) {
        return [past = results.past, to = results.row(pool, place)](
                   std::int64_t i, const auto& state, auto lanes,
                   std::int64_t real) BACKBLOCKS_INLINED {
            store_rounded(state.value / static_cast<Wide<T>>(real), to + i, lanes, past);
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

}  // namespace backblocks::ISA
