// How wide vectors are. Vectors are GCC's and Clang's own, so that one source serves every instruction
// set; everything that has their size is in the namespace of the instruction set, because the linker
// must not take one for the other.
#pragma once

namespace backblocks::ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class N>
struct VectorOf {
    typedef N type __attribute__((vector_size(kVectorBytes)));
    // The same unaligned, and allowed to alias other numbers.
    typedef N loose __attribute__((vector_size(kVectorBytes), aligned(alignof(N)), may_alias));
};
template <class N>
using Vector = typename VectorOf<N>::type;

// How many numbers a vector has.
template <class N>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(N));

}  // namespace backblocks::ISA
