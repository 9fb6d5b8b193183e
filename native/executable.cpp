#include "executable.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace backblocks {

using namespace nb::literals;

namespace {

bool all_row_major(Inputs inputs) {
    return std::ranges::all_of(inputs, [](PyObject* input) {
        return PyArray_Check(input) && is_row_major(reinterpret_cast<PyArrayObject*>(input));
    });
}

// The entries of a tuple.
class Entries : public HeldInputs {
   public:
    explicit Entries(nb::handle tuple) {
        const Py_ssize_t count = PyTuple_Size(tuple.ptr());
        for (Py_ssize_t i = 0; i < count; ++i) add(PyTuple_GetItem(tuple.ptr(), i));
    }
};

PyObject* call_allocator(PyObject* self, PyObject*, PyObject*) {
    return raising([&] {
        if (!nb::inst_ready(self)) throw nb::type_error("has no prototype yet");
        return nb::inst_ptr<OutputAllocator>(self)->allocate().release().ptr();
    });
}

PyObject* call_executable(PyObject* self, PyObject* args, PyObject* by_name) {
    return raising([&] {
        if (!nb::inst_ready(self) || by_name) throw nb::type_error("takes arrays by position");
        return nb::inst_ptr<Executable>(self)->compute(self, Entries(args), nb::none()).release().ptr();
    });
}

PyType_Slot allocator_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_allocator)}, {0, nullptr}};
PyType_Slot executable_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_executable)}, {0, nullptr}};

}  // namespace

nb::object as_tuple(Inputs inputs, Inputs more) {
    nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(inputs.size() + more.size())));
    if (!tuple.is_valid()) throw nb::python_error();
    Py_ssize_t place = 0;
    for (const Inputs& part : {inputs, more})
        for (PyObject* const each : part) PyTuple_SetItem(tuple.ptr(), place++, Py_NewRef(each));
    return tuple;
}

bool is_row_major(PyArrayObject* array) {
    if (!PyArray_ISCARRAY_RO(array)) return false;
    if (PyArray_SIZE(array) != 1) return true;
    const auto* const strides = PyArray_STRIDES(array);
    return std::all_of(strides, strides + PyArray_NDIM(array), [](auto step) { return step >= 0; });
}

OutputAllocator::OutputAllocator(nb::object prototype) : prototype_(std::move(prototype)) {
    if (!PyArray_CheckExact(prototype_.ptr())) throw nb::type_error("must be an array of NumPy's");
}

nb::object OutputAllocator::allocate() const {
    PyObject* const array = PyArray_NewLikeArray(reinterpret_cast<PyArrayObject*>(prototype_.ptr()),
                                                 NPY_CORDER, nullptr, 0);
    if (!array) throw nb::python_error();
    return nb::steal(array);
}

Executable::Executable(nb::object kernel, const nb::tuple& allocators, bool direct)
    : kernel_(std::move(kernel)),
      prepared_(instance_of<Prepared>(kernel_)),
      direct_(direct && !kernel_.is_none()) {
    for (const nb::handle each : allocators)
        allocators_.push_back({nb::borrow(each), instance_of<OutputAllocator>(each)});
    require(kernel_.is_none() || !allocators_.empty(), "Executable: a kernel must have an output");
}

nb::object Executable::allocate() const {
    const auto make = [](const Allocator& each) {
        return each.native ? each.native->allocate() : call_python(each.function);
    };
    if (allocators_.size() == 1) return make(allocators_[0]);
    nb::list outputs;
    for (const auto& each : allocators_) outputs.append(make(each));
    return outputs;
}

nb::object Executable::execute(Inputs inputs, nb::handle outputs) const {
    nb::object results = outputs.is_none() ? allocate() : nb::borrow(outputs);
    HeldInputs listed;
    PyObject* const one = results.ptr();
    Inputs arrays{&one, 1};
    if (allocators_.size() > 1) {
        for (const auto& each : results) listed.add(each.ptr());
        arrays = listed;
    }
    if (prepared_ && inputs.size() + arrays.size() == prepared_->arrays()) {
        ShortArray<PyObject*> all(prepared_->arrays());
        std::ranges::copy(arrays, std::ranges::copy(inputs, all.data()).out);
        if (prepared_->run(all.data())) return results;
    }
    // A native kernel says here what is wrong with its arrays.
    call_python(kernel_, as_tuple(inputs, arrays).ptr());
    return results;
}

nb::object Executable::try_execute(Inputs inputs, nb::handle outputs) const try {
    // A native kernel looks at the order of its arrays by itself.
    if (!direct_ || !(prepared_ || all_row_major(inputs))) return {};
    return execute(inputs, outputs);
} catch (const std::bad_alloc&) {
    return {};
} catch (const nb::python_error& error) {
    // Python finds the same error again, and names the op in it.
    if (!error.matches(PyExc_MemoryError) && !error.matches(PyExc_TypeError)) throw;
    return {};
}

nb::object Executable::compute(nb::handle self, Inputs inputs, nb::handle outputs) const {
    nb::object results = try_execute(inputs, outputs);
    if (results.is_valid()) return results;
    return call_python(nb::getattr(self, "compute"), as_tuple(inputs).ptr());
}

void define_executable(nb::module_& m) {
    nb::class_<OutputAllocator>(m, "OutputAllocator", nb::type_slots(allocator_slots))
        .def(nb::init<nb::object>(), "prototype"_a);
    nb::class_<Executable>(m, "Executable", nb::type_slots(executable_slots))
        .def(nb::init<nb::object, const nb::tuple&, bool>(), "kernel"_a.none(), "allocators"_a,
             "direct"_a)
        .def("execute", [](const Executable& self, const nb::tuple& inputs, nb::handle outputs) {
            return self.execute(Entries(inputs), outputs);
        }, "inputs"_a, "outputs"_a.none());
    m.def("all_row_major", [](const nb::tuple& arrays) { return all_row_major(Entries(arrays)); },
          "arrays"_a);
}

}  // namespace backblocks
