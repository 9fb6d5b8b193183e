// The gradient of average pooling with non-overlapping windows: the share of a window is spread over its elements.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "memory.hpp"
#include "pool_grad_nonoverlapping.hpp"

namespace backblocks::ISA {

// The shares of a row of windows, and how they are spread over a row of elements.
template <class T>
class AvgShares {
    using B = Raw<T>;
    static constexpr std::int64_t lanes = kLanes<B>;

   public:
    explicit AvgShares(const Pool& pool)
        : row(pool),
          pairs_(row.channels == 1 && row.width.k == 2 && row.width.s == 2 && row.full.size() >= lanes),
          shares_(scratch_.of(row.windows_size + lanes)) {}

    const WindowRow row;

    // shares[o, c] = dy[o, c] / (number of real elements of o)
    void find(std::size_t rows, const T* dy) const {
        row.each_of_equal_size([=, this](std::int64_t o, std::int64_t count) {
            const std::size_t real = rows * static_cast<std::size_t>(row.width.elements(o).size());
            const bool exactly = std::has_single_bit(real);
            const auto elements = static_cast<Wide<T>>(real), part = 1 / elements;
            const T* from = dy + o * row.channels;
            T* to = reinterpret_cast<T*>(shares_) + o * row.channels;
            each_vector<Wide<T>>(count * row.channels, [=](std::int64_t i, auto full_or_tail)
                                                           BACKBLOCKS_INLINE_LAMBDA {
                const Vector<Wide<T>> given = load(from + i, full_or_tail);
                store_rounded(exactly ? given * part : given / elements, to + i, full_or_tail);
            });
        });
    }

    // to[w, c] = shares[o, c] of the window that covers element w
    void spread(B* to) const {
        row.each_of_equal_size([=, this](std::int64_t o, std::int64_t count) {
            const std::int64_t channels = row.channels, elements = row.width.elements(o).size();
            const B* const shares = shares_ + o * channels;
            B* const first = to + row.width.elements(o).first * channels;
            const std::int64_t gap = (row.width.s - elements) * channels;
            if (count > 1 && pairs_) spread_pairs(shares, count, first);
            else if (gap == 0 && channels < lanes) spread_few(shares, count, elements, first, to + row.size);
            else spread_channels(shares, count, elements, gap, first);
        });
    }

   private:
    static void spread_pairs(const B* shares, std::int64_t count, B* to) {
        each_vector<B>(count, [=](std::int64_t i, auto) BACKBLOCKS_INLINE_LAMBDA {
            RawVector<T> even = load(shares + i), odd = even;
            interleave(even, odd, std::make_index_sequence<lanes>{});
            store(even, to + 2 * i);
            store(odd, to + 2 * i + lanes);
        });
    }

    // Vectors go into the next elements, which are written later.
    void spread_few(const B* shares, std::int64_t count, std::int64_t elements, B* to, B* end) const {
        for (std::int64_t each = 0; each < count; ++each, shares += row.channels)
            for (std::int64_t element = 0; element < elements; ++element, to += row.channels)
                store(load(shares), to);
        std::fill(to, end, B{});
    }

    void spread_channels(const B* shares, std::int64_t count, std::int64_t elements, std::int64_t gap,
                         B* to) const {
        const std::int64_t channels = row.channels;
        for (std::int64_t each = 0; each < count; ++each, to += gap, shares += channels)
            for (std::int64_t element = 0; element < elements; ++element, to += channels)
                each_vectors<B, 4>(channels, [=](std::int64_t i, auto full_or_tail, auto vectors)
                                                 BACKBLOCKS_INLINE_LAMBDA {
                    typename decltype(vectors)::template Of<RawVector<T>> all;
                    all.each([&](const RawVector<T>&, int v) BACKBLOCKS_INLINE_LAMBDA {
                        store(load(shares + i + v * lanes, full_or_tail), to + i + v * lanes, full_or_tail);
                    });
                });
    }

    const bool pairs_;
    Scratch<B> scratch_;
    B* const shares_;
};

// Shares are spread over one row of elements, which is copied to all rows of the windows.
template <class T>
class AvgCopiedRows {
   public:
    static constexpr bool kWritesFullRows = true;
    AvgCopiedRows(const Pool& pool, const T*, T*)
        : shares_(pool), large_(outgrows_cache<T>(pool.numbers(1))),
          spread_(scratch_.of(shares_.row.size + kLanes<Raw<T>>)) {
        std::fill_n(spread_, shares_.row.size, Raw<T>{});  // elements in no window stay zero
    }

    void begin_row(const Offsets& rows, const T* dy) const {
        shares_.find(rows.size(), dy);
        shares_.spread(spread_);
    }

    void write_row(Raw<T>* to, Raw<T>) const { copy_row(spread_, shares_.row.size, to, large_); }

   private:
    const AvgShares<T> shares_;
    const bool large_;
    Scratch<Raw<T>> scratch_;
    Raw<T>* const spread_;
};

// Shares are broadcast to their elements in every row of the windows: copying a row would read more memory.
template <class T>
class AvgBroadcast {
   public:
    static constexpr bool kWritesFullRows = false;
    AvgBroadcast(const Pool& pool, const T*, T*) : shares_(pool) {}

    void begin_row(const Offsets& rows, const T* dy) const { shares_.find(rows.size(), dy); }
    void write_row(Raw<T>* to, Raw<T>) const { shares_.spread(to); }

   private:
    const AvgShares<T> shares_;
};

}  // namespace backblocks::ISA
