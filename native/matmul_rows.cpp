// Products of few rows with a matrix (GEMV): the rows of b, times the numbers of a, are added as they lie in memory.
//
// Long sums are divided for threads to share, and their parts are added up in the end. Where they are divided
// depends on the sizes alone, so that every sum runs in one order.
#include <algorithm>
#include <cstdint>

#include "matmul_algorithms.hpp"
#include "memory.hpp"
#include "tile.hpp"

namespace backblocks::ISA::gemm {
namespace {

template <class N>
class ByRows {
   public:
    explicit ByRows(const Operands<N>& p) : p_(p) {}

    std::int64_t tasks() const { return chunks() * parts_of_sums(); }

    void multiply(bool serial) const {
        const std::int64_t chunks = this->chunks(), cuts = parts_of_sums();
        Scratch<N> scratch;
        const bool direct = cuts == 1 && p_.c.column == 1;
        const Matrix<N> parts{direct ? p_.c.data : scratch.of(cuts * p_.rows * p_.columns),
                              direct ? p_.c.row : p_.columns, 1};
        for_chunks(serial, chunks * cuts, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t cut = i / chunks, from = i % chunks * chunk;
                for (std::int64_t row = 0; row < p_.rows; ++row)
                    of_chunk(row, p_.inner * cut / cuts, p_.inner * (cut + 1) / cuts, from,
                             std::min(chunk, p_.columns - from),
                             parts.at(cut * p_.rows + row, from));
            }
        });
        if (direct) return;
        for (std::int64_t cut = 1; cut < cuts; ++cut)
            for (std::int64_t j = 0; j < p_.rows * p_.columns; ++j)
                parts.data[j] += parts.data[cut * p_.rows * p_.columns + j];
        for (std::int64_t i = 0; i < p_.rows; ++i)
            for (std::int64_t j = 0; j < p_.columns; ++j) *p_.c.at(i, j) = *parts.at(i, j);
    }

   private:
    // Vectors of sums that stay in registers.
    static constexpr int kVectors = 8;
    // Sums that stay in the cache, and numbers of b that a task reads.
    static constexpr std::int64_t chunk = 2048, kTask = 1 << 16;

    // How sums are divided must not depend on the number of threads.
    std::int64_t chunks() const { return div_up(p_.columns, chunk); }
    std::int64_t parts_of_sums() const {
        const std::int64_t most = std::max<std::int64_t>(kTask / std::min(p_.columns, chunk), 64);
        return chunks() < 8 ? div_up(p_.inner, most) : 1;
    }

    void of_chunk(std::int64_t row, std::int64_t k, std::int64_t last, std::int64_t from,
                  std::int64_t count, N* c) const {
        if (count <= kVectors * kLanes<N>) {
            with_constant<kVectors>(div_up(count, kLanes<N>), [&](auto vectors) {
                in_registers<vectors>(row, k, last, from, count, c);
            });
            return;
        }
        std::fill(c, c + count, N{0});
        for (; k + 8 <= last; k += 8) add_rows<8>(row, k, from, count, c);
        for (; k + 2 <= last; k += 2) add_rows<2>(row, k, from, count, c);
        if (k < last) add_rows<1>(row, k, from, count, c);
    }

    template <int rows>
    void add_rows(std::int64_t row, std::int64_t k, std::int64_t from, std::int64_t count,
                  N* c) const {
        const N* b[rows];
        N factor[rows];
        for (int i = 0; i < rows; ++i) {
            b[i] = p_.b.at(k + i, from);
            factor[i] = *p_.a.at(row, k + i);
        }
        std::int64_t j = 0;
        for (; j + kLanes<N> <= count; j += kLanes<N>) {
            Vector<N> sum = load_vector(c + j);
#pragma GCC unroll 8
            for (int i = 0; i < rows; ++i) {
                fetch_ahead(b[i] + j);
                sum += load_vector(b[i] + j) * factor[i];
            }
            store_vector(c + j, sum);
        }
        if (const Tail tail = tail_of<N>(count); tail.count > 0) {
            Vector<N> sum = load(c + j, tail);
#pragma GCC unroll 8
            for (int i = 0; i < rows; ++i) sum += load(b[i] + j, tail) * factor[i];
            store_tail(sum, c + j, tail);
        }
    }

    template <int vectors>
    void in_registers(std::int64_t row, std::int64_t k, std::int64_t last, std::int64_t from, std::int64_t count,
                      N* c) const {
        constexpr int full = vectors - 1, ways = vectors <= 2 ? 4 : vectors <= 4 ? 2 : 1;
        const Tail tail = tail_of<N>(count);
        Vector<N> sum[ways][vectors] = {};
        const auto add = [&](int way, std::int64_t at) BACKBLOCKS_INLINE_LAMBDA {
            const N* const b = p_.b.at(at, from);
            const N factor = *p_.a.at(row, at);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v) fetch_ahead(b + v * kLanes<N>);
#pragma GCC unroll 8
            for (int v = 0; v < full; ++v) sum[way][v] += load_vector(b + v * kLanes<N>) * factor;
            sum[way][full] += (tail.count == 0 ? load_vector(b + full * kLanes<N>)
                                                        : load(b + full * kLanes<N>, tail)) *
                               factor;
        };
        for (; k + ways <= last; k += ways)
#pragma GCC unroll 4
            for (int w = 0; w < ways; ++w) add(w, k + w);
        for (; k < last; ++k) add(0, k);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
#pragma GCC unroll 4
            for (int w = 1; w < ways; ++w) sum[0][v] += sum[w][v];
            if (v < full || tail.count == 0) store_vector(c + v * kLanes<N>, sum[0][v]);
            else store_tail(sum[0][v], c + v * kLanes<N>, tail);
        }
    }

    const Operands<N>& p_;
};

}  // namespace

template <class N>
void multiply_rows(const Operands<N>& p, bool serial) {
    ByRows<N>(p).multiply(serial);
}

template <class N>
std::int64_t tasks_of_rows(const Operands<N>& p) {
    return ByRows<N>(p).tasks();
}

template void multiply_rows(const Operands<float>&, bool);
template void multiply_rows(const Operands<double>&, bool);
template std::int64_t tasks_of_rows(const Operands<float>&);
template std::int64_t tasks_of_rows(const Operands<double>&);

}  // namespace backblocks::ISA::gemm
