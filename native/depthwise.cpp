// Depthwise convolution and its input gradient: each output channel has one filter and reads one input channel. Both
// are one function, with other targets and sources (conv_axis.hpp). The filter gradient is in depthwise_filter.cpp.
//
//     for each image, channel c of `out` and target:
//         for each tap t, and each channel i of `in` that c has a filter for:
//             out[target, c] += in[source of t for the target, i] * f[t, c, i]
//
// There are two algorithms: direct, with vectors over channels and elements read in place (depthwise_direct.hpp), and
// packed, with vectors over the positions of a packed tile, from one row on to the next (depthwise_pack.hpp).
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
#include "dtypes.hpp"
#include "isa.hpp"
#include "parallel.hpp"
#include "stream.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace ISA::depthwise;

// -- the packed algorithm -------------------------------------------------------------------------

// to[i] = sum over taps t: from[i + distance of t] * weights[t], added to to[i] if `adds`. Reads and writes up to
// kSums vectors beyond the end.
template <class N>
void sum_taps(const std::vector<PackedTap>& taps, const N* from, const N* weights, N* to, std::int64_t count,
              bool adds) {
    for (std::int64_t i = 0; i < count; i += kSums * kLanes<N>) {
        Vector<N> sum[kSums] = {};
        if (adds)
#pragma GCC unroll 12
            for (int v = 0; v < kSums; ++v) sum[v] = load_vector(to + i + v * kLanes<N>);
        for (const PackedTap& tap : taps) {
            const N weight = weights[tap.number];
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
void store_strided_row(const Wide<T>* sums, std::int64_t positions, T* to, std::int64_t to_step,
                       std::int64_t all) {
    if (to_step == 1) return store_row(sums, positions, to, all);
    for (std::int64_t p = 0; p < positions; ++p) to[p * to_step] = narrow<T>(sums[p]);
}

// The sum of one target over its real taps only: padding is left out, not multiplied as zeros.
template <class T>
Wide<T> sum_at(const Pass& pass, const PhaseTriple& phases, const Position& position, const T* image, const T* f,
               std::int64_t channel) {
    Wide<T> sum{0};
    const Range filters = pass.filters_of(channel);
    each_tap(phases, [&](const std::array<Tap, 3>& tap) {
        const std::int64_t element = real_element(pass.in, phases, tap, position);
        if (element < 0) return;
        const T* x = image + element;
        const T* w = f + pass.number(tap[0], tap[1], tap[2]) * pass.filters;
        for (std::int64_t filter = filters.first; filter < filters.last; ++filter)
            sum += widen(x[pass.in_channel(filter) * pass.in.channel_step()]) * widen(w[filter]);
    });
    return sum;
}

// Recomputes the channels that have a filter which is not finite: it must not be multiplied with zeros of the padding.
template <class T>
void recompute_infinite(const Pass& pass, const T* in, const T* f, T* out) {
    for (std::int64_t channel = 0; channel < pass.out.channels; ++channel) {
        bool finite = true;
        const Range filters = pass.filters_of(channel);
        for (std::int64_t t = 0; t < pass.taps(); ++t)
            for (std::int64_t filter = filters.first; filter < filters.last; ++filter)
                finite &= std::isfinite(widen(f[t * pass.filters + filter]));
        if (finite) continue;
        parallel_for(pass.in.images, pass.bytes<T>(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t image = begin; image < end; ++image)
                each_phase_triple(pass, [&](const PhaseTriple& phases) {
                    T* to = out + image * pass.out.image_step() + channel * pass.out.channel_step();
                    each_position(pass.out, phases, {}, pass.out.n, [&](const Position& position, std::int64_t at) {
                        to[at] = narrow<T>(sum_at(pass, phases, position, in + image * pass.in.image_step(),
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
    const std::int64_t sums_of_phase = packing.volume() + PackedTile<T>::kSpare;
    parallel_for(pass.in.images * tiles * channels, pass.bytes<T>(), [&](auto begin, auto end) {
        PackedTile<T> packed(packing);
        std::vector<N> sums(packing.phases.size() * static_cast<std::size_t>(sums_of_phase));
        std::vector<N> weights(static_cast<std::size_t>(pass.taps()));
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t channel = unit % channels, image = unit / channels / tiles;
            const std::int64_t number = unit / channels % tiles;
            const Position tile = packing.tile(number);
            const Range filters = pass.filters_of(channel);
            for (std::int64_t filter = filters.first; filter < filters.last; ++filter) {
                widen_row(f + filter, pass.filters, pass.taps(), weights.data());
                packed.pack(in + image * pass.in.image_step() +
                                pass.in_channel(filter) * pass.in.channel_step(),
                            number);
                N* some = sums.data();
                for (const PackedPhase& phase : packing.phases) {
                    const Position positions = packing.positions(phase, tile);
                    if (positions[2] > 0)
                        sum_taps(phase.taps, packed.data(), weights.data(), some,
                                 packing.row(positions[0] - 1, positions[1] - 1) + positions[2],
                                 filter > filters.first);
                    some += sums_of_phase;
                }
            }
            T* to = out + image * pass.out.image_step() + channel * pass.out.channel_step();
            const N* some = sums.data();
            for (const PackedPhase& phase : packing.phases) {
                const Position positions = packing.positions(phase, tile);
                for (std::int64_t d = 0; d < positions[0]; ++d)
                    for (std::int64_t h = 0; h < positions[1]; ++h)
                        store_strided_row(some + packing.row(d, h), positions[2],
                                          to + packing.row_of(pass.out, phase, tile, d, h),
                                          phase.phases[2]->step * pass.out.step(), pass.numbers());
                some += sums_of_phase;
            }
        }
        stream_fence();
    });
    recompute_infinite(pass, in, f, out);
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
        const std::int64_t rows = pass->rows();
        choice.with("positions x vectors of sums", {kSums / 2, 2});
        return choice.with_loop(of_filter ? FilterSums<Wide<T>>(*pass, rows).parts : rows, pass->bytes<T>());
    }
    Choice choice{kIsaName, "depthwise, packed", reason};
    const Packing packing(*pass);
    choice.with("packed tile of depth x height x width",
                {packing.axes[0].tile, packing.axes[1].tile, packing.axes[2].tile});
    const std::int64_t work = pass->in.images * packing.tiles();
    return choice.with_loop(of_filter ? FilterSums<Wide<T>>(*pass, work).parts * pass->filters
                                      : work * pass->out.channels,
                            pass->bytes<T>());
}

// -- kernels --------------------------------------------------------------------------------------

// y[b, o, c * multiplier + m] = sum over taps t: x[b, o * s - pads + t * d, c] * f[t, c, m]
// dx[b, i, c] = sum over m, taps t, outputs o with o * s - pads + t * d = i:
//                   dy[b, o, c * multiplier + m] * f[t, c, m]
// A function of f, dy and dx if back is true, else of x, f and y.
template <class T>
ConvFunction convolve(const Conv& conv, bool back) {
    const auto pass = std::make_shared<const Pass>(conv, back);
    const auto zero = [=](void* result) { std::fill_n(out<T>(result), pass->out.size(), T{}); };
    const DepthwiseAlgorithm algorithm = choose_depthwise<T>(*pass).algorithm;
    if (algorithm == DepthwiseAlgorithm::zeros) return [=](auto, auto, void* result) { zero(result); };
    if constexpr (kHasDirect<T>)
        if (algorithm == DepthwiseAlgorithm::direct)
            return [=, direct = std::make_shared<const Direct<T>>(pass)](const void* a, const void* b,
                                                                         void* result) {
                if (!pass->complete()) zero(result);
                direct->run(in<T>(back ? b : a), in<T>(back ? a : b), out<T>(result));
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
    const bool large = conv.groups >= 512;  // elements are read in longer contiguous runs
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

ConvFunction ISA::plan_depthwise(Type type, const Conv& conv, ConvPass pass) {
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
