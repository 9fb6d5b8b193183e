// The serial executor: runs the steps of a compiled program one after another, without entering Python
// between kernels.
#pragma once

#include <nanobind/nanobind.h>

namespace backblocks {

// Adds Instruction and SerialExecutor to the module.
void define_executor(nanobind::module_& m);

}  // namespace backblocks
