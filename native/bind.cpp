// The Python module backblocks._native. The only file that knows Python: it checks what would be
// unsafe in the kernels, then runs them without the interpreter lock.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
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
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cache.hpp"
#include "conv.hpp"
#include "isa.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "pool.hpp"
#include "product.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Triple = std::array<std::int64_t, 3>;
using Shape = std::array<std::int64_t, 5>;  // (images, depth, height, width, channels)
using backblocks::Type;

void require(bool holds, const char* op, const char* rule) {
    if (!holds) throw std::invalid_argument(std::string(op) + ": " + rule);
}

// -- the interpreter lock -------------------------------------------------------------------------

// Calls what may wait for the interpreter lock. Once Python finalizes, nobody gets it any more: since
// 3.14 a thread that asks for it sleeps until the process ends, before that it is ended by
// pthread_exit, which unwinds its stack like an exception. That would end the process in the first
// noexcept frame, and drop references without the lock, so the thread sleeps here too.
template <class Function>
auto or_sleep(const Function& function) noexcept {
    static_assert(std::is_trivial_v<std::invoke_result_t<Function>> ||
                      std::is_void_v<std::invoke_result_t<Function>>,
                  "must call functions of C only, whose one exception is that of pthread_exit");
    try {
        return function();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// Gives the interpreter lock to others for as long as it lives.
class Unlocked {
   public:
    Unlocked() : state_(PyEval_SaveThread()) { current_ = this; }
    ~Unlocked() { lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

    // Calls a function that needs the lock, from a thread that has it or has given it away. Not by
    // PyGILState_Ensure, which may not be called at all once Python has finalized.
    template <class Function>
    static auto locked(const Function& function) {
        struct Again {
            Unlocked* unlocked = std::exchange(current_, nullptr);
            Again() { if (unlocked) unlocked->lock(); }
            ~Again() {
                if (!unlocked) return;
                unlocked->state_ = PyEval_SaveThread();
                current_ = unlocked;
            }
        } const again;
        return function();
    }

   private:
    void lock() {
        current_ = nullptr;
        or_sleep([this] { PyEval_RestoreThread(state_); });
    }

    PyThreadState* state_;
    static thread_local Unlocked* current_;
};

thread_local Unlocked* Unlocked::current_ = nullptr;

// Calls a callable of Python's: bytecode lets other threads have the lock now and then.
nb::object call_python(nb::handle function, PyObject* args = nullptr, PyObject* by_name = nullptr) {
    PyObject* const result = or_sleep([&] {
        return args ? PyObject_Call(function.ptr(), args, by_name) : PyObject_CallNoArgs(function.ptr());
    });
    if (!result) throw nb::python_error();
    return nb::steal(result);
}

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
        return call_python(function, args.ptr());
    }

    // For kernels that run long: whoever set a Stop, or pressed Ctrl-C, wants them to end.
    static void look() {
        if (current_ && current_->is_set()) throw Stopped();
        Unlocked::locked([] {
            if (or_sleep(PyErr_CheckSignals) != 0) throw nb::python_error();
        });
    }

   private:
    std::atomic<bool> told_{false};
    static thread_local Stop* current_;
};

thread_local Stop* Stop::current_ = nullptr;

// A function of the type of a slot: what it throws is raised, as nanobind does for other functions.
PyObject* stopped_type = nullptr;

template <class Function>
PyObject* raising(const Function& function) noexcept {
    try {
        return function();
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const nb::builtin_exception& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const Stopped& error) {
        PyErr_SetString(stopped_type, error.what());
    } catch (const std::invalid_argument& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

// -- kernels that are ready -----------------------------------------------------------------------

// What an array must be to reach a kernel.
struct Operand {
    int type;           // NumPy's number for its dtype
    std::int64_t size;  // numbers in it
};

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

// A kernel made ready for one geometry, which was checked. Called with its arrays, the results last,
// it checks only them.
class Prepared {
   public:
    using Run = std::function<void(void* const* arrays)>;
    static constexpr std::size_t kMost = 5;  // arrays

    Prepared(const char* op, std::vector<Operand> inputs, std::vector<Operand> results, Run run)
        : op_(op), inputs_(inputs.size()), operands_(std::move(inputs)), run_(std::move(run)) {
        operands_.insert(operands_.end(), results.begin(), results.end());
        for (std::size_t i = 0; i < operands_.size(); ++i) places_.push_back(i);
        require(operands_.size() <= kMost, op, "takes too many arrays");
    }

    // The same kernel for callers that have more arrays: it takes those at these places, in order.
    Prepared taking(const nb::args& places) const {
        Prepared other = *this;
        other.places_ = nb::cast<std::vector<std::size_t>>(places);
        const bool in_order =
            std::ranges::adjacent_find(other.places_, std::greater_equal()) == other.places_.end();
        require(other.places_.size() == operands_.size() && in_order && other.arrays() <= kMost, op_,
                "each array must have a place of its own");
        return other;
    }

    // How many arrays it is called with.
    std::size_t arrays() const { return places_.back() + 1; }

    // Runs the kernel, without the interpreter lock if it takes long. False, with no error, if an
    // array is not what it was prepared for.
    bool run(PyObject* const* arrays) const { return try_to_run(arrays) == kNone; }

    static PyObject* call(PyObject* self, PyObject* args, PyObject* by_name) {
        return raising([&] {
            if (!nb::inst_ready(self) || by_name) throw nb::type_error("takes arrays by position");
            nb::inst_ptr<Prepared>(self)->run_or_throw(args);
            return Py_NewRef(Py_None);
        });
    }

   private:
    static constexpr std::size_t kNone = ~std::size_t{0};
    // With so few bytes a kernel is done before another thread could have taken the lock.
    static constexpr std::size_t kTiny = 4096;

    void run_or_throw(PyObject* args) const {
        const auto count = static_cast<std::size_t>(PyTuple_Size(args));
        if (count != arrays())
            throw nb::type_error((std::string(op_) + ": takes " + std::to_string(arrays()) +
                                  " arrays").c_str());
        std::array<PyObject*, kMost> given;
        for (std::size_t i = 0; i < count; ++i)
            given[i] = PyTuple_GetItem(args, static_cast<Py_ssize_t>(i));
        if (const std::size_t place = try_to_run(given.data()); place != kNone)
            throw nb::type_error((std::string(op_) + ": array " + std::to_string(place + 1) +
                                  " is not of the type, size and order it was prepared for").c_str());
    }

    // Gives the place of an array that is not what the kernel was prepared for; if there is none, runs.
    std::size_t try_to_run(PyObject* const* arrays) const {
        std::array<std::span<std::byte>, kMost> memory;
        std::array<void*, kMost> data;
        bool no_input = false, no_result = true;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            if (!takes(arrays[places_[i]], i, memory[i])) return places_[i];
            data[i] = memory[i].data();
            if (i < inputs_) {
                no_input |= memory[i].empty();
                continue;
            }
            no_result &= memory[i].empty();
            for (std::size_t j = 0; j < i; ++j)
                require(!overlap(memory[j], memory[i]), op_, "results must share no memory");
        }
        if (no_result) return kNone;  // empty arrays may still have huge axes to walk for nothing
        if (no_input) {
            for (std::size_t i = inputs_; i < operands_.size(); ++i)
                std::memset(data[i], 0, memory[i].size());
            return kNone;
        }
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < operands_.size(); ++i) bytes += memory[i].size();
        if (bytes > kTiny) {
            const Unlocked unlocked;
            run_(data.data());
        } else {
            run_(data.data());
        }
        return kNone;
    }

    // Whether the kernel takes an array, and where its numbers are. Nothing is converted: a copy would
    // lose the result.
    bool takes(PyObject* given, std::size_t i, std::span<std::byte>& memory) const {
        if (!PyArray_Check(given)) return false;
        auto* const array = reinterpret_cast<PyArrayObject*>(given);
        memory = {static_cast<std::byte*>(PyArray_DATA(array)),
                  static_cast<std::size_t>(PyArray_NBYTES(array))};
        // In row-major order, aligned, in the machine's byte order; a result writeable too.
        return (i < inputs_ ? PyArray_ISCARRAY_RO(array) : PyArray_ISCARRAY(array)) &&
               PyArray_EquivTypenums(PyArray_TYPE(array), operands_[i].type) &&
               PyArray_SIZE(array) == operands_[i].size;
    }

    // Whether two arrays share a byte. std::less orders pointers into different arrays.
    static bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
        const std::less<const void*> before;
        return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
               before(b.data(), a.data() + a.size());
    }

    const char* op_;
    std::size_t inputs_;
    std::vector<Operand> operands_;
    std::vector<std::size_t> places_;  // of the operands, among the arrays of a call
    Run run_;
};

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
            require(pool.few_cells(), name, "an image has too many cells");
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

// Makes arrays of NumPy's like one, in row-major order, with anything in them.
class Alike {
   public:
    explicit Alike(nb::object array) : array_(std::move(array)) {
        if (!PyArray_CheckExact(array_.ptr())) throw nb::type_error("must be an array of NumPy's");
    }

    static PyObject* call(PyObject* self, PyObject*, PyObject*) {
        return raising([&] {
            if (!nb::inst_ready(self)) throw nb::type_error("is like no array yet");
            auto* const array = nb::inst_ptr<Alike>(self)->array_.ptr();
            return PyArray_NewLikeArray(reinterpret_cast<PyArrayObject*>(array), NPY_CORDER, nullptr,
                                        0);
        });
    }

   private:
    nb::object array_;
};

PyType_Slot alike_slots[] = {{Py_tp_call, reinterpret_cast<void*>(Alike::call)}, {0, nullptr}};

// -- calls that are alike -------------------------------------------------------------------------

// Writes what calls of an op must have in common to share a plan: the names of the arguments, shape
// and dtype of arrays and whether they are in row-major order, type and value of everything else. Every call pays for it, which is why it is
// here: in Python it takes as long as a small kernel.
class CallKey {
   public:
    // Arrays of other dtypes, and of types made from NumPy's, have no key.
    explicit CallKey(std::vector<nb::object> dtypes) : dtypes_(std::move(dtypes)) {}

    // Whether there is a key, and adds it. Of arrays named in `by_value` the numbers count too.
    bool write(nb::handle given, nb::handle by_value, std::string& key) const {
        key.reserve(512);  // more than most have
        PyObject *name, *value;
        for (Py_ssize_t at = 0; PyDict_Next(given.ptr(), &at, &name, &value);) {
            if (!text(name, key)) return false;
            if (PyArray_CheckExact(value)) {
                auto* const array = reinterpret_cast<PyArrayObject*>(value);
                const bool looked_at = PySet_Contains(by_value.ptr(), name) == 1;
                if (!shape(array, key) || (looked_at && !numbers(array, key))) return false;
            } else if (!plain(value, key) && !list(value, key)) {
                return false;
            }
        }
        return true;
    }

    // None if there is no key, or no room for it: then the call is checked again.
    nb::object operator()(nb::handle given, nb::handle by_value) const try {
        std::string key;
        if (!write(given, by_value, key)) return nb::none();
        return nb::bytes(key.data(), key.size());
    } catch (const std::bad_alloc&) {
        return nb::none();
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

    // NumPy counts a single cell as in order whatever its stride, and looks at the stride all the same.
    static bool in_row_order(PyArrayObject* array) {
        const auto* const strides = PyArray_STRIDES(array);
        const auto forward = [](auto step) { return step >= 0; };
        return PyArray_ISCARRAY_RO(array) &&
               (PyArray_SIZE(array) != 1 ||
                std::all_of(strides, strides + PyArray_NDIM(array), forward));
    }

    bool shape(PyArrayObject* array, std::string& key) const {
        key += in_row_order(array) ? 'a' : 'v';
        const auto* const dtype = reinterpret_cast<PyObject*>(PyArray_DESCR(array));
        const auto known = std::ranges::find(dtypes_, dtype, [](auto& each) { return each.ptr(); });
        number(known - dtypes_.begin(), key);
        number(PyArray_NDIM(array), key);
        for (int i = 0; i < PyArray_NDIM(array); ++i) number(PyArray_DIM(array, i), key);
        return known != dtypes_.end();
    }

    static bool numbers(PyArrayObject* array, std::string& key) {
        if (PyArray_SIZE(array) > kMostEntries) return false;
        const auto bytes = nb::steal<nb::bytes>(PyArray_ToString(array, NPY_CORDER));
        if (!bytes.is_valid()) throw nb::python_error();
        key.append(bytes.c_str(), bytes.size());
        return true;
    }

    std::vector<nb::object> dtypes_;
};

// Answers calls like an earlier one: makes the array of the result, and runs the kernel that is ready.
class Repeat {
   public:
    // `constants` are the inputs that are not arrays, by name; the kernel gets what they were read as.
    Repeat(const Prepared& prepared, nb::object make, const std::vector<nb::object>& names,
           const nb::dict& constants, nb::object otherwise)
        : prepared_(prepared), make_(std::move(make)), otherwise_(std::move(otherwise)) {
        require(names.size() + 1 == prepared_.arrays(), "Repeat", "every array must have a name");
        for (const auto& name : names)
            inputs_.push_back({name, constants.contains(name) ? constants[name] : nb::object()});
    }

    nb::object operator()(const nb::dict& given, nb::handle out) const {
        nb::object result = out.is_none() ? run(given) : nb::object();
        if (result.is_valid()) return result;
        return call_python(otherwise_, nb::make_tuple(given, out).ptr());
    }

    // The result; null if an array is in another order, or there is no room.
    nb::object run(nb::handle given) const try {
        std::array<nb::object, Prepared::kMost> held;  // others may change `given` in the meantime
        std::array<PyObject*, Prepared::kMost> arrays;
        std::size_t count = 0;
        for (const auto& [name, constant] : inputs_) {
            held[count] = constant.is_valid()
                              ? constant
                              : nb::borrow(PyDict_GetItemWithError(given.ptr(), name.ptr()));
            arrays[count] = held[count].ptr();
            ++count;
        }
        nb::object result = call_python(make_);
        arrays[count] = result.ptr();
        return prepared_.run(arrays.data()) ? result : nb::object();
    } catch (const std::bad_alloc&) {
        return {};
    } catch (const nb::python_error& error) {
        if (!error.matches(PyExc_MemoryError)) throw;
        return {};
    }

   private:
    struct Input {
        nb::object name, constant;
    };

    Prepared prepared_;
    nb::object make_, otherwise_;
    std::vector<Input> inputs_;
};

// A function of Python whose calls are repeated here where that is possible; all others are handed to
// its method `in_general`.
class Repeating {
   public:
    // `builders` gives those who take over every call; if there are any, none is repeated.
    Repeating(const CallKey& key, nb::dict plans, nb::object by_value, nb::object builders)
        : key_(key), plans_(std::move(plans)), by_value_(std::move(by_value)),
          builders_(std::move(builders)) {}

    static PyObject* call(PyObject* self, PyObject* args, PyObject* given) {
        return raising([&] {
            if (given && PyTuple_Size(args) == 0 && nb::inst_ready(self)) {
                nb::object result = nb::inst_ptr<Repeating>(self)->repeated(given);
                if (result.is_valid()) return result.release().ptr();
            }
            return call_python(nb::getattr(self, "in_general"), args, given).release().ptr();
        });
    }

   private:
    // The result of a call that is like an earlier one; null if it is not, or there is no room for a key.
    nb::object repeated(nb::handle given) try {
        if (nb::len(builders_()) > 0) return {};
        std::string key;
        if (!key_.write(given, by_value_, key)) return {};
        if (!last_.is_valid() || key != last_key_) {
            const nb::bytes hashable(key.data(), key.size());
            const auto found = nb::borrow(PyDict_GetItemWithError(plans_.ptr(), hashable.ptr()));
            if (!found.is_valid() || !nb::isinstance<Repeat>(found)) return {};
            last_key_ = std::move(key);
            last_ = found;
        }
        const nb::object plan = last_;  // another thread may have another one when this has run
        return nb::inst_ptr<Repeat>(plan)->run(given);
    } catch (const std::bad_alloc&) {
        return {};
    }

    CallKey key_;
    nb::dict plans_;
    nb::object by_value_, builders_;
    std::string last_key_;  // of the last call that was repeated
    nb::object last_;
};

PyType_Slot repeating_slots[] = {{Py_tp_call, reinterpret_cast<void*>(Repeating::call)},
                                 {0, nullptr}};

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
    stopped_type = nb::exception<Stopped>(m, "Stopped").ptr();
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
    nb::class_<CallKey>(m, "CallKey")
        .def(nb::init<std::vector<nb::object>>(), "dtypes"_a)
        .def("__call__", [](const CallKey& key, const nb::dict& given, const nb::set& by_value) {
            return key(given, by_value);
        }, "given"_a, "by_value"_a);
    nb::class_<Repeat>(m, "Repeat")
        .def(nb::init<const Prepared&, nb::object, const std::vector<nb::object>&, const nb::dict&,
                      nb::object>(),
             "prepared"_a, "make"_a, "names"_a, "constants"_a, "otherwise"_a)
        .def("__call__", &Repeat::operator(), "given"_a, "out"_a.none());
    nb::class_<Repeating>(m, "Repeating", nb::type_slots(repeating_slots))
        .def(nb::init<const CallKey&, nb::dict, nb::object, nb::object>(), "key"_a, "plans"_a,
             "by_value"_a, "builders"_a);
    nb::class_<backblocks::Block>(m, "Block", nb::type_slots(block_slots))
        .def(nb::init<std::size_t>(), "bytes"_a);
    nb::class_<Alike>(m, "Alike", nb::type_slots(alike_slots))
        .def(nb::init<nb::object>(), "array"_a);
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
