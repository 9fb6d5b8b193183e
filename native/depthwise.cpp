// Depthwise convolution: each output channel has one filter and sees one input channel. The gradient
// of the input is the same sum seen from the other side (taps.hpp), so both are one function. The gradient of the
// filter is in depthwise_filter.cpp.
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
#include <vector>

#include "conv_algorithms.hpp"
#include "depthwise_choice.hpp"
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

// -- which algorithm ------------------------------------------------------------------------------

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
    if (pass == ConvPass::filter_grad) return depthwise_filter_grad(type, conv);
    return with_type(type, [&]<class T>(T) { return convolve<T>(conv, pass == ConvPass::input_grad); });
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
