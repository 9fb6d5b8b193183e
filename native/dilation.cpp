// Grey-scale morphological dilation and its gradients. Windows are reduced in blocks, whose best sums stay in the L1
// cache for one tap after the other, in the order in which equal ones win: a tap adds one number for each channel to
// a row of elements, and vectors run along the row.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

#include "choice.hpp"
#include "dtypes.hpp"
#include "geometry.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "stream.hpp"

namespace backblocks::ISA {
namespace {

// Numbers of a block of windows, and of one of its rows.
constexpr std::int64_t kBlock = 4096, kRow = 512;
// Numbers of a tile of elements, whose gradients are added up together: half the L2 cache.
constexpr std::int64_t kTile = 1 << 16;
// Partial sums of a gradient of filters, and all their numbers, at most.
constexpr std::int64_t kParts = 32, kPartNumbers = 1 << 22;

// Calls f with chunks of a range, each of `step` numbers but for the last.
template <class F>
void each_chunk(Range all, std::int64_t step, F f) {
    for (std::int64_t i = all.first; i < all.last; i += step)
        f(Range{i, std::min(i + step, all.last)});
}

// One axis of an image: its windows, and the taps that are real for some of them.
struct ImageAxis {
    std::int64_t n, out, s;
    std::vector<Tap> taps;

    explicit ImageAxis(const ConvAxis& axis) : n(axis.n), out(axis.out), s(axis.s) {
        AxisPhases phases = AxisPhases::outputs(axis);
        if (!phases.phases.empty()) taps = std::move(phases.phases[0].taps);
    }

    std::int64_t count() const { return std::ssize(taps); }
    // From the first element of a window to its last.
    std::int64_t extent() const { return taps.back().element - taps.front().element; }

    // The windows of a range for which a tap is real.
    Range real(const Tap& tap, Range windows) const {
        const Range positions = Phase{0, 1, out, s, n, {}}.positions(tap);
        return {std::max(positions.first, windows.first), std::min(positions.last, windows.last)};
    }
    // The windows that have an element in a range.
    Range windows(Range elements) const {
        const std::int64_t first = elements.first - taps.back().element;
        const std::int64_t last = elements.last - taps.front().element;
        return {first > 0 ? (first - 1) / s + 1 : 0,
                last > 0 ? std::min((last - 1) / s + 1, out) : 0};
    }
    // The first element of a range, or of the windows that have an element in it.
    std::int64_t begin(Range elements) const {
        return std::max<std::int64_t>(
            std::min(elements.first, windows(elements).first * s + taps.front().element), 0);
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

    std::int64_t elements() const { return count * h.n * w.n * channels; }
    std::int64_t windows() const { return count * h.out * w.out * channels; }
    std::int64_t numbers() const { return elements() + windows(); }
    std::int64_t element(std::int64_t image, std::int64_t y, std::int64_t x) const {
        return ((image * h.n + y) * w.n + x) * channels;
    }
    std::int64_t window(std::int64_t image, std::int64_t y, std::int64_t x) const {
        return ((image * h.out + y) * w.out + x) * channels;
    }
    // The work, in bytes for parallel_for.
    template <class T>
    std::int64_t bytes() const {
        return static_cast<std::int64_t>(sizeof(T)) * (elements() + windows() * (1 + taps()));
    }
};

// A block of windows, or of elements, of one image and some channels.
struct WindowBlock {
    std::int64_t image;
    Range h, w, channels;
};

// How windows, or elements, are divided into blocks of the same size but for the last ones.
struct Blocking {
    std::int64_t images, h, w, channels;  // all there is
    std::int64_t rows, columns, together;  // of a block

    static std::int64_t chunks(std::int64_t n, std::int64_t step) { return (n + step - 1) / step; }
    std::int64_t blocks() const {
        return images * chunks(h, rows) * chunks(w, columns) * chunks(channels, together);
    }
    WindowBlock block(std::int64_t i) const {
        const auto next = [&i](std::int64_t n, std::int64_t step) {
            const std::int64_t count = chunks(n, step), at = i % count * step;
            i /= count;
            return Range{at, std::min(at + step, n)};
        };
        const Range c = next(channels, together), x = next(w, columns), y = next(h, rows);
        return {i, y, x, c};
    }
};

Blocking window_blocks(const Images& images, std::int64_t most_channels = kRow) {
    const std::int64_t together = std::min(images.channels, most_channels);
    const std::int64_t columns = std::clamp<std::int64_t>(kRow / together, 1, images.w.out);
    const std::int64_t row = columns * together;
    const std::int64_t rows = std::clamp<std::int64_t>(kBlock / row, 1, images.h.out);
    return {images.count, images.h.out, images.w.out, images.channels, rows, columns, together};
}

// Calls f with the blocks of some windows.
template <class F>
void each_window_block(const Blocking& blocking, const WindowBlock& all, F f) {
    each_chunk(all.channels, blocking.together, [&](Range channels) {
        each_chunk(all.h, blocking.rows, [&](Range h) {
            each_chunk(all.w, blocking.columns, [&](Range w) { f(WindowBlock{all.image, h, w, channels}); });
        });
    });
}

// Rounds sums to T: which of them are equal depends on how they are rounded.
template <class T>
BACKBLOCKS_INLINE Vector<Wide<T>> rounded(const Vector<Wide<T>>& sum) {
    if constexpr (std::is_same_v<T, Wide<T>>) {
        return sum;
    } else {
        T some[kLanes<Wide<T>>];
        store_rounded(sum, some);
        return load(some);
    }
}

// Reduces the windows of a block: the best sum of each, in T, and the index of the tap it has.
template <class T, bool finds_argmax>
class WindowReducer {
   public:
    using N = Wide<T>;

    WindowReducer(const T* x, const T* f, const Images& images, const Blocking& blocking, std::int64_t filter_width)
        : x_(x), f_(f), images_(images), filter_width_(filter_width) {
        const auto row = static_cast<std::size_t>(blocking.columns * blocking.together);
        best_.resize(static_cast<std::size_t>(blocking.rows) * row);
        if (finds_argmax) argmax_.resize(best_.size());
        elements_.resize(row);
        filter_.resize(row);
    }

    // The best sums, and the argmax, of a row of windows of the block.
    const N* best(const WindowBlock& block, std::int64_t h) const { return best_.data() + row(block, h); }
    const SameSizeInt<N>* argmax(const WindowBlock& block, std::int64_t h) const {
        return argmax_.data() + row(block, h);
    }

    void operator()(const WindowBlock& block) {
        std::fill(best_.begin(), best_.end(), -std::numeric_limits<N>::infinity());
        std::fill(argmax_.begin(), argmax_.end(), 0);
        const ImageAxis &h = images_.h, &w = images_.w;
        for (std::int64_t i = 0; i < h.count(); ++i) {
            const Tap& down = h.taps[static_cast<std::size_t>(i)];
            const Range rows = h.real(down, block.h);
            for (std::int64_t j = 0; rows.size() > 0 && j < w.count(); ++j) {
                const Tap& right = w.taps[static_cast<std::size_t>(j)];
                const Range columns = w.real(right, block.w);
                if (columns.size() == 0) continue;
                repeat_filter(down.number * filter_width_ + right.number, block, columns.size());
                const std::int64_t element = columns.first * w.s + right.element;
                for (std::int64_t y = rows.first; y < rows.last; ++y)
                    reduce_row(block, y, columns, y * h.s + down.element, element,
                             static_cast<SameSizeInt<N>>(images_.number(i, j)));
            }
        }
    }

   private:
    static std::int64_t row(const WindowBlock& block, std::int64_t h) {
        return (h - block.h.first) * block.w.size() * block.channels.size();
    }

    // Repeats the filter at a tap for all windows of a row.
    void repeat_filter(std::int64_t tap, const WindowBlock& block, std::int64_t columns) {
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

    void reduce_row(const WindowBlock& block, std::int64_t y, Range columns, std::int64_t element_y,
                  std::int64_t element_x, SameSizeInt<N> number) {
        const std::int64_t width = block.channels.size(), step = images_.w.s * images_.channels;
        const T* from = x_ + images_.element(block.image, element_y, element_x) + block.channels.first;
        if (step != width && columns.size() > 1) {
            gather(from, step, columns.size(), width, elements_.data());
            from = elements_.data();
        }
        const std::int64_t at = row(block, y) + (columns.first - block.w.first) * width;
        reduce(from, columns.size() * width, best_.data() + at, argmax_.data() + at, number);
    }

    // best[i] = max(best[i], x[i] + f[i]); where that is larger, argmax[i] = number
    void reduce(const T* x, std::int64_t count, N* best, SameSizeInt<N>* argmax, SameSizeInt<N> number) const {
        const T* f = filter_.data();
        each_vector<N>(count, [=](std::int64_t i, auto lanes) BACKBLOCKS_INLINE_LAMBDA {
            const Vector<N> sum = rounded<T>(load(x + i, lanes) + load(f + i, lanes));
            const Vector<N> old = load(best + i, lanes);
            if constexpr (finds_argmax) {
                const Vector<SameSizeInt<N>> before = load(argmax + i, lanes);
                const Vector<SameSizeInt<N>> better =
                    (sum > old) | ((sum != sum) & (old == old)) | (before == 0);
                store<N>(better ? sum : old, best + i, lanes);
                store<SameSizeInt<N>>(better ? broadcast(number) : before, argmax + i, lanes);
            } else {
                store<N>((sum > old) | (sum != sum) ? sum : old, best + i, lanes);
            }
        });
    }

    const T *x_, *f_;
    const Images& images_;
    std::int64_t filter_width_;
    std::vector<N> best_;
    std::vector<SameSizeInt<N>> argmax_;
    std::vector<T> elements_, filter_;
};

// y[b, o, c] = max over taps t: x[b, o * s - pads + t * d, c] + f[t, c]
template <class T>
void dilate(const T* x, const T* f, T* y, const Conv& conv) {
    const Images images(conv);
    const Blocking blocking = window_blocks(images);
    parallel_for(blocking.blocks(), images.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
        WindowReducer<T, false> reducer(x, f, images, blocking, conv.axes[2].k);
        for (std::int64_t i = begin; i < end; ++i) {
            const WindowBlock block = blocking.block(i);
            reducer(block);
            const std::int64_t width = block.channels.size();
            for (std::int64_t h = block.h.first; h < block.h.last; ++h) {
                T* to = y + images.window(block.image, h, block.w.first) + block.channels.first;
                // With some of the channels only, a row of windows is a single one.
                store_row(reducer.best(block, h), block.w.size() * width, to, images.numbers());
            }
        }
        stream_fence();
    });
}

// Calls f(argmax, dy, window, channel) for each number in a row of a block that has an argmax: the
// tap's number, the gradient, and which window of the row and which of its channels it is.
template <class T, class F>
void each_argmax(const WindowReducer<T, true>& reducer, const Images& images, const WindowBlock& block,
                 std::int64_t h, const T* dy, F f) {
    const std::int64_t width = block.channels.size();
    const auto* argmax = reducer.argmax(block, h);
    dy += images.window(block.image, h, block.w.first) + block.channels.first;
    for (std::int64_t w = 0; w < block.w.size(); ++w, argmax += width, dy += images.channels)
        for (std::int64_t c = 0; c < width; ++c)
            if (argmax[c] > 0) f(argmax[c], widen(dy[c]), w, c);
}

// Tiles of elements for their gradients. Windows near the border of a tile are looked at for each tile
// they reach into, which is why a tile is larger than a window, if need be of fewer channels.
Blocking element_tiles(const Images& images) {
    const ImageAxis &h = images.h, &w = images.w;
    const auto side = [](const ImageAxis& axis, std::int64_t other) {
        const std::int64_t least = std::min(2 * axis.extent() + 1, axis.n);
        return std::clamp(std::min<std::int64_t>(16, kTile / other), least, axis.n);
    };
    const std::int64_t columns = side(w, 2 * h.extent() + 1), rows = side(h, columns);
    Blocking blocking{images.count, h.n, w.n, images.channels, rows, columns, 1};
    const std::int64_t most = std::min(images.channels, kRow);
    blocking.together = std::clamp<std::int64_t>(kTile / (rows * columns), 1, most);
    blocking.columns = std::clamp(kTile / (rows * blocking.together), columns, w.n);
    blocking.rows = std::clamp(kTile / (blocking.columns * blocking.together), rows, h.n);
    return blocking;
}

// dx[b, i, c] = sum over windows o with winning tap t where o * s - pads + t * d = i: dy[b, o, c]
//
// Each tile of elements looks at all windows that reach into it, so that it needs no other, and sums
// run in one order.
template <class T>
void input_grad(const T* x, const T* f, const T* dy, T* dx, const Conv& conv) {
    using N = Wide<T>;
    const Images images(conv);
    if (images.taps() == 0) return static_cast<void>(std::fill_n(dx, images.elements(), T{}));
    const ImageAxis &h = images.h, &w = images.w;
    const Blocking tiles = element_tiles(images);
    const Blocking blocking = window_blocks(images, tiles.together);
    // Sums have room for elements that windows of the tile have beyond it.
    const std::int64_t pitch = std::min(w.n, tiles.columns + 2 * w.extent());
    const std::int64_t height = std::min(h.n, tiles.rows + 2 * h.extent());
    // From the sum of a window's first element to the one of a tap.
    std::vector<std::int64_t> distances{0};
    for (const Tap& down : h.taps)
        for (const Tap& right : w.taps)
            distances.push_back((down.element * pitch + right.element) * tiles.together);
    parallel_for(tiles.blocks(), 2 * images.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
        WindowReducer<T, true> reducer(x, f, images, blocking, conv.axes[2].k);
        std::vector<N> sums(static_cast<std::size_t>(height * pitch * tiles.together));
        for (std::int64_t i = begin; i < end; ++i) {
            const WindowBlock tile = tiles.block(i);
            const Range rows = h.windows(tile.h), columns = w.windows(tile.w);
            const std::int64_t top = h.begin(tile.h), left = w.begin(tile.w);
            const auto sum_at = [&](std::int64_t y, std::int64_t x) {
                return ((y - top) * pitch + x - left) * tiles.together;
            };
            std::fill(sums.begin(), sums.end(), N{0});
            const WindowBlock all{tile.image, rows, columns, tile.channels};
            each_window_block(blocking, all, [&](const WindowBlock& block) {
                reducer(block);
                for (std::int64_t o = block.h.first; o < block.h.last; ++o) {
                    const std::int64_t at = sum_at(o * h.s, block.w.first * w.s);
                    const std::int64_t step = w.s * tiles.together;
                    each_argmax(reducer, images, block, o, dy,
                                [&](auto argmax, N d, std::int64_t window, std::int64_t c) {
                                    const auto from = at + window * step + c;
                                    sums[static_cast<std::size_t>(
                                        from + distances[static_cast<std::size_t>(argmax)])] += d;
                                });
                }
            });
            // Elements are contiguous if all their channels are in the tile.
            const std::int64_t width = tile.channels.size();
            const std::int64_t together = width == images.channels ? tile.w.size() : 1;
            for (std::int64_t y = tile.h.first; y < tile.h.last; ++y)
                for (std::int64_t x = tile.w.first; x < tile.w.last; x += together)
                    store_row(sums.data() + sum_at(y, x), together * width,
                               dx + images.element(tile.image, y, x) + tile.channels.first,
                               images.numbers());
        }
        stream_fence();
    });
}

// Partial sums of a gradient of filters that has so many numbers: as many, added in the same order, whatever
// the number of threads.
std::int64_t partial_sums(const Images& images, std::int64_t size) {
    return std::clamp<std::int64_t>(std::min(images.count * images.h.out, kPartNumbers / size), 1, kParts);
}
// Channels of which a gradient of filters is made at a time.
std::int64_t channels_at_once(const Images& images) {
    return std::clamp<std::int64_t>(kPartNumbers / images.taps(), 1, std::min(images.channels, kRow));
}

// df[t, c] = sum over images b, windows o whose winning tap is t: dy[b, o, c]
template <class T>
void filter_grad(const T* x, const T* f, const T* dy, T* df, const Conv& conv) {
    const Images images(conv);
    std::fill_n(df, conv.axes[1].k * conv.axes[2].k * images.channels, T{});
    if (images.taps() == 0) return;
    const std::int64_t together = channels_at_once(images);
    const Blocking blocking = window_blocks(images, together);
    const std::int64_t size = images.taps() * together, rows = images.count * images.h.out;
    // In double, because a tap may win as many windows as there are.
    const std::int64_t parts = partial_sums(images, size);
    std::vector<double> partial(static_cast<std::size_t>(parts * size));
    const auto add_up = [&](Range channels) {
        std::fill(partial.begin(), partial.end(), 0.0);
        parallel_for(parts, 2 * images.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            WindowReducer<T, true> reducer(x, f, images, blocking, conv.axes[2].k);
            for (std::int64_t part = begin; part < end; ++part) {
                double* sums = partial.data() + part * size;
                std::int64_t row = rows * part / parts;
                for (const std::int64_t last = rows * (part + 1) / parts; row < last;) {
                    const std::int64_t image = row / images.h.out, first = row % images.h.out;
                    const Range h{first, std::min(first + last - row, images.h.out)};
                    row += h.size();
                    const WindowBlock all{image, h, {0, images.w.out}, channels};
                    each_window_block(blocking, all, [&](const WindowBlock& block) {
                        reducer(block);
                        for (std::int64_t o = block.h.first; o < block.h.last; ++o)
                            each_argmax(reducer, images, block, o, dy,
                                        [&](auto argmax, double d, std::int64_t, std::int64_t c) {
                                            sums[(argmax - 1) * together + c] += d;
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
    each_chunk({0, images.channels}, together, add_up);
}

// There is one algorithm for each kernel, whatever the geometry.
Choice blocked(const Images& images, const char* reason) {
    const Blocking blocking = window_blocks(images);
    return Choice{kIsaName, "blocks of windows, tap by tap", reason}.with(
        "block of rows x columns x channels", {blocking.rows, blocking.columns, blocking.together});
}

template <class T>
Choice explain_forward(const Conv& conv) {
    const Images images(conv);
    return blocked(images, "the best sums of a block of windows stay in the L1 cache")
        .with_loop(window_blocks(images).blocks(), images.bytes<T>());
}

template <class T>
Choice explain_input_grad(const Conv& conv) {
    const Images images(conv);
    if (images.taps() == 0) return {kIsaName, "zeros", "no tap reads an element, only padding"};
    const Blocking tiles = element_tiles(images);
    return blocked(images, "each tile of gradients reduces all windows that reach into it")
        .with("tile of rows x columns x channels", {tiles.rows, tiles.columns, tiles.together})
        .with_loop(tiles.blocks(), 2 * images.bytes<T>());
}

template <class T>
Choice explain_filter_grad(const Conv& conv) {
    const Images images(conv);
    if (images.taps() == 0) return {kIsaName, "zeros", "no tap reads an element, only padding"};
    const std::int64_t parts = partial_sums(images, images.taps() * channels_at_once(images));
    return blocked(images, "partial sums of parts of the rows are added up in order")
        .with("partial sums", parts)
        .with_loop(parts, 2 * images.bytes<T>());
}

// A kernel of images with channels last, each channel by itself.
template <class Run, class Explain>
Kernel prepared(const ConvCall& call, std::vector<Operand> inputs, const Operand& output, Run run,
                Explain explain) {
    require_dilation(call);
    return with_type(call.dtype, [&]<class T>(T) {
        return zeros_if_empty({inputs, {output}, [run, conv = call.conv](void* const* t) { run(T{}, t, conv); },
                        [explain, conv = call.conv] { return explain(T{}, conv); }});
    });
}

}  // namespace

Kernel dilation(const ConvCall& call) {
    return prepared(
        call, {call.input, call.filters}, call.output,
        []<class T>(T, void* const* t, const Conv& conv) {
            dilate(in<T>(t[0]), in<T>(t[1]), out<T>(t[2]), conv);
        },
        []<class T>(T, const Conv& conv) { return explain_forward<T>(conv); });
}

Kernel dilation_input_grad(const ConvCall& call) {
    return prepared(
        call, {call.input, call.filters, call.output}, call.input,
        []<class T>(T, void* const* t, const Conv& conv) {
            input_grad(in<T>(t[0]), in<T>(t[1]), in<T>(t[2]), out<T>(t[3]), conv);
        },
        []<class T>(T, const Conv& conv) { return explain_input_grad<T>(conv); });
}

Kernel dilation_filter_grad(const ConvCall& call) {
    return prepared(
        call, {call.input, call.filters, call.output}, call.filters,
        []<class T>(T, void* const* t, const Conv& conv) {
            filter_grad(in<T>(t[0]), in<T>(t[1]), in<T>(t[2]), out<T>(t[3]), conv);
        },
        []<class T>(T, const Conv& conv) { return explain_filter_grad<T>(conv); });
}

}  // namespace backblocks::ISA
