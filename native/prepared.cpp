#include "prepared.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace backblocks {

namespace {

// With so few bytes a kernel is done before another thread could have taken the lock.
constexpr std::size_t kTiny = 4096;

// Whether two arrays share a byte. std::less orders pointers into different arrays.
bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
    const std::less<const void*> before;
    return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
           before(b.data(), a.data() + a.size());
}

}  // namespace

Prepared::Prepared(const char* op, std::vector<Operand> inputs, std::vector<Operand> results, Run run)
    : op_(op), inputs_(inputs.size()), operands_(std::move(inputs)), run_(std::move(run)) {
    operands_.insert(operands_.end(), results.begin(), results.end());
    for (std::size_t i = 0; i < operands_.size(); ++i) places_.push_back(i);
    require(operands_.size() <= kMost, op, "takes too many arrays");
}

Prepared Prepared::taking(const nb::args& places) const {
    Prepared other = *this;
    other.places_.clear();
    // One by one: nanobind ends the process where there is no memory for a vector.
    for (const nb::handle place : places) other.places_.push_back(nb::cast<std::size_t>(place));
    const bool in_order =
        std::ranges::adjacent_find(other.places_, std::greater_equal()) == other.places_.end();
    require(other.places_.size() == operands_.size() && in_order && other.arrays() <= kMost, op_,
            "each array must have a place of its own");
    return other;
}

PyObject* Prepared::call(PyObject* self, PyObject* args, PyObject* by_name) {
    return raising([&] {
        if (!nb::inst_ready(self) || by_name) throw nb::type_error("takes arrays by position");
        nb::inst_ptr<Prepared>(self)->run_or_throw(args);
        return Py_NewRef(Py_None);
    });
}

void Prepared::run_or_throw(PyObject* args) const {
    const auto count = static_cast<std::size_t>(PyTuple_Size(args));
    if (count != arrays())
        throw nb::type_error(
            (std::string(op_) + ": takes " + std::to_string(arrays()) + " arrays").c_str());
    std::array<PyObject*, kMost> given;
    for (std::size_t i = 0; i < count; ++i)
        given[i] = PyTuple_GetItem(args, static_cast<Py_ssize_t>(i));
    if (const std::size_t place = try_to_run(given.data()); place != kNone)
        throw nb::type_error((std::string(op_) + ": array " + std::to_string(place + 1) +
                              " is not of the type, size and order it was prepared for").c_str());
}

std::size_t Prepared::try_to_run(PyObject* const* arrays) const {
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

bool Prepared::takes(PyObject* given, std::size_t i, std::span<std::byte>& memory) const {
    if (!PyArray_Check(given)) return false;
    auto* const array = reinterpret_cast<PyArrayObject*>(given);
    memory = {static_cast<std::byte*>(PyArray_DATA(array)),
              static_cast<std::size_t>(PyArray_NBYTES(array))};
    // In row-major order, aligned, in the machine's byte order; a result writeable too.
    return (i < inputs_ ? PyArray_ISCARRAY_RO(array) : PyArray_ISCARRAY(array)) &&
           PyArray_EquivTypenums(PyArray_TYPE(array), operands_[i].type) &&
           PyArray_SIZE(array) == operands_[i].size;
}

}  // namespace backblocks
