// Products of matrices (GEMM), in register tiles (see tile.hpp).
//
// Where there are many rows, b is packed into panels as wide as a register tile. Few rows read b in place, or
// pack a little of it at a time. Where numbers are contiguous along k, and one of the matrices has few
// of their lines, they are dot products. One row adds up the rows of b.
//
// Long sums are divided for threads to share, and their parts are added up in the end. Where they are divided
// depends on the sizes alone, so that every sum runs in one order.
#include "product.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "choice.hpp"
#include "conv_pack.hpp"
#include "isa.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "tile.hpp"
#include "transpose.hpp"

namespace backblocks {
namespace {

using namespace ISA;

// Rows of a packed panel that are used at a time, so that it stays in the cache.
constexpr std::int64_t kDepth = 512;
// Rows of a that stay in the cache with them.
constexpr std::int64_t kRows = 96;
// Numbers that are packed at most at a time.
constexpr std::int64_t kMostPacked = std::int64_t{1} << 22;
// Depths at which panels are transposed as they are packed, and numbers that are packed on the stack.
constexpr std::int64_t kLittle = 16, kStackNumbers = 2048;
// Rows of b that several tiles go through, before the next.
constexpr std::int64_t kPartRows = 128;
// Columns of dot products, at most.
constexpr std::int64_t kMostDots = 8;
// Products that take about as long as moving a byte.
constexpr double kProductsPerByte = 8;

// A matrix whose entry (i, k) is at data[i * row + k * column].
template <class N>
struct Matrix {
    N* data;
    std::int64_t row, column;

    Matrix transposed() const { return {data, column, row}; }
    N* at(std::int64_t i, std::int64_t k) const { return data + i * row + k * column; }
};

template <class N>
struct Operands {
    std::int64_t rows, inner, columns;
    Matrix<const N> a, b;
    Matrix<N> c;

    // The transpose of c is the product of the other's transposes.
    Operands transposed() const {
        return {columns, inner, rows, b.transposed(), a.transposed(), c.transposed()};
    }

    // The work, in bytes for parallel_for.
    std::int64_t bytes() const {
        const auto m = static_cast<double>(rows), k = static_cast<double>(inner),
                   n = static_cast<double>(columns);
        return static_cast<std::int64_t>(std::min(
            m * k * n / kProductsPerByte + (m * k + k * n + m * n) * double{sizeof(N)}, 1e18));
    }
};

// Bytes ahead of those that are read, which are prefetched.
constexpr std::uintptr_t kAhead = 1024;

template <class N>
BACKBLOCKS_INLINE void fetch_ahead(const N* from) {
    // As a number: there may be no array so far on, and nothing is read there then.
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + kAhead));
}

// The numbers that are left of so many after full vectors.
template <class N>
BACKBLOCKS_INLINE Tail tail_of(std::int64_t count) {
    return {count & (kLanes<N> - 1)};
}

// Masked stores.
#if defined(__AVX512F__)
BACKBLOCKS_INLINE void store_tail(const Vector<float>& v, float* to, Tail tail) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1 << tail.count) - 1), v);
}
BACKBLOCKS_INLINE void store_tail(const Vector<double>& v, double* to, Tail tail) {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1 << tail.count) - 1), v);
}
#else
template <class N>
BACKBLOCKS_INLINE void store_tail(const Vector<N>& v, N* to, Tail tail) {
    store(v, to, tail);
}
#endif

// A partition of n into as few parts as are at most so long, all about as long.
struct Even {
    std::int64_t parts, each, longer;

    Even(std::int64_t n, std::int64_t most)
        : parts(div_up(n, most)), each(parts == 1 ? n : n / parts), longer(n - parts * each) {}

    std::int64_t first(std::int64_t part) const { return part * each + std::min(part, longer); }
};

// Calls body(begin, end) for 0 .. n - 1, by one thread if the caller is one of several.
template <class Body>
void share(bool alone, std::int64_t n, std::int64_t bytes, const Body& body) {
    if (alone) body(0, n);
    else parallel_for(n, bytes, body);
}

// -- dot products ---------------------------------------------------------------------------------

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
            add_products(0, [&](int i) BACKBLOCKS_INLINED { return load(a + i * a_row + k, tail); },
                         [&](int j) BACKBLOCKS_INLINED { return load(b + j * b_row + k, tail); });
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
        add_products(way, [&](int i) BACKBLOCKS_INLINED { return load_vector(a + i * a_row); },
                     [&](int j) BACKBLOCKS_INLINED { return load_vector(b + j * b_row); });
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
// Vectors of sums that wait while others go through the same part of b, and numbers of that part.
constexpr std::int64_t kWaiting = 64, kPart = 4096;
// Numbers of a row that are added up alone, for threads to share few long rows.
constexpr std::int64_t kAlone = std::int64_t{1} << 15;

// Products of contiguous rows of a with few columns of b, which are copied if they are not contiguous.
template <class N, int columns>
class ByDots {
   public:
    static constexpr int kMostRows = kSums / columns;

    explicit ByDots(const Operands<N>& p) : p_(p) {}

    std::int64_t tasks() const { return groups_of_rows().parts * parts_of_sums(groups_of_rows().parts); }

    void multiply(bool alone) const {
        const Even groups(p_.rows, kMostRows), shared = groups_of_rows();
        const std::int64_t tasks = shared.parts, cuts = parts_of_sums(tasks);
        Scratch<N> parts, copy;
        if (cuts > 1) parts.of(cuts * p_.rows * columns);
        const bool copied = columns > 1 && p_.b.row != 1;
        if (copied && tasks > 1) copy_columns(0, p_.inner, copy.of(columns * p_.inner), p_.inner);
        if (tasks * cuts == 1) return of_task(0, groups.parts, groups, 0, p_.inner, copied, nullptr, p_.c);
        share(alone, tasks * cuts, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
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
    // Groups of rows that wait for each other.
    static constexpr std::int64_t kGroups = kWaiting / (kMostRows * columns);

    // How rows and sums are divided must not depend on the number of threads.
    Even groups_of_rows() const { return Even(Even(p_.rows, kMostRows).parts, kGroups); }
    std::int64_t parts_of_sums(std::int64_t tasks) const {
        return tasks < 4 ? std::max<std::int64_t>(p_.inner / kAlone, 1) : std::int64_t{1};
    }

    // Some groups of rows, from one number of the rows to another.
    void of_task(std::int64_t first, std::int64_t last, const Even& groups, std::int64_t from,
                 std::int64_t to, bool copied, const N* copy, const Matrix<N>& c) const {
        N lines[kPart];
        constexpr std::int64_t most = kPart / columns / (kSums * kLanes<N>) * (kSums * kLanes<N>);
        // Where there is nothing to read again, rows are read to their end.
        const bool again = columns > 1 && last - first > 1;
        const std::int64_t part = (copied && !copy) || again ? most : to - from;
        alignas(kVectorBytes) N waiting[kWaiting * kLanes<N>];
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
                const auto some = [&](auto rows) BACKBLOCKS_INLINED {
                    const auto run = [&](auto ways) BACKBLOCKS_INLINED {
                        Dots<N, rows, columns, ways> dots;
                        N* const place = waiting + (group - first) * kWaiting / kGroups * kLanes<N>;
                        if (k == from) dots.clear();
                        else std::memcpy(&dots, place, sizeof dots);
                        dots.add(p_.a.at(row, k), p_.a.row, b, b_row, depth);
                        if (k + part < to) std::memcpy(place, &dots, sizeof dots);
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

// One short dot product, without the overhead of sharing many.
template <class N>
void one_dot(const Operands<N>& p) {
    Dots<N, 1, 1, kSums> dots;
    dots.clear();
    dots.add(p.a.data, 0, p.b.data, 0, p.inner);
    dots.store(p.c);
}

template <class N>
void by_dots(const Operands<N>& p, bool alone) {
    with_constant<kMostDots>(p.columns, [&](auto columns) { ByDots<N, columns>(p).multiply(alone); });
}

// -- one row --------------------------------------------------------------------------------------

// The rows of b, times the numbers of a, are added as they lie in memory.
template <class N>
class ByRows {
   public:
    explicit ByRows(const Operands<N>& p) : p_(p) {}

    std::int64_t tasks() const { return chunks() * parts_of_sums(); }

    void multiply(bool alone) const {
        const std::int64_t chunks = this->chunks(), cuts = parts_of_sums();
        Scratch<N> scratch;
        const bool direct = cuts == 1 && p_.c.column == 1;
        const Matrix<N> parts{direct ? p_.c.data : scratch.of(cuts * p_.rows * p_.columns),
                              direct ? p_.c.row : p_.columns, 1};
        share(alone, chunks * cuts, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
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
        const auto add = [&](int way, std::int64_t at) BACKBLOCKS_INLINED {
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

// -- tiles ----------------------------------------------------------------------------------------

// A buffer for a full tile at the edge of c.
template <class N>
struct Edge {
    N sums[8 * kPanel<N>];

    void load(const Matrix<N>& c, std::int64_t rows, std::int64_t columns) {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) sums[i * kPanel<N> + j] = *c.at(i, j);
    }
    void store(const Matrix<N>& c, std::int64_t rows, std::int64_t columns) const {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) *c.at(i, j) = sums[i * kPanel<N> + j];
    }
};

// Loads and stores a tile whose last vectors are tails.
template <class N, int rows, int vectors>
BACKBLOCKS_INLINE void load_tail_tile(Tile<N, rows, vectors>& tile, const N* c, const std::int64_t* places,
                                 Tail tail) {
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
        if constexpr (vectors == 2) tile.sum[i][0] = load_vector(c + places[i]);
        tile.sum[i][vectors - 1] = load(c + places[i] + (vectors - 1) * kLanes<N>, tail);
    }
}

template <class N, int rows, int vectors>
BACKBLOCKS_INLINE void store_tail_tile(const Tile<N, rows, vectors>& tile, N* c,
                                  const std::int64_t* places, Tail tail) {
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
        if constexpr (vectors == 2) store_vector(c + places[i], tile.sum[i][0]);
        store_tail(tile.sum[i][vectors - 1], c + places[i] + (vectors - 1) * kLanes<N>, tail);
    }
}

template <class N>
class Tiles {
   public:
    explicit Tiles(const Operands<N>& p) : p_(p) {}

    std::int64_t panels() const { return div_up(p_.columns, kPanel<N>); }
    // Blocks of rows; few are divided along the columns too, for threads to share.
    std::int64_t blocks() const { return div_up(p_.rows, kRows); }
    std::int64_t parts_of_columns(std::int64_t panels) const {
        return std::clamp<std::int64_t>(16 / blocks(), 1, panels);
    }

    // Few rows: b is read in place, or packed a little at a time.
    void few_rows(bool alone) const {
        const std::int64_t panels = this->panels();
        share(alone, panels, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t panel = begin; panel < end; ++panel) {
                const std::int64_t first = panel * kPanel<N>;
                const std::int64_t real = std::min<std::int64_t>(p_.columns - first, kPanel<N>);
                with_vectors(real > kLanes<N> ? kPanel<N> : kLanes<N>, [&](auto vectors) {
                    if (p_.b.column == 1) in_place<vectors>(first, real);
                    else packed_little<vectors>(first, real);
                });
            }
        });
    }

    void packed(bool alone) const {
        // As many columns, of as many rows of b, as may be packed at once.
        const std::int64_t depth = std::min(p_.inner, kMostPacked / kPanel<N>);
        const std::int64_t panels = std::max<std::int64_t>(kMostPacked / depth / kPanel<N>, 1);
        Scratch<N> scratch;
        for (std::int64_t k = 0; k < p_.inner; k += depth)
            for (std::int64_t j = 0; j < p_.columns; j += panels * kPanel<N>)
                packed(alone, k, std::min(depth, p_.inner - k), j,
                       std::min(p_.columns - j, panels * kPanel<N>), scratch);
    }

   private:
    // A vector at the right edge reads on into the next row; the rows where that would be beyond the end are
    // copied.
    template <int vectors>
    void in_place(std::int64_t first, std::int64_t real) const {
        constexpr std::int64_t width = vectors * kLanes<N>;
        const std::int64_t beyond = std::max<std::int64_t>(first + width - p_.columns, 0);
        const std::int64_t copied = std::min(div_up(beyond, p_.b.row), p_.inner);
        const std::int64_t in_place = p_.inner - copied;
        N last[width * width];
        for (std::int64_t k = 0; k < copied; ++k) {
            constexpr std::int64_t full = width - kLanes<N>;
            const N* const b = p_.b.at(in_place + k, first);
            if (full > 0) store_vector(last + k * width, load_vector(b));
            store_vector(last + k * width + full, load(b + full, tail_of<N>(real)));
        }
        // Several tiles go through the same part of b.
        const std::int64_t part = p_.rows <= most_rows(vectors) ? in_place : kPartRows;
        for (std::int64_t k = 0; k < in_place; k += part)
            all_rows<vectors>(0, p_.rows, k, std::min(part, in_place - k), first, real,
                              p_.b.at(k, first), p_.b.row);
        if (copied > 0) all_rows<vectors>(0, p_.rows, in_place, copied, first, real, last, width);
    }

    template <int vectors>
    void packed_little(std::int64_t first, std::int64_t real) const {
        constexpr std::int64_t width = vectors * kLanes<N>;
        N little[width * kPartRows];
        for (std::int64_t k = 0; k < p_.inner; k += kPartRows) {
            const std::int64_t depth = std::min(kPartRows, p_.inner - k);
            pack<vectors>(k, depth, first, real, little);
            all_rows<vectors>(0, p_.rows, k, depth, first, real, little, width);
        }
    }

    // Packs `depth` rows of a panel whose columns are contiguous.
    template <int vectors>
    void pack(std::int64_t k, std::int64_t depth, std::int64_t first, std::int64_t real,
              N* to) const {
        constexpr std::int64_t width = vectors * kLanes<N>;
        transpose_lines(real, depth, p_.b.at(k, first), p_.b.column, to, width);
        for (std::int64_t i = 0; i < depth && real < width; ++i)
            std::fill(to + i * width + real, to + (i + 1) * width, N{0});
    }

    void packed(bool alone, std::int64_t from, std::int64_t depth, std::int64_t first,
                std::int64_t columns, Scratch<N>& scratch) const {
        const std::int64_t panels = div_up(columns, kPanel<N>);
        N little[kStackNumbers];
        const std::int64_t numbers = panels * kPanel<N> * depth;
        N* const memory = numbers <= kStackNumbers ? little : scratch.of(numbers);
        const auto real = [&](std::int64_t panel) {
            return std::min<std::int64_t>(columns - panel * kPanel<N>, kPanel<N>);
        };
        const auto width = [&](std::int64_t panel) {
            return real(panel) > kLanes<N> ? kPanel<N> : kLanes<N>;
        };
        share(alone, panels, panels * kPanel<N> * depth * 4, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t panel = begin; panel < end; ++panel) {
                if (p_.b.column != 1 && depth <= kLittle) {
                    with_vectors(width(panel), [&](auto vectors) {
                        pack<vectors>(from, depth, first + panel * kPanel<N>, real(panel),
                                      memory + panel * kPanel<N> * depth);
                    });
                    continue;
                }
                std::int64_t places[kPanel<N>];
                for (std::int64_t j = 0; j < real(panel); ++j) places[j] = j * p_.b.column;
                pack_tap(p_.b.at(from, first + panel * kPanel<N>), p_.b.row, depth, places, real(panel),
                         width(panel), memory + panel * kPanel<N> * depth);
            }
        });
        const std::int64_t blocks = this->blocks(), cuts = parts_of_columns(panels);
        share(alone, blocks * cuts, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t task = begin; task < end; ++task) {
                const std::int64_t block = task / cuts, cut = task % cuts;
                for (std::int64_t k = 0; k < depth; k += kDepth)
                    for (std::int64_t panel = cut * panels / cuts;
                         panel < (cut + 1) * panels / cuts; ++panel)
                        with_vectors(width(panel), [&](auto vectors) {
                            all_rows<vectors>(
                                block * kRows, std::min(p_.rows - block * kRows, kRows), from + k,
                                std::min(kDepth, depth - k), first + panel * kPanel<N>, real(panel),
                                memory + panel * kPanel<N> * depth + k * width(panel), width(panel));
                        });
            }
        });
    }

    // Adds the products of `depth` rows of b, from row k on, to some rows of c in one panel.
    template <int vectors>
    void all_rows(std::int64_t begin, std::int64_t rows, std::int64_t k, std::int64_t depth,
                  std::int64_t first, std::int64_t real, const N* b, std::int64_t b_step) const {
        // A full vector may be stored over rows that are stored later.
        constexpr std::int64_t width = vectors * kLanes<N>;
        const bool once = real == p_.columns && depth == p_.inner && p_.c.column == 1;
        const auto some = [&](std::int64_t i, std::int64_t count) BACKBLOCKS_INLINED {
            const bool over = once && (begin + rows - (i + count - 1)) * p_.c.row >= width;
            tile<vectors>(i, count, first, over ? width : real, k == 0,
                          [&](auto& tile) BACKBLOCKS_INLINED {
                              add(tile, i, k, depth, b, b_step);
                          });
        };
        // Tiles of about as many rows: one of few would wait for its own sums.
        const Even tiles(rows, most_rows(vectors));
        for (std::int64_t t = 0; t < tiles.parts; ++t)
            some(begin + tiles.first(t), tiles.first(t + 1) - tiles.first(t));
    }

    // Computes a tile of c. `begin` begins its sums, `add` adds to them.
    template <int vectors, class Add>
    BACKBLOCKS_INLINE void tile(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
              bool begin, const Add& add) const {
        const Matrix<N> c{p_.c.at(row, column), p_.c.row, p_.c.column};
        const bool full = columns == vectors * kLanes<N> && c.column == 1;
        const bool strided = c.column != 1;
        Edge<N> edge;
        with_constant<8>(rows, [&](auto count) BACKBLOCKS_INLINED {
            std::int64_t places[count];
            for (int i = 0; i < count; ++i) places[i] = i * (strided ? kPanel<N> : c.row);
            N* const sums = strided ? edge.sums : c.data;
            const Tail tail = tail_of<N>(columns);
            Tile<N, count, vectors> tile;
            if (begin) {
                tile.clear();
            } else if (full || strided) {
                if (strided) edge.load(c, rows, columns);
                tile.load(sums, places);
            } else {
                load_tail_tile(tile, sums, places, tail);
            }
            add(tile);
            if (full || strided) tile.store(sums, places);
            else store_tail_tile(tile, sums, places, tail);
        });
        if (strided) edge.store(c, rows, columns);
    }

    // Adds the products of `depth` rows of b, from row k on. a is read in place.
    template <int rows, int vectors>
    BACKBLOCKS_INLINE void add(Tile<N, rows, vectors>& tile, std::int64_t row, std::int64_t k,
                               std::int64_t depth, const N* b, std::int64_t b_step) const {
        if (p_.a.row == 1) {
            tile.add_contiguous(depth, p_.a.at(row, k), p_.a.column, b, b_step);
            return;
        }
        std::int64_t places[rows];
        for (int i = 0; i < rows; ++i) places[i] = i * p_.a.row;
        const typename Tile<N, rows, vectors>::Rows all{p_.a.at(row, k), places};
        tile.add(depth, all, 0, p_.a.column, b, b_step);
    }

    template <class F>
    static void with_vectors(std::int64_t width, const F& f) {
        if (width == kLanes<N>) f(std::integral_constant<int, 1>{});
        else f(std::integral_constant<int, 2>{});
    }

    const Operands<N>& p_;
};

// -- which algorithm ------------------------------------------------------------------------------

enum class ProductAlgorithm {
    one_dot,
    dots,
    dots_of_transposed,
    rows,
    rows_of_transposed,
    few_rows,
    few_rows_of_transposed,
    packed,
};

// Which algorithm multiplies two matrices. Nothing else decides.
template <class N>
Chosen<ProductAlgorithm> choose_product(const Operands<N>& p) {
    using enum ProductAlgorithm;
    const bool a_contiguous = p.a.column == 1, b_contiguous = p.b.column == 1;
    // Dot products add up the lanes of each sum at its end: so they must be long, unless there is one.
    constexpr std::int64_t short_dot = 16;
    const auto by_dots = [&](std::int64_t n) {
        return n == 1 ? p.inner >= kLanes<N> / 2 : n <= kMostDots && p.inner >= n * short_dot;
    };
    if (p.rows == 1 && p.columns == 1 && p.inner < kAlone) return {one_dot, "it is one short dot product"};
    if (a_contiguous && by_dots(p.columns))
        return {dots, "b has at most 8 columns, and sums of 16 numbers a column: lanes run along the sum"};
    if (p.b.row == 1 && by_dots(p.rows))
        return {dots_of_transposed,
                "a has at most 8 rows, and sums of 16 numbers a row: lanes run along the sum"};
    // Two rows, if b does not fit in the cache of a core and its rows are long: reading it is the work.
    constexpr std::int64_t large = std::int64_t{1} << 18, long_row = 256;
    const auto by_rows = [&](std::int64_t rows, std::int64_t columns) {
        return rows == 1 || (rows <= 2 && columns >= long_row && p.inner * columns >= large);
    };
    if (b_contiguous && by_rows(p.rows, p.columns))
        return {rows, "a has one row, or two and b is large: rows of b are added as they lie in memory"};
    // Twice the rows of a register tile use b too seldom to pack all of it.
    if (p.rows <= 2 * most_rows(2)) return {few_rows, "a has so few rows that packing b would not pay"};
    // Of a short sum, writing is most of the work, and the transpose would write with a stride.
    if (p.columns == 1 || (!a_contiguous && p.columns <= most_rows(2) && p.inner > short_dot)) {
        if (!a_contiguous && by_rows(p.columns, p.rows))
            return {rows_of_transposed, "b has one column, and rows of the transpose of a are contiguous"};
        return {few_rows_of_transposed, "b has so few columns that packing the transpose of a would not pay"};
    }
    return {packed, "there are rows and columns enough to use packed panels of b again"};
}

template <class N>
void multiply_one(const Operands<N>& p, bool alone) {
    switch (choose_product(p).algorithm) {
        case ProductAlgorithm::one_dot: return one_dot(p);
        case ProductAlgorithm::dots: return by_dots(p, alone);
        case ProductAlgorithm::dots_of_transposed: return by_dots(p.transposed(), alone);
        case ProductAlgorithm::rows: return ByRows<N>(p).multiply(alone);
        case ProductAlgorithm::rows_of_transposed: {
            const Operands<N> transposed = p.transposed();
            return ByRows<N>(transposed).multiply(alone);
        }
        case ProductAlgorithm::few_rows: return Tiles<N>(p).few_rows(alone);
        case ProductAlgorithm::few_rows_of_transposed: {
            const Operands<N> transposed = p.transposed();
            return Tiles<N>(transposed).few_rows(alone);
        }
        case ProductAlgorithm::packed: break;
    }
    Tiles<N>(p).packed(alone);
}

template <class N>
Choice explain_one(const Operands<N>& p) {
    const auto [algorithm, reason] = choose_product(p);
    const Operands<N> transposed = p.transposed();
    const auto dots = [&](const Operands<N>& p) {
        std::int64_t tasks = 0;
        with_constant<kMostDots>(p.columns, [&](auto columns) { tasks = ByDots<N, columns>(p).tasks(); });
        return Choice{kIsaName, "dot products", reason}.with_loop(tasks, p.bytes());
    };
    const auto rows = [&](const Operands<N>& p) {
        return Choice{kIsaName, "sum of rows", reason}.with_loop(ByRows<N>(p).tasks(), p.bytes());
    };
    const auto few_rows = [&](const Operands<N>& p) {
        Choice choice{kIsaName, "register tiles", reason};
        choice.with("b", p.b.column == 1 ? "read in place" : "packed a little at a time");
        choice.with("register tile", {most_rows(2), kPanel<N>});
        return choice.with_loop(Tiles<N>(p).panels(), p.bytes());
    };
    switch (algorithm) {
        case ProductAlgorithm::one_dot: return {kIsaName, "one dot product", reason};
        case ProductAlgorithm::dots: return dots(p);
        case ProductAlgorithm::dots_of_transposed: return dots(transposed);
        case ProductAlgorithm::rows: return rows(p);
        case ProductAlgorithm::rows_of_transposed: return rows(transposed);
        case ProductAlgorithm::few_rows: return few_rows(p);
        case ProductAlgorithm::few_rows_of_transposed: return few_rows(transposed);
        case ProductAlgorithm::packed: break;
    }
    const Tiles<N> tiles(p);
    Choice choice{kIsaName, "packed register tiles (GEMM)", reason};
    choice.with("register tile", {most_rows(2), kPanel<N>});
    choice.with("block of rows x depth", {std::min(p.rows, kRows), std::min(p.inner, kDepth)});
    return choice.with_loop(tiles.blocks() * tiles.parts_of_columns(tiles.panels()), p.bytes());
}

// -- batches --------------------------------------------------------------------------------------

// The matrices of a product, by their number in the batch.
template <class N>
Operands<N> operands_of(const N* a, const N* b, N* c, const Product& p, std::int64_t number) {
    std::int64_t of_a = 0, of_b = 0, left = number;
    for (auto axis = p.front.rbegin(); axis != p.front.rend(); ++axis) {
        const bool last = axis + 1 == p.front.rend();
        const std::int64_t rest = last ? 0 : left / axis->n, place = left - rest * axis->n;
        of_a += place * axis->a_step;
        of_b += place * axis->b_step;
        left = rest;
    }
    const Matrix<const N> of_rows{a + of_a, p.a_transposed ? 1 : p.inner, p.a_transposed ? p.rows : 1};
    const Matrix<const N> of_columns{b + of_b, p.b_transposed ? 1 : p.columns,
                                     p.b_transposed ? p.inner : 1};
    return {p.rows, p.inner, p.columns, of_rows, of_columns,
            {c + number * p.rows * p.columns, p.columns, 1}};
}

// Whether threads share the matrices of a batch: many small ones. Each of few large ones is divided.
struct Batch {
    std::int64_t count = 1;
    bool shared;

    Batch(const Product& p, std::int64_t bytes_of_each) {
        for (const auto& axis : p.front) count *= axis.n;
        shared = count > 1 && bytes_of_each <= std::int64_t{1} << 22;
    }
};

template <class N>
void multiply_all(const N* a, const N* b, N* c, const Product& p) {
    const std::int64_t each = operands_of(a, b, c, p, 0).bytes();
    const Batch batch(p, each);
    if (!batch.shared) {
        for (std::int64_t i = 0; i < batch.count; ++i) multiply_one(operands_of(a, b, c, p, i), false);
        return;
    }
    parallel_for(batch.count, batch.count * each, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) multiply_one(operands_of(a, b, c, p, i), true);
    });
}

template <class N>
Choice explain_all(const Product& p) {
    const Operands<N> operands = operands_of<N>(nullptr, nullptr, nullptr, p, 0);
    const Batch batch(p, operands.bytes());
    Choice choice = explain_one(operands);
    if (batch.shared)
        choice.with("matrices", batch.count).split =
            split_loop(batch.count, batch.count * operands.bytes());
    return choice;
}

}  // namespace

Kernel ISA::product(Type dtype, std::int64_t rows, std::int64_t inner, std::int64_t columns,
                    bool a_transposed, bool b_transposed, const BatchAxes& front) {
    Product product{rows, inner, columns, a_transposed, b_transposed, {}};
    Shape a{rows, inner}, b{inner, columns}, c{rows, columns};
    for (auto axis = front.rbegin(); axis != front.rend(); ++axis) {
        const auto [n, in_a, in_b] = *axis;
        const std::int64_t of_a = operand(dtype, a).size, of_b = operand(dtype, b).size;
        product.front.insert(product.front.begin(), {n, in_a ? of_a : 0, in_b ? of_b : 0});
        if (in_a) a.push_back(n);
        if (in_b) b.push_back(n);
        c.push_back(n);
    }
    const auto kernel = [&]<class N>(N) {
        return summing({{operand(dtype, a), operand(dtype, b)}, {operand(dtype, c)}, [product](void* const* t) {
                            multiply_all(in<N>(t[0]), in<N>(t[1]), out<N>(t[2]), product);
                        }, [product] { return explain_all<N>(product); }});
    };
    if (dtype == Type::float64) return kernel(double{});
    require(dtype == Type::float32, "must be float32 or float64");
    return kernel(float{});
}

}  // namespace backblocks
