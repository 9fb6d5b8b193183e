// Loaded before everything else, it makes one allocation of the kernels fail: the n-th one that _native, or
// the C++ library for it, asks for. Only allocations of C++ and mappings count, and all threads'.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Range {
    std::uintptr_t begin, end;
};
Range ranges[16];
std::atomic<int> known{0};
std::atomic<long> fails_at{0}, asked{0}, live{0};

int note(dl_phdr_info* info, std::size_t, void*) {
    if (!std::strstr(info->dlpi_name, "_native.abi3") && !std::strstr(info->dlpi_name, "libstdc++")) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) || known >= 16) continue;
        const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
        ranges[known++] = {begin, begin + part.p_memsz};
    }
    return 0;
}

bool fails(void* caller) {
    if (fails_at == 0) return false;
    const auto at = reinterpret_cast<std::uintptr_t>(caller);
    for (int i = 0; i < known; ++i)
        if (ranges[i].begin <= at && at < ranges[i].end) return ++asked == fails_at;
    return false;
}

void* counted(void* memory) {
    if (!memory) throw std::bad_alloc();
    live += static_cast<long>(malloc_usable_size(memory));
    return memory;
}

void* aligned(std::size_t size, std::align_val_t to) {
    void* memory = nullptr;
    return posix_memalign(&memory, static_cast<std::size_t>(to), size) ? nullptr : memory;
}

}  // namespace

extern "C" void fail_at(long n) {
    if (known == 0) dl_iterate_phdr(note, nullptr);
    asked = 0;
    fails_at = n;
}
extern "C" long asked_for() { return asked; }
extern "C" long live_bytes() { return live; }

extern "C" void* mmap(void* at, std::size_t size, int how, int flags, int file, off_t from) noexcept {
    static const auto real = reinterpret_cast<decltype(&mmap)>(dlsym(RTLD_NEXT, "mmap"));
    return fails(__builtin_return_address(0)) ? MAP_FAILED : real(at, size, how, flags, file, from);
}

void* operator new(std::size_t size) {
    if (fails(__builtin_return_address(0))) throw std::bad_alloc();
    return counted(std::malloc(size ? size : 1));
}
void* operator new(std::size_t size, std::align_val_t to) {
    if (fails(__builtin_return_address(0))) throw std::bad_alloc();
    return counted(aligned(size, to));
}
void operator delete(void* memory) noexcept {
    if (memory) live -= static_cast<long>(malloc_usable_size(memory));
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { operator delete(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { operator delete(memory); }
