// Parallel loops on a thread pool. No Python in here.
#pragma once

#include <cstdint>

namespace backblocks {

// How many threads a loop may use, the calling one included. At first, one for each core.
int num_threads();
void set_num_threads(int count);

// A callback of the thread that called a loop, now and then between chunks, if the loop is long or one of
// many that follow each other. To end the loop it throws, and no other chunk is begun.
using Interrupt = void (*)();
void set_interrupt(Interrupt interrupt);

// How a loop is divided: into so many chunks, which so many threads take one after the other.
struct LoopSplit {
    std::int64_t chunks;
    int threads;
};
// How a loop of n steps is divided that reads and writes so many bytes: little work stays on the calling thread.
LoopSplit split_loop(std::int64_t n, std::int64_t bytes);

using Chunk = void (*)(const void* body, std::int64_t begin, std::int64_t end);
void run_chunks(std::int64_t n, std::int64_t bytes, Chunk chunk, const void* body);

// Calls body(begin, end) for chunks that together are 0 .. n - 1, in any order and at once.
// `bytes` is what the whole loop reads and writes: little work stays on the calling thread.
// May be called from any thread, also while another loop runs, and in a forked child.
template <class Body>
void parallel_for(std::int64_t n, std::int64_t bytes, const Body& body) {
    run_chunks(
        n, bytes,
        [](const void* it, std::int64_t begin, std::int64_t end) {
            (*static_cast<const Body*>(it))(begin, end);
        },
        &body);
}

}  // namespace backblocks
