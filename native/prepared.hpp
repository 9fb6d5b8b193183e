// A kernel prepared for one geometry, as a Python callable that checks its arrays.
#pragma once

#include "python.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "choice.hpp"
#include "kernel.hpp"

namespace backblocks {

// The element type of a name, as NumPy's dtypes have it. Whether there is one.
bool type_named(std::string_view name, Type& type);

// An array on the stack, unless it has more elements than most calls have tensors.
template <class T>
class ShortArray {
   public:
    explicit ShortArray(std::size_t size) : many_(size > kFew ? new T[size]{} : nullptr) {}
    T* data() { return many_ ? many_.get() : few_.data(); }
    T& operator[](std::size_t i) { return data()[i]; }

   private:
    static constexpr std::size_t kFew = 6;
    std::array<T, kFew> few_{};
    std::unique_ptr<T[]> many_;
};

// A kernel prepared for one geometry, which was checked. Called with its arrays, the outputs last, it
// checks only them.
class Prepared {
   public:
    Prepared(const char* name, Kernel kernel);

    // The same kernel for callers that have more arrays: it takes those at these places, in order.
    Prepared taking(const nb::args& places) const;

    // How many arrays it is called with.
    std::size_t arrays() const { return places_.back() + 1; }

    // Runs the kernel, without the interpreter lock if it takes long. False, with no error, if an
    // array is not what it was prepared for.
    bool run(PyObject* const* arrays) const { return try_to_run(arrays) == kNone; }

    // Which algorithm the kernel runs, and why.
    Choice explain() const;

    static PyObject* call(PyObject* self, PyObject* args, PyObject* by_name);

   private:
    // What an array must be to reach the kernel.
    struct Expected {
        int type;           // NumPy's number for its dtype
        std::int64_t size;  // number of elements
    };
    static constexpr std::size_t kNone = ~std::size_t{0};

    void run_or_throw(PyObject* args) const;
    // Gives the place of an array that is not what the kernel was prepared for; if there is none, runs.
    std::size_t try_to_run(PyObject* const* arrays) const;
    // Whether the kernel takes an array, and where its elements are. Nothing is converted: a copy would
    // lose the result.
    bool takes(PyObject* given, std::size_t i, std::span<std::byte>& memory) const;

    const char* name_;
    std::size_t inputs_;
    std::vector<Expected> expected_;  // the inputs, then the outputs
    std::vector<std::size_t> places_;  // of these among the arrays of a call
    bool nothing_to_write_ = true;
    bool tiny_;
    std::function<void(void* const* tensors)> run_;
    std::function<Choice()> explain_;
};

}  // namespace backblocks
