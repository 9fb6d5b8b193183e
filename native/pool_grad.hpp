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

}  // namespace backblocks::ISA
