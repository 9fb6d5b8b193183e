// Products of matrices, in register tiles (see tile.hpp).
//
// Where there are many rows, b is packed into panels as wide as a tile. Few rows read b where it lies. Where
// the numbers of both lie side by side along k, and one of them has few, they are dot products.
#include "product.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "conv_pack.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;

// Rows of a packed panel that are used at a time, so that it stays in the cache.
constexpr std::int64_t kDepth = 512;
// Rows of a that stay in the cache with them.
constexpr std::int64_t kRows = 96;
// Numbers that are packed at most at a time.
constexpr std::int64_t kMostPacked = std::int64_t{1} << 22;
// Columns, or rows, so few that dot products beat tiles, unless they are short: the lanes of each are
// added up at its end.
constexpr std::int64_t kFew = 8;
constexpr std::int64_t kShortDot = 16;
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

    // What it takes, as bytes that a loop would move (see parallel_for).
    std::int64_t bytes() const {
        const auto m = static_cast<double>(rows), k = static_cast<double>(inner),
                   n = static_cast<double>(columns);
        return static_cast<std::int64_t>(std::min(
            m * k * n / kProductsPerByte + (m * k + k * n + m * n) * double{sizeof(N)}, 1e18));
    }
};

// Calls body(begin, end) for 0 .. n - 1, by one thread if the caller is one of several.
template <class Body>
void share(bool alone, std::int64_t n, std::int64_t bytes, const Body& body) {
    if (alone) body(0, n);
    else parallel_for(n, bytes, body);
}

// -- dot products ---------------------------------------------------------------------------------

template <class N, int few>
void dots_of_row(const N* a, const N* b, std::int64_t b_row, std::int64_t inner, N* to,
                 std::int64_t step) {
    constexpr int ways = 8 / few, lanes = kLanes<N>;  // eight sums hide the time of a multiply-add
    Vector<N> sum[few][ways] = {};
    std::int64_t k = 0;
    for (; k + ways * lanes <= inner; k += ways * lanes)
#pragma GCC unroll 8
        for (int w = 0; w < ways; ++w) {
            const Vector<N> some = load_vector(a + k + w * lanes);
#pragma GCC unroll 8
            for (int j = 0; j < few; ++j)
                sum[j][w] += some * load_vector(b + j * b_row + k + w * lanes);
        }
    for (; k < inner; k += lanes) {
        const Part part{std::min<std::int64_t>(lanes, inner - k)};
        const Vector<N> some = part.count == lanes ? load_vector(a + k) : load(a + k, part);
#pragma GCC unroll 8
        for (int j = 0; j < few; ++j)
            sum[j][0] += some * (part.count == lanes ? load_vector(b + j * b_row + k)
                                                     : load(b + j * b_row + k, part));
    }
#pragma GCC unroll 8
    for (int j = 0; j < few; ++j) {
        Vector<N> all = sum[j][0];
#pragma GCC unroll 8
        for (int w = 1; w < ways; ++w) all += sum[j][w];
        N each[lanes];
        store_vector(each, all);
        for (int half = lanes / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) each[i] += each[i + half];
        to[j * step] = each[0];
    }
}

// Of rows whose entries lie side by side, in a and in the transpose of b, which has few.
template <class N>
void by_dots(const Operands<N>& p, bool alone) {
    Room<N> room;
    const N* b = p.b.data;
    std::int64_t b_row = p.b.column;
    if (p.b.row != 1) {
        N* const copy = room.of(p.columns * p.inner);
        for (std::int64_t k = 0; k < p.inner; ++k)
            for (std::int64_t j = 0; j < p.columns; ++j) copy[j * p.inner + k] = *p.b.at(k, j);
        b = copy;
        b_row = p.inner;
    }
    share(alone, p.rows, p.bytes(), [&](std::int64_t begin, std::int64_t end) {
        with_constant<kFew>(p.columns, [&](auto few) {
            for (std::int64_t i = begin; i < end; ++i)
                dots_of_row<N, few>(p.a.at(i, 0), b, b_row, p.inner, p.c.at(i, 0), p.c.column);
        });
    });
}

// -- one row --------------------------------------------------------------------------------------

// Adds the rows of b, times the numbers of a, four at a time: they are read as they lie in memory.
template <class N>
void of_one_row(const Operands<N>& p, bool alone) {
    constexpr std::int64_t chunk = 2048;  // sums, which stay in the cache
    const std::int64_t chunks = div_up(p.columns, chunk);
    const auto a = [&](std::int64_t k) { return p.a.data[k * p.a.column]; };
    share(alone, chunks, p.bytes(), [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = begin * chunk, last = std::min(p.columns, end * chunk);
        for (std::int64_t from = first; from < last; from += chunk) {
            const std::int64_t count = std::min(chunk, last - from);
            N* const c = p.c.data + from;
            std::fill(c, c + count, N{0});
            std::int64_t k = 0;
            for (; k + 4 <= p.inner; k += 4) {
                const N* const b = p.b.at(k, from);
                const N a0 = a(k), a1 = a(k + 1), a2 = a(k + 2), a3 = a(k + 3);
                const N *const b1 = b + p.b.row, *const b2 = b1 + p.b.row, *const b3 = b2 + p.b.row;
                std::int64_t j = 0;
                for (; j + kLanes<N> <= count; j += kLanes<N>) {
                    Vector<N> sum = load_vector(c + j);
                    sum += load_vector(b + j) * a0;
                    sum += load_vector(b1 + j) * a1;
                    sum += load_vector(b2 + j) * a2;
                    sum += load_vector(b3 + j) * a3;
                    store_vector(c + j, sum);
                }
                for (; j < count; ++j) {
                    N sum = c[j];
                    sum += b[j] * a0;
                    sum += b1[j] * a1;
                    sum += b2[j] * a2;
                    sum += b3[j] * a3;
                    c[j] = sum;
                }
            }
            for (; k < p.inner; ++k)
                for (std::int64_t j = 0; j < count; ++j) c[j] += *p.b.at(k, from + j) * a(k);
        }
    });
}

// -- tiles ----------------------------------------------------------------------------------------

// A tile of c at the edge is kept whole elsewhere.
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

template <class N>
class Tiles {
   public:
    explicit Tiles(const Operands<N>& p) : p_(p) {}

    // Few rows: b is read where it lies. A vector at the right edge reads on into the next row, and the
    // rows where that would be past the end are copied.
    void few_rows(bool alone) const {
        const std::int64_t panels = div_up(p_.columns, kPanel<N>);
        share(alone, panels, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t panel = begin; panel < end; ++panel) {
                const std::int64_t first = panel * kPanel<N>;
                const std::int64_t real = std::min<std::int64_t>(p_.columns - first, kPanel<N>);
                const std::int64_t width = real > kLanes<N> ? kPanel<N> : kLanes<N>;
                const std::int64_t past = std::max<std::int64_t>(first + width - p_.columns, 0);
                const std::int64_t copied = std::min(div_up(past, p_.b.row), p_.inner);
                const std::int64_t in_place = p_.inner - copied;
                N last[kPanel<N> * kPanel<N>];
                for (std::int64_t k = 0; k < copied; ++k)
                    for (std::int64_t j = 0; j < width; ++j)
                        last[k * width + j] = j < real ? *p_.b.at(in_place + k, first + j) : N{0};
                with_vectors(width, [&](auto vectors) {
                    tile<vectors>(0, p_.rows, first, real, true, [&](auto& tile) BACKBLOCKS_INLINED {
                        add(tile, 0, 0, in_place, p_.b.data + first, p_.b.row);
                        add(tile, 0, in_place, copied, last, width);
                    });
                });
            }
        });
    }

    void packed(bool alone) const {
        // As many columns, of as many rows of b, as may be packed at once.
        const std::int64_t depth = std::min(p_.inner, kMostPacked / kPanel<N>);
        const std::int64_t panels = std::max<std::int64_t>(kMostPacked / depth / kPanel<N>, 1);
        Room<N> room;
        for (std::int64_t k = 0; k < p_.inner; k += depth)
            for (std::int64_t j = 0; j < p_.columns; j += panels * kPanel<N>)
                packed(alone, k, std::min(depth, p_.inner - k), j,
                       std::min(p_.columns - j, panels * kPanel<N>), room);
    }

   private:
    void packed(bool alone, std::int64_t from, std::int64_t depth, std::int64_t first,
                std::int64_t columns, Room<N>& room) const {
        const std::int64_t panels = div_up(columns, kPanel<N>);
        N* const memory = room.of(panels * kPanel<N> * depth);
        const auto real = [&](std::int64_t panel) {
            return std::min<std::int64_t>(columns - panel * kPanel<N>, kPanel<N>);
        };
        const auto width = [&](std::int64_t panel) {
            return real(panel) > kLanes<N> ? kPanel<N> : kLanes<N>;
        };
        share(alone, panels, panels * kPanel<N> * depth * 4, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t panel = begin; panel < end; ++panel) {
                std::int64_t places[kPanel<N>];
                for (std::int64_t j = 0; j < real(panel); ++j) places[j] = j * p_.b.column;
                pack_tap(p_.b.at(from, first + panel * kPanel<N>), p_.b.row, depth, places, real(panel),
                         width(panel), memory + panel * kPanel<N> * depth);
            }
        });
        const std::int64_t blocks = div_up(p_.rows, kRows);
        // Few blocks of rows are cut along the columns too, for threads to share.
        const std::int64_t cuts = std::clamp<std::int64_t>(16 / blocks, 1, panels);
        share(alone, blocks * cuts, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t task = begin; task < end; ++task) {
                const std::int64_t block = task / cuts, cut = task % cuts;
                for (std::int64_t k = 0; k < depth; k += kDepth)
                    for (std::int64_t panel = cut * panels / cuts;
                         panel < (cut + 1) * panels / cuts; ++panel)
                        with_vectors(width(panel), [&](auto vectors) {
                            block_by_panel<vectors>(block, from + k, std::min(kDepth, depth - k),
                                                    first + panel * kPanel<N>, real(panel),
                                                    memory + panel * kPanel<N> * depth +
                                                        k * width(panel));
                        });
            }
        });
    }

    template <int vectors>
    void block_by_panel(std::int64_t block, std::int64_t k, std::int64_t depth, std::int64_t first,
                        std::int64_t real, const N* panel) const {
        const std::int64_t end = std::min(p_.rows, (block + 1) * kRows);
        for (std::int64_t i = block * kRows; i < end; i += most_rows(vectors))
            tile<vectors>(i, std::min<std::int64_t>(end - i, most_rows(vectors)), first, real, k == 0,
                          [&](auto& tile) BACKBLOCKS_INLINED {
                              add(tile, i, k, depth, panel, vectors * kLanes<N>);
                          });
    }

    // Computes a tile of c. `begin` begins its sums, `add` adds to them.
    template <int vectors, class Add>
    BACKBLOCKS_INLINE void tile(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
              bool begin, const Add& add) const {
        const Matrix<N> c{p_.c.at(row, column), p_.c.row, p_.c.column};
        const bool whole = columns == vectors * kLanes<N> && c.column == 1;
        Edge<N> edge;
        with_constant<8>(rows, [&](auto count) BACKBLOCKS_INLINED {
            std::int64_t places[count];
            for (int i = 0; i < count; ++i) places[i] = i * (whole ? c.row : kPanel<N>);
            N* const sums = whole ? c.data : edge.sums;
            Tile<N, count, vectors> tile;
            if (begin) {
                tile.clear();
            } else {
                if (!whole) edge.load(c, rows, columns);
                tile.load(sums, places);
            }
            add(tile);
            tile.store(sums, places);
        });
        if (!whole) edge.store(c, rows, columns);
    }

    // Adds what `depth` rows of b give, from row k on. a is read where it lies.
    template <int rows, int vectors>
    BACKBLOCKS_INLINE void add(Tile<N, rows, vectors>& tile, std::int64_t row, std::int64_t k,
                               std::int64_t depth, const N* b, std::int64_t b_step) const {
        if (p_.a.row == 1) {
            tile.add_side_by_side(depth, p_.a.at(row, k), p_.a.column, b, b_step);
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

// -- which of them --------------------------------------------------------------------------------

template <class N>
void multiply_one(const Operands<N>& p, bool alone) {
    const bool a_rows = p.a.column == 1, b_rows = p.b.column == 1;
    const auto dots = [&](std::int64_t n) {
        return n == 1 || (n <= kFew && p.inner >= n * kShortDot);
    };
    if (a_rows && dots(p.columns)) return by_dots(p, alone);
    if (!b_rows && dots(p.rows)) return by_dots(p.transposed(), alone);
    if (p.columns == 1) return of_one_row(p.transposed(), alone);
    if (p.rows == 1) return of_one_row(p, alone);
    if (b_rows && p.rows <= most_rows(2)) return Tiles<N>(p).few_rows(alone);
    if (!a_rows && p.columns <= most_rows(2)) {
        const Operands<N> turned = p.transposed();
        return Tiles<N>(turned).few_rows(alone);
    }
    Tiles<N>(p).packed(alone);
}

template <class N>
void multiply_all(const N* a, const N* b, N* c, const Product& p) {
    const auto operands = [&](std::int64_t number) {
        std::int64_t of_a = 0, of_b = 0, left = number;
        for (auto axis = p.front.rbegin(); axis != p.front.rend(); ++axis) {
            of_a += left % axis->n * axis->a_step;
            of_b += left % axis->n * axis->b_step;
            left /= axis->n;
        }
        const Matrix<const N> of_rows{a + of_a, p.a_transposed ? 1 : p.inner,
                                      p.a_transposed ? p.rows : 1};
        const Matrix<const N> of_columns{b + of_b, p.b_transposed ? 1 : p.columns,
                                         p.b_transposed ? p.inner : 1};
        return Operands<N>{p.rows, p.inner, p.columns, of_rows, of_columns,
                           {c + number * p.rows * p.columns, p.columns, 1}};
    };
    std::int64_t count = 1;
    for (const auto& axis : p.front) count *= axis.n;
    const std::int64_t each = operands(0).bytes();
    // Many small matrices are shared among threads, each of few large ones is cut.
    if (count == 1 || each > std::int64_t{1} << 22) {
        for (std::int64_t i = 0; i < count; ++i) multiply_one(operands(i), false);
        return;
    }
    parallel_for(count, count * each, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) multiply_one(operands(i), true);
    });
}

}  // namespace

namespace ISA {
const ProductKernels product_kernels{
    [](Type type, const void* a, const void* b, void* c, const Product& product) {
        if (type == Type::float64) multiply_all(in<double>(a), in<double>(b), out<double>(c), product);
        else multiply_all(in<float>(a), in<float>(b), out<float>(c), product);
    },
};
}

}  // namespace backblocks
