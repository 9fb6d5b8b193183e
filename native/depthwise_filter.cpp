// The filter gradient of depthwise convolution:
//
//     df[t, c, m] = sum over images b, outputs o: x[b, o * s - pads + t * d, c] * dy[b, o, c * multiplier + m]
//
// Direct (depthwise_direct.hpp), or with x packed tile by tile and vectors over positions (depthwise_pack.hpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "conv_algorithms.hpp"
#include "depthwise_choice.hpp"
#include "depthwise_direct.hpp"
#include "depthwise_pack.hpp"
#include "dtypes.hpp"
#include "parallel.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace ISA::depthwise;

// sums[t] = sum over i < count: x[i * x_step + distance of t] * dy[i * dy_step]
template <int taps, class T>
void multiply(const PackedTap* tap, const T* x, std::int64_t x_step, const T* dy,
              std::int64_t dy_step, std::int64_t count, Vector<Wide<T>>* sums) {
    Vector<Wide<T>> sum[taps] = {};
    const T* elements[taps];
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) elements[t] = x + tap[t].distance;
    for (std::int64_t i = 0; i < count; ++i) {
        const Vector<Wide<T>> d = load(dy + i * dy_step);
#pragma GCC unroll 9
        for (int t = 0; t < taps; ++t) sum[t] += load(elements[t] + i * x_step) * d;
    }
#pragma GCC unroll 9
    for (int t = 0; t < taps; ++t) sums[t] = sum[t];
}

// The same for any number of taps; calls add(tap, sum) for each.
template <class T, class F>
void multiply_all(const std::vector<PackedTap>& taps, const T* x, std::int64_t x_step, const T* dy,
                  std::int64_t dy_step, std::int64_t count, F add) {
    Vector<Wide<T>> sums[kTaps];
    for (std::size_t t = 0; t < taps.size(); t += kTaps) {
        const std::size_t some = std::min<std::size_t>(kTaps, taps.size() - t);
        with_constant<kTaps>(static_cast<std::int64_t>(some), [&](auto n) {
            multiply<n>(&taps[t], x, x_step, dy, dy_step, count, sums);
        });
        for (std::size_t i = 0; i < some; ++i) add(taps[t + i], sums[i]);
    }
}

// The packed algorithm.
template <class T>
void multiply_packed(const Pass& pass, const Packing& packing, const T* x, const T* dy, T* df) {
    using N = Wide<T>;
    constexpr std::int64_t v = kLanes<N>;
    const PackedPhase& phase = packing.phases[0];
    const std::int64_t tiles = packing.tiles(), work = pass.in.images * tiles;
    FilterSums<N> all(pass, work);
    parallel_for(all.parts * pass.filters, pass.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
        PackedTile<T> packed(packing);
        std::vector<N> grads(static_cast<std::size_t>(packing.volume() + v));
        std::vector<N> sums(static_cast<std::size_t>(pass.taps()));
        std::int64_t before = -1;
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t filter = unit % pass.filters, part = unit / pass.filters;
            for (std::int64_t i = work * part / all.parts; i < work * (part + 1) / all.parts; ++i) {
                const T* elements = x + i / tiles * pass.in.image_step() +
                                    pass.in_channel(filter) * pass.in.channel_step();
                const T* results = dy + i / tiles * pass.out.image_step() + filter * pass.out.channel_step();
                const Position tile = packing.tile(i % tiles), positions = packing.positions(phase, tile);
                packed.pack(elements, i % tiles);
                if (std::exchange(before, i % tiles) != i % tiles)
                    std::fill(grads.begin(), grads.end(), N{0});
                for (std::int64_t d = 0; d < positions[0]; ++d)
                    for (std::int64_t h = 0; h < positions[1]; ++h)
                        widen_row(results + packing.row_of(pass.out, phase, tile, d, h), pass.out.step(),
                                  positions[2], grads.data() + packing.row(d, h));
                const std::int64_t count = packing.row(positions[0] - 1, positions[1] - 1) + positions[2];
                bool nan = false;
                multiply_all(phase.taps, packed.data(), v, grads.data(), v, (count - 1) / v + 1,
                             [&](const PackedTap& tap, const Vector<N>& some) {
                                 N& sum = sums[static_cast<std::size_t>(tap.number)] = 0;
                                 for (int l = 0; l < v; ++l) sum += some[l];
                                 nan |= std::isnan(sum);
                             });
                // Zeros of the padding times an infinity are NaN: then the sums are computed without padding.
                if (nan) {
                    Position beyond;
                    for (std::size_t a = 0; a < 3; ++a) beyond[a] = tile[a] + positions[a];
                    each_tap(phase.phases, [&](const std::array<Tap, 3>& tap) {
                        N& sum = sums[static_cast<std::size_t>(pass.number(tap[0], tap[1], tap[2]))] = 0;
                        each_position(pass.out, phase.phases, tile, beyond, [&](const Position& position, auto at) {
                            const std::int64_t element = real_element(pass.in, phase.phases, tap, position);
                            if (element >= 0) sum += widen(elements[element]) * widen(results[at]);
                        });
                    });
                }
                for (const PackedTap& tap : phase.taps)
                    all.part(part)[tap.number * pass.filters + filter] +=
                        sums[static_cast<std::size_t>(tap.number)];
            }
        }
    });
    all.add_up(df);
}

template <class T>
ConvFunction filter_grad(const Conv& conv) {
    const auto pass = std::make_shared<const Pass>(conv, false);
    const DepthwiseAlgorithm algorithm = choose_depthwise<T>(*pass).algorithm;
    if (algorithm == DepthwiseAlgorithm::zeros)
        return [=](auto, auto, void* df) {
            std::fill_n(out<T>(df), pass->taps() * pass->filters, T{});
        };
    if constexpr (kHasDirect<T>)
        if (algorithm == DepthwiseAlgorithm::direct)
            return [=, direct = std::make_shared<const Direct<T>>(pass)](auto x, auto dy, void* df) {
                direct->multiply(in<T>(x), in<T>(dy), out<T>(df));
            };
    return [=, packing = Packing(*pass)](const void* x, const void* dy, void* df) {
        multiply_packed(*pass, packing, in<T>(x), in<T>(dy), out<T>(df));
    };
}

}  // namespace

ConvFunction ISA::depthwise_filter_grad(Type type, const Conv& conv) {
    return with_type(type, [&]<class T>(T) { return filter_grad<T>(conv); });
}

}  // namespace backblocks
