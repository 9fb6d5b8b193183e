// Dilation and its gradients. Windows are taken in blocks, whose best sums stay in the L1 cache
// while the taps pass by in the order in which they win: a tap adds one number for each channel to
// a row of cells, and vectors run along the row.
#include "dilation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

#include "half.hpp"
#include "lines.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "stream.hpp"

namespace backblocks::ISA {
namespace {

// Numbers of a block of windows, and of one of its rows.
constexpr std::int64_t kBlock = 4096, kRow = 512;
// Numbers of the cells whose gradients are added up together: half the L2 cache.
constexpr std::int64_t kTile = 1 << 16;
// Partial sums of a gradient of filters, and all their numbers, at most.
constexpr std::int64_t kParts = 32, kPartNumbers = 1 << 22;

// Calls f with pieces of a range, each of `step` numbers but for the last.
template <class F>
void each_piece(Range all, std::int64_t step, F f) {
    for (std::int64_t i = all.first; i < all.last; i += step)
        f(Range{i, std::min(i + step, all.last)});
}

// One axis of an image: its windows, and the taps that are real for some of them.
struct ImageAxis {
    std::int64_t n, out, s;
    std::vector<Tap> taps;

    explicit ImageAxis(const TapAxis& axis) : n(axis.n), out(axis.out), s(axis.s) {
        Side side = Side::outputs(axis);
        if (!side.sweeps.empty()) taps = std::move(side.sweeps[0].taps);
    }

    std::int64_t count() const { return std::ssize(taps); }
    // From the first cell of a window to its last.
    std::int64_t reach() const { return taps.back().cell - taps.front().cell; }

    // The windows of a range for which a tap is real.
    Range real(const Tap& tap, Range windows) const {
        const Range places = Sweep{0, 1, out, s, n, {}}.places(tap);
        return {std::max(places.first, windows.first), std::min(places.last, windows.last)};
    }
    // The windows that have a cell in a range.
    Range windows(Range cells) const {
        const std::int64_t first = cells.first - taps.back().cell;
        const std::int64_t last = cells.last - taps.front().cell;
        return {first > 0 ? (first - 1) / s + 1 : 0,
                last > 0 ? std::min((last - 1) / s + 1, out) : 0};
    }
    // The first cell of a range, or of the windows that have a cell in it.
    std::int64_t begin(Range cells) const {
        return std::max<std::int64_t>(
            std::min(cells.first, windows(cells).first * s + taps.front().cell), 0);
    }
};

struct Images {
    std::int64_t count, channels;
    ImageAxis h, w;

    explicit Images(const Conv& conv)
        : count(conv.images), channels(conv.groups), h(conv.axes[1]), w(conv.axes[2]) {}

    // Taps that are real somewhere, and their numbers: from 1 on, in the order in which they win.
    std::int64_t taps() const { return h.count() * w.count(); }
    std::int64_t number(std::int64_t i, std::int64_t j) const { return i * w.count() + j + 1; }

    std::int64_t cells() const { return count * h.n * w.n * channels; }
    std::int64_t windows() const { return count * h.out * w.out * channels; }
    std::int64_t numbers() const { return cells() + windows(); }
    std::int64_t cell(std::int64_t image, std::int64_t y, std::int64_t x) const {
        return ((image * h.n + y) * w.n + x) * channels;
    }
    std::int64_t window(std::int64_t image, std::int64_t y, std::int64_t x) const {
        return ((image * h.out + y) * w.out + x) * channels;
    }
    // How much work it is, for parallel_for.
    template <class T>
    std::int64_t bytes() const {
        return static_cast<std::int64_t>(sizeof(T)) * (cells() + windows() * (1 + taps()));
    }
};

// Windows of one image, or cells, of some channels.
struct Block {
    std::int64_t image;
    Range h, w, channels;
};

// How windows, or cells, are cut into blocks of the same size but for the last ones.
struct Cut {
    std::int64_t images, h, w, channels;  // all there is
    std::int64_t rows, columns, together;  // of a block

    static std::int64_t pieces(std::int64_t n, std::int64_t step) { return (n + step - 1) / step; }
    std::int64_t blocks() const {
        return images * pieces(h, rows) * pieces(w, columns) * pieces(channels, together);
    }
    Block block(std::int64_t i) const {
        const auto next = [&i](std::int64_t n, std::int64_t step) {
            const std::int64_t count = pieces(n, step), at = i % count * step;
            i /= count;
            return Range{at, std::min(at + step, n)};
        };
        const Range c = next(channels, together), x = next(w, columns), y = next(h, rows);
        return {i, y, x, c};
    }
};

Cut cut_windows(const Images& images, std::int64_t most_channels = kRow) {
    const std::int64_t together = std::min(images.channels, most_channels);
    const std::int64_t columns = std::clamp<std::int64_t>(kRow / together, 1, images.w.out);
    const std::int64_t row = columns * together;
    const std::int64_t rows = std::clamp<std::int64_t>(kBlock / row, 1, images.h.out);
    return {images.count, images.h.out, images.w.out, images.channels, rows, columns, together};
}

// Calls f with the blocks of some windows.
template <class F>
void each_window_block(const Cut& cut, const Block& all, F f) {
    each_piece(all.channels, cut.together, [&](Range channels) {
        each_piece(all.h, cut.rows, [&](Range h) {
            each_piece(all.w, cut.columns, [&](Range w) { f(Block{all.image, h, w, channels}); });
        });
    });
}

// Sums are made in the type itself: which of them are equal depends on how they are rounded.
template <class T>
BACKBLOCKS_INLINED inline Vector<Wide<T>> rounded(const Vector<Wide<T>>& sum) {
    if constexpr (std::is_same_v<T, Wide<T>>) {
        return sum;
    } else {
        T some[kLanes<Wide<T>>];
        store_rounded(sum, some);
        return load(some);
    }
}

// The best sum of each window of a block, in T, and the number of the tap it has.
template <class T, bool winners>
class Folder {
   public:
    using N = Wide<T>;

    Folder(const T* x, const T* f, const Images& images, const Cut& cut, std::int64_t filter_width)
        : x_(x), f_(f), images_(images), filter_width_(filter_width) {
        const auto row = static_cast<std::size_t>(cut.columns * cut.together);
        best_.resize(static_cast<std::size_t>(cut.rows) * row);
        if (winners) winner_.resize(best_.size());
        cells_.resize(row);
        filter_.resize(row);
    }

    // The first of a row of windows; those of a block that are in one column stand together.
    const N* best(const Block& block, std::int64_t h) const { return best_.data() + row(block, h); }
    const Lane<N>* winner(const Block& block, std::int64_t h) const {
        return winner_.data() + row(block, h);
    }

    void operator()(const Block& block) {
        std::fill(best_.begin(), best_.end(), -std::numeric_limits<N>::infinity());
        std::fill(winner_.begin(), winner_.end(), 0);
        const ImageAxis &h = images_.h, &w = images_.w;
        for (std::int64_t i = 0; i < h.count(); ++i) {
            const Tap& down = h.taps[static_cast<std::size_t>(i)];
            const Range rows = h.real(down, block.h);
            for (std::int64_t j = 0; rows.size() > 0 && j < w.count(); ++j) {
                const Tap& right = w.taps[static_cast<std::size_t>(j)];
                const Range columns = w.real(right, block.w);
                if (columns.size() == 0) continue;
                take_filter(down.number * filter_width_ + right.number, block, columns.size());
                const std::int64_t cell = columns.first * w.s + right.cell;
                for (std::int64_t y = rows.first; y < rows.last; ++y)
                    fold_row(block, y, columns, y * h.s + down.cell, cell,
                             static_cast<Lane<N>>(images_.number(i, j)));
            }
        }
    }

   private:
    static std::int64_t row(const Block& block, std::int64_t h) {
        return (h - block.h.first) * block.w.size() * block.channels.size();
    }

    // The filter at a tap, as often as there are windows.
    void take_filter(std::int64_t tap, const Block& block, std::int64_t columns) {
        const T* from = f_ + tap * images_.channels + block.channels.first;
        gather(from, 0, columns, block.channels.size(), filter_.data());
    }

    static void gather(const T* from, std::int64_t step, std::int64_t count, std::int64_t width,
                       T* to) {
        if (width == 1)
            for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
        else
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t c = 0; c < width; ++c) to[i * width + c] = from[i * step + c];
    }

    void fold_row(const Block& block, std::int64_t y, Range columns, std::int64_t cell_y,
                  std::int64_t cell_x, Lane<N> number) {
        const std::int64_t width = block.channels.size(), step = images_.w.s * images_.channels;
        const T* from = x_ + images_.cell(block.image, cell_y, cell_x) + block.channels.first;
        if (step != width && columns.size() > 1) {
            gather(from, step, columns.size(), width, cells_.data());
            from = cells_.data();
        }
        const std::int64_t at = row(block, y) + (columns.first - block.w.first) * width;
        fold(from, columns.size() * width, best_.data() + at, winner_.data() + at, number);
    }

    // best[i] = max(best[i], x[i] + f[i]); where that is news, winner[i] = number
    void fold(const T* x, std::int64_t count, N* best, Lane<N>* winner, Lane<N> number) const {
        const T* f = filter_.data();
        each_vector<N>(count, [=](std::int64_t i, auto lanes) BACKBLOCKS_INLINED {
            const Vector<N> sum = rounded<T>(load(x + i, lanes) + load(f + i, lanes));
            const Vector<N> old = load(best + i, lanes);
            if constexpr (winners) {
                const Vector<Lane<N>> before = load(winner + i, lanes);
                const Vector<Lane<N>> better =
                    (sum > old) | ((sum != sum) & (old == old)) | (before == 0);
                store<N>(better ? sum : old, best + i, lanes);
                store<Lane<N>>(better ? splat(number) : before, winner + i, lanes);
            } else {
                store<N>((sum > old) | (sum != sum) ? sum : old, best + i, lanes);
            }
        });
    }

    const T *x_, *f_;
    const Images& images_;
    std::int64_t filter_width_;
    std::vector<N> best_;
    std::vector<Lane<N>> winner_;
    std::vector<T> cells_, filter_;
};

// y[b, o, c] = max over taps t: x[b, o * s - pads + t * d, c] + f[t, c]
template <class T>
void dilate(const T* x, const T* f, T* y, const Conv& conv) {
    const Images images(conv);
    const Cut cut = cut_windows(images);
    parallel_for(cut.blocks(), images.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
        Folder<T, false> folder(x, f, images, cut, conv.axes[2].k);
        for (std::int64_t i = begin; i < end; ++i) {
            const Block block = cut.block(i);
            folder(block);
            const std::int64_t width = block.channels.size();
            for (std::int64_t h = block.h.first; h < block.h.last; ++h) {
                T* to = y + images.window(block.image, h, block.w.first) + block.channels.first;
                // With some of the channels only, a row of windows is a single one.
                store_line(folder.best(block, h), block.w.size() * width, to, images.numbers());
            }
        }
        end_streams();
    });
}

// Calls f(winner, dy, window, channel) for each number in a row of a block that has a winner: the
// tap's number, the gradient, and which window of the row and which of its channels it is.
template <class T, class F>
void each_winner(const Folder<T, true>& folder, const Images& images, const Block& block,
                 std::int64_t h, const T* dy, F f) {
    const std::int64_t width = block.channels.size();
    const auto* winner = folder.winner(block, h);
    dy += images.window(block.image, h, block.w.first) + block.channels.first;
    for (std::int64_t w = 0; w < block.w.size(); ++w, winner += width, dy += images.channels)
        for (std::int64_t c = 0; c < width; ++c)
            if (winner[c] > 0) f(winner[c], widen(dy[c]), w, c);
}

// Tiles of cells for their gradients. Windows near the border of a tile are looked at for each tile
// they reach into, which is why a tile is larger than a window, if need be of fewer channels.
Cut cut_cells(const Images& images) {
    const ImageAxis &h = images.h, &w = images.w;
    const auto side = [](const ImageAxis& axis, std::int64_t other) {
        const std::int64_t least = std::min(2 * axis.reach() + 1, axis.n);
        return std::clamp(std::min<std::int64_t>(16, kTile / other), least, axis.n);
    };
    const std::int64_t columns = side(w, 2 * h.reach() + 1), rows = side(h, columns);
    Cut cut{images.count, h.n, w.n, images.channels, rows, columns, 1};
    const std::int64_t most = std::min(images.channels, kRow);
    cut.together = std::clamp<std::int64_t>(kTile / (rows * columns), 1, most);
    cut.columns = std::clamp(kTile / (rows * cut.together), columns, w.n);
    cut.rows = std::clamp(kTile / (cut.columns * cut.together), rows, h.n);
    return cut;
}

// dx[b, i, c] = sum over windows o with winning tap t where o * s - pads + t * d = i: dy[b, o, c]
//
// Each tile of cells looks at all windows that reach into it, so that it needs no other, and sums
// run in one order.
template <class T>
void input_grad(const T* x, const T* f, const T* dy, T* dx, const Conv& conv) {
    using N = Wide<T>;
    const Images images(conv);
    if (images.taps() == 0) return static_cast<void>(std::fill_n(dx, images.cells(), T{}));
    const ImageAxis &h = images.h, &w = images.w;
    const Cut tiles = cut_cells(images);
    const Cut cut = cut_windows(images, tiles.together);
    // Sums have room for cells that windows of the tile have beyond it.
    const std::int64_t pitch = std::min(w.n, tiles.columns + 2 * w.reach());
    const std::int64_t height = std::min(h.n, tiles.rows + 2 * h.reach());
    // From the sum of a window's first cell to the one of a tap.
    std::vector<std::int64_t> distances{0};
    for (const Tap& down : h.taps)
        for (const Tap& right : w.taps)
            distances.push_back((down.cell * pitch + right.cell) * tiles.together);
    parallel_for(tiles.blocks(), 2 * images.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
        Folder<T, true> folder(x, f, images, cut, conv.axes[2].k);
        std::vector<N> sums(static_cast<std::size_t>(height * pitch * tiles.together));
        for (std::int64_t i = begin; i < end; ++i) {
            const Block tile = tiles.block(i);
            const Range rows = h.windows(tile.h), columns = w.windows(tile.w);
            const std::int64_t top = h.begin(tile.h), left = w.begin(tile.w);
            const auto sum_at = [&](std::int64_t y, std::int64_t x) {
                return ((y - top) * pitch + x - left) * tiles.together;
            };
            std::fill(sums.begin(), sums.end(), N{0});
            const Block all{tile.image, rows, columns, tile.channels};
            each_window_block(cut, all, [&](const Block& block) {
                folder(block);
                for (std::int64_t o = block.h.first; o < block.h.last; ++o) {
                    const std::int64_t at = sum_at(o * h.s, block.w.first * w.s);
                    const std::int64_t step = w.s * tiles.together;
                    each_winner(folder, images, block, o, dy,
                                [&](auto winner, N d, std::int64_t window, std::int64_t c) {
                                    const auto from = at + window * step + c;
                                    sums[static_cast<std::size_t>(
                                        from + distances[static_cast<std::size_t>(winner)])] += d;
                                });
                }
            });
            // Cells stand together if all their channels do.
            const std::int64_t width = tile.channels.size();
            const std::int64_t together = width == images.channels ? tile.w.size() : 1;
            for (std::int64_t y = tile.h.first; y < tile.h.last; ++y)
                for (std::int64_t x = tile.w.first; x < tile.w.last; x += together)
                    store_line(sums.data() + sum_at(y, x), together * width,
                               dx + images.cell(tile.image, y, x) + tile.channels.first,
                               images.numbers());
        }
        end_streams();
    });
}

// df[t, c] = sum over images b, windows o whose winning tap is t: dy[b, o, c]
template <class T>
void filter_grad(const T* x, const T* f, const T* dy, T* df, const Conv& conv) {
    const Images images(conv);
    std::fill_n(df, conv.axes[1].k * conv.axes[2].k * images.channels, T{});
    if (images.taps() == 0) return;
    const std::int64_t together = std::clamp<std::int64_t>(kPartNumbers / images.taps(), 1,
                                                           std::min(images.channels, kRow));
    const Cut cut = cut_windows(images, together);
    const std::int64_t size = images.taps() * together, rows = images.count * images.h.out;
    // As many parts, added in the same order, whatever the number of threads. In double, because a
    // tap may win as many windows as there are.
    const std::int64_t parts =
        std::clamp<std::int64_t>(std::min(rows, kPartNumbers / size), 1, kParts);
    std::vector<double> partial(static_cast<std::size_t>(parts * size));
    const auto add_up = [&](Range channels) {
        std::fill(partial.begin(), partial.end(), 0.0);
        parallel_for(parts, 2 * images.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            Folder<T, true> folder(x, f, images, cut, conv.axes[2].k);
            for (std::int64_t part = begin; part < end; ++part) {
                double* sums = partial.data() + part * size;
                std::int64_t row = rows * part / parts;
                for (const std::int64_t last = rows * (part + 1) / parts; row < last;) {
                    const std::int64_t image = row / images.h.out, first = row % images.h.out;
                    const Range h{first, std::min(first + last - row, images.h.out)};
                    row += h.size();
                    const Block all{image, h, {0, images.w.out}, channels};
                    each_window_block(cut, all, [&](const Block& block) {
                        folder(block);
                        for (std::int64_t o = block.h.first; o < block.h.last; ++o)
                            each_winner(folder, images, block, o, dy,
                                        [&](auto winner, double d, std::int64_t, std::int64_t c) {
                                            sums[(winner - 1) * together + c] += d;
                                        });
                    });
                }
            }
        });
        const double* sum = partial.data();
        for (const Tap& down : images.h.taps)
            for (const Tap& right : images.w.taps) {
                T* to = df + (down.number * conv.axes[2].k + right.number) * images.channels;
                for (std::int64_t c = 0; c < channels.size(); ++c) {
                    double total = 0;
                    for (std::int64_t part = 0; part < parts; ++part) total += sum[part * size + c];
                    to[channels.first + c] = narrow<T>(static_cast<Wide<T>>(total));
                }
                sum += together;
            }
    };
    each_piece({0, images.channels}, together, add_up);
}

}  // namespace

const DilationKernels dilation_kernels{
    [](Type type, const void* x, const void* f, void* y, const Conv& conv) {
        with_type(type, [&]<class T>(T) { dilate(in<T>(x), in<T>(f), out<T>(y), conv); });
    },
    [](Type type, const void* x, const void* f, const void* dy, void* dx, const Conv& conv) {
        with_type(type, [&]<class T>(T) {
            input_grad(in<T>(x), in<T>(f), in<T>(dy), out<T>(dx), conv);
        });
    },
    [](Type type, const void* x, const void* f, const void* dy, void* df, const Conv& conv) {
        with_type(type, [&]<class T>(T) {
            filter_grad(in<T>(x), in<T>(f), in<T>(dy), out<T>(df), conv);
        });
    },
};

}  // namespace backblocks::ISA
