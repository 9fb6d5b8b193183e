// Shared by the files that use Python: NumPy's C API, the interpreter lock (GIL), errors, cancellation.
#pragma once

// NumPy's table of functions is filled once, by bind.cpp, for all of these files.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL backblocks_numpy
#ifndef BACKBLOCKS_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>
#include <numpy/arrayobject.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace backblocks {

namespace nb = nanobind;

// -- the interpreter lock -------------------------------------------------------------------------

// Calls a function that may wait for the interpreter lock. Once Python finalizes, no thread gets the lock any more:
// since 3.14 a thread that asks for it sleeps until the process ends, before that it is ended by
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

// Releases the interpreter lock for as long as it lives.
class GilRelease {
   public:
    GilRelease() : state_(PyEval_SaveThread()) { current_ = this; }
    ~GilRelease() { lock(); }
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

    // Calls a function that needs the lock, from a thread that has it or has given it away. Not by
    // PyGILState_Ensure, which may not be called at all once Python has finalized.
    template <class Function>
    static auto with_gil(const Function& function) {
        struct GilAcquire {
            GilRelease* release = std::exchange(current_, nullptr);
            GilAcquire() { if (release) release->lock(); }
            ~GilAcquire() {
                if (!release) return;
                release->state_ = PyEval_SaveThread();
                current_ = release;
            }
        } const acquired;
        return function();
    }

   private:
    void lock() {
        current_ = nullptr;
        or_sleep([this] { PyEval_RestoreThread(state_); });
    }

    PyThreadState* state_;
    inline static thread_local GilRelease* current_ = nullptr;
};

// Calls a callable of Python's: bytecode lets other threads have the lock now and then.
inline nb::object call_python(nb::handle function, PyObject* args = nullptr,
                              PyObject* by_name = nullptr) {
    PyObject* const result = or_sleep([&] {
        return args ? PyObject_Call(function.ptr(), args, by_name) : PyObject_CallNoArgs(function.ptr());
    });
    if (!result) throw nb::python_error();
    return nb::steal(result);
}

// The C++ object that a Python one holds; null if it is of another class. One that was made without __init__
// is refused.
template <class T>
T* instance_of(nb::handle object) {
    return nb::isinstance<T>(object) ? nb::cast<T*>(object) : nullptr;
}

// -- errors ---------------------------------------------------------------------------------------

// A kernel was told to stop; what it has computed is of no use.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "the kernel was told to stop"; }
};

// The exception class of Python's for Stopped, set when the module is made.
inline PyObject* stopped_type = nullptr;

// Runs the body of a type slot, and translates C++ exceptions to Python's, as nanobind does for other functions.
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

// -- cancellation ---------------------------------------------------------------------------------

// Cancellation flag for the kernels that run during a call which it makes.
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

    // Called by long kernels now and then: throws if the flag is set, or Ctrl-C was pressed.
    static void check() {
        if (current_ && current_->is_set()) throw Stopped();
        GilRelease::with_gil([] {
            if (or_sleep(PyErr_CheckSignals) != 0) throw nb::python_error();
        });
    }

   private:
    std::atomic<bool> told_{false};
    inline static thread_local Stop* current_ = nullptr;
};

}  // namespace backblocks
