// SIMD vector types and their width. They are GCC's and Clang's vector extensions, so that one source serves every
// instruction set. All code that depends on their size is in the namespace of its instruction set, because the
// linker must not take one for the other.
#pragma once

// For the functions and lambdas of innermost loops, which must be inlined: compilers tend to call a function that is
// used twice, and then spill registers around the call.
#define BACKBLOCKS_INLINE inline __attribute__((always_inline))
#define BACKBLOCKS_INLINE_LAMBDA __attribute__((always_inline))

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
