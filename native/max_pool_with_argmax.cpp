// Max pooling with the argmax of each window as a second result, and the gradients that go by it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "geometry.hpp"
#include "pool_choice.hpp"
#include "reduce.hpp"

namespace backblocks::ISA {
namespace {

template <class F>
void with_index(ArgmaxIndex index, F f) {
    if (index.wide) f(std::int64_t{});
    else f(std::int32_t{});
}

std::int64_t image_size(const Pool& pool) { return pool.elements() * pool.channels; }
std::int64_t windows_size(const Pool& pool) { return pool.windows() * pool.channels; }

// Bytes of the loops below, for parallel_for.
template <class T>
std::int64_t bytes_of_scatter(const Pool& pool) {
    return pool.images * image_size(pool) * static_cast<std::int64_t>(sizeof(T));
}
template <class T>
std::int64_t bytes_of_gather(const Pool& pool) {
    return pool.images * windows_size(pool) * static_cast<std::int64_t>(2 * sizeof(T));
}

// y[b, o, c] = max over elements i of window o: x[b, i, c]
// argmax[b, o, c] = where the maximum is in its image or, with the batch, in x
template <class T, class I>
void pool_with_argmax(const T* x, T* y, I* argmax, const Pool& pool, bool of_batch) {
    using N = Wide<T>;
    const WindowAxis& width = pool.axes[2];
    const std::int64_t channels = pool.channels;
    const auto finish = [&](const RowPosition& position) {
        const std::int64_t first = position.row(pool) * width.out * channels;
        const std::int64_t image = of_batch ? position.image * image_size(pool) : 0;
        return [=, &pool](std::int64_t i, const State<N>& state, auto full_or_tail, std::int64_t) {
            store_rounded(state.value, y + first + i, full_or_tail);
            // Along the width, the index counts from the window and its padding.
            const std::int64_t count = count_of<N>(full_or_tail);
            std::int64_t o = i / channels, c = i % channels;
            for (std::int64_t lane = 0; lane < count; ++lane) {
                const std::int64_t element = state.index[lane] + pool.axes[2].element(o, 0);
                argmax[first + i + lane] = static_cast<I>(element * channels + c + image);
                if (++c == channels) c = 0, ++o;
            }
        };
    };
    reduce_windows<Reduction::max_with_argmax, T>({x, nullptr}, pool, finish, Indexing::in_image);
}

// Whether every index, which counts through the batch, is within the image of its own window.
template <class I>
bool all_in_own_image(const I* argmax, const Pool& pool) {
    const std::int64_t size = image_size(pool), windows = windows_size(pool);
    for (std::int64_t image = 0; image < pool.images; ++image)
        for (std::int64_t i = 0; i < windows; ++i) {
            const std::int64_t at = argmax[image * windows + i];
            if (at < image * size || at >= (image + 1) * size) return false;
        }
    return true;
}

// dx[i] = sum over windows o with argmax[o] = i: dy[o], in the order of o. Indices that are outside
// add to nothing.
//
// Every image of dx is one thread's, which reads the windows that may add to it: those of the same
// image or, if an index that counts through the batch leaves its image, all.
template <class T, class I>
void grad_with_argmax(const T* dy, const I* argmax, T* dx, const Pool& pool, bool of_batch) {
    using N = Wide<T>;
    const std::int64_t size = image_size(pool), windows = windows_size(pool);
    const bool in_own_image = !of_batch || all_in_own_image(argmax, pool);
    parallel_for(pool.images, bytes_of_scatter<T>(pool), [&](std::int64_t begin, std::int64_t end) {
        constexpr bool in_place = std::is_same_v<T, N>;
        const std::unique_ptr<N[]> wide(in_place ? nullptr : new N[static_cast<std::size_t>(size)]);
        for (std::int64_t image = begin; image < end; ++image) {
            N* sum = wide.get();
            if constexpr (in_place) sum = dx + image * size;
            std::fill_n(sum, size, N{0});
            const std::int64_t first = of_batch ? image * size : 0;
            const std::int64_t from = in_own_image ? image * windows : 0;
            const std::int64_t to = in_own_image ? from + windows : pool.images * windows;
            for (std::int64_t o = from; o < to; ++o) {
                const std::int64_t at = argmax[o];
                if (at >= first && at < first + size) sum[at - first] += widen(dy[o]);
            }
            if constexpr (!in_place)
                each_vector<N>(size, [&](std::int64_t i, auto lanes) {
                    store_rounded(load(sum + i, lanes), dx + image * size + i, lanes);
                });
        }
        stream_fence();
    });
}

// ddy[o] = ddx[argmax[o]], and 0 where that is outside
template <class T, class I>
void grad_grad_with_argmax(const T* ddx, const I* argmax, T* ddy, const Pool& pool, bool of_batch) {
    const std::int64_t size = image_size(pool), windows = windows_size(pool);
    const std::int64_t limit = of_batch ? pool.images * size : size;
    parallel_for(pool.images * windows, bytes_of_gather<T>(pool), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t o = begin; o < end;) {
            const std::int64_t image = o / windows, last = std::min((image + 1) * windows, end);
            const T* from = ddx + (of_batch ? 0 : image * size);
            for (; o < last; ++o) {
                const std::int64_t at = argmax[o];
                ddy[o] = at >= 0 && at < limit ? from[at] : T{};
            }
        }
    });
}

}  // namespace

Kernel max_pool_with_argmax(const ArgmaxCall& call) {
    return call.kernel(
        {call.input}, {call.output, call.argmax},
        [index = call.index]<class T>(T, void* const* t, const Pool& pool) {
            with_index(index, [&]<class I>(I) {
                pool_with_argmax(in<T>(t[0]), out<T>(t[1]), out<I>(t[2]), pool, index.of_batch);
            });
        },
        []<class T>(T, const Pool& pool) {
            return explain_reduction<Reduction::max_with_argmax, T>(pool);
        });
}

Kernel max_pool_grad_with_argmax(const ArgmaxCall& call) {
    return call.kernel(
        {call.output, call.argmax}, {call.input},
        [index = call.index]<class T>(T, void* const* t, const Pool& pool) {
            with_index(index, [&]<class I>(I) {
                grad_with_argmax(in<T>(t[0]), in<I>(t[1]), out<T>(t[2]), pool, index.of_batch);
            });
        },
        []<class T>(T, const Pool& pool) {
            return Choice{kIsaName, "scatter", "the argmax says where each gradient goes"}.with_loop(
                pool.images, bytes_of_scatter<T>(pool));
        });
}

Kernel max_pool_grad_grad_with_argmax(const ArgmaxCall& call) {
    return call.kernel(
        {call.input, call.argmax}, {call.output},
        [index = call.index]<class T>(T, void* const* t, const Pool& pool) {
            with_index(index, [&]<class I>(I) {
                grad_grad_with_argmax(in<T>(t[0]), in<I>(t[1]), out<T>(t[2]), pool, index.of_batch);
            });
        },
        []<class T>(T, const Pool& pool) {
            return Choice{kIsaName, "gather", "the argmax says where each value is"}.with_loop(
                pool.images * windows_size(pool), bytes_of_gather<T>(pool));
        });
}

}  // namespace backblocks::ISA
