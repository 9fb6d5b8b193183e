#include "prepared.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "isa.hpp"

namespace backblocks {

namespace {

// With so few bytes a kernel is done before another thread could have taken the lock.
constexpr std::int64_t kTinyBytes = 4096;

// More than a call can have.
constexpr std::size_t kMostArrays = 1024;

struct NamedType {
    Type type;
    const char* name;
    int number;  // NumPy's
};

constexpr NamedType kTypes[] = {
    {Type::boolean, "bool", NPY_BOOL},         {Type::int8, "int8", NPY_INT8},
    {Type::int16, "int16", NPY_INT16},         {Type::int32, "int32", NPY_INT32},
    {Type::int64, "int64", NPY_INT64},         {Type::uint8, "uint8", NPY_UINT8},
    {Type::uint16, "uint16", NPY_UINT16},      {Type::uint32, "uint32", NPY_UINT32},
    {Type::uint64, "uint64", NPY_UINT64},      {Type::float16, "float16", NPY_HALF},
    {Type::bfloat16, "bfloat16", NPY_NOTYPE},  {Type::float32, "float32", NPY_FLOAT},
    {Type::float64, "float64", NPY_DOUBLE},    {Type::complex64, "complex64", NPY_CFLOAT},
    {Type::complex128, "complex128", NPY_CDOUBLE},
};

int number_of(Type type) {
    if (type == Type::bfloat16) {  // another package adds it to NumPy
        static const int number = nb::cast<int>(
            nb::module_::import_("numpy")
                .attr("dtype")(nb::module_::import_("ml_dtypes").attr("bfloat16"))
                .attr("num"));
        return number;
    }
    return std::ranges::find(kTypes, type, &NamedType::type)->number;
}

// Whether two arrays share a byte. std::less orders pointers into different arrays.
bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
    const std::less<const void*> before;
    return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
           before(b.data(), a.data() + a.size());
}

}  // namespace

bool type_named(std::string_view name, Type& type) {
    const auto* const found = std::ranges::find(kTypes, name, &NamedType::name);
    if (found == std::end(kTypes)) return false;
    type = found->type;
    return true;
}

Prepared::Prepared(const char* name, Kernel kernel)
    : name_(name), inputs_(kernel.inputs.size()), run_(std::move(kernel.run)),
      explain_(std::move(kernel.explain)) {
    std::int64_t bytes = 0;
    const auto expect = [&](const Operand& operand) {
        places_.push_back(expected_.size());
        expected_.push_back({number_of(operand.dtype), operand.size});
        // Sizes are at most 2^59 elements; as many bytes are not tiny.
        bytes = std::min(bytes, kTinyBytes) + operand.size * static_cast<std::int64_t>(bytes_of(operand.dtype));
    };
    for (const Operand& input : kernel.inputs) expect(input);
    for (const Operand& output : kernel.outputs) {
        expect(output);
        nothing_to_write_ &= output.size == 0;
    }
    tiny_ = bytes <= kTinyBytes;
}

Prepared Prepared::taking(const nb::args& places) const {
    Prepared other = *this;
    other.places_.clear();
    // One by one: nanobind ends the process where there is no memory for a vector.
    for (const nb::handle place : places) other.places_.push_back(nb::cast<std::size_t>(place));
    const bool in_order =
        std::ranges::adjacent_find(other.places_, std::greater_equal()) == other.places_.end();
    if (other.places_.size() != expected_.size() || !in_order || other.places_.back() >= kMostArrays)
        throw std::invalid_argument(std::string(name_) + ": each array must have a place of its own");
    return other;
}

Choice Prepared::explain() const {
    return explain_ ? explain_() : Choice{chosen_isa().name, name_, "the kernel has one algorithm"};
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
            (std::string(name_) + ": takes " + std::to_string(arrays()) + " arrays").c_str());
    ShortArray<PyObject*> given(count);
    for (std::size_t i = 0; i < count; ++i)
        given[i] = PyTuple_GetItem(args, static_cast<Py_ssize_t>(i));
    if (const std::size_t place = try_to_run(given.data()); place != kNone)
        throw nb::type_error((std::string(name_) + ": array " + std::to_string(place + 1) +
                              " is not of the type, size and order it was prepared for").c_str());
}

std::size_t Prepared::try_to_run(PyObject* const* arrays) const {
    ShortArray<std::span<std::byte>> memory(expected_.size());
    ShortArray<void*> data(expected_.size());
    for (std::size_t i = 0; i < expected_.size(); ++i) {
        if (!takes(arrays[places_[i]], i, memory[i])) return places_[i];
        data[i] = memory[i].data();
        if (i < inputs_) continue;
        for (std::size_t j = 0; j < i; ++j)
            if (overlap(memory[j], memory[i]))
                throw std::invalid_argument(std::string(name_) + ": results must share no memory");
    }
    if (nothing_to_write_) return kNone;  // empty arrays may still have huge axes to walk for nothing
    if (tiny_) {
        run_(data.data());
    } else {
        const GilRelease released;
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
           PyArray_EquivTypenums(PyArray_TYPE(array), expected_[i].type) &&
           PyArray_SIZE(array) == expected_[i].size;
}

}  // namespace backblocks
