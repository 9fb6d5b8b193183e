// The system hands out memory page by page, at first use, and clears it: filling a fresh result of
// 32 MB takes 20 ms, of which the kernel that fills it needs 1.5. So buffers of results that are no
// longer wanted are kept for the next, and large ones lie on huge pages.
#include "memory.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <new>

#include <pthread.h>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace backblocks {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
    if (bytes > SIZE_MAX - to) throw std::bad_alloc();
    return std::max((bytes + to - 1) / to, std::size_t{1}) * to;
}

// Whether a buffer lies on huge pages of its own.
bool is_large(std::size_t capacity) { return capacity >= kHugePage; }

std::size_t capacity_for(std::size_t bytes) {
    return rounded_up(bytes, is_large(bytes) ? kHugePage : kCacheLine);
}

#ifdef __linux__

void* map_large(std::size_t capacity) {
    // The system gives an address of its choice: with one huge page more there is a right one in it.
    const std::size_t length = rounded_up(capacity + kHugePage, kHugePage);
    void* mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
    const auto aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
    auto* const data = static_cast<char*>(mapped) + (aligned - begin);
    const std::size_t after = begin + length - (aligned + capacity);
    if (aligned > begin) munmap(mapped, aligned - begin);
    if (after > 0) munmap(data + capacity, after);
    madvise(data, capacity, MADV_HUGEPAGE);  // without huge pages it works too, only slower
    return data;
}

void unmap_large(void* data, std::size_t capacity) { munmap(data, capacity); }

std::size_t machine_bytes() {
    return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
}

#else

void* map_large(std::size_t capacity) {
    return ::operator new(capacity, std::align_val_t{kHugePage});
}
void unmap_large(void* data, std::size_t) { ::operator delete(data, std::align_val_t{kHugePage}); }
std::size_t machine_bytes() { return std::size_t{8} << 30; }

#endif

void* from_system(std::size_t capacity) {
    return is_large(capacity) ? map_large(capacity)
                              : ::operator new(capacity, std::align_val_t{kCacheLine});
}

void to_system(void* data, std::size_t capacity) {
    if (is_large(capacity)) unmap_large(data, capacity);
    else ::operator delete(data, std::align_val_t{kCacheLine});
}

// Freed buffers by capacity and by age. The oldest are evicted where there are too many bytes.
class BufferCache {
   public:
    // A kept buffer with room for `capacity`, which is set to what it has; null if there is none.
    void* take(std::size_t& capacity) {
        const std::lock_guard lock(mutex_);
        const auto found = by_capacity_.lower_bound(capacity);
        // A buffer much larger than needed waits for a result of its own size.
        if (found == by_capacity_.end() || found->first - capacity > capacity / 4) return nullptr;
        void* const data = found->second->data;
        capacity = found->first;
        kept_ -= capacity;
        by_age_.erase(found->second);
        by_capacity_.erase(found);
        return data;
    }

    // Whether the buffer is kept; if not, it is the caller's still. The oldest make room for it.
    bool keep(void* data, std::size_t capacity) noexcept try {
        Buffers evicted;
        {
            const std::lock_guard lock(mutex_);
            if (capacity > most_) return false;
            Buffers one{{data, capacity}};
            // Before others of its size: the one that was used last is the likeliest to be in the cache.
            by_capacity_.emplace_hint(by_capacity_.lower_bound(capacity), capacity, one.begin());
            by_age_.splice(by_age_.begin(), one);
            kept_ += capacity;
            evicted = evict(most_);
        }
        release(evicted);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }

    // Keeps so many bytes at most, and gives how many it released.
    std::size_t trim_to(std::size_t bytes) {
        Buffers evicted;
        {
            const std::lock_guard lock(mutex_);
            evicted = evict(bytes);
        }
        return release(evicted);
    }

    std::size_t kept() {
        const std::lock_guard lock(mutex_);
        return kept_;
    }

    std::size_t most() {
        const std::lock_guard lock(mutex_);
        return most_;
    }

    void set_most(std::size_t bytes) {
        {
            const std::lock_guard lock(mutex_);
            most_ = bytes;
        }
        trim_to(bytes);
    }

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

   private:
    struct Kept {
        void* data;
        std::size_t capacity;
    };
    using Buffers = std::list<Kept>;

    // Takes the oldest buffers out until so many bytes are left.
    Buffers evict(std::size_t left) {
        Buffers evicted;
        while (kept_ > left) {
            const auto oldest = std::prev(by_age_.end());
            kept_ -= oldest->capacity;
            by_capacity_.erase(std::prev(by_capacity_.upper_bound(oldest->capacity)));
            evicted.splice(evicted.end(), by_age_, oldest);
        }
        return evicted;
    }

    // Gives buffers back to the system. It takes long, so that it is called without the lock.
    static std::size_t release(const Buffers& evicted) {
        std::size_t bytes = 0;
        for (const auto& [data, capacity] : evicted) {
            to_system(data, capacity);
            bytes += capacity;
        }
        return bytes;
    }

    std::mutex mutex_;
    Buffers by_age_;  // the newest first
    std::multimap<std::size_t, Buffers::iterator> by_capacity_;  // and of one capacity too
    std::size_t kept_ = 0;
    std::size_t most_ = std::min(machine_bytes() / 8, std::size_t{1} << 30);
};

// The cache is never destroyed: arrays may die after everything else at the end of the process. It is locked while the
// process forks, so that the child finds it in a consistent state.
BufferCache& buffer_cache() {
    static BufferCache& only = []() -> BufferCache& {
        pthread_atfork([] { buffer_cache().lock(); }, [] { buffer_cache().unlock(); }, [] { buffer_cache().unlock(); });
        return *new BufferCache;
    }();
    return only;
}

}  // namespace

Buffer::Buffer(std::size_t bytes)
    : bytes_(bytes), capacity_(capacity_for(bytes)), data_(buffer_cache().take(capacity_)) {
    if (data_) return;
    try {
        data_ = from_system(capacity_);
    } catch (const std::bad_alloc&) {
        if (trim_memory() == 0) throw;
        data_ = from_system(capacity_);
    }
}

Buffer::~Buffer() {
    if (!buffer_cache().keep(data_, capacity_)) to_system(data_, capacity_);
}

std::size_t kept_bytes() { return buffer_cache().kept(); }
std::size_t most_kept_bytes() { return buffer_cache().most(); }
void set_most_kept_bytes(std::size_t bytes) { buffer_cache().set_most(bytes); }
std::size_t trim_memory() { return buffer_cache().trim_to(0); }

}  // namespace backblocks
