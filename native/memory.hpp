// A caching allocator: the memory of freed results is kept for later ones. No Python in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace backblocks {

// A buffer that begins a cache line, with undefined contents.
class Buffer {
   public:
    // Takes a kept buffer that fits, or a new one. Throws std::bad_alloc.
    explicit Buffer(std::size_t bytes);
    // Keeps the memory for the next buffer.
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

   private:
    std::size_t bytes_;     // asked for
    std::size_t capacity_;  // what there is
    void* data_;
};

// Scratch memory of a kernel, with undefined contents.
template <class N>
class Scratch {
   public:
    N* get() const { return buffer_ ? static_cast<N*>(buffer_->data()) : nullptr; }

    // Memory for so many numbers. Earlier contents may be lost.
    N* of(std::int64_t count) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(N);
        if (!buffer_ || buffer_->bytes() < bytes) {
            buffer_.reset();
            buffer_ = std::make_unique<Buffer>(bytes);
        }
        return get();
    }

   private:
    std::unique_ptr<Buffer> buffer_;
};

// How many bytes are kept for buffers to come, and how many may be.
std::size_t kept_bytes();
std::size_t most_kept_bytes();
void set_most_kept_bytes(std::size_t bytes);

// Gives all that is kept back to the system, and says how many bytes that were.
std::size_t trim_memory();

}  // namespace backblocks
