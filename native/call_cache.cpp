#include "call_cache.hpp"

#include "prepared.hpp"
#include "python.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace backblocks {

using namespace nb::literals;

namespace {

// Output allocator: makes NumPy arrays of the shape and dtype of a prototype, in row-major order and
// uninitialised.
class OutputAllocator {
   public:
    explicit OutputAllocator(nb::object prototype) : prototype_(std::move(prototype)) {
        if (!PyArray_CheckExact(prototype_.ptr())) throw nb::type_error("must be an array of NumPy's");
    }

    static PyObject* call(PyObject* self, PyObject*, PyObject*) {
        return raising([&] {
            if (!nb::inst_ready(self)) throw nb::type_error("has no prototype yet");
            auto* const array = nb::inst_ptr<OutputAllocator>(self)->prototype_.ptr();
            return PyArray_NewLikeArray(reinterpret_cast<PyArrayObject*>(array), NPY_CORDER, nullptr,
                                        0);
        });
    }

   private:
    nb::object prototype_;
};

PyType_Slot allocator_slots[] = {{Py_tp_call, reinterpret_cast<void*>(OutputAllocator::call)}, {0, nullptr}};

// Call key: the bytes that calls of an op must have in common to share a plan. They tell the names of the
// arguments, shape and dtype of arrays and whether those are in row-major order, and type and value of
// everything else. Every call computes one, which in Python would take as long as a small kernel.
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

// Cached call: allocates the output of a call like an earlier one, and runs the kernel prepared for that.
class CachedCall {
   public:
    // `constants` are the inputs that are not arrays, by name; the kernel gets what they were read as.
    CachedCall(const Prepared& prepared, nb::object make, const std::vector<nb::object>& names,
           const nb::dict& constants, nb::object otherwise)
        : prepared_(prepared), make_(std::move(make)), otherwise_(std::move(otherwise)) {
        require(names.size() + 1 == prepared_.arrays(), "CachedCall", "every array must have a name");
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

// Dispatcher: a callable that answers a call by the cached call of its key. A call that has none is
// handed to its method `call_uncached`.
class Dispatcher {
   public:
    // `builders` gives the graph builders that take over every call; while there is one, the cache is
    // not used.
    Dispatcher(const CallKey& key, nb::dict plans, nb::object by_value, nb::object builders)
        : key_(key), plans_(std::move(plans)), by_value_(std::move(by_value)),
          builders_(std::move(builders)) {}

    static PyObject* call(PyObject* self, PyObject* args, PyObject* given) {
        return raising([&] {
            if (given && PyTuple_Size(args) == 0 && nb::inst_ready(self)) {
                nb::object result = nb::inst_ptr<Dispatcher>(self)->cached(given);
                if (result.is_valid()) return result.release().ptr();
            }
            return call_python(nb::getattr(self, "call_uncached"), args, given).release().ptr();
        });
    }

   private:
    // The result of a cached call; null if there is none for the key, or no memory for a key.
    nb::object cached(nb::handle given) try {
        if (nb::len(builders_()) > 0) return {};
        std::string key;
        if (!key_.write(given, by_value_, key)) return {};
        if (!last_.is_valid() || key != last_key_) {
            const nb::bytes hashable(key.data(), key.size());
            const auto found = nb::borrow(PyDict_GetItemWithError(plans_.ptr(), hashable.ptr()));
            if (!found.is_valid() || !nb::isinstance<CachedCall>(found)) return {};
            last_key_ = std::move(key);
            last_ = found;
        }
        const nb::object plan = last_;  // another thread may have another one when this has run
        return nb::inst_ptr<CachedCall>(plan)->run(given);
    } catch (const std::bad_alloc&) {
        return {};
    }

    CallKey key_;
    nb::dict plans_;
    nb::object by_value_, builders_;
    std::string last_key_;
    nb::object last_;  // the cached call of that key, found without hashing it
};

PyType_Slot dispatcher_slots[] = {{Py_tp_call, reinterpret_cast<void*>(Dispatcher::call)},
                                 {0, nullptr}};

}  // namespace

void define_call_cache(nb::module_& m) {
    nb::class_<CallKey>(m, "CallKey")
        .def(nb::init<std::vector<nb::object>>(), "dtypes"_a)
        .def("__call__", [](const CallKey& key, const nb::dict& given, const nb::set& by_value) {
            return key(given, by_value);
        }, "given"_a, "by_value"_a);
    nb::class_<CachedCall>(m, "CachedCall")
        .def(nb::init<const Prepared&, nb::object, const std::vector<nb::object>&, const nb::dict&,
                      nb::object>(),
             "prepared"_a, "make"_a, "names"_a, "constants"_a, "otherwise"_a)
        .def("__call__", &CachedCall::operator(), "given"_a, "out"_a.none());
    nb::class_<Dispatcher>(m, "Dispatcher", nb::type_slots(dispatcher_slots))
        .def(nb::init<const CallKey&, nb::dict, nb::object, nb::object>(), "key"_a, "plans"_a,
             "by_value"_a, "builders"_a);
    nb::class_<OutputAllocator>(m, "OutputAllocator", nb::type_slots(allocator_slots))
        .def(nb::init<nb::object>(), "prototype"_a);
}

}  // namespace backblocks
