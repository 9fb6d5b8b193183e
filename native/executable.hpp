// A planned call of an op: the allocator of each output, and the kernel that fills them.
#pragma once

#include "prepared.hpp"
#include "python.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace backblocks {

// Whether an array is in row-major order without gaps, aligned and in the machine's byte order. NumPy counts
// a single element as in order whatever its stride, and looks at the stride all the same.
bool is_row_major(PyArrayObject* array);

using Inputs = std::span<PyObject* const>;

// The inputs of a call, kept alive for as long as it takes.
class HeldInputs {
   public:
    HeldInputs() = default;
    HeldInputs(const HeldInputs&) = delete;
    HeldInputs& operator=(const HeldInputs&) = delete;
    ~HeldInputs() {
        for (PyObject* const each : Inputs(*this)) Py_DECREF(each);
    }

    void add(PyObject* input) {
        if (count_ < few_.size()) few_[count_] = Py_NewRef(input);
        else {
            if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
            many_.push_back(Py_NewRef(input));
        }
        ++count_;
    }

    operator Inputs() const { return {count_ > few_.size() ? many_.data() : few_.data(), count_}; }

   private:
    std::size_t count_ = 0;
    std::array<PyObject*, 8> few_;  // most ops have no more
    std::vector<PyObject*> many_;
};

// A tuple of the inputs, and of further objects.
nb::object as_tuple(Inputs inputs, Inputs more = {});

// Makes NumPy arrays of the shape and dtype of a prototype, in row-major order and uninitialised.
class OutputAllocator {
   public:
    explicit OutputAllocator(nb::object prototype);

    nb::object allocate() const;

   private:
    nb::object prototype_;
};

// The one place that allocates outputs and calls a kernel. Python's class Plan is made from it, and computes
// whatever this cannot: with its method `compute`.
class Executable {
   public:
    // `kernel` takes the inputs, then the outputs; None has Python compute every call. `direct` says that
    // calls may be computed without asking Python whether their outputs fit in memory.
    Executable(nb::object kernel, const nb::tuple& allocators, bool direct);

    // Allocates the outputs, unless those are given, and has the kernel fill them. One output is an array,
    // several are a list.
    nb::object execute(Inputs inputs, nb::handle outputs) const;

    // The same; null if Python has to compute it: there is no kernel, an input is no array in row-major
    // order, or memory is short.
    nb::object try_execute(Inputs inputs, nb::handle outputs) const;

    // The results of a call of `self`, the Python object of this one.
    nb::object compute(nb::handle self, Inputs inputs, nb::handle outputs) const;

   private:
    struct Allocator {
        nb::object function;
        const OutputAllocator* native;  // the same, or null
    };

    nb::object allocate() const;

    nb::object kernel_;
    const Prepared* prepared_;  // the kernel, if it is native
    std::vector<Allocator> allocators_;
    bool direct_;
};

// Adds Executable and OutputAllocator to the module.
void define_executable(nb::module_& m);

}  // namespace backblocks
