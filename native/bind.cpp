// The Python module backblocks._native. The only file that knows Python: it checks what would be
// unsafe in the kernels, then runs them without the interpreter lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>

#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "parallel.hpp"
#include "pool_grad.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// (batch, depth, height, width, channels)
template <class T>
using Volume = nb::ndarray<T, nb::numpy, nb::ndim<5>, nb::c_contig, nb::device::cpu>;
using Triple = std::array<std::int64_t, 3>;

void require(bool holds, const char* op, const char* rule) {
    if (!holds) throw std::invalid_argument(std::string(op) + ": " + rule);
}

// The geometry of pooling `in` to `out`, all of whose positions are safe to compute.
template <class In, class Out>
backblocks::Pool3D checked_pool(const char* op, const In& in, const Out& out, const Triple& window,
                                const Triple& strides, const Triple& pads) {
    require(in.shape(0) == out.shape(0), op, "dx and dy must have the same batch size");
    require(in.shape(4) == out.shape(4), op, "dx and dy must have the same number of channels");
    const auto size = [](const auto& array, std::size_t axis) {
        return static_cast<std::int64_t>(array.shape(axis));
    };
    backblocks::Pool3D pool{size(in, 0), {}, size(in, 4)};
    for (std::size_t i = 0; i < 3; ++i) {
        require(window[i] >= 1, op, "window must be at least 1 on every axis");
        require(strides[i] >= 1, op, "strides must be at least 1 on every axis");
        require(pads[i] >= 0, op, "pads must not be negative");
        pool.axes[i] = {size(in, i + 1), window[i], strides[i], pads[i], size(out, i + 1)};
        require(pool.axes[i].fits_int64(), op, "window, strides, pads or sizes are too large");
    }
    return pool;
}

// Whether two arrays share a byte. std::less orders pointers into different arrays.
template <class A, class B>
bool overlap(const A& a, const B& b) {
    const std::less<const void*> before;
    return a.size() > 0 && b.size() > 0 && before(a.data(), b.data() + b.size()) &&
           before(b.data(), a.data() + a.size());
}

template <class T>
void max_pool_3d_grad(Volume<const T> x, Volume<const T> dy, Volume<T> dx, const Triple& window,
                      const Triple& strides, const Triple& pads) {
    const char* op = "max_pool_3d_grad";
    for (std::size_t axis = 0; axis < 5; ++axis)
        require(x.shape(axis) == dx.shape(axis), op, "x and dx must have the same shape");
    require(!overlap(x, dx) && !overlap(dy, dx), op, "dx must not share memory with x or dy");
    const auto pool = checked_pool(op, dx, dy, window, strides, pads);
    nb::gil_scoped_release unlocked;
    backblocks::max_pool_3d_grad(x.data(), dy.data(), dx.data(), pool);
}

template <class T>
void avg_pool_3d_grad(Volume<const T> dy, Volume<T> dx, const Triple& window, const Triple& strides,
                      const Triple& pads) {
    const char* op = "avg_pool_3d_grad";
    require(!overlap(dy, dx), op, "dx must not share memory with dy");
    const auto pool = checked_pool(op, dx, dy, window, strides, pads);
    nb::gil_scoped_release unlocked;
    backblocks::avg_pool_3d_grad(dy.data(), dx.data(), pool);
}

// The bits of a bfloat16 array of another library, as numbers NumPy knows. NumPy itself cannot read
// bfloat16 through DLPack. The result shares the memory, and keeps `array` alive.
nb::ndarray<nb::numpy, const std::uint16_t> bfloat16_bits(nb::ndarray<nb::ro, nb::device::cpu> array) {
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

// noconvert: nanobind would otherwise copy an array of the wrong type, and dx would be lost.
template <class T>
void add_kernels(nb::module_& m) {
    m.def("max_pool_3d_grad", &max_pool_3d_grad<T>, "x"_a.noconvert(), "dy"_a.noconvert(),
          "dx"_a.noconvert(), "window"_a, "strides"_a, "pads"_a);
    m.def("avg_pool_3d_grad", &avg_pool_3d_grad<T>, "dy"_a.noconvert(), "dx"_a.noconvert(),
          "window"_a, "strides"_a, "pads"_a);
}

}  // namespace

NB_MODULE(_native, m) {
    add_kernels<float>(m);
    add_kernels<double>(m);
    m.def("bfloat16_bits", &bfloat16_bits, "array"_a.noconvert());
    m.def("num_threads", &backblocks::num_threads);
    m.def("set_num_threads", &backblocks::set_num_threads, "count"_a);
}
