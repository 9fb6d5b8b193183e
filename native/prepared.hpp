// A kernel prepared for one geometry, as a callable of Python's.
#pragma once

#include "python.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace backblocks {

// What an array must be to reach a kernel.
struct Operand {
    int type;           // NumPy's number for its dtype
    std::int64_t size;  // numbers in it
};

// A kernel prepared for one geometry, which was checked. Called with its arrays, the results last, it
// checks only them.
class Prepared {
   public:
    using Run = std::function<void(void* const* arrays)>;
    static constexpr std::size_t kMost = 5;  // arrays

    Prepared(const char* op, std::vector<Operand> inputs, std::vector<Operand> results, Run run);

    // The same kernel for callers that have more arrays: it takes those at these places, in order.
    Prepared taking(const nb::args& places) const;

    // How many arrays it is called with.
    std::size_t arrays() const { return places_.back() + 1; }

    // Runs the kernel, without the interpreter lock if it takes long. False, with no error, if an
    // array is not what it was prepared for.
    bool run(PyObject* const* arrays) const { return try_to_run(arrays) == kNone; }

    static PyObject* call(PyObject* self, PyObject* args, PyObject* by_name);

   private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    void run_or_throw(PyObject* args) const;
    // Gives the place of an array that is not what the kernel was prepared for; if there is none, runs.
    std::size_t try_to_run(PyObject* const* arrays) const;
    // Whether the kernel takes an array, and where its numbers are. Nothing is converted: a copy would
    // lose the result.
    bool takes(PyObject* given, std::size_t i, std::span<std::byte>& memory) const;

    const char* op_;
    std::size_t inputs_;
    std::vector<Operand> operands_;
    std::vector<std::size_t> places_;  // of the operands, among the arrays of a call
    Run run_;
};

}  // namespace backblocks
