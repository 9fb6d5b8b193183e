// Products of matrices in register tiles (tile.hpp). Where there are many rows, b is packed into panels as wide as
// a register tile. Few rows read b in place, or pack a little of it at a time.
#include <algorithm>
#include <cstdint>

#include "conv_pack.hpp"
#include "matmul_algorithms.hpp"
#include "memory.hpp"
#include "tile.hpp"
#include "transpose.hpp"

namespace backblocks::ISA::gemm {
namespace {

// Numbers that are packed at most at a time.
constexpr std::int64_t kMostPacked = std::int64_t{1} << 22;
// Depths at which panels are transposed as they are packed, and numbers that are packed on the stack.
constexpr std::int64_t kLittle = 16, kStackNumbers = 2048;
// Rows of b that several tiles go through, before the next.
constexpr std::int64_t kPartRows = 128;

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
BACKBLOCKS_INLINE void load_tail_tile(Tile<N, rows, vectors>& tile, const N* c, const std::int64_t* offsets,
                                 Tail tail) {
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
        if constexpr (vectors == 2) tile.sum[i][0] = load_vector(c + offsets[i]);
        tile.sum[i][vectors - 1] = load(c + offsets[i] + (vectors - 1) * kLanes<N>, tail);
    }
}

template <class N, int rows, int vectors>
BACKBLOCKS_INLINE void store_tail_tile(const Tile<N, rows, vectors>& tile, N* c,
                                  const std::int64_t* offsets, Tail tail) {
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
        if constexpr (vectors == 2) store_vector(c + offsets[i], tile.sum[i][0]);
        store_tail(tile.sum[i][vectors - 1], c + offsets[i] + (vectors - 1) * kLanes<N>, tail);
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
    void few_rows(bool serial) const {
        const std::int64_t panels = this->panels();
        for_chunks(serial, panels, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
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

    void packed(bool serial) const {
        // As many columns, of as many rows of b, as may be packed at once.
        const std::int64_t depth = std::min(p_.inner, kMostPacked / kPanel<N>);
        const std::int64_t panels = std::max<std::int64_t>(kMostPacked / depth / kPanel<N>, 1);
        Scratch<N> scratch;
        for (std::int64_t k = 0; k < p_.inner; k += depth)
            for (std::int64_t j = 0; j < p_.columns; j += panels * kPanel<N>)
                packed(serial, k, std::min(depth, p_.inner - k), j,
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

    void packed(bool serial, std::int64_t from, std::int64_t depth, std::int64_t first,
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
        for_chunks(serial, panels, panels * kPanel<N> * depth * 4, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t panel = begin; panel < end; ++panel) {
                if (p_.b.column != 1 && depth <= kLittle) {
                    with_vectors(width(panel), [&](auto vectors) {
                        pack<vectors>(from, depth, first + panel * kPanel<N>, real(panel),
                                      memory + panel * kPanel<N> * depth);
                    });
                    continue;
                }
                std::int64_t offsets[kPanel<N>];
                for (std::int64_t j = 0; j < real(panel); ++j) offsets[j] = j * p_.b.column;
                pack_tap(p_.b.at(from, first + panel * kPanel<N>), p_.b.row, depth, offsets, real(panel),
                         width(panel), memory + panel * kPanel<N> * depth);
            }
        });
        const std::int64_t blocks = this->blocks(), cuts = parts_of_columns(panels);
        for_chunks(serial, blocks * cuts, p_.bytes(), [&](std::int64_t begin, std::int64_t end) {
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
        const auto some = [&](std::int64_t i, std::int64_t count) BACKBLOCKS_INLINE_LAMBDA {
            const bool over = once && (begin + rows - (i + count - 1)) * p_.c.row >= width;
            tile<vectors>(i, count, first, over ? width : real, k == 0,
                          [&](auto& tile) BACKBLOCKS_INLINE_LAMBDA {
                              add(tile, i, k, depth, b, b_step);
                          });
        };
        // Tiles of about as many rows: one of few would wait for its own sums.
        const EvenParts tiles(rows, most_rows(vectors));
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
        with_constant<8>(rows, [&](auto count) BACKBLOCKS_INLINE_LAMBDA {
            std::int64_t offsets[count];
            for (int i = 0; i < count; ++i) offsets[i] = i * (strided ? kPanel<N> : c.row);
            N* const sums = strided ? edge.sums : c.data;
            const Tail tail = tail_of<N>(columns);
            Tile<N, count, vectors> tile;
            if (begin) {
                tile.clear();
            } else if (full || strided) {
                if (strided) edge.load(c, rows, columns);
                tile.load(sums, offsets);
            } else {
                load_tail_tile(tile, sums, offsets, tail);
            }
            add(tile);
            if (full || strided) tile.store(sums, offsets);
            else store_tail_tile(tile, sums, offsets, tail);
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
        std::int64_t offsets[rows];
        for (int i = 0; i < rows; ++i) offsets[i] = i * p_.a.row;
        const typename Tile<N, rows, vectors>::Rows all{p_.a.at(row, k), offsets};
        tile.add(depth, all, 0, p_.a.column, b, b_step);
    }

    template <class F>
    static void with_vectors(std::int64_t width, const F& f) {
        if (width == kLanes<N>) f(std::integral_constant<int, 1>{});
        else f(std::integral_constant<int, 2>{});
    }

    const Operands<N>& p_;
};

}  // namespace

template <class N>
void multiply_few_rows(const Operands<N>& p, bool serial) {
    Tiles<N>(p).few_rows(serial);
}

template <class N>
std::int64_t tasks_of_few_rows(const Operands<N>& p) {
    return Tiles<N>(p).panels();
}

template <class N>
void multiply_packed(const Operands<N>& p, bool serial) {
    Tiles<N>(p).packed(serial);
}

template <class N>
std::int64_t tasks_of_packed(const Operands<N>& p) {
    const Tiles<N> tiles(p);
    return tiles.blocks() * tiles.parts_of_columns(tiles.panels());
}

template void multiply_few_rows(const Operands<float>&, bool);
template void multiply_few_rows(const Operands<double>&, bool);
template std::int64_t tasks_of_few_rows(const Operands<float>&);
template std::int64_t tasks_of_few_rows(const Operands<double>&);
template void multiply_packed(const Operands<float>&, bool);
template void multiply_packed(const Operands<double>&, bool);
template std::int64_t tasks_of_packed(const Operands<float>&);
template std::int64_t tasks_of_packed(const Operands<double>&);

}  // namespace backblocks::ISA::gemm
