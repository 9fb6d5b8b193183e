// Memory for results, kept for the next one. No Python in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace backblocks {

// A block of memory that begins a cache line. Its content is left over from earlier.
class Block {
   public:
    // Takes a kept block that fits, or a new one. Throws std::bad_alloc.
    explicit Block(std::size_t bytes);
    // Keeps the memory for the next block.
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

   private:
    std::size_t bytes_;     // asked for
    std::size_t capacity_;  // what there is
    void* data_;
};

// Memory to work in, with anything in it.
template <class N>
class Room {
   public:
    N* get() const { return block_ ? static_cast<N*>(block_->data()) : nullptr; }

    // Room for so many numbers. What was there may be lost.
    N* of(std::int64_t count) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(N);
        if (!block_ || block_->bytes() < bytes) {
            block_.reset();
            block_ = std::make_unique<Block>(bytes);
        }
        return get();
    }

   private:
    std::unique_ptr<Block> block_;
};

// How many bytes are kept for blocks to come, and how many may be.
std::size_t kept_bytes();
std::size_t most_kept_bytes();
void set_most_kept_bytes(std::size_t bytes);

// Gives all that is kept back to the system, and says how many bytes that were.
std::size_t trim_memory();

}  // namespace backblocks
