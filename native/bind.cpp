// The Python module backblocks._native: kernels, memory and threads for Python. It checks what would be
// unsafe in a kernel when the kernel is prepared.
#define BACKBLOCKS_IMPORTS_NUMPY
#include "python.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cache.hpp"
#include "call_cache.hpp"
#include "conv.hpp"
#include "executable.hpp"
#include "executor.hpp"
#include "isa.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "pool.hpp"
#include "prepared.hpp"
#include "product.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Triple = std::array<std::int64_t, 3>;
using Shape = std::array<std::int64_t, 5>;  // (images, depth, height, width, channels)
using backblocks::Operand, backblocks::Prepared, backblocks::require, backblocks::Stop, backblocks::Stopped;
using backblocks::Type, backblocks::Unlocked;

// -- arrays of a kernel ---------------------------------------------------------------------------

int number_of(Type type) {
    switch (type) {
        case Type::float16: return NPY_HALF;
        case Type::bfloat16: {  // another package adds it to NumPy
            static const int number = nb::cast<int>(
                nb::module_::import_("numpy")
                    .attr("dtype")(nb::module_::import_("ml_dtypes").attr("bfloat16"))
                    .attr("num"));
            return number;
        }
        case Type::float32: return NPY_FLOAT;
        case Type::float64: return NPY_DOUBLE;
    }
    throw nb::type_error("there is no such type");
}

Type type_named(std::string_view name) {
    if (name == "float16") return Type::float16;
    if (name == "bfloat16") return Type::bfloat16;
    if (name == "float32") return Type::float32;
    if (name == "float64") return Type::float64;
    throw nb::type_error("must be float16, bfloat16, float32 or float64");
}

Operand operand(const char* op, Type type, const Shape& shape) {
    std::int64_t size = 1, left = std::numeric_limits<std::int64_t>::max() / 16;
    for (const std::int64_t n : shape) {
        require(n >= 0, op, "sizes must not be negative");
        require(n <= left, op, "an array is too large");
        left /= std::max<std::int64_t>(n, 1);
        size *= n;
    }
    return {number_of(type), size};
}

PyType_Slot prepared_slots[] = {{Py_tp_call, reinterpret_cast<void*>(Prepared::call)}, {0, nullptr}};

// -- pooling --------------------------------------------------------------------------------------

// The geometry of pooling `cells` to `windows`, all of whose positions are safe to compute.
backblocks::Pool checked_pool(const char* op, const Shape& cells, const Shape& windows,
                              const Triple& window, const Triple& strides, const Triple& pads) {
    require(cells[0] == windows[0], op, "input and output must have as many images");
    require(cells[4] == windows[4], op, "input and output must have as many channels");
    backblocks::Pool pool{cells[0], {}, cells[4]};
    for (std::size_t i = 0; i < 3; ++i) {
        require(window[i] >= 1, op, "window must be at least 1 on every axis");
        require(strides[i] >= 1, op, "strides must be at least 1 on every axis");
        require(pads[i] >= 0, op, "pads must not be negative");
        auto& axis = pool.axes[i] = {cells[i + 1], window[i], strides[i], pads[i], windows[i + 1]};
        require(axis.fits_int64(), op, "window, strides, pads or sizes are too large");
        require(axis.all_real(), op, "every window must have a real cell");
    }
    require(pool.trimmed().supported(), op, "the window or its padding is too large");
    return pool.trimmed();
}

using Kernels = backblocks::PoolKernels;

// The function of Python that prepares a kernel. `inputs` and the result are 'c', one number for
// each cell, or 'w', one for each window.
template <auto kernel>
void define_pool(nb::module_& m, const char* name, std::string inputs, char result) {
    m.def(
        name,
        [name, inputs, result](std::string_view dtype, const Shape& cells, const Shape& windows,
                               const Triple& window, const Triple& strides, const Triple& pads) {
            const Type type = type_named(dtype);
            const auto of = [&](char what) {
                return operand(name, type, what == 'c' ? cells : windows);
            };
            std::vector<Operand> operands;
            for (const char each : inputs) operands.push_back(of(each));
            const auto pool = checked_pool(name, cells, windows, window, strides, pads);
            const auto run = backblocks::chosen_isa().pool.*kernel;
            return Prepared(name, operands, {of(result)}, [=](void* const* a) {
                if constexpr (std::is_invocable_v<decltype(run), Type, void*, void*, decltype(pool)>)
                    run(type, a[0], a[1], pool);
                else
                    run(type, a[0], a[1], a[2], pool);
            });
        },
        "dtype"_a, "cells"_a, "windows"_a, "window"_a, "strides"_a, "pads"_a);
}

// -- convolution ----------------------------------------------------------------------------------

// The geometry of convolving `cells` to `outputs`, all of whose positions are safe to compute.
backblocks::Conv checked_conv(const char* op, const Shape& cells, const Shape& outputs,
                              const Triple& taps, const Triple& strides, const Triple& dilations,
                              const Triple& pads, std::int64_t groups, bool channels_first) {
    require(cells[0] == outputs[0], op, "input and output must have as many images");
    require(groups >= 1 && cells[4] % groups == 0 && outputs[4] % groups == 0, op,
            "groups must divide the channels of input and output");
    backblocks::Conv conv{cells[0], {}, groups, cells[4] / groups, outputs[4] / groups,
                          channels_first};
    for (std::size_t i = 0; i < 3; ++i) {
        require(taps[i] >= 1, op, "there must be a tap on every axis");
        require(strides[i] >= 1, op, "strides must be at least 1 on every axis");
        require(dilations[i] >= 1, op, "dilations must be at least 1 on every axis");
        require(pads[i] >= 0, op, "pads must not be negative");
        // A single output has no next one, however far away that would be.
        const std::int64_t stride = outputs[i + 1] > 1 ? strides[i] : 1;
        const std::int64_t dilation = taps[i] > 1 ? dilations[i] : 1;
        auto& axis = conv.axes[i] = {cells[i + 1], taps[i], stride, dilation, pads[i],
                                     outputs[i + 1]};
        require(axis.fits_int64(), op, "filter, strides, dilations, pads or sizes are too large");
    }
    return conv;
}

// Depthwise kernels take one input channel in a group, and keep what lies between their taps. So does
// dilation, of images.
void require_for(const char*, const backblocks::ConvKernels&, const backblocks::Conv&) {}
void require_for(const char* op, const backblocks::DepthwiseKernels&, const backblocks::Conv& conv) {
    require(conv.in == 1, op, "each input channel must be a group");
    require(within_reach(conv), op, "taps are too far apart");
}

void require_for(const char* op, const backblocks::DilationKernels&, const backblocks::Conv& conv) {
    require_for(op, backblocks::DepthwiseKernels{}, conv);
    const auto& depth = conv.axes[0];
    require(depth.n == 1 && depth.k == 1 && depth.out == 1 && depth.pads == 0, op,
            "must be of images, which have no depth");
    require(conv.out == 1, op, "each channel must have one output");
    require(!conv.channels_first, op, "channels must be the last axis");
}

using Run = Prepared::Run;
using backblocks::Conv;

// Kernels that plan, and those that have nothing to plan.
Run ready(backblocks::ConvKernels::Ready (*plan)(Type, const Conv&), Type type, const Conv& conv) {
    return [run = plan(type, conv)](void* const* a) { run(a[0], a[1], a[2]); };
}
Run ready(void (*run)(Type, const void*, const void*, void*, const Conv&), Type type,
          const Conv& conv) {
    return [=](void* const* a) { run(type, a[0], a[1], a[2], conv); };
}
Run ready(void (*run)(Type, const void*, const void*, const void*, void*, const Conv&), Type type,
          const Conv& conv) {
    return [=](void* const* a) { run(type, a[0], a[1], a[2], a[3], conv); };
}

// The function of Python that prepares a kernel. `inputs` and the result are 'c', one number for
// each cell, 'f', the filters, or 'o', one number for each output.
template <auto kernels, auto kernel>
void define_conv(nb::module_& m, const char* name, std::string inputs, char result) {
    m.def(
        name,
        [name, inputs, result](std::string_view dtype, const Shape& cells, const Shape& outputs,
                               const Triple& taps, const Triple& strides, const Triple& dilations,
                               const Triple& pads, std::int64_t groups, bool channels_first) {
            const Type type = type_named(dtype);
            const auto conv = checked_conv(name, cells, outputs, taps, strides, dilations, pads,
                                           groups, channels_first);
            const auto of = [&](char what) {
                return what == 'c'   ? operand(name, type, cells)
                       : what == 'o' ? operand(name, type, outputs)
                                     : operand(name, type, {taps[0], taps[1], taps[2], conv.in,
                                                            outputs[4]});
            };
            const auto& family = kernels(backblocks::chosen_isa());
            require_for(name, family, conv);
            const auto function = family.*kernel;
            // Not before the first call: then there are arrays of this size, and planning ends.
            struct Planned {
                std::once_flag once;
                Run run;
            };
            std::vector<Operand> operands;
            for (const char each : inputs) operands.push_back(of(each));
            return Prepared(name, operands, {of(result)},
                            [=, planned = std::make_shared<Planned>()](void* const* a) {
                                std::call_once(planned->once,
                                               [&] { planned->run = ready(function, type, conv); });
                                planned->run(a);
                            });
        },
        "dtype"_a, "cells"_a, "outputs"_a, "taps"_a, "strides"_a, "dilations"_a, "pads"_a,
        "groups"_a, "channels_first"_a);
}

// The same for pooling with argmax. 'i' is an index for each window.
template <auto kernel>
void define_argmax(nb::module_& m, const char* name, std::string inputs, std::string results) {
    m.def(
        name,
        [name, inputs, results](std::string_view dtype, std::string_view index, const Shape& cells,
                                const Shape& windows, const Triple& window, const Triple& strides,
                                const Triple& pads, bool of_batch) {
            const Type type = type_named(dtype);
            const bool wide = index == "int64";
            if (!wide && index != "int32") throw nb::type_error("an index must be int32 or int64");
            const auto of = [&](const std::string& all) {
                std::vector<Operand> operands;
                for (const char each : all) {
                    operands.push_back(operand(name, type, each == 'c' ? cells : windows));
                    if (each == 'i') operands.back().type = wide ? NPY_INT64 : NPY_INT32;
                }
                return operands;
            };
            const auto pool = checked_pool(name, cells, windows, window, strides, pads);
            require(pool.indexable(), name, "an image has too many cells");
            const auto run = backblocks::chosen_isa().pool.*kernel;
            return Prepared(name, of(inputs), of(results), [=](void* const* a) {
                run(type, a[0], a[1], a[2], pool, {of_batch, wide});
            });
        },
        "dtype"_a, "index"_a, "cells"_a, "windows"_a, "window"_a, "strides"_a, "pads"_a,
        "of_batch"_a);
}

// -- products of matrices -------------------------------------------------------------------------

// Prepares the product of matrices. `front` has, for each axis in front of them, its size and whether a
// and b have it: one that has not is taken again and again.
Prepared product(std::string_view dtype, std::int64_t rows, std::int64_t inner, std::int64_t columns,
                 bool a_transposed, bool b_transposed,
                 const std::vector<std::tuple<std::int64_t, bool, bool>>& front) {
    constexpr const char* op = "product";
    const Type type = type_named(dtype);
    require(type == Type::float32 || type == Type::float64, op, "must be float32 or float64");
    Shape a{1, 1, 1, rows, inner}, b{1, 1, 1, inner, columns}, c{1, 1, 1, rows, columns};
    backblocks::Product product{rows, inner, columns, a_transposed, b_transposed, {}};
    std::int64_t of_a = operand(op, type, a).size, of_b = operand(op, type, b).size;
    for (auto axis = front.rbegin(); axis != front.rend(); ++axis) {
        const auto [n, in_a, in_b] = *axis;
        require(n >= 0, op, "sizes must not be negative");
        product.front.insert(product.front.begin(), {n, in_a ? of_a : 0, in_b ? of_b : 0});
        const auto times = [&](Shape& shape) {
            shape[2] = n;
            shape[0] = operand(op, type, shape).size > 0 ? shape[0] * n : 0;
            shape[2] = 1;
        };
        times(c);
        if (in_a) times(a);
        if (in_b) times(b);
        of_a *= in_a ? n : 1;
        of_b *= in_b ? n : 1;
    }
    const auto run = backblocks::chosen_isa().product.multiply;
    return Prepared(op, {operand(op, type, a), operand(op, type, b)}, {operand(op, type, c)},
                    [=](void* const* arrays) {
                        run(type, arrays[0], arrays[1], arrays[2], product);
                    });
}

// -- memory ---------------------------------------------------------------------------------------

// Lets NumPy see a block of memory, and keeps the block as long as NumPy does.
int view_block(PyObject* self, Py_buffer* view, int flags) {
    const auto* block = nb::inst_ptr<backblocks::Block>(self);
    return PyBuffer_FillInfo(view, self, block->data(), static_cast<Py_ssize_t>(block->bytes()), 0,
                             flags);
}

PyType_Slot block_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(view_block)}, {0, nullptr}};

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadOnlyBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The yardsticks are those of the machine, whatever instruction set was asked for.
backblocks::LimitKernels limits() { return backblocks::isas().back().limits; }

void stream(const std::vector<ReadOnlyBytes>& inputs, const Bytes& output, bool around_cache) {
    std::vector<std::span<const std::byte>> spans;
    for (const auto& input : inputs)
        spans.push_back(std::as_bytes(std::span(input.data(), input.size())));
    const auto to = std::as_writable_bytes(std::span(output.data(), output.size()));
    const Unlocked unlocked;
    limits().stream(spans, to, around_cache);
}

double multiply_add(bool doubles, std::int64_t steps) {
    const Unlocked unlocked;
    return limits().multiply_add(doubles, steps);
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

NB_MODULE(_native, m) {
    backblocks::chosen_isa();  // a wrong BACKBLOCKS_ISA fails the import, and not a later call
    nb::set_leak_warnings(false);  // plans, and the kernels in them, live as long as the interpreter
    if (_import_array() < 0) throw nb::python_error();
    backblocks::stopped_type = nb::exception<Stopped>(m, "Stopped").ptr();
    backblocks::set_interrupt(Stop::look);
    nb::class_<Stop>(m, "Stop")
        .def(nb::init<>())
        .def("set", &Stop::set)
        .def("clear", &Stop::clear)
        .def("is_set", &Stop::is_set)
        .def("during", &Stop::during);
    nb::class_<Prepared>(m, "Prepared", nb::type_slots(prepared_slots))
        .def("taking", &Prepared::taking);
    define_pool<&Kernels::max_pool>(m, "max_pool", "c", 'w');
    define_pool<&Kernels::max_pool_grad>(m, "max_pool_grad", "cw", 'c');
    define_pool<&Kernels::max_pool_grad_grad>(m, "max_pool_grad_grad", "cc", 'w');
    define_pool<&Kernels::avg_pool>(m, "avg_pool", "c", 'w');
    define_pool<&Kernels::avg_pool_grad>(m, "avg_pool_grad", "w", 'c');
    define_argmax<&Kernels::max_pool_with_argmax>(m, "max_pool_with_argmax", "c", "wi");
    define_argmax<&Kernels::max_pool_grad_with_argmax>(m, "max_pool_grad_with_argmax", "wi", "c");
    define_argmax<&Kernels::max_pool_grad_grad_with_argmax>(m, "max_pool_grad_grad_with_argmax",
                                                            "ci", "w");
    constexpr auto conv = [](const backblocks::Isa& isa) -> auto& { return isa.conv; };
    using backblocks::ConvKernels, backblocks::DepthwiseKernels;
    define_conv<conv, &ConvKernels::forward>(m, "conv", "cf", 'o');
    define_conv<conv, &ConvKernels::input_grad>(m, "conv_input_grad", "fo", 'c');
    define_conv<conv, &ConvKernels::filter_grad>(m, "conv_filter_grad", "co", 'f');
    constexpr auto depthwise = [](const backblocks::Isa& isa) -> auto& { return isa.depthwise; };
    define_conv<depthwise, &DepthwiseKernels::forward>(m, "depthwise_conv", "cf", 'o');
    define_conv<depthwise, &DepthwiseKernels::input_grad>(m, "depthwise_conv_input_grad", "fo", 'c');
    define_conv<depthwise, &DepthwiseKernels::filter_grad>(m, "depthwise_conv_filter_grad", "co", 'f');
    constexpr auto dilation = [](const backblocks::Isa& isa) -> auto& { return isa.dilation; };
    using backblocks::DilationKernels;
    define_conv<dilation, &DilationKernels::forward>(m, "dilation", "cf", 'o');
    define_conv<dilation, &DilationKernels::input_grad>(m, "dilation_input_grad", "cfo", 'c');
    define_conv<dilation, &DilationKernels::filter_grad>(m, "dilation_filter_grad", "cfo", 'f');
    m.def("product", &product, "dtype"_a, "rows"_a, "inner"_a, "columns"_a, "a_transposed"_a,
          "b_transposed"_a, "front"_a);
    backblocks::define_executable(m);
    backblocks::define_call_cache(m);
    backblocks::define_executor(m);
    nb::class_<backblocks::Block>(m, "Block", nb::type_slots(block_slots))
        .def(nb::init<std::size_t>(), "bytes"_a);
    m.def("kept_bytes", &backblocks::kept_bytes);
    m.def("most_kept_bytes", &backblocks::most_kept_bytes);
    m.def("set_most_kept_bytes", &backblocks::set_most_kept_bytes, "bytes"_a);
    m.def("trim_memory", &backblocks::trim_memory);
    m.def("cache_bytes", [] { return backblocks::cache_bytes.load(); });
    m.def("set_cache_bytes", [](std::size_t bytes) { backblocks::cache_bytes = bytes; }, "bytes"_a);
    m.def("bfloat16_bits", &bfloat16_bits, "array"_a.noconvert());
    m.def("stream", &stream, "inputs"_a, "output"_a.noconvert(), "around_cache"_a);
    m.def("multiply_add", &multiply_add, "doubles"_a, "steps"_a);
    m.def("isa", [] { return backblocks::chosen_isa().name; });
    m.def("isas", [] {
        std::vector<std::string> names;
        for (const auto& isa : backblocks::isas()) names.push_back(isa.name);
        return names;
    });
    m.def("num_threads", &backblocks::num_threads);
    m.def("set_num_threads", &backblocks::set_num_threads, "count"_a);
}
