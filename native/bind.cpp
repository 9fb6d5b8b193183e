// The Python module backblocks._native. The only file that knows Python: it checks what would be
// unsafe in the kernels, then runs them without the interpreter lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "conv.hpp"
#include "isa.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Triple = std::array<std::int64_t, 3>;
using Shape = std::array<std::int64_t, 5>;  // (images, depth, height, width, channels)
using backblocks::Type;

void require(bool holds, const char* op, const char* rule) {
    if (!holds) throw std::invalid_argument(std::string(op) + ": " + rule);
}

// What an array must be to reach a kernel.
struct Operand {
    nb::dlpack::dtype dtype;
    std::size_t size;  // numbers in it
};

nb::dlpack::dtype dtype_of(Type type) {
    switch (type) {
        case Type::float16: return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
        case Type::bfloat16: return nb::dtype<std::uint16_t>();  // NumPy has no bfloat16: its bits
        case Type::float32: return nb::dtype<float>();
        case Type::float64: return nb::dtype<double>();
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

// How many numbers an array of this shape has.
Operand operand(const char* op, nb::dlpack::dtype dtype, std::initializer_list<std::int64_t> shape) {
    std::int64_t size = 1, left = std::numeric_limits<std::int64_t>::max() / 16;
    for (const std::int64_t n : shape) {
        require(n >= 0, op, "sizes must not be negative");
        require(n <= left, op, "an array is too large");
        left /= std::max<std::int64_t>(n, 1);
        size *= n;
    }
    return {dtype, static_cast<std::size_t>(size)};
}

Operand operand(const char* op, Type type, const Shape& s) {
    return operand(op, dtype_of(type), {s[0], s[1], s[2], s[3], s[4]});
}

// A kernel made ready for one geometry, which was checked. Called with its arrays, the results last,
// it checks only them.
class Prepared {
   public:
    using Run = std::function<void(void* const* arrays)>;

    Prepared(const char* op, std::vector<Operand> inputs, std::vector<Operand> results, Run run)
        : op_(op), inputs_(inputs.size()), operands_(std::move(inputs)), run_(std::move(run)) {
        operands_.insert(operands_.end(), results.begin(), results.end());
        require(operands_.size() <= kMost, op, "takes too many arrays");
    }

    void operator()(const nb::args& arrays) const {
        if (arrays.size() != operands_.size())
            throw nb::type_error((std::string(op_) + ": takes " + std::to_string(operands_.size()) +
                                  " arrays").c_str());
        std::array<nb::ndarray<nb::ro>, kMost> held;
        std::array<void*, kMost> data;
        bool no_input = false, no_result = true;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            held[i] = i < inputs_ ? taken<nb::ro>(arrays[i], i) : taken<>(arrays[i], i);
            data[i] = const_cast<void*>(held[i].data());
            if (i < inputs_) {
                no_input |= operands_[i].size == 0;
                continue;
            }
            no_result &= operands_[i].size == 0;
            for (std::size_t j = 0; j < i; ++j)
                require(!overlap(held[j], held[i]), op_, "results must share no memory");
        }
        if (no_result) return;  // empty arrays may still have huge axes to walk for nothing
        nb::gil_scoped_release unlocked;
        if (!no_input) return run_(data.data());
        for (std::size_t i = inputs_; i < operands_.size(); ++i)
            std::memset(data[i], 0, held[i].nbytes());
    }

   private:
    static constexpr std::size_t kMost = 5;

    // The array, if it is what the kernel takes. Nothing is converted: a copy would lose the result.
    template <class... Access>
    nb::ndarray<nb::ro> taken(nb::handle given, std::size_t place) const {
        nb::ndarray<Access..., nb::c_contig, nb::device::cpu> array;
        const Operand& wanted = operands_[place];
        bool read = nb::try_cast(given, array, false);
        // NumPy shows an array of bfloat16 to nobody, but its bits.
        if (!read && wanted.dtype == dtype_of(Type::bfloat16) && nb::hasattr(given, "view"))
            read = nb::try_cast(given.attr("view")("uint16"), array, false);
        if (!read || array.dtype() != wanted.dtype || array.size() != wanted.size)
            throw nb::type_error((std::string(op_) + ": array " + std::to_string(place + 1) +
                                  " is not of the type, size and order it was prepared for").c_str());
        return nb::ndarray<nb::ro>(array);
    }

    // Whether two arrays share a byte. std::less orders pointers into different arrays.
    static bool overlap(const nb::ndarray<nb::ro>& a, const nb::ndarray<nb::ro>& b) {
        const std::less<const void*> before;
        const auto end = [](const auto& array) {
            return static_cast<const std::byte*>(array.data()) + array.nbytes();
        };
        return a.size() > 0 && b.size() > 0 && before(a.data(), end(b)) && before(b.data(), end(a));
    }

    const char* op_;
    std::size_t inputs_;
    std::vector<Operand> operands_;
    Run run_;
};

// -- stopping -------------------------------------------------------------------------------------

// A kernel was told to stop; what it has computed is of no use.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "the kernel was told to stop"; }
};

// Says whether kernels are to stop: those that are run during a call which it makes.
class Stop {
   public:
    void set() { told_.store(true); }
    void clear() { told_.store(false); }
    bool is_set() const { return told_.load(); }

    nb::object during(const nb::callable& function, const nb::args& args) {
        struct Outer {
            Stop* stop;
            ~Outer() { current_ = stop; }
        } const outer{std::exchange(current_, this)};
        return function(*args);
    }

    // For kernels that run long: whoever set a Stop, or pressed Ctrl-C, wants them to end.
    static void look() {
        if (current_ && current_->is_set()) throw Stopped();
        const nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }

   private:
    std::atomic<bool> told_{false};
    static thread_local Stop* current_;
};

thread_local Stop* Stop::current_ = nullptr;

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
    require(pool.trimmed().can_be_taken(), op, "the window or its padding is too large");
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
    std::int64_t left = backblocks::kMostReach;  // fits_int64 holds of the products below
    for (const auto& axis : conv.axes) {
        require((axis.k - 1) * axis.d < left, op, "taps are too far apart");
        left /= (axis.k - 1) * axis.d + 1;
    }
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
                    if (each == 'i')
                        operands.back().dtype =
                            wide ? nb::dtype<std::int64_t>() : nb::dtype<std::int32_t>();
                }
                return operands;
            };
            const auto pool = checked_pool(name, cells, windows, window, strides, pads);
            require(pool.few_cells(), name, "an image has too many cells");
            const auto run = backblocks::chosen_isa().pool.*kernel;
            return Prepared(name, of(inputs), of(results), [=](void* const* a) {
                run(type, a[0], a[1], a[2], pool, {of_batch, wide});
            });
        },
        "dtype"_a, "index"_a, "cells"_a, "windows"_a, "window"_a, "strides"_a, "pads"_a,
        "of_batch"_a);
}

// -- memory ---------------------------------------------------------------------------------------

// Lets NumPy see a block of memory, and keeps the block as long as NumPy does.
int view_block(PyObject* self, Py_buffer* view, int flags) {
    const auto* block = nb::inst_ptr<backblocks::Block>(self);
    return PyBuffer_FillInfo(view, self, block->data(), static_cast<Py_ssize_t>(block->bytes()), 0,
                             flags);
}

PyType_Slot block_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(view_block)}, {0, nullptr}};

// -- calls that are alike -------------------------------------------------------------------------

// Writes what calls of an op must have in common to share a plan: the names of the arguments, shape
// and dtype of arrays, type and value of everything else. Every call pays for it, which is why it is
// here: in Python it takes as long as a small kernel.
class CallKey {
   public:
    // Arrays of other types than `ndarray` and other dtypes have no key.
    CallKey(nb::handle ndarray, const std::vector<nb::object>& dtypes)
        : ndarray_(nb::borrow(ndarray)), dtypes_(dtypes), shape_("shape"), dtype_("dtype") {}

    // The key, or None if there is no telling.
    nb::object operator()(const nb::dict& given) const {
        std::string key;
        key.reserve(512);  // more than most have
        for (const auto& [name, value] : given)
            if (!text(name, key) || !(array(value, key) || plain(value, key) || list(value, key)))
                return nb::none();
        return nb::bytes(key.data(), key.size());
    }

   private:
    static constexpr Py_ssize_t kMostEntries = 64;  // longer lists are no windows, shapes or axes

    template <class Number>
    static bool number(Number n, std::string& key) {
        key.append(reinterpret_cast<const char*>(&n), sizeof n);
        return true;
    }

    static bool text(nb::handle str, std::string& key) {
        Py_ssize_t length = 0;
        const char* utf8 = PyUnicode_AsUTF8AndSize(str.ptr(), &length);
        if (!utf8) return PyErr_Clear(), false;  // half a character, say
        number(length, key);
        key.append(utf8, static_cast<std::size_t>(length));
        return true;
    }

    static bool integer(nb::handle value, std::string& key) {
        int overflow = 0;
        number(PyLong_AsLongLongAndOverflow(value.ptr(), &overflow), key);
        return overflow == 0;
    }

    // A letter for the type comes first, so that 1, 1.0 and True have different keys.
    static bool plain(nb::handle value, std::string& key) {
        PyObject* const o = value.ptr();
        if (PyUnicode_CheckExact(o)) return key += 's', text(value, key);
        if (PyBool_Check(o)) return key += o == Py_True ? 'T' : 'F', true;
        if (PyLong_CheckExact(o)) return key += 'i', integer(value, key);
        if (PyFloat_CheckExact(o)) return key += 'f', number(PyFloat_AsDouble(o), key);
        if (value.is_none()) return key += 'n', true;
        return false;
    }

    static bool list(nb::handle value, std::string& key) {
        PyObject* const o = value.ptr();
        const bool is_list = PyList_CheckExact(o);
        if (!is_list && !PyTuple_CheckExact(o)) return false;
        const Py_ssize_t length = is_list ? PyList_Size(o) : PyTuple_Size(o);
        if (length > kMostEntries) return false;
        key += 'l';
        number(length, key);
        for (Py_ssize_t i = 0; i < length; ++i)
            if (!plain(is_list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i), key)) return false;
        return true;
    }

    bool array(nb::handle value, std::string& key) const {
        if (!value.type().is(ndarray_)) return false;
        key += 'a';
        const nb::object dtype = nb::getattr(value, dtype_), shape = nb::getattr(value, shape_);
        const auto known = std::find_if(dtypes_.begin(), dtypes_.end(),
                                        [&](const nb::object& each) { return each.is(dtype); });
        number(known - dtypes_.begin(), key);
        const Py_ssize_t rank = PyTuple_Size(shape.ptr());
        number(rank, key);
        for (Py_ssize_t i = 0; i < rank; ++i) integer(PyTuple_GetItem(shape.ptr(), i), key);
        return known != dtypes_.end();
    }

    nb::object ndarray_;
    std::vector<nb::object> dtypes_;
    nb::str shape_, dtype_;
};

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadOnlyBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The yardsticks are those of the machine, whatever instruction set was asked for.
backblocks::LimitKernels limits() { return backblocks::isas().back().limits; }

void stream(const std::vector<ReadOnlyBytes>& inputs, const Bytes& output, bool around_cache) {
    std::vector<std::span<const std::byte>> spans;
    for (const auto& input : inputs)
        spans.push_back(std::as_bytes(std::span(input.data(), input.size())));
    const auto to = std::as_writable_bytes(std::span(output.data(), output.size()));
    nb::gil_scoped_release unlocked;
    limits().stream(spans, to, around_cache);
}

double multiply_add(bool doubles, std::int64_t steps) {
    nb::gil_scoped_release unlocked;
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
    nb::exception<Stopped>(m, "Stopped");
    backblocks::set_interrupt(Stop::look);
    nb::class_<Stop>(m, "Stop")
        .def(nb::init<>())
        .def("set", &Stop::set)
        .def("clear", &Stop::clear)
        .def("is_set", &Stop::is_set)
        .def("during", &Stop::during);
    nb::class_<Prepared>(m, "Prepared").def("__call__", &Prepared::operator());
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
    nb::class_<CallKey>(m, "CallKey")
        .def(nb::init<nb::handle, const std::vector<nb::object>&>(), "ndarray"_a, "dtypes"_a)
        .def("__call__", &CallKey::operator(), "given"_a);
    nb::class_<backblocks::Block>(m, "Block", nb::type_slots(block_slots))
        .def(nb::init<std::size_t>(), "bytes"_a);
    m.def("kept_bytes", &backblocks::kept_bytes);
    m.def("most_kept_bytes", &backblocks::most_kept_bytes);
    m.def("set_most_kept_bytes", &backblocks::set_most_kept_bytes, "bytes"_a);
    m.def("trim_memory", &backblocks::trim_memory);
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
