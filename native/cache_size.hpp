// The size of the processor's last-level cache, as kernels use it. No Python in here.
#pragma once

#include <atomic>
#include <cstddef>

namespace backblocks {

// Kernels whose arrays have more bytes than this, inputs and outputs together, use streaming stores, which bypass the
// cache. It is a part of the last-level cache. Results are the same whatever it is set to.
extern std::atomic<std::size_t> cache_bytes;

}  // namespace backblocks
