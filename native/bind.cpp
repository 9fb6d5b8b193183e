// The Python module backblocks._native: kernels, memory and threads for Python.
#define BACKBLOCKS_IMPORTS_NUMPY
#include "python.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cache_size.hpp"
#include "call_cache.hpp"
#include "executable.hpp"
#include "executor.hpp"
#include "isa.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "prepared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

// Element types are names in Python.
template <>
struct nb::detail::type_caster<backblocks::Type> {
    NB_TYPE_CASTER(backblocks::Type, const_name("str"))

    bool from_python(handle src, std::uint8_t, cleanup_list*) noexcept {
        Py_ssize_t length = 0;
        const char* const name = PyUnicode_Check(src.ptr()) ? PyUnicode_AsUTF8AndSize(src.ptr(), &length) : nullptr;
        if (!name) return PyErr_Clear(), false;
        return backblocks::type_named({name, static_cast<std::size_t>(length)}, value);
    }
};

namespace {

using backblocks::Choice, backblocks::GilRelease, backblocks::Isa, backblocks::Kernel, backblocks::Prepared;
using backblocks::Stop, backblocks::Stopped;

// -- kernels --------------------------------------------------------------------------------------

PyType_Slot prepared_slots[] = {{Py_tp_call, reinterpret_cast<void*>(Prepared::call)}, {0, nullptr}};

// The names in a list of parameters, "(Type dtype, const Shape& shape)": the last word of each.
std::vector<std::string> names_in(std::string_view parameters) {
    std::vector<std::string> names(1);
    for (const char c : parameters) {
        if (c == ',') names.emplace_back();
        else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') names.back() += c;
        else if (c != ')') names.back().clear();
    }
    return names;
}

// Defines a function of Python's that prepares a kernel, with the parameters of `signature`.
template <class Prepare, class Result, class... Parameters>
void define(nb::module_& m, const char* name, std::string_view parameters, const Prepare& prepare,
            Result (* /*signature*/)(Parameters...)) {
    const auto prepared = [name, prepare](Parameters... given) {
        try {
            return Prepared(name, prepare(given...));
        } catch (const backblocks::WrongType& error) {
            throw nb::type_error((std::string(name) + ": " + error.what()).c_str());
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument(std::string(name) + ": " + error.what());
        }
    };
    const std::vector<std::string> names = names_in(parameters);
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        m.def(name, prepared, nb::arg(names.at(i).c_str())...);
    }(std::index_sequence_for<Parameters...>{});
}

template <class... Parameters>
void define_kernel(nb::module_& m, const char* name, std::string_view parameters,
                   Kernel (*prepare)(Parameters...)) {
    define(m, name, parameters, prepare, prepare);
}

// Parameters that kernels share are a struct in C++.
template <class Call>
    requires requires { Call::kParameters; }
void define_kernel(nb::module_& m, const char* name, std::string_view, Kernel (*prepare)(const Call&)) {
    const auto prepare_checked = [prepare](const auto&... given) { return prepare(Call::checked(given...)); };
    define(m, name, Call::kParameters, prepare_checked, Call::checked);
}

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

// Defines all kernels of the table, and `kernels`, which has the tensors of each by its name.
void define_kernels(nb::module_& m, const Isa& isa) {
    nb::dict tensors_of;
#define SOURCE(file, widest, contraction, ...) __VA_ARGS__
#define KERNEL(name, parameters, tensors)                   \
    define_kernel(m, #name, TEXT(parameters), isa.name);    \
    tensors_of[#name] = tensors;
#include "kernels.def"
    m.attr("KERNELS") = tensors_of;
}

// -- memory ---------------------------------------------------------------------------------------

// Lets NumPy see a block of memory, and keeps the block as long as NumPy does.
int view_buffer(PyObject* self, Py_buffer* view, int flags) {
    const auto* block = nb::inst_ptr<backblocks::Buffer>(self);
    return PyBuffer_FillInfo(view, self, block->data(), static_cast<Py_ssize_t>(block->bytes()), 0,
                             flags);
}

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(view_buffer)}, {0, nullptr}};

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadOnlyBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The roofline is that of the machine, whatever instruction set BACKBLOCKS_ISA names.
const backblocks::RooflineKernels& roofline() { return backblocks::isas().back()->roofline; }

void stream(const std::vector<ReadOnlyBytes>& inputs, const Bytes& output, bool around_cache) {
    std::vector<std::span<const std::byte>> spans;
    for (const auto& input : inputs)
        spans.push_back(std::as_bytes(std::span(input.data(), input.size())));
    const auto to = std::as_writable_bytes(std::span(output.data(), output.size()));
    const GilRelease released;
    roofline().stream(spans, to, around_cache);
}

double multiply_add(bool doubles, std::int64_t steps) {
    const GilRelease released;
    return roofline().multiply_add(doubles, steps);
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
    const Isa& isa = backblocks::chosen_isa();
    nb::set_leak_warnings(false);  // plans, and the kernels in them, live as long as the interpreter
    if (_import_array() < 0) throw nb::python_error();
    backblocks::stopped_type = nb::exception<Stopped>(m, "Stopped").ptr();
    backblocks::set_interrupt(Stop::check);
    nb::class_<Stop>(m, "Stop")
        .def(nb::init<>())
        .def("set", &Stop::set)
        .def("clear", &Stop::clear)
        .def("is_set", &Stop::is_set)
        .def("during", &Stop::during);
    nb::class_<Prepared>(m, "Prepared", nb::type_slots(prepared_slots))
        .def("taking", &Prepared::taking)
        .def("explain", &Prepared::explain);
    nb::class_<Choice>(m, "Choice")
        .def_ro("isa", &Choice::isa)
        .def_ro("algorithm", &Choice::algorithm)
        .def_ro("reason", &Choice::reason)
        .def_ro("details", &Choice::details)
        .def_prop_ro("chunks", [](const Choice& choice) { return choice.split.chunks; })
        .def_prop_ro("threads", [](const Choice& choice) { return choice.split.threads; });
    define_kernels(m, isa);
    backblocks::define_executable(m);
    backblocks::define_call_cache(m);
    backblocks::define_executor(m);
    nb::class_<backblocks::Buffer>(m, "Buffer", nb::type_slots(buffer_slots))
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
    m.def("isa", [&isa] { return isa.name; });
    m.def("isas", [] {
        std::vector<std::string> names;
        for (const Isa* each : backblocks::isas()) names.push_back(each->name);
        return names;
    });
    m.def("num_threads", &backblocks::num_threads);
    m.def("set_num_threads", &backblocks::set_num_threads, "count"_a);
}
