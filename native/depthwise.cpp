// Depthwise convolution: each output channel has one filter and sees one input channel. The gradient
// of the input is the same sum seen from the other side (taps.hpp), so both are one function.
//
//     for each image, channel c of the result and place:
//         for each tap t, and each channel i of `in` that c has a filter for:
//             out[place, c] += in[element of t for the place, i] * f[t, c, i]
//
// Two algorithms: direct, with vectors over channels and elements read in place (depthwise_direct.hpp), and
// packed, with vectors over places, from row to row, of elements that are packed for that (depthwise_pack.hpp).
#include "depthwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "conv_choice.hpp"
#include "depthwise_direct.hpp"
#include "depthwise_pack.hpp"
#include "half.hpp"
#include "isa.hpp"
#include "parallel.hpp"
#include "stream.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace ISA::depthwise;

// -- forward and back -----------------------------------------------------------------------------

// to[i] (+)= sum over taps t: from[i + distance of t] * filter[t]. Reads and writes a little more.
template <class N>
void add_up_flat(const std::vector<PackedTap>& taps, const N* from, const N* filter, N* to,
                 std::int64_t count, bool adds) {
    for (std::int64_t i = 0; i < count; i += kSums * kLanes<N>) {
        Vector<N> sum[kSums] = {};
        if (adds)
#pragma GCC unroll 12
            for (int v = 0; v < kSums; ++v) sum[v] = load_vector(to + i + v * kLanes<N>);
        for (const PackedTap& tap : taps) {
            const N weight = filter[tap.number];
            const N* x = from + i + tap.distance;
#pragma GCC unroll 12
            for (int v = 0; v < kSums; ++v) sum[v] += load_vector(x + v * kLanes<N>) * weight;
        }
#pragma GCC unroll 12
        for (int v = 0; v < kSums; ++v) store_vector(to + i + v * kLanes<N>, sum[v]);
    }
}

// Rounds a row of sums and stores it with a stride.
template <class T>
void store_strided_row(const Wide<T>* sums, std::int64_t places, T* to, std::int64_t to_step,
               std::int64_t all) {
    if (to_step == 1) return store_row(sums, places, to, all);
    for (std::int64_t p = 0; p < places; ++p) to[p * to_step] = narrow<T>(sums[p]);
}

// The sums for one place, whose taps are real as they are: without zeros for the padding.
template <class T>
Wide<T> sum_at(const Pass& pass, const Sweeps& sweeps, const Place& place, const T* image, const T* f,
               std::int64_t channel) {
    Wide<T> sum{0};
    each_tap(sweeps, [&](const std::array<Tap, 3>& tap) {
        const std::int64_t element = real_element(pass.in, sweeps, tap, place);
        if (element < 0) return;
        const T* x = image + element;
        const T* w = f + pass.number(tap[0], tap[1], tap[2]) * pass.lanes;
        for (std::int64_t lane = pass.lane(channel, 0); lane < pass.lane(channel + 1, 0); ++lane)
            sum += widen(x[pass.in_channel(lane) * pass.in.channel_step()]) * widen(w[lane]);
    });
    return sum;
}

// Computes the channels again whose filter is not finite: it must not be multiplied with zeros of the padding.
template <class T>
void mend_infinite(const Pass& pass, const T* in, const T* f, T* out) {
    for (std::int64_t channel = 0; channel < pass.out.channels; ++channel) {
        bool finite = true;
        for (std::int64_t t = 0; t < pass.taps(); ++t)
            for (std::int64_t lane = pass.lane(channel, 0); lane < pass.lane(channel + 1, 0); ++lane)
                finite &= std::isfinite(widen(f[t * pass.lanes + lane]));
        if (finite) continue;
        parallel_for(pass.in.images, pass.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t image = begin; image < end; ++image)
                each_sweeps(pass, [&](const Sweeps& sweeps) {
                    T* to = out + image * pass.out.image_step() + channel * pass.out.channel_step();
                    each_place(pass.out, sweeps, {}, pass.out.n, [&](const Place& place, std::int64_t at) {
                        to[at] = narrow<T>(sum_at(pass, sweeps, place, in + image * pass.in.image_step(),
                                                  f, channel));
                    });
                });
        });
    }
}

template <class T>
void convolve_packed(const Pass& pass, const Packing& packing, const T* in, const T* f, T* out) {
    using N = Wide<T>;
    const std::int64_t channels = pass.out.channels, tiles = packing.tiles();
    const std::int64_t sums_of_sweep = packing.volume() + PackedTile<T>::kSpare;
    parallel_for(pass.in.images * tiles * channels, pass.bytes<T>(), [&](auto begin, auto end) {
        PackedTile<T> packed(packing);
        std::vector<N> sums(packing.sweeps.size() * static_cast<std::size_t>(sums_of_sweep));
        std::vector<N> filter(static_cast<std::size_t>(pass.taps()));
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t channel = unit % channels, image = unit / channels / tiles;
            const std::int64_t number = unit / channels % tiles;
            const Place tile = packing.tile(number);
            for (std::int64_t lane = pass.lane(channel, 0); lane < pass.lane(channel + 1, 0); ++lane) {
                widen_row(f + lane, pass.lanes, pass.taps(), filter.data());
                packed.pack(in + image * pass.in.image_step() +
                                pass.in_channel(lane) * pass.in.channel_step(),
                            number);
                N* some = sums.data();
                for (const PackedSweep& sweep : packing.sweeps) {
                    const Place places = packing.places(sweep, tile);
                    if (places[2] > 0)
                        add_up_flat(sweep.taps, packed.data(), filter.data(), some,
                                    packing.row(places[0] - 1, places[1] - 1) + places[2],
                                    lane > pass.lane(channel, 0));
                    some += sums_of_sweep;
                }
            }
            T* to = out + image * pass.out.image_step() + channel * pass.out.channel_step();
            const N* some = sums.data();
            for (const PackedSweep& sweep : packing.sweeps) {
                const Place places = packing.places(sweep, tile);
                for (std::int64_t d = 0; d < places[0]; ++d)
                    for (std::int64_t h = 0; h < places[1]; ++h)
                        store_strided_row(some + packing.row(d, h), places[2],
                                  to + packing.row_of(pass.out, sweep, tile, d, h),
                                  sweep.sweeps[2]->step * pass.out.step(), pass.numbers());
                some += sums_of_sweep;
            }
        }
        stream_fence();
    });
    mend_infinite(pass, in, f, out);
}

// -- the gradient of the filter -------------------------------------------------------------------

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

template <class T>
void multiply_packed(const Pass& pass, const Packing& packing, const T* x, const T* dy, T* df) {
    using N = Wide<T>;
    constexpr std::int64_t v = kLanes<N>;
    const PackedSweep& sweep = packing.sweeps[0];
    const std::int64_t tiles = packing.tiles(), work = pass.in.images * tiles;
    FilterSums<N> all(pass, work);
    parallel_for(all.parts * pass.lanes, pass.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
        PackedTile<T> packed(packing);
        std::vector<N> grads(static_cast<std::size_t>(packing.volume() + v));
        std::vector<N> sums(static_cast<std::size_t>(pass.taps()));
        std::int64_t before = -1;
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t lane = unit % pass.lanes, part = unit / pass.lanes;
            for (std::int64_t i = work * part / all.parts; i < work * (part + 1) / all.parts; ++i) {
                const T* elements = x + i / tiles * pass.in.image_step() +
                                 pass.in_channel(lane) * pass.in.channel_step();
                const T* results = dy + i / tiles * pass.out.image_step() + lane * pass.out.channel_step();
                const Place tile = packing.tile(i % tiles), places = packing.places(sweep, tile);
                packed.pack(elements, i % tiles);
                if (std::exchange(before, i % tiles) != i % tiles)
                    std::fill(grads.begin(), grads.end(), N{0});
                for (std::int64_t d = 0; d < places[0]; ++d)
                    for (std::int64_t h = 0; h < places[1]; ++h)
                        widen_row(results + packing.row_of(pass.out, sweep, tile, d, h), pass.out.step(),
                                  places[2], grads.data() + packing.row(d, h));
                const std::int64_t count = packing.row(places[0] - 1, places[1] - 1) + places[2];
                bool nan = false;
                multiply_all(sweep.taps, packed.data(), v, grads.data(), v, (count - 1) / v + 1,
                             [&](const PackedTap& tap, const Vector<N>& some) {
                                 N& sum = sums[static_cast<std::size_t>(tap.number)] = 0;
                                 for (int l = 0; l < v; ++l) sum += some[l];
                                 nan |= std::isnan(sum);
                             });
                // Zeros of the padding times an infinity are NaN: then without them.
                if (nan) {
                    Place beyond;
                    for (std::size_t a = 0; a < 3; ++a) beyond[a] = tile[a] + places[a];
                    each_tap(sweep.sweeps, [&](const std::array<Tap, 3>& tap) {
                        N& sum = sums[static_cast<std::size_t>(pass.number(tap[0], tap[1], tap[2]))] = 0;
                        each_place(pass.out, sweep.sweeps, tile, beyond, [&](const Place& place, auto at) {
                            const std::int64_t element = real_element(pass.in, sweep.sweeps, tap, place);
                            if (element >= 0) sum += widen(elements[element]) * widen(results[at]);
                        });
                    });
                }
                for (const PackedTap& tap : sweep.taps)
                    all.part(part)[tap.number * pass.lanes + lane] +=
                        sums[static_cast<std::size_t>(tap.number)];
            }
        }
    });
    all.add_up(df);
}

// -- which algorithm ------------------------------------------------------------------------------

enum class DepthwiseAlgorithm { zeros, direct, packed };

// Which algorithm a pass runs. Nothing else decides.
template <class T>
Chosen<DepthwiseAlgorithm> choose_depthwise(const Pass& pass) {
    using enum DepthwiseAlgorithm;
    if (!pass.reaches()) return {zeros, "no tap reads an element, only padding"};
    if (pass.in.channels_first || pass.multiplier > 1)
        return {packed, "channels are first, or have several filters: vectors run over places"};
    if (pass.lanes < kLanes<Wide<T>>)
        return {packed, "there are fewer channels than a vector has lanes: vectors run over places"};
    // Before AVX2 a half is widened in so many instructions that it must not be done for every tap.
    constexpr bool slow_halves = kVectorBytes < 32;
    if (slow_halves && !std::is_same_v<T, Wide<T>>)
        return {packed, "without instructions for it, halves are widened once, and not for every tap"};
    return {direct, "channels are last and fill vectors: elements are read in place"};
}

template <class T>
Choice explain(const Conv& conv, ConvPass of) {
    const auto pass = std::make_shared<const Pass>(conv, of == ConvPass::input_grad);
    const bool of_filter = of == ConvPass::filter_grad;
    const auto [algorithm, reason] = choose_depthwise<T>(*pass);
    if (algorithm == DepthwiseAlgorithm::zeros) return {kIsaName, "zeros", reason};
    if (algorithm == DepthwiseAlgorithm::direct) {
        Choice choice{kIsaName, "depthwise, direct", reason};
        const Direct<T> rows(pass);
        choice.with("places x vectors of sums", {kSums / 2, 2});
        return choice.with_loop(
            of_filter ? FilterSums<Wide<T>>(*pass, rows.rows()).parts : rows.rows(), pass->bytes<T>());
    }
    Choice choice{kIsaName, "depthwise, packed", reason};
    const Packing packing(*pass);
    choice.with("packed tile of depth x height x width",
                {packing.axes[0].tile, packing.axes[1].tile, packing.axes[2].tile});
    const std::int64_t work = pass->in.images * packing.tiles();
    return choice.with_loop(of_filter ? FilterSums<Wide<T>>(*pass, work).parts * pass->lanes
                                      : work * pass->out.channels,
                            pass->bytes<T>());
}

// -- kernels --------------------------------------------------------------------------------------

// y[b, o, c * multiplier + m] = sum over taps t: x[b, o * s - pads + t * d, c] * f[t, c, m]
// dx[b, i, c] = sum over m, taps t, outputs o with o * s - pads + t * d = i:
//                   dy[b, o, c * multiplier + m] * f[t, c, m]
// Ready for f, dy and dx if back is true, else for x, f and y.
template <class T>
ConvKernels::Ready convolve(const Conv& conv, bool back) {
    const auto pass = std::make_shared<const Pass>(conv, back);
    const auto zero = [=](void* result) { std::fill_n(out<T>(result), pass->out.size(), T{}); };
    const DepthwiseAlgorithm algorithm = choose_depthwise<T>(*pass).algorithm;
    if (algorithm == DepthwiseAlgorithm::zeros) return [=](auto, auto, void* result) { zero(result); };
    if (algorithm == DepthwiseAlgorithm::direct)
        return [=, rows = std::make_shared<const Direct<T>>(pass)](const void* a, const void* b,
                                                                   void* result) {
            if (!pass->complete()) zero(result);
            rows->run(in<T>(back ? b : a), in<T>(back ? a : b), out<T>(result));
        };
    return [=, packing = Packing(*pass)](const void* a, const void* b, void* result) {
        if (!pass->complete()) zero(result);
        convolve_packed(*pass, packing, in<T>(back ? b : a), in<T>(back ? a : b), out<T>(result));
    };
}

// df[t, c, m] = sum over images b, outputs o:
//                   x[b, o * s - pads + t * d, c] * dy[b, o, c * multiplier + m]
template <class T>
ConvKernels::Ready filter_grad(const Conv& conv) {
    const auto pass = std::make_shared<const Pass>(conv, false);
    const DepthwiseAlgorithm algorithm = choose_depthwise<T>(*pass).algorithm;
    if (algorithm == DepthwiseAlgorithm::zeros)
        return [=](auto, auto, void* df) {
            std::fill_n(out<T>(df), pass->taps() * pass->lanes, T{});
        };
    if (algorithm == DepthwiseAlgorithm::direct)
        return [=, rows = std::make_shared<const Direct<T>>(pass)](auto x, auto dy, void* df) {
            rows->multiply(in<T>(x), in<T>(dy), out<T>(df));
        };
    return [=, packing = Packing(*pass)](const void* x, const void* dy, void* df) {
        multiply_packed(*pass, packing, in<T>(x), in<T>(dy), out<T>(df));
    };
}

// Whether v3 is faster than v4, whose vectors are twice as long. Packed, a depthwise convolution loads a vector
// for each product; unless it has to be widened, a longer one takes as much longer. In place it loads fewer.
bool v3_is_faster(Type type, const Conv& conv, bool of_filter) {
    const bool half = type == Type::float16 || type == Type::bfloat16;
    const bool large = conv.groups >= 512;  // elements are read in longer stretches
    const bool in_place = type == Type::float32 && !conv.channels_first && conv.out == 1;
    return !((half || of_filter || large || in_place) && conv.groups * conv.out >= 16);
}

template <ConvPass pass>
Kernel prepared(const ConvCall& call, const Operand& a, const Operand& b, const Operand& result) {
    require_depthwise(call);
    return call.planned(
        a, b, result, [](Type type, const Conv& conv) { return plan_depthwise(type, conv, pass); },
        [](Type type, const Conv& conv) { return explain_depthwise(type, conv, pass); });
}

}  // namespace

ConvKernels::Ready ISA::plan_depthwise(Type type, const Conv& conv, ConvPass pass) {
    return with_type(type, [&]<class T>(T) {
        return pass == ConvPass::filter_grad ? filter_grad<T>(conv)
                                             : convolve<T>(conv, pass == ConvPass::input_grad);
    });
}

Choice ISA::explain_depthwise(Type type, const Conv& conv, ConvPass pass) {
    return with_type(type, [&]<class T>(T) { return explain<T>(conv, pass); });
}

Kernel ISA::depthwise_conv(const ConvCall& call) {
    if constexpr (kVectorBytes == 64)
        if (v3_is_faster(call.dtype, call.conv, false)) return v3::depthwise_conv(call);
    return prepared<ConvPass::forward>(call, call.input, call.filters, call.output);
}

Kernel ISA::depthwise_conv_input_grad(const ConvCall& call) {
    if constexpr (kVectorBytes == 64)
        if (v3_is_faster(call.dtype, call.conv, false)) return v3::depthwise_conv_input_grad(call);
    return prepared<ConvPass::input_grad>(call, call.filters, call.output, call.input);
}

Kernel ISA::depthwise_conv_filter_grad(const ConvCall& call) {
    if constexpr (kVectorBytes == 64)
        if (v3_is_faster(call.dtype, call.conv, true)) return v3::depthwise_conv_filter_grad(call);
    return prepared<ConvPass::filter_grad>(call, call.input, call.output, call.filters);
}

}  // namespace backblocks
