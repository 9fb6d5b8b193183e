#include "executor.hpp"

#include "executable.hpp"
#include "python.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace backblocks {

using namespace nb::literals;

namespace {

using Slots = std::vector<Py_ssize_t>;  // numbers of entries in the list of a run's values

// Not by nanobind, which ends the process where there is no memory for the vector.
Slots as_slots(const nb::tuple& numbers) {
    Slots slots;
    for (const nb::handle each : numbers) slots.push_back(nb::cast<Py_ssize_t>(each));
    return slots;
}

// Puts a value into slots, which drops the old one.
void store(nb::handle slots, Py_ssize_t slot, nb::handle value) {
    if (PyList_SetItem(slots.ptr(), slot, Py_NewRef(value.ptr())) != 0) throw nb::python_error();
}

// Instruction: computes one output from the values in some slots, and stores it in others.
class Instruction {
   public:
    // `function` is an Executable, or any callable of the inputs.
    Instruction(nb::object function, const nb::tuple& inputs, const nb::tuple& outputs)
        : function_(std::move(function)),
          executable_(instance_of<Executable>(function_)),
          inputs_(as_slots(inputs)), outputs_(as_slots(outputs)) {}

    void run(nb::handle slots) const {
        HeldInputs inputs;
        for (const Py_ssize_t slot : inputs_) {
            PyObject* const input = PyList_GetItem(slots.ptr(), slot);
            if (!input) throw nb::python_error();
            inputs.add(input);
        }
        const nb::object output = executable_ ? executable_->compute(function_, inputs, buffer)
                                              : call_python(function_, as_tuple(inputs).ptr());
        for (const Py_ssize_t slot : outputs_) store(slots, slot, output);
    }

    static PyObject* call(PyObject* self, PyObject* args, PyObject*) {
        return raising([&] {
            if (!nb::inst_ready(self) || PyTuple_Size(args) != 1 || !PyList_Check(PyTuple_GetItem(args, 0)))
                throw nb::type_error("takes a list of slots");
            nb::inst_ptr<Instruction>(self)->run(PyTuple_GetItem(args, 0));
            return Py_NewRef(Py_None);
        });
    }

    // The Executable, or None.
    nb::object plan() const { return executable_ ? function_ : nb::none(); }

    nb::object buffer = nb::none();  // preallocated output, overwritten in every run; None makes new ones

   private:
    nb::object function_;
    const Executable* executable_;
    Slots inputs_, outputs_;
};

// Serial executor of steps: instructions, or functions of the slots.
class SerialExecutor {
   public:
    // `compute` is None for a step whose value is there already.
    void add(nb::object compute, const nb::tuple& dropped, nb::object number) {
        const auto* instruction = instance_of<Instruction>(compute);
        steps_.push_back({std::move(compute), instruction, as_slots(dropped), std::move(number)});
    }

    // Runs all steps. `listener`, unless it is None, is called with the number of each step before it.
    void run(const nb::list& slots, const Stop& stop, nb::handle listener) {
        for (position_ = 0; position_ < steps_.size(); ++position_) {
            if (stop.is_set()) throw Stopped();
            // Python looks after signals and threads that wait between two of its own instructions only.
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (position_ % kStepsLocked == kStepsLocked - 1) const GilRelease released;
            const Step& step = steps_[position_];
            if (!listener.is_none()) call_python(listener, nb::make_tuple(step.number).ptr());
            if (step.instruction) step.instruction->run(slots);
            else if (!step.compute.is_none()) call_python(step.compute, nb::make_tuple(slots).ptr());
            for (const Py_ssize_t slot : step.dropped) store(slots, slot, nb::none());
        }
    }

    // The step that is under way, or failed.
    std::size_t position() const { return position_; }

   private:
    static constexpr std::size_t kStepsLocked = 256;  // steps between two chances for other threads

    struct Step {
        nb::object compute;
        const Instruction* instruction;
        Slots dropped;  // slots that no later step reads
        nb::object number;
    };

    std::vector<Step> steps_;
    std::size_t position_ = 0;
};

PyType_Slot instruction_slots[] = {{Py_tp_call, reinterpret_cast<void*>(Instruction::call)}, {0, nullptr}};

}  // namespace

void define_executor(nb::module_& m) {
    nb::class_<Instruction>(m, "Instruction", nb::type_slots(instruction_slots))
        .def(nb::init<nb::object, const nb::tuple&, const nb::tuple&>(), "function"_a, "inputs"_a, "outputs"_a)
        .def_prop_ro("plan", &Instruction::plan)
        .def_rw("buffer", &Instruction::buffer, nb::arg().none());
    nb::class_<SerialExecutor>(m, "SerialExecutor")
        .def(nb::init<>())
        .def("add", &SerialExecutor::add, "compute"_a.none(), "dropped"_a, "number"_a)
        .def("run", &SerialExecutor::run, "slots"_a, "stop"_a, "listener"_a.none())
        .def_prop_ro("position", &SerialExecutor::position);
}

}  // namespace backblocks
