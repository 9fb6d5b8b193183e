// The Python module backblocks._native. The only file that knows Python: it checks what would be
// unsafe in the kernels, then runs them without the interpreter lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa.hpp"
#include "parallel.hpp"
#include "pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// (images, depth, height, width, channels)
using Volume = nb::ndarray<nb::numpy, nb::ndim<5>, nb::c_contig, nb::device::cpu>;
using ReadOnly = nb::ndarray<nb::numpy, nb::ro, nb::ndim<5>, nb::c_contig, nb::device::cpu>;
using Triple = std::array<std::int64_t, 3>;

void require(bool holds, const char* op, const char* rule) {
    if (!holds) throw std::invalid_argument(std::string(op) + ": " + rule);
}

// The type of the numbers. NumPy has no bfloat16: its bits come as whole numbers.
template <class Array>
backblocks::Type type_of(const Array& array) {
    if (array.dtype() == nb::dtype<float>()) return backblocks::Type::float32;
    if (array.dtype() == nb::dtype<double>()) return backblocks::Type::float64;
    if (array.dtype() == nb::dtype<std::uint16_t>()) return backblocks::Type::bfloat16;
    const auto [code, bits, lanes] = array.dtype();
    if (code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && bits == 16)
        return backblocks::Type::float16;
    throw nb::type_error("must be an array of float16, float32, float64 or bits of bfloat16");
}

template <class A, class B>
void require_one_type(const A& a, const B& b) {
    if (type_of(a) != type_of(b)) throw nb::type_error("arrays must be of one type");
}

// The geometry of pooling `in` to `out`, all of whose positions are safe to compute.
template <class In, class Out>
backblocks::Pool checked_pool(const char* op, const In& in, const Out& out, const Triple& window,
                              const Triple& strides, const Triple& pads) {
    require_one_type(in, out);
    require(in.shape(0) == out.shape(0), op, "input and output must have as many images");
    require(in.shape(4) == out.shape(4), op, "input and output must have as many channels");
    const auto size = [](const auto& array, std::size_t axis) {
        return static_cast<std::int64_t>(array.shape(axis));
    };
    backblocks::Pool pool{size(in, 0), {}, size(in, 4)};
    std::int64_t left = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < 3; ++i) {
        require(window[i] >= 1, op, "window must be at least 1 on every axis");
        require(strides[i] >= 1, op, "strides must be at least 1 on every axis");
        require(pads[i] >= 0, op, "pads must not be negative");
        auto& axis = pool.axes[i] = {size(in, i + 1), window[i], strides[i], pads[i],
                                     size(out, i + 1)};
        require(axis.fits_int64(), op, "window, strides, pads or sizes are too large");
        require(axis.all_real(), op, "every window must have a real cell");
        // The kernels number a window's cells with 31 bits.
        left /= std::max<std::int64_t>(axis.most_real(), 1);
    }
    require(left > 0, op, "the window has too many cells");
    return pool;
}

// Whether two arrays share a byte. std::less orders pointers into different arrays.
template <class A, class B>
bool overlap(const A& a, const B& b) {
    const std::less<const void*> before;
    const auto end = [](const auto& array) {
        return static_cast<const std::byte*>(array.data()) + array.nbytes();
    };
    return a.size() > 0 && b.size() > 0 && before(a.data(), end(b)) && before(b.data(), end(a));
}

template <class A, class B>
void require_alike(const char* op, const A& a, const B& b) {
    require_one_type(a, b);
    for (std::size_t axis = 0; axis < 5; ++axis)
        require(a.shape(axis) == b.shape(axis), op, "both inputs must have the shape of the cells");
}

// Runs kernel(type, arrays..., pool), whose last array is the result.
template <class Kernel, class... Inputs>
void run(const char* op, Kernel kernel, const backblocks::Pool& pool, const Volume& result,
         const Inputs&... inputs) {
    require(!(overlap(inputs, result) || ...), op, "result and inputs must not share memory");
    const auto type = type_of(result);
    const bool nothing = ((inputs.size() == 0) || ...);
    nb::gil_scoped_release unlocked;
    // An empty array may still have huge axes, which the kernels would walk for nothing.
    if (result.size() == 0) return;
    if (nothing) std::memset(result.data(), 0, result.nbytes());
    else kernel(type, inputs.data()..., result.data(), pool);
}

const backblocks::PoolKernels& kernels() { return backblocks::chosen_isa().pool; }

void max_pool(const ReadOnly& x, const Volume& y, const Triple& window, const Triple& strides,
              const Triple& pads) {
    const char* op = "max_pool";
    run(op, kernels().max_pool, checked_pool(op, x, y, window, strides, pads), y, x);
}

void max_pool_grad(const ReadOnly& x, const ReadOnly& dy, const Volume& dx, const Triple& window,
                   const Triple& strides, const Triple& pads) {
    const char* op = "max_pool_grad";
    require_alike(op, x, dx);
    run(op, kernels().max_pool_grad, checked_pool(op, dx, dy, window, strides, pads), dx, x, dy);
}

void max_pool_grad_grad(const ReadOnly& x, const ReadOnly& ddx, const Volume& ddy,
                        const Triple& window, const Triple& strides, const Triple& pads) {
    const char* op = "max_pool_grad_grad";
    require_alike(op, x, ddx);
    run(op, kernels().max_pool_grad_grad, checked_pool(op, x, ddy, window, strides, pads), ddy, x,
        ddx);
}

void avg_pool(const ReadOnly& x, const Volume& y, const Triple& window, const Triple& strides,
              const Triple& pads) {
    const char* op = "avg_pool";
    run(op, kernels().avg_pool, checked_pool(op, x, y, window, strides, pads), y, x);
}

void avg_pool_grad(const ReadOnly& dy, const Volume& dx, const Triple& window,
                   const Triple& strides, const Triple& pads) {
    const char* op = "avg_pool_grad";
    run(op, kernels().avg_pool_grad, checked_pool(op, dx, dy, window, strides, pads), dx, dy);
}

// The bits of a bfloat16 array of another library, as numbers NumPy knows. NumPy itself cannot read
// bfloat16 through DLPack. The result shares the memory, and keeps `array` alive.
nb::ndarray<nb::numpy, const std::uint16_t> bfloat16_bits(
    nb::ndarray<nb::ro, nb::device::cpu> array) {
    const auto dtype = array.dtype();
    if (dtype.code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat) || dtype.bits != 16)
        throw nb::type_error("bfloat16_bits: must be an array of bfloat16");
    std::array<std::size_t, 32> shape;
    std::array<std::int64_t, 32> strides;
    if (array.ndim() > shape.size()) throw nb::type_error("bfloat16_bits: too many dimensions");
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
        shape[axis] = array.shape(axis);
        strides[axis] = array.stride(axis);
    }
    return {array.data(), array.ndim(), shape.data(), nb::cast(array), strides.data()};
}

}  // namespace

// noconvert: nanobind would otherwise copy an array of the wrong type, and the result be lost.
NB_MODULE(_native, m) {
    backblocks::chosen_isa();  // a wrong BACKBLOCKS_ISA fails the import, and not a later call
    m.def("max_pool", &max_pool, "x"_a.noconvert(), "y"_a.noconvert(), "window"_a, "strides"_a,
          "pads"_a);
    m.def("max_pool_grad", &max_pool_grad, "x"_a.noconvert(), "dy"_a.noconvert(),
          "dx"_a.noconvert(), "window"_a, "strides"_a, "pads"_a);
    m.def("max_pool_grad_grad", &max_pool_grad_grad, "x"_a.noconvert(), "ddx"_a.noconvert(),
          "ddy"_a.noconvert(), "window"_a, "strides"_a, "pads"_a);
    m.def("avg_pool", &avg_pool, "x"_a.noconvert(), "y"_a.noconvert(), "window"_a, "strides"_a,
          "pads"_a);
    m.def("avg_pool_grad", &avg_pool_grad, "dy"_a.noconvert(), "dx"_a.noconvert(), "window"_a,
          "strides"_a, "pads"_a);
    m.def("bfloat16_bits", &bfloat16_bits, "array"_a.noconvert());
    m.def("isa", [] { return backblocks::chosen_isa().name; });
    m.def("isas", [] {
        std::vector<std::string> names;
        for (const auto& isa : backblocks::isas()) names.push_back(isa.name);
        return names;
    });
    m.def("num_threads", &backblocks::num_threads);
    m.def("set_num_threads", &backblocks::set_num_threads, "count"_a);
}
