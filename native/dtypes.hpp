// Element types: dtypes by name, float16 and bfloat16 as structs, and their conversion to float and back. Conversions
// are integer arithmetic without branches, so that loops over them become vector code on any machine.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace backblocks {

struct Float16 {
    std::uint16_t bits;
};

struct BFloat16 {
    std::uint16_t bits;
};

// The element types of tensors.
enum class Type {
    boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
    complex64, complex128,
};

constexpr std::size_t bytes_of(Type type) {
    switch (type) {
        case Type::boolean: case Type::int8: case Type::uint8: return 1;
        case Type::int16: case Type::uint16: case Type::float16: case Type::bfloat16: return 2;
        case Type::int32: case Type::uint32: case Type::float32: return 4;
        case Type::complex128: return 16;
        default: return 8;
    }
}

// A kernel has no code for an element type; in Python a TypeError.
struct WrongType : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// Dispatches on a floating-point type: calls f with a number of that type, and gives what f gives.
template <class F>
auto with_type(Type type, F f) {
    switch (type) {
        case Type::float16: return f(Float16{});
        case Type::bfloat16: return f(BFloat16{});
        case Type::float32: return f(float{});
        case Type::float64: return f(double{});
        default: throw WrongType("must be float16, bfloat16, float32 or float64");
    }
}

// The memory of a kernel's inputs and outputs, as arrays of T.
template <class T>
const T* in(const void* array) {
    return static_cast<const T*>(array);
}

template <class T>
T* out(void* array) {
    return static_cast<T*>(array);
}

// The accumulator type of T, in which its sums are made: float for half types.
template <class T>
struct WideOf {
    using type = float;
};
template <class T>
    requires std::is_integral_v<T> || std::is_same_v<T, double>
struct WideOf<T> {
    using type = T;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class N>
    requires std::is_arithmetic_v<N>
inline N widen(N x) {
    return x;
}

inline float widen(BFloat16 x) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

inline float widen(Float16 x) {
    const std::uint32_t bits = x.bits;
    // Seen as a float, the shifted bits are 2^112 too small. Multiplying is exact, of subnormals too.
    const float scaled = std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;
    const std::uint32_t special = (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special |
                                (bits & 0x8000u) << 16);
}

// narrow<T>(x) is x rounded to the nearest T, of two equally near ones to the even one.
template <class T>
inline T narrow(Wide<T> x) {
    return x;
}

template <>
inline BFloat16 narrow<BFloat16>(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    // Rounding could turn a NaN into an infinity; setting a bit of its fraction cannot.
    return {static_cast<std::uint16_t>((x != x ? bits | 0x400000u : rounded) >> 16)};
}

template <>
inline Float16 narrow<Float16>(float x) {
    const auto all = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t bits = all & 0x7fffffffu;
    // 112 is the difference of the exponents' biases. What is too large becomes infinity.
    const std::uint32_t rounded = ((bits + 0xfffu + ((bits >> 13) & 1u)) >> 13) - (112u << 10);
    const std::uint32_t normal = bits >= 0x47800000u || rounded > 0x7c00u ? 0x7c00u : rounded;
    // The last bit of a number around 1/2 is 2^-24, as that of a subnormal: adding 1/2 rounds.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000u;
    const std::uint32_t finite = bits < 0x38800000u ? subnormal : normal;
    const std::uint32_t nan = 0x7e00u | (bits >> 13 & 0x3ffu);
    const std::uint32_t sign = all >> 16 & 0x8000u;
    return {static_cast<std::uint16_t>((bits > 0x7f800000u ? nan : finite) | sign)};
}

}  // namespace backblocks
