// Products of matrices as dot products of contiguous rows and columns: lanes run along the sum.
//
// Long sums are divided for threads to share, and their parts are added up in the end. Where they are divided
// depends on the sizes alone, so that every sum runs in one order.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "matmul_algorithms.hpp"
#include "memory.hpp"
#include "tile.hpp"
#include "transpose.hpp"

namespace backblocks::ISA::gemm {
namespace {

// A step of a horizontal sum: the halves of each group of `width` lanes added, of those in a, then in b.
template <std::size_t width, class V, std::size_t... lane>
BACKBLOCKS_INLINE V add_halves(const V& a, const V& b, std::index_sequence<lane...>) {
    constexpr std::size_t lanes = sizeof...(lane), half = lanes / 2, narrow = width / 2;
    const auto lower = __builtin_shufflevector(
        a, b, (lane / half * lanes + lane % half / narrow * width + lane % narrow)...);
    const auto upper = __builtin_shufflevector(
        a, b, (lane / half * lanes + lane % half / narrow * width + lane % narrow + narrow)...);
    return lower + upper;
}

// Horizontal sums: a vector that begins with the sums of the lanes of each of `count` vectors, a power of two.
template <class N, int count, int width = kLanes<N>>
BACKBLOCKS_INLINE Vector<N> sums_of_lanes(const Vector<N> (&v)[count]) {
    constexpr auto all = std::make_index_sequence<kLanes<N>>{};
    if constexpr (width == 1) {
        return v[0];
    } else {
        Vector<N> next[(count + 1) / 2];
#pragma GCC unroll 8
        for (int i = 0; i < (count + 1) / 2; ++i)
            next[i] = add_halves<width>(v[2 * i], v[count > 1 ? 2 * i + 1 : 0], all);
        return sums_of_lanes<N, (count + 1) / 2, width / 2>(next);
    }
}

// Dot products of a few rows and columns, contiguous along k in a and in the transpose of b.
template <class N, int rows, int columns, int ways>
struct Dots {
    static constexpr int lanes = kLanes<N>, count = rows * columns;
    Vector<N> sum[count][ways];

    BACKBLOCKS_INLINE void clear() {
#pragma GCC unroll 8
        for (int i = 0; i < count; ++i)
#pragma GCC unroll 8
            for (int w = 0; w < ways; ++w) sum[i][w] = Vector<N>{};
    }

    BACKBLOCKS_INLINE void add(const N* a, std::int64_t a_row, const N* b, std::int64_t b_row,
                               std::int64_t inner) {
        std::int64_t k = 0;
        for (; k + ways * lanes <= inner; k += ways * lanes)
#pragma GCC unroll 8
            for (int w = 0; w < ways; ++w)
                add_vectors(w, a + k + w * lanes, a_row, b + k + w * lanes, b_row);
        if constexpr (ways > 1)
            for (; k + lanes <= inner; k += lanes) add_vectors(0, a + k, a_row, b + k, b_row);
        if (const Tail tail = tail_of<N>(inner); tail.count > 0)
            add_products(0, [&](int i) BACKBLOCKS_INLINE_LAMBDA { return load(a + i * a_row + k, tail); },
                         [&](int j) BACKBLOCKS_INLINE_LAMBDA { return load(b + j * b_row + k, tail); });
    }

    BACKBLOCKS_INLINE void store(const Matrix<N>& c) const {
        // As many vectors at a time as have lanes for their sums.
        constexpr int all = count <= 1 ? 1 : count <= 2 ? 2 : count <= 4 ? 4 : 8;
        constexpr int some = std::min(all, lanes);
#pragma GCC unroll 8
        for (int first = 0; first < count; first += some) {
            Vector<N> v[some] = {};
#pragma GCC unroll 8
            for (int i = 0; i < some; ++i)
                if (first + i < count) {
                    v[i] = sum[first + i][0];
#pragma GCC unroll 8
                    for (int w = 1; w < ways; ++w) v[i] += sum[first + i][w];
                }
            const Vector<N> sums = sums_of_lanes<N, some>(v);
#pragma GCC unroll 8
            for (int i = 0; i < some; ++i)
                if (first + i < count)
                    *c.at((first + i) / columns, (first + i) % columns) = sums[i];
        }
    }

   private:
    BACKBLOCKS_INLINE void add_vectors(int way, const N* a, std::int64_t a_row, const N* b,
                                       std::int64_t b_row) {
        add_products(way, [&](int i) BACKBLOCKS_INLINE_LAMBDA { return load_vector(a + i * a_row); },
                     [&](int j) BACKBLOCKS_INLINE_LAMBDA { return load_vector(b + j * b_row); });
    }

    template <class A, class B>
    BACKBLOCKS_INLINE void add_products(int way, A of_a, B of_b) {
        Vector<N> some[columns];
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j) some[j] = of_b(j);
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) {
            const Vector<N> one = of_a(i);
#pragma GCC unroll 8
            for (int j = 0; j < columns; ++j) sum[i * columns + j][way] += one * some[j];
        }
    }
};

// Sums that are kept at once: they hide the latency of a multiply-add.
constexpr int kSums = 8;
// Vectors of sums that are set aside while other rows use the same part of b, and numbers of that part.
constexpr std::int64_t kSetAside = 64, kPart = 4096;

// Products of contiguous rows of a with few columns of b, which are copied if they are not contiguous.
template <class N, int columns>
class ByDots {
   public:
    static constexpr int kMostRows = kSums / columns;

    explicit ByDots(const Operands<N>& p) : p_(p) {}

    std::int64_t tasks() const { return groups_of_rows().parts * parts_of_sums(groups_of_rows().parts); }

    void multiply(bool serial) const {
        const EvenParts groups(p_.rows, kMostRows), shared = groups_of_rows();
        const std::int64_t tasks = shared.parts, cuts = parts_of_sums(tasks);
        Scratch<N> parts, copy;
        if (cuts > 1) parts.of(cuts * p_.rows * columns);
        const bool copied = columns > 1 && p_.b.row != 1;
        if (copied && tasks > 1) copy_columns(0, p_.inner, copy.of(columns * p_.inner), p_.inner);
        if (tasks * cuts == 1) return of_task(0, groups.parts, groups, 0, p_.inner, copied, nullptr, p_.c);
        for_chunks(serial, tasks * cuts, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t task = i % tasks, cut = i / tasks;
                const Matrix<N> part{parts.get() + cut * p_.rows * columns, columns, 1};
                of_task(shared.first(task), shared.first(task + 1), groups,
                        p_.inner / cuts * cut,
                        cut + 1 < cuts ? p_.inner / cuts * (cut + 1) : p_.inner, copied, copy.get(),
                        cuts > 1 ? part : p_.c);
            }
        });
        if (cuts > 1)
            for (std::int64_t i = 0; i < p_.rows; ++i)
                for (std::int64_t j = 0; j < columns; ++j) {
                    N sum = 0;
                    for (std::int64_t cut = 0; cut < cuts; ++cut)
                        sum += parts.get()[(cut * p_.rows + i) * columns + j];
                    *p_.c.at(i, j) = sum;
                }
    }

   private:
    // Groups of rows that use a part of b together.
    static constexpr std::int64_t kGroups = kSetAside / (kMostRows * columns);

    // How rows and sums are divided must not depend on the number of threads.
    EvenParts groups_of_rows() const { return EvenParts(EvenParts(p_.rows, kMostRows).parts, kGroups); }
    std::int64_t parts_of_sums(std::int64_t tasks) const {
        return tasks < 4 ? std::max<std::int64_t>(p_.inner / kLongDot, 1) : std::int64_t{1};
    }

    // Some groups of rows, from one number of the rows to another.
    void of_task(std::int64_t first, std::int64_t last, const EvenParts& groups, std::int64_t from,
                 std::int64_t to, bool copied, const N* copy, const Matrix<N>& c) const {
        N lines[kPart];
        constexpr std::int64_t most = kPart / columns / (kSums * kLanes<N>) * (kSums * kLanes<N>);
        // Where no part of b is reused, rows are read to their end.
        const bool again = columns > 1 && last - first > 1;
        const std::int64_t part = (copied && !copy) || again ? most : to - from;
        alignas(kVectorBytes) N set_aside[kSetAside * kLanes<N>];
        for (std::int64_t k = from; k < to || k == from; k += part) {
            const std::int64_t depth = std::min(part, to - k);
            const N* b = copied ? copy + k : p_.b.at(k, 0);
            std::int64_t b_row = copied ? p_.inner : p_.b.column;
            if (copied && !copy) {
                copy_columns(k, depth, lines, most);
                b = lines;
                b_row = most;
            }
            for (std::int64_t group = first; group < last; ++group) {
                const std::int64_t row = groups.first(group);
                const auto some = [&](auto rows) BACKBLOCKS_INLINE_LAMBDA {
                    const auto run = [&](auto ways) BACKBLOCKS_INLINE_LAMBDA {
                        Dots<N, rows, columns, ways> dots;
                        N* const saved = set_aside + (group - first) * kSetAside / kGroups * kLanes<N>;
                        if (k == from) dots.clear();
                        else std::memcpy(&dots, saved, sizeof dots);
                        dots.add(p_.a.at(row, k), p_.a.row, b, b_row, depth);
                        if (k + part < to) std::memcpy(saved, &dots, sizeof dots);
                        else dots.store({c.at(row, 0), c.row, c.column});
                    };
                    // All rows have as many sums, wherever they are.
                    constexpr int many = kSums / (rows * columns);
                    if (groups.parts == 1) run(std::integral_constant<int, many>{});
                    else run(std::integral_constant<int, 1>{});
                };
                with_constant<kMostRows>(groups.first(group + 1) - row, some);
            }
        }
    }

    void copy_columns(std::int64_t k, std::int64_t depth, N* to, std::int64_t step) const {
        transpose_lines(depth, columns, p_.b.at(k, 0), p_.b.row, to, step);
    }

    const Operands<N>& p_;
};

}  // namespace

template <class N>
void multiply_one_dot(const Operands<N>& p) {
    Dots<N, 1, 1, kSums> dots;
    dots.clear();
    dots.add(p.a.data, 0, p.b.data, 0, p.inner);
    dots.store(p.c);
}

template <class N>
void multiply_dots(const Operands<N>& p, bool serial) {
    with_constant<kMostDots>(p.columns, [&](auto columns) { ByDots<N, columns>(p).multiply(serial); });
}

template <class N>
std::int64_t tasks_of_dots(const Operands<N>& p) {
    std::int64_t tasks = 0;
    with_constant<kMostDots>(p.columns, [&](auto columns) { tasks = ByDots<N, columns>(p).tasks(); });
    return tasks;
}

template void multiply_one_dot(const Operands<float>&);
template void multiply_one_dot(const Operands<double>&);
template void multiply_dots(const Operands<float>&, bool);
template void multiply_dots(const Operands<double>&, bool);
template std::int64_t tasks_of_dots(const Operands<float>&);
template std::int64_t tasks_of_dots(const Operands<double>&);

}  // namespace backblocks::ISA::gemm
