// How much is left in the processor's cache. No Python in here.
#pragma once

#include <atomic>
#include <cstddef>

namespace backblocks {

// What a kernel reads and writes is left in the cache if it has no more bytes than this: a share of
// the last cache before memory, which cores share. Results are the same whatever it is set to.
extern std::atomic<std::size_t> cache_bytes;

}  // namespace backblocks
