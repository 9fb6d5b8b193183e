#include "cache_size.hpp"

#include <cstdint>
#include <fstream>

namespace backblocks {
namespace {

// The size of the last-level cache, which Linux gives as "32768K". The processor itself, asked by CPUID in a virtual
// machine, may report ten times as much as the machine has.
std::size_t last_level_bytes() {
    constexpr std::size_t usual = std::size_t{16} << 20;
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
    std::size_t count = 0;
    char unit = 0;
    if (!(file >> count >> unit) || unit != 'K' || count == 0 || count > SIZE_MAX >> 10) return usual;
    return count << 10;
}

}  // namespace

// Measured: up to this share kernels are faster if they store through the cache, some of them 2.5
// times, and beyond it up to 1.5 times if they store around it.
std::atomic<std::size_t> cache_bytes = last_level_bytes() / 16 * 9;

}  // namespace backblocks
