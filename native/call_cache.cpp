#include "call_cache.hpp"

#include "executable.hpp"
#include "python.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace backblocks {

using namespace nb::literals;

namespace {

// Call key: the bytes that calls of an op must have in common to share a plan. They tell the names of the
// arguments, shape and dtype of arrays and whether those are in row-major order, and type and value of
// everything else. Every call computes one, which in Python would take as long as a small kernel.
class CallKey {
   public:
    // Arrays of other dtypes, and of types made from NumPy's, have no key.
    explicit CallKey(std::vector<nb::object> dtypes) : dtypes_(std::move(dtypes)) {}

    // Whether there is a key, and adds it. Of arrays named in `by_value` the numbers count too. `out`, which
    // has no part in it, is left in the last argument.
    bool write(nb::handle given, nb::handle by_value, std::string& key, nb::object& out) const {
        key.reserve(512);  // more than most have
        PyObject *name, *value;
        for (Py_ssize_t at = 0; PyDict_Next(given.ptr(), &at, &name, &value);) {
            const std::size_t begin = key.size();
            if (!text(name, key)) return false;
            if (key.size() - begin == sizeof(Py_ssize_t) + 3 && key.ends_with("out")) {
                key.resize(begin);
                out = nb::borrow(value);
                continue;
            }
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

    // None if an argument has no key, or there is no memory for it.
    nb::object operator()(nb::handle given, nb::handle by_value) const try {
        std::string key;
        nb::object out;
        if (!write(given, by_value, key, out)) return nb::none();
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

    bool shape(PyArrayObject* array, std::string& key) const {
        key += is_row_major(array) ? 'a' : 'v';
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

// Cached call: a call like an earlier one, whose plan is known. It finds the inputs by their names.
class CachedCall {
   public:
    // `constants` are the inputs that are not arrays, by name; the plan gets what they were read as.
    // A call that is not `direct`, or that the plan cannot compute by itself, is left to
    // `execute(plan, inputs, out, replaced)`, with the arguments that constants stand for.
    CachedCall(nb::object plan, const nb::tuple& names, const nb::dict& constants,
               bool direct, nb::object execute)
        : plan_(std::move(plan)), executable_(nb::cast<const Executable*>(plan_)), direct_(direct),
          execute_(std::move(execute)) {
        for (const nb::handle name : names)
            inputs_.push_back({nb::borrow(name),
                               constants.contains(name) ? nb::object(constants[name]) : nb::object()});
    }

    nb::object run(nb::handle given, nb::handle out) const {
        HeldInputs inputs;  // others may change `given` in the meantime
        for (const auto& [name, constant] : inputs_) {
            PyObject* input = constant.ptr();
            if (!input) input = PyDict_GetItemWithError(given.ptr(), name.ptr());
            if (!input) throw nb::key_error("an input is missing");
            inputs.add(input);
        }
        if (direct_ && out.is_none())
            if (nb::object result = executable_->try_execute(inputs, nb::none()); result.is_valid())
                return result;
        return call_python(execute_, nb::make_tuple(plan_, as_tuple(inputs), out, replaced(given)).ptr());
    }

   private:
    struct Input {
        nb::object name, constant;
    };

    // The arguments that constants stand for.
    nb::list replaced(nb::handle given) const {
        nb::list found;
        for (const auto& [name, constant] : inputs_)
            if (PyObject* const value = PyDict_GetItemWithError(given.ptr(), name.ptr());
                value && constant.is_valid())
                found.append(nb::borrow(value));
        return found;
    }

    nb::object plan_;
    const Executable* executable_;
    bool direct_;
    nb::object execute_;
    std::vector<Input> inputs_;
};

// Call cache: the cached calls of an op by their keys. With more than `most`, the oldest is dropped.
class CallCache {
   public:
    CallCache(const CallKey& key, std::size_t most) : key_(key), most_(most) {}

    // The names of the inputs whose numbers are part of the key.
    nb::set by_value;

    // The cached call of these arguments, or null. Leaves `out` and the key in its arguments; the key stays
    // None if there is none, or no memory for it.
    nb::object find(nb::handle given, nb::object& out, nb::object& key) try {
        std::string bytes = std::move(spare_);  // so that most calls allocate nothing for their key
        bytes.clear();
        if (!key_.write(given, by_value, bytes, out)) return {};
        if (!last_.is_valid() || bytes != last_key_) {
            key = nb::bytes(bytes.data(), bytes.size());
            const auto found = nb::borrow(PyDict_GetItemWithError(calls_.ptr(), key.ptr()));
            if (!found.is_valid()) return {};
            last_key_.swap(bytes);
            last_ = found;
        }
        spare_ = std::move(bytes);
        return last_;
    } catch (const std::bad_alloc&) {
        return {};
    }

    nb::object key(const nb::dict& given) const { return key_(given, by_value); }

    void put(const nb::bytes& key, const nb::object& call) {
        if (!instance_of<CachedCall>(call)) throw nb::type_error("must be a cached call");
        PyObject *oldest, *value;
        Py_ssize_t at = 0;
        if (calls_.size() >= most_ && PyDict_Next(calls_.ptr(), &at, &oldest, &value))
            nb::del(calls_[nb::borrow(oldest)]);
        calls_[key] = call;
    }

    void clear() {
        calls_.clear();
        last_.reset();
    }

    std::size_t size() const { return calls_.size(); }

   private:
    CallKey key_;
    std::size_t most_;
    nb::dict calls_;
    std::string spare_, last_key_;
    nb::object last_;  // the cached call of that key, found without hashing it
};

// Dispatcher: a callable that answers a call by the cached call of its key. A call that has none is
// handed to its method `call_uncached(args, given, key)`.
class Dispatcher {
   public:
    // `names` are those of the arguments that may be given by position. `builders` gives the graph
    // builders that take over every call; while there is one, the cache is not used.
    Dispatcher(nb::object cache, const nb::tuple& names, nb::object builders)
        : held_(std::move(cache)), cache_(nb::cast<CallCache*>(held_)), builders_(std::move(builders)) {
        for (const nb::handle name : names) names_.push_back(nb::borrow(name));
    }

    static PyObject* call(PyObject* self, PyObject* args, PyObject* by_name) {
        return raising([&] {
            if (!nb::inst_ready(self)) throw nb::type_error("is not ready yet");
            return nb::inst_ptr<Dispatcher>(self)->dispatch(self, args, by_name).release().ptr();
        });
    }

   private:
    nb::object dispatch(nb::handle self, nb::handle args, nb::handle by_name) {
        nb::object key = nb::none();
        const nb::object given = all_by_name(args, by_name);
        if (given.is_valid() && nb::len(builders_()) == 0) {
            nb::object out = nb::none();
            if (const nb::object cached = cache_->find(given, out, key); cached.is_valid())
                return nb::inst_ptr<CachedCall>(cached)->run(given, out);
        }
        const nb::object rest = given.is_valid() ? nb::object(nb::make_tuple()) : nb::borrow(args);
        const nb::object named = given.is_valid()      ? given
                                 : by_name.is_valid() ? nb::borrow(by_name)
                                                      : nb::object(nb::dict());
        return call_python(nb::getattr(self, "call_uncached"), nb::make_tuple(rest, named, key).ptr());
    }

    // The arguments by name; null if there are too many by position, or one is given twice.
    nb::object all_by_name(nb::handle args, nb::handle by_name) const {
        const auto count = static_cast<std::size_t>(PyTuple_Size(args.ptr()));
        if (count == 0) return by_name.is_valid() ? nb::borrow(by_name) : nb::object(nb::dict());
        if (count > names_.size()) return {};
        nb::dict given;
        for (std::size_t i = 0; i < count; ++i) {
            if (by_name.is_valid() && PyDict_Contains(by_name.ptr(), names_[i].ptr()) != 0) return {};
            given[names_[i]] = nb::borrow(PyTuple_GetItem(args.ptr(), static_cast<Py_ssize_t>(i)));
        }
        if (by_name.is_valid()) given.update(nb::borrow<nb::dict>(by_name));
        return given;
    }

    nb::object held_;
    CallCache* cache_;
    std::vector<nb::object> names_;
    nb::object builders_;
};

PyType_Slot dispatcher_slots[] = {{Py_tp_call, reinterpret_cast<void*>(Dispatcher::call)},
                                  {0, nullptr}};

}  // namespace

void define_call_cache(nb::module_& m) {
    nb::class_<CallKey>(m, "CallKey").def(nb::init<std::vector<nb::object>>(), "dtypes"_a);
    nb::class_<CachedCall>(m, "CachedCall")
        .def(nb::init<nb::object, const nb::tuple&, const nb::dict&, bool, nb::object>(),
             "plan"_a, "names"_a, "constants"_a, "direct"_a, "execute"_a);
    nb::class_<CallCache>(m, "CallCache")
        .def(nb::init<const CallKey&, std::size_t>(), "key"_a, "most"_a)
        .def_ro("by_value", &CallCache::by_value)
        .def("key", &CallCache::key, "given"_a)
        .def("put", &CallCache::put, "key"_a, "call"_a)
        .def("clear", &CallCache::clear)
        .def("__len__", &CallCache::size);
    nb::class_<Dispatcher>(m, "Dispatcher", nb::type_slots(dispatcher_slots))
        .def(nb::init<nb::object, const nb::tuple&, nb::object>(), "cache"_a, "names"_a,
             "builders"_a);
}

}  // namespace backblocks
