// Pools as window reductions: every window is reduced by the algorithm that choose_reduction gives, and has one
// stored result.
#pragma once

#include <cstdint>

#include "pool_choice.hpp"
#include "reduce_columns.hpp"

namespace backblocks::ISA {

// y[b, o, c] = result(state of window o, number of its real elements), rounded. A state is the reduction of all
// elements of a window, in vectors.
template <Reduction reduction, class T, class Result>
void reduce_pool(const ReduceInputs<T>& in, T* y, const Pool& pool, Result result) {
    using S = Stored<reduction, T>;
    S* const stored = reinterpret_cast<S*>(y);
    const Streaming streaming = streaming_for(stored, pool, in.other ? 2 : 1);
    const auto store_row = [=, &pool](const RowPosition& position) {
        S* const to = stored + position.row(pool) * pool.axes[2].out * pool.channels;
        return [=](std::int64_t i, const auto& state, auto full_or_tail, std::int64_t real)
                   BACKBLOCKS_INLINE_LAMBDA {
            store_rounded(result(state, real), to + i, full_or_tail, streaming);
        };
    };
    const ReduceAlgorithm algorithm = choose_reduction<reduction, T>(pool).algorithm;
    if (algorithm == ReduceAlgorithm::each_window) return reduce_windows<reduction>(in, pool, store_row);
    const bool dense = algorithm == ReduceAlgorithm::dense_columns;
    each_row_of_windows<reduction, T>(pool, [&] {
        return [&, columns = ColumnReducer<reduction, T>(in, pool, dense)](const RowPosition& position) mutable {
            columns(position, store_row(position));
        };
    });
}

}  // namespace backblocks::ISA
