// The call cache: a call of an op like an earlier one is found by its key and computed without entering
// Python again.
#pragma once

#include <nanobind/nanobind.h>

namespace backblocks {

// Adds CallKey, CachedCall, CallCache and Dispatcher to the module.
void define_call_cache(nanobind::module_& m);

}  // namespace backblocks
