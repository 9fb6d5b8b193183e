// Which algorithm a kernel runs for one geometry, why, and how it divides the work. No Python in here.
//
// Every kernel family has one function that chooses (choose_reduction, choose_pool_grad, choose_conv,
// choose_depthwise, choose_matmul), and its kernels run the algorithm that it gives. `backblocks bench --explain`
// prints the same choice.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace backblocks {

// One of a family's algorithms, and the reason that it fits the geometry.
template <class Algorithm>
struct Chosen {
    Algorithm algorithm;
    const char* reason;
};

// A choice as people read it.
struct Choice {
    const char* isa;        // the instruction set of the kernel that was chosen
    std::string algorithm;  // its name
    std::string reason;
    std::vector<std::pair<std::string, std::string>> details{};  // tile sizes and variants, by name
    LoopSplit split{1, 1};  // of the loop that does most of the work

    Choice& with(const char* name, std::string value) {
        details.emplace_back(name, std::move(value));
        return *this;
    }
    Choice& with(const char* name, std::int64_t value) { return with(name, std::to_string(value)); }
    Choice& with(const char* name, std::initializer_list<std::int64_t> sizes) {
        std::string text;
        for (const std::int64_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
        return with(name, text);
    }
    // The loop that does most of the work, as it is given to parallel_for.
    Choice& with_loop(std::int64_t tasks, std::int64_t bytes) {
        split = split_loop(tasks, bytes);
        return with("tasks", tasks);
    }
};

}  // namespace backblocks

#ifdef ISA
#define BACKBLOCKS_TEXT_OF(name) #name
#define BACKBLOCKS_TEXT(name) BACKBLOCKS_TEXT_OF(name)
namespace backblocks::ISA {
constexpr const char* kIsaName = BACKBLOCKS_TEXT(ISA);
}
#endif
