// What the files of pooling kernels share.
#pragma once

#include "half.hpp"
#include "pool.hpp"

namespace backblocks::ISA {

void max_pool_grad(Type, const void* x, const void* dy, void* dx, const Pool&);
void avg_pool_grad(Type, const void* dy, void* dx, const Pool&);
void max_pool_with_argmax(Type, const void* x, void* y, void* argmax, const Pool&, Index);
void max_pool_grad_with_argmax(Type, const void* dy, const void* argmax, void* dx, const Pool&,
                               Index);
void max_pool_grad_grad_with_argmax(Type, const void* ddx, const void* argmax, void* ddy,
                                    const Pool&, Index);

// Calls f(windows, real) for stretches of windows that have as many real cells. `whole` is that of
// the axis: to find it each time would take divisions.
template <class F>
void each_stretch(const WindowAxis& axis, Range whole, Range windows, F f) {
    std::int64_t o = windows.first;
    while (o < windows.last) {
        const bool many = o >= whole.first && o < whole.last;
        const std::int64_t last = many ? std::min(whole.last, windows.last) : o + 1;
        f(Range{o, last}, axis.cells(o).size());
        o = last;
    }
}

}  // namespace backblocks::ISA
