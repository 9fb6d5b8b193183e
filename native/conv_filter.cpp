// The filter gradient of convolution: the direct algorithm. For each tap and each channel ci and co of a group:
//
//     dw[tap, ci, co] = 0
//     for each image b and window o whose element at the tap, o * s - pads + tap * d, is real:
//         dw[tap, ci, co] += x[b, o * s - pads + tap * d, ci] * dy[b, o, co]
//
// This is a product of matrices, as deep as there are windows. It is divided into tasks: some channels
// of x with all taps, some of dy, over a part of the windows. A task takes a few rows of windows at
// a time, so that what it reads of them stays in the L1 and L2 caches, and packs them in the order in
// which register tiles (see tile.hpp) read: x in groups of as many channels as a tile has rows, dy in panels
// of as many as it has columns. Then all its tiles pass over these rows.
#include "conv_algorithms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "conv_filter_pack.hpp"
#include "conv_filter_plan.hpp"
#include "dtypes.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "tile.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace ISA::filter_gradient;

// sums[i, j] += x[i] * dy[j] over the windows of all pairs, for the rows i and columns j of a tile.
// Without `more` this is their first value.
template <class N, int rows, int vectors>
void add_products(const N* x, std::int64_t x_step, const N* dy, std::int64_t dy_step,
                  const std::vector<RowPair>& pairs, std::int64_t windows, bool more,
                  std::int64_t columns, N* sums, std::int64_t pitch) {
    for (int i = 0; i < rows; ++i) __builtin_prefetch(sums + i * pitch, 1);
    Tile<N, rows, vectors> tile;
    tile.clear();
    for (const RowPair& pair : pairs)
        tile.add_contiguous(windows, x + pair.x, x_step, dy + pair.dy, dy_step);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i, sums += pitch) {
        if (columns < vectors * kLanes<N>) {
            std::array<N, vectors * kLanes<N>> line;
            for (int v = 0; v < vectors; ++v) store_vector(&line[v * kLanes<N>], tile.sum[i][v]);
            for (std::int64_t j = 0; j < columns; ++j)
                sums[j] = more ? sums[j] + line[static_cast<std::size_t>(j)]
                               : line[static_cast<std::size_t>(j)];
            continue;
        }
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            N* const to = sums + v * kLanes<N>;
            store_vector(to, more ? load_vector(to) + tile.sum[i][v] : tile.sum[i][v]);
        }
    }
}

// Computes tasks, one after the other, on one thread.
template <class T>
class Worker {
    using N = Wide<T>;

   public:
    // `known` is the step, if there is only one task and it has only one step; else null.
    Worker(const Problem<T>& problem, const T* x, const T* dy, const Step* known)
        : problem_(problem),
          conv_(problem.conv),
          plan_(problem.plan),
          all_x_(x),
          all_dy_(dy),
          known_(known),
          step_(known ? *known : own_step_) {}

    // Computes a task.
    void run(const TaskRanges& ranges, const Sums<N>& sums) {
        begin(ranges);
        for (std::int64_t i = 0; i < times(); ++i) {
            if (!known_) find(i);
            find_dy();
            if (!plan_.in_place) copy_x();
            if (plan_.taps_as_channels) keep_padding_from_infinity();
            multiply(sums, i > 0);
        }
    }

    // The step of a task, if it has only one.
    std::optional<Step> only_step(const TaskRanges& ranges) {
        begin(ranges);
        if (times() > 1) return std::nullopt;
        find(0);
        return step_;
    }

   private:
    void begin(const TaskRanges& ranges) {
        ranges_ = ranges;
        tiles_ = ChannelBlocks::tiles(ranges.in.size(), plan_.tile_rows);
        panels_ = ChannelBlocks::panels(ranges.out.size(), plan_.panel);
    }

    std::int64_t times() const { return div_up(ranges_.rows.size(), plan_.at_once); }

    void find(std::int64_t i) {
        const Range rows = part(ranges_.rows.size(), times(), i);
        own_step_.rows = {ranges_.rows.first + rows.first, ranges_.rows.first + rows.last};
        own_step_.windows =
            part(conv_.axes[2].out, plan_.row_segments, own_step_.rows.first % plan_.row_segments);
        find_positions(own_step_);
        find_pairs(own_step_);
    }

    // The positions of a row of x, elements or unrolled windows, and where the taps along the width begin.
    void find_positions(Step& step) const {
        const ConvAxis& width = conv_.axes[2];
        const Range windows = step.windows;
        step.tap_windows.clear();
        step.real.clear();
        for (std::int64_t tap = 0; tap < width.k; ++tap)
            step.real.push_back(intersection(real_windows(width, tap), windows));
        if (plan_.taps_as_channels) {
            step.positions = windows;
            step.full = intersection(step.real.front(), step.real.back());
            if (step.full.size() == 0) step.full = {windows.last, windows.last};
            step.tap_windows.push_back({0, 0, windows.size()});
            return;
        }
        step.positions = intersection({element_of(width, windows.first, 0),
                                       element_of(width, windows.last - 1, width.k - 1) + 1},
                                      {0, width.n});
        for (std::int64_t tap = 0; tap < width.k; ++tap) {
            const Range real = step.real[static_cast<std::size_t>(tap)];
            if (real.size() > 0)
                step.tap_windows.push_back({element_of(width, real.first, tap) - step.positions.first,
                                            real.first - windows.first, real.size()});
            else
                step.tap_windows.push_back({0, 0, 0});
        }
    }

    // For every tap along depth and height: the rows of x that it reads, and the rows of dy to multiply them with.
    void find_pairs(Step& step) {
        const auto& [depth, height, width] = conv_.axes;
        numbers_.clear();
        step.x_rows.clear();
        step.pairs.resize(static_cast<std::size_t>(problem_.row_taps()));
        for (std::int64_t tap = 0; tap < problem_.row_taps(); ++tap) {
            auto& pairs = step.pairs[static_cast<std::size_t>(tap)];
            pairs.clear();
            for (std::int64_t row = step.rows.first; row < step.rows.last; ++row) {
                const std::int64_t window_row = row / plan_.row_segments, plane = window_row / height.out;
                const std::int64_t h = element_of(height, window_row % height.out, tap % height.k);
                const std::int64_t d = element_of(depth, plane % depth.out, tap / height.k);
                if (h < 0 || h >= height.n || d < 0 || d >= depth.n) continue;
                const std::int64_t x_row = (plane / depth.out * depth.n + d) * height.n + h;
                pairs.push_back({offset_of(x_row, step),
                                 (row - step.rows.first) * step.windows.size() * plan_.panel});
            }
        }
    }

    // The offset of a row of x, in place or in its packed copy.
    std::int64_t offset_of(std::int64_t x_row, Step& step) {
        if (plan_.in_place)
            return (x_row * conv_.axes[2].n + step.positions.first) * problem_.in_channels();
        const auto next = static_cast<std::int64_t>(step.x_rows.size());
        const auto [found, fresh] = numbers_.try_emplace(x_row, next);
        if (fresh) step.x_rows.push_back(x_row);
        return found->second * tiles_.count() * step.positions.size() * kPitch;
    }

    // Numbers of a packed row of x, of one block of channels, and of a panel of dy.
    std::int64_t row_size() const { return step_.positions.size() * kPitch; }
    std::int64_t panel_size() const {
        return step_.rows.size() * step_.windows.size() * plan_.panel;
    }

    // A row of x or dy, counted over all images, with the first channel of the group.
    StridedRow<T> strided_row(const T* all, std::int64_t row, std::int64_t rows, std::int64_t size,
                              std::int64_t channels) const {
        const std::int64_t all_channels = channels * conv_.groups, c = ranges_.group * channels;
        if (!conv_.channels_first) return {all + row * size * all_channels + c, all_channels, 1};
        const std::int64_t of_channel = row / rows * all_channels + c;
        return {all + (of_channel * rows + row % rows) * size, 1, rows * size};
    }

    void find_dy() {
        const auto& [depth, height, width] = conv_.axes;
        if constexpr (std::is_same_v<T, N>)
            if (plan_.dy_in_place) {
                first_dy_ = all_dy_ + (step_.rows.first / plan_.row_segments * width.out +
                                       step_.windows.first) * conv_.out;
                return;
            }
        N* to = dy_.of(panel_size() * panels_.count());
        first_dy_ = to;
        // The last panel may be half empty.
        if (ranges_.out.size() % plan_.panel)
            std::fill_n(to + panel_size() * (panels_.count() - 1), panel_size(), N{0});
        for (std::int64_t row = step_.rows.first; row < step_.rows.last; ++row) {
            const StridedRow<T> source =
                strided_row(all_dy_, row / plan_.row_segments, depth.out * height.out, width.out, conv_.out)
                    .from(step_.windows.first, ranges_.out.first);
            if (plan_.panel == kPanel<N>)
                pack_row<kPanel<N>>(source, step_.windows.size(), panels_, panel_size(), to, scratch_);
            else
                pack_row<kLanes<N>>(source, step_.windows.size(), panels_, panel_size(), to, scratch_);
            to += step_.windows.size() * plan_.panel;
        }
    }

    void copy_x() {
        const auto& [depth, height, width] = conv_.axes;
        const std::int64_t size = tiles_.count() * row_size();
        // The tail of the last vector may go beyond the last position.
        N* to = x_.of(static_cast<std::int64_t>(step_.x_rows.size()) * size + kLanes<N>);
        for (const std::int64_t row : step_.x_rows) {
            const StridedRow<T> source = strided_row(all_x_, row, depth.n * height.n, width.n, conv_.in);
            if (plan_.taps_as_channels) unroll_taps(source, to);
            else
                pack_row<kPitch>(source.from(step_.positions.first, ranges_.in.first), step_.positions.size(),
                                 tiles_, row_size(), to, scratch_);
            to += size;
        }
    }

    // im2col along the width: copies a row of x window by window, with all taps of the width as channels. Padding is
    // zero.
    void unroll_taps(const StridedRow<T>& source, N* to) {
        const ConvAxis& width = conv_.axes[2];
        // Where the taps' elements are contiguous, they are channels already.
        const bool contiguous = width.k == 1 || width.d * source.position_stride == conv_.in * source.channel_stride;
        const Range full = contiguous ? step_.full : Range{step_.windows.first, step_.windows.first};
        if (full.size() > 0) {
            StridedRow<T> windows = source.from(element_of(width, full.first, 0), ranges_.in.first);
            windows.position_stride *= width.s;
            pack_row<kPitch>(windows, full.size(), tiles_, row_size(),
                             to + (full.first - step_.windows.first) * kPitch, scratch_);
        }
        for (const Range& tile : tiles_.channels) {
            for (std::int64_t i = tile.first; i < tile.last; ++i)
                unroll_channel(source, i, full, to + i - tile.first);
            to += row_size();
        }
    }

    // The windows before and after a range.
    std::array<Range, 2> edges(Range some) const {
        return {{{step_.windows.first, some.first}, {some.last, step_.windows.last}}};
    }

    std::int64_t tap_of(std::int64_t channel) const {
        return (ranges_.in.first + channel) / conv_.in;
    }

    // Copies one channel of all windows but those that are done.
    void unroll_channel(const StridedRow<T>& source, std::int64_t channel, Range done, N* to) const {
        const std::int64_t tap = tap_of(channel), stride = conv_.axes[2].s * source.position_stride;
        const Range real = step_.real[static_cast<std::size_t>(tap)];
        const T* const from = source.from(element_of(conv_.axes[2], 0, tap),
                                        ranges_.in.first + channel - tap * conv_.in).first;
        for (const Range& edge : edges(done))
            for (std::int64_t o = edge.first; o < edge.last; ++o)
                to[(o - step_.windows.first) * kPitch] =
                    real.has(o) ? widen(from[o * stride]) : N{0};
    }

    // Zeros of the padding add nothing, unless they are multiplied with an infinity or NaN: then windows at the
    // edge are left to add_edges.
    void keep_padding_from_infinity() {
        const auto finite = [&](Range edge) {
            N sum = 0;
            for (std::int64_t row = 0; row < panels_.count() * step_.rows.size(); ++row) {
                const N* const windows = first_dy_ + row * step_.windows.size() * plan_.panel;
                for (std::int64_t i = (edge.first - step_.windows.first) * plan_.panel;
                     i < (edge.last - step_.windows.first) * plan_.panel; ++i)
                    sum += windows[i] - windows[i];
            }
            return sum == 0;
        };
        const auto& [before, after] = edges(step_.full);
        separate_edges_ = !finite(before) || !finite(after);
    }

    // Adds the windows at the edge to a tile of unrolled taps: row by row, as each has its
    // own real ones.
    template <int vectors>
    void add_edges(const N* x, const N* dy, Range tile, Range panel, const std::vector<RowPair>& pairs,
                   N* sums, std::int64_t pitch) const {
        for (std::int64_t i = tile.first; i < tile.last; ++i, ++x, sums += pitch)
            for (const Range& edge : edges(step_.full)) {
                const Range real = intersection(step_.real[static_cast<std::size_t>(tap_of(i))], edge);
                if (real.size() == 0) continue;
                const std::int64_t before = real.first - step_.windows.first;
                add_products<N, 1, vectors>(x + before * kPitch, kPitch, dy + before * plan_.panel,
                                            plan_.panel, pairs, real.size(), true, panel.size(),
                                            sums, pitch);
            }
    }

    void multiply(const Sums<N>& sums, bool more) const {
        const N* dy = first_dy_;
        for (const Range& panel : panels_.channels) {
            if (panel.size() > kLanes<N>) pass<2>(dy, panel, sums, more);
            else pass<1>(dy, panel, sums, more);
            dy += panel_size();
        }
    }

    // All tiles of a panel.
    template <int vectors>
    void pass(const N* dy, Range panel, const Sums<N>& sums, bool more) const {
        N* first = sums.first + panel.first;
        const std::int64_t x_pitch = plan_.in_place ? problem_.in_channels() : kPitch;
        const std::int64_t step = plan_.taps_as_channels ? x_pitch : x_pitch * conv_.axes[2].s;
        const std::int64_t before = step_.full.first - step_.windows.first;
        for (const auto& pairs : step_.pairs) {
            const N* copied = x_.get();
            for (const Range& tile : tiles_.channels) {
                const N* x = copied;
                if constexpr (std::is_same_v<T, N>)
                    if (plan_.in_place)
                        x = all_x_ + ranges_.group * conv_.in + ranges_.in.first + tile.first;
                N* const to = first + tile.first * sums.channel;
                with_constant<most_rows(vectors)>(tile.size(), [&](auto rows) {
                    std::int64_t tap = 0;
                    for (TapWindows some : step_.tap_windows) {
                        if (separate_edges_) some = {before, before, step_.full.size()};
                        if (!more || (!pairs.empty() && some.windows > 0))
                            add_products<N, rows.value, vectors>(
                                x + some.x * x_pitch, step, dy + some.dy * plan_.panel,
                                plan_.panel, pairs, some.windows, more, panel.size(),
                                to + tap * sums.tap, sums.channel);
                        ++tap;
                    }
                });
                if (separate_edges_)
                    add_edges<vectors>(x, dy, tile, panel, pairs, to, sums.channel);
                copied += row_size();
            }
            first += plan_.width_taps * sums.tap;
        }
    }

    const Problem<T>& problem_;
    const Conv& conv_;
    const FilterPlan<T>& plan_;
    const T* const all_x_;
    const T* const all_dy_;
    const Step* const known_;
    Step own_step_;
    const Step& step_;
    TaskRanges ranges_{};
    ChannelBlocks tiles_{0}, panels_{0};
    bool separate_edges_ = false;  // unrolled windows with padding are added up row by row
    std::unordered_map<std::int64_t, std::int64_t> numbers_;  // where rows are in x_rows
    const N* first_dy_ = nullptr;  // the panels, copied or where they are
    Scratch<N> x_, dy_, scratch_;
};

// A problem, and its step if it has only one: small problems are many.
template <class T>
struct PlannedFilterGrad {
    Problem<T> problem;
    std::optional<Step> only;

    explicit PlannedFilterGrad(const Conv& conv) : problem{simplified(conv)} {
        if (tasks() == 1) only = Worker<T>(problem, nullptr, nullptr, nullptr).only_step(ranges(0));
    }

    std::int64_t blocks() const {
        return problem.plan.in_blocks * problem.plan.out_blocks * problem.conv.groups;
    }
    std::int64_t tasks() const { return blocks() * problem.plan.chunks; }
    std::int64_t chunk(std::int64_t task) const { return task / blocks(); }
    TaskRanges ranges(std::int64_t task) const {
        const FilterPlan<T>& plan = problem.plan;
        const std::int64_t out = problem.conv.out, block = task % blocks();
        const Range panels = part(div_up(out, plan.panel), plan.out_blocks,
                                  block / plan.in_blocks % plan.out_blocks);
        return {block / plan.in_blocks / plan.out_blocks,
                part(plan.channels, plan.in_blocks, block % plan.in_blocks),
                {panels.first * plan.panel, std::min(panels.last * plan.panel, out)},
                part(plan.rows, plan.chunks, chunk(task))};
    }
};

template <class T>
void filter_grad(const PlannedFilterGrad<T>& planned, const T* x, const T* dy, T* dw) {
    using N = Wide<T>;
    const Problem<T>& problem = planned.problem;
    const FilterPlan<T>& plan = problem.plan;
    const std::int64_t out_channels = problem.out_channels();
    Scratch<N> chunks;
    if (plan.chunks > 1) chunks.of(plan.chunks * problem.sums());

    // With one chunk, sums are made in dw or, if it is of a half type, in scratch memory and then rounded.
    const auto run = [&](auto& worker, auto& wide, const TaskRanges& ranges, std::int64_t chunk) {
        const std::int64_t offset =
            ranges.in.first * out_channels + ranges.group * problem.conv.out + ranges.out.first;
        const Sums<N> in_dw{nullptr, plan.channels * out_channels, out_channels};
        if (plan.chunks > 1) {
            N* const first = chunks.get() + chunk * problem.sums() + offset;
            return worker.run(ranges, {first, in_dw.tap, in_dw.channel});
        }
        if constexpr (std::is_same_v<T, N>) {
            worker.run(ranges, {dw + offset, in_dw.tap, in_dw.channel});
        } else {
            const std::int64_t tap = ranges.in.size() * ranges.out.size();
            const N* from = wide.of(problem.taps() * tap);
            worker.run(ranges, {wide.get(), tap, ranges.out.size()});
            for (std::int64_t t = 0; t < problem.taps(); ++t)
                for (std::int64_t c = 0; c < ranges.in.size(); ++c, from += ranges.out.size())
                    narrow_all(from, ranges.out.size(),
                               dw + offset + t * in_dw.tap + c * out_channels);
        }
    };
    parallel_for(planned.tasks(), plan.work(), [&](std::int64_t begin, std::int64_t end) {
        Worker<T> worker(problem, x, dy, planned.only ? &*planned.only : nullptr);
        Scratch<N> wide;
        for (std::int64_t task = begin; task < end; ++task)
            run(worker, wide, planned.ranges(task), planned.chunk(task));
    });
    if (plan.chunks > 1) add_chunks(chunks.get(), plan.chunks, problem.sums(), dw);
}

}  // namespace

ConvFunction ISA::direct_filter_grad(Type type, const Conv& conv) {
    return with_type(type, [&]<class T>(T) -> ConvFunction {
        return [planned = std::make_shared<const PlannedFilterGrad<T>>(conv)](const void* x, const void* dy,
                                                                              void* dw) {
            filter_grad(*planned, in<T>(x), in<T>(dy), out<T>(dw));
        };
    });
}

void ISA::explain_direct_filter_grad(Type type, const Conv& conv, Choice& choice) {
    with_type(type, [&]<class T>(T) {
        const PlannedFilterGrad<T> planned(conv);
        const FilterPlan<T>& plan = planned.problem.plan;
        choice.with("x", plan.in_place           ? "read in place"
                         : plan.taps_as_channels ? "copied window by window, taps of the width as channels"
                                                 : "packed");
        choice.with("dy", plan.dy_in_place ? "read in place" : "packed");
        choice.with("register tile", {plan.tile_rows, plan.panel});
        choice.with("rows of windows at a time", plan.at_once);
        choice.with("blocks of input x output channels", {plan.in_blocks, plan.out_blocks});
        choice.with("partial sums", plan.chunks);
        choice.with_loop(planned.tasks(), plan.work());
    });
}

}  // namespace backblocks
