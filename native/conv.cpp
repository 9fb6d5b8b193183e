// Convolution and its gradient in the input: the direct algorithm, an implicit GEMM (see conv_plan.hpp).
//
// Target j of a phase (conv_axis.hpp) reads element t.element + j * stride at tap t. Its sums are a row of a product of
// matrices, of which no row is copied (im2col): register tiles (tile.hpp) read rows wherever they are, as many taps
// and channels at a time as the cache has room for. Targets whose windows extend into the padding have fewer taps, and
// tiles of their own.
#include "conv_algorithms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "conv_pack.hpp"
#include "conv_plan.hpp"
#include "depthwise.hpp"
#include "dtypes.hpp"
#include "isa.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "tile.hpp"
#include "transpose.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace convolution;

// Filters of more bytes are not packed at once: each task packs those it uses, as it goes.
constexpr std::int64_t kMostPacked = std::int64_t{16} << 20;

// Bytes that stay in the L2 cache while they are reused.
constexpr std::int64_t kBytesInL2 = 384 << 10;

// -- sums -----------------------------------------------------------------------------------------

// Adds the products of source runs to a register tile of sums, or begins it with them.
template <int vectors, class N>
void add_to_tile(std::int64_t rows, const SourceRun* run, const SourceRun* end, const N* sources,
                 const std::int64_t* from, const N* packed, std::int64_t first_row, bool begin,
                 bool streamed, N* sums, const std::int64_t* to) {
    constexpr std::int64_t width = vectors * kLanes<N>;
    with_constant<most_rows(vectors)>(rows, [&](auto constant) {
        Tile<N, constant, vectors> tile;
        if (begin) tile.clear();
        else tile.load(sums, to);
        const typename decltype(tile)::Rows all{sources, from};
        for (; run != end; ++run)
            tile.add(run->depth, all, run->offset, 1,
                     packed + (run->row - first_row) * width, width);
        if (streamed) tile.stream(sums, to);
        else tile.store(sums, to);
    });
}

// Computes boxes, one after the other, on one thread.
template <class T>
class Worker {
    using N = Wide<T>;

   public:
    // `packed` are the filters that pack_all has packed, or null. `known` are the addresses of the
    // only box, or null.
    Worker(const ConvPlan& plan, const T* sources, const T* filters, const N* packed, T* targets,
           const BoxAddresses* known)
        : plan_(plan),
          panels_(plan),
          sources_(sources),
          filters_(filters),
          packed_(packed),
          targets_(targets),
          known_(known),
          streamed_(streamed(plan, targets)),
          addresses_(known ? *known : own_addresses_) {}

    // Whether sources are read in place. Of a small group that would be less than a cache line at a time,
    // from lines that keep evicting each other: if each number has many products, copying pays.
    static bool in_place(const ConvPlan& plan) {
        const bool small = plan.groups > 1 && plan.ins * sizeof(N) < kCacheLine;
        return std::is_same_v<T, N> && plan.source.channel == 1 &&
               !(small && plan.work >= 16 * plan.images * plan.source.image);
    }

    // Whether the packed filters stay in the L2 cache, so that all panels of a few targets can follow each other.
    static bool tile_by_tile(const ConvPlan& plan) {
        return plan.depth.n * size_of(plan.columns) <= kBytesInL2 / std::int64_t{sizeof(N)};
    }

    // Whether tiles of results, which are whole cache lines and complete, are stored with streaming stores. Of
    // more than two panels they would be too far apart for the memory, unless they follow each other.
    static bool streamed(const ConvPlan& plan, const T* targets) {
        constexpr std::int64_t line_size = kCacheLine / sizeof(N);
        return kCanStream && std::is_same_v<T, N> && kLanes<N> * sizeof(N) * 2 >= kCacheLine &&
               plan.target.channel == 1 && !plan.rows.accumulated() && plan.depth.count == 1 &&
               size_of(plan.columns) % line_size == 0 &&
               (size_of(plan.columns) <= 2 * kPanel<N> || tile_by_tile(plan)) &&
               reinterpret_cast<std::uintptr_t>(targets) % kCacheLine == 0 &&
               outgrows_cache<T>(plan.images * (plan.source.image + plan.target.image));
    }

    // Begins a box, of one group, the first of so many that follow.
    void enter(std::int64_t box, std::int64_t group, std::int64_t groups) {
        group_ = group;
        if (std::exchange(number_, box) != box) {
            box_ = plan_.box(box);
            if (!known_) own_addresses_.find(plan_, box_, in_place(plan_));
            copied_ = {0, 0};
        }
        const T* first = sources_ + group * plan_.ins * plan_.source.channel +
                         box_.images.first * plan_.source.image;
        if (in_place(plan_)) {
            from_ = reinterpret_cast<const N*>(first);
            return;
        }
        const std::int64_t size = box_.images.size() * addresses_.strides.image;
        if (!copied_.has(group)) {
            // Several groups at a time are read in longer contiguous runs.
            const std::int64_t fit = kBytesInL2 / std::max<std::int64_t>(size * sizeof(N), 1);
            const std::int64_t some = plan_.source.channel == 1 ? std::min(fit, groups) : 1;
            copied_ = {group, std::clamp(group + some, group + 1, plan_.groups)};
            copy(first, size, copies_.of(copied_.size() * size));
        }
        from_ = copies_.get() + (group - copied_.first) * size;
    }

    // Computes panels of the box.
    void run(Range panels) {
        if (streamed_ && packed_ && tile_by_tile(plan_)) return stream_tiles(panels);
        if (plan_.rows.accumulated()) std::fill_n(row_sums(), box_.rows() * plan_.row_size(), N{0});
        for (std::int64_t panel = panels.first; panel < panels.last; ++panel)
            if (panels_.width(panel) == kPanel<N>) run_panel<2>(panel);
            else run_panel<1>(panel);
        if (plan_.rows.accumulated()) store_rows();
    }

   private:
    // Copies the elements that a box reads, in the type of the sums and with contiguous channels. Each
    // group has `size` numbers.
    void copy(const T* first, std::int64_t size, N* copies) {
        const Strides &from = plan_.source, &to = addresses_.strides;
        const auto& [ds, hs, ws] = addresses_.fields;
        for (std::int64_t image = 0; image < box_.images.size(); ++image)
            ds.each_copy([&](std::int64_t d, std::int64_t element_d, std::int64_t planes) {
                hs.each_copy([&](std::int64_t h, std::int64_t element_h, std::int64_t rows) {
                    ws.each_copy([&](std::int64_t w, std::int64_t element_w, std::int64_t elements) {
                        // Full rows are contiguous.
                        const bool full = elements == ws.phase->n;
                        for (std::int64_t i = 0; i < planes; ++i)
                            for (std::int64_t j = 0; j < (full ? 1 : rows); ++j)
                                copy_elements(first + image * from.image +
                                               (element_d + i) * from.element[0] +
                                               (element_h + j) * from.element[1] + element_w * from.element[2],
                                           elements * (full ? rows : 1), size,
                                           copies + image * to.image + (d + i) * to.element[0] +
                                               (h + j) * to.element[1] + w * to.element[2]);
                    });
                });
            });
    }

    void copy_elements(const T* elements, std::int64_t count, std::int64_t size, N* to) {
        const std::int64_t ins = plan_.ins, element = plan_.source.element[2];
        const std::int64_t channel = plan_.source.channel;
        if (channel == 1 && plan_.groups == 1) {
            for (std::int64_t i = 0; i < count * ins; ++i) to[i] = widen(elements[i]);
        } else if (channel == 1) {
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t g = 0; g < copied_.size(); ++g)
                    each_vector<N>(ins, [&](std::int64_t c, auto lanes) {
                        store(load(elements + i * element + g * ins + c, lanes),
                              to + g * size + i * ins + c, lanes);
                    });
        } else if constexpr (std::is_same_v<T, N>) {
            transpose(
                ins, count, [&](std::int64_t c) { return elements + c * channel; },
                [&](std::int64_t i) { return to + i * ins; });
        } else {
            for (std::int64_t c = 0; c < ins; c += kLanes<N>) {
                const std::int64_t channels = std::min<std::int64_t>(ins - c, kLanes<N>);
                N* lines = lines_.of(channels * count);
                for (std::int64_t j = 0; j < channels; ++j)
                    for (std::int64_t i = 0; i < count; ++i)
                        lines[j * count + i] = widen(elements[(c + j) * channel + i]);
                transpose(
                    channels, count, [&](std::int64_t j) { return lines + j * count; },
                    [&](std::int64_t i) { return to + i * ins + c; });
            }
        }
    }

    template <int vectors>
    void run_panel(std::int64_t panel) {
        constexpr std::int64_t width = vectors * kLanes<N>;
        const std::int64_t real = panels_.real(panel);
        T* result = targets_ + box_.images.first * plan_.target.image +
                    (group_ * plan_.outs + panels_.first(panel)) * plan_.target.channel;
        // A full tile is made in the result itself, if that has the type and order of the sums.
        if (real == width && plan_.rows.accumulated() && plan_.rows.separate)
            return add_panel<vectors>(panel, row_sums() + panels_.first(panel), addresses_.to.data());
        if (real == width && !plan_.rows.accumulated() && std::is_same_v<T, N> && plan_.target.channel == 1)
            return add_panel<vectors>(panel, reinterpret_cast<N*>(result), addresses_.to.data());
        N* sums = sums_.of(size_of(addresses_.to) * width);
        sum_offsets_.resize(addresses_.to.size());
        for (std::size_t i = 0; i < sum_offsets_.size(); ++i)
            sum_offsets_[i] = static_cast<std::int64_t>(i) * width;
        add_panel<vectors>(panel, sums, sum_offsets_.data());
        if (plan_.rows.accumulated()) add_to_rows(sums, width, real, row_sums() + panels_.first(panel));
        else store_panel(sums, width, real, result);
    }

    template <int vectors>
    void add_panel(std::int64_t panel, N* sums, const std::int64_t* to) {
        for (std::int64_t part = 0; part < plan_.depth.count; ++part) {
            const Range rows = plan_.depth[part];
            const N* packed = filters_of(panel, rows);
            for (const SegmentBlock& block : addresses_.blocks) {
                const auto run_at = [&](std::int64_t row) {
                    const SourceRun* all = addresses_.runs.data();
                    return std::partition_point(
                        all + block.runs.first, all + block.runs.last,
                        [&](const SourceRun& run) { return run.row < row; });
                };
                const SourceRun *first = run_at(rows.first), *last = run_at(rows.last);
                if (part > 0 && first == last) continue;
                const Parts tiles = Parts::of_at_most(most_rows(vectors), block.targets.size());
                for (std::int64_t i = 0; i < tiles.count; ++i) {
                    const std::int64_t target = block.targets.first + tiles[i].first;
                    add_to_tile<vectors>(tiles[i].size(), first, last, from_,
                                         addresses_.from.data() + target, packed, rows.first,
                                         part == 0, streamed_, sums, to + target);
                }
            }
        }
    }

    // Computes all panels of a few targets at a time, so that streaming stores are contiguous.
    void stream_tiles(Range panels) {
        const SourceRun* all = addresses_.runs.data();
        N* result = reinterpret_cast<N*>(targets_) + box_.images.first * plan_.target.image +
                    group_ * plan_.outs;
        for (const SegmentBlock& block : addresses_.blocks) {
            const Parts tiles = Parts::of_at_most(most_rows(2), block.targets.size());
            for (std::int64_t i = 0; i < tiles.count; ++i)
                for (std::int64_t panel = panels.first; panel < panels.last; ++panel) {
                    const bool full = panels_.width(panel) == kPanel<N>;
                    const std::int64_t target = block.targets.first + tiles[i].first;
                    (full ? add_to_tile<2, N> : add_to_tile<1, N>)(
                        tiles[i].size(), all + block.runs.first, all + block.runs.last,
                        from_, addresses_.from.data() + target, filters_of(panel, {0, plan_.depth.n}),
                        0, true, true, result + panels_.first(panel), addresses_.to.data() + target);
                }
        }
    }

    // The packed filters of a panel, from the first of the rows.
    const N* filters_of(std::int64_t panel, Range rows) {
        if (packed_)
            return packed_ + plan_.depth.n * (group_ * panels_.all() + panels_.first(panel)) +
                   rows.first * panels_.width(panel);
        N* packed = own_packed_.of(rows.size() * panels_.width(panel));
        pack(plan_, filters_ + group_ * plan_.filter_group, panel, rows, packed);
        return packed;
    }

    // -- results --

    static void round_row(const N* sums, std::int64_t count, T* to) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<T>(sums[i]);
    }

    // result[j * channel + i] = sums[i * width + j]
    void store_transposed(const N* sums, std::int64_t width, std::int64_t count, std::int64_t columns,
                      T* result) {
        const std::int64_t channel = plan_.target.channel;
        const auto from = [&](std::int64_t i) { return sums + i * width; };
        if constexpr (std::is_same_v<T, N>) {
            transpose(count, columns, from, [&](std::int64_t j) { return result + j * channel; });
        } else {
            N* lines = lines_.of(columns * count);
            transpose(count, columns, from, [&](std::int64_t j) { return lines + j * count; });
            for (std::int64_t j = 0; j < columns; ++j)
                round_row(lines + j * count, count, result + j * channel);
        }
    }

    // Rounds the sums of a panel and stores them to the result.
    void store_panel(const N* sums, std::int64_t width, std::int64_t real, T* result) {
        const std::int64_t count = size_of(addresses_.to);
        const std::int64_t* offsets = addresses_.to.data();
        if (plan_.target.channel == 1) {
            for (std::int64_t i = 0; i < count; ++i)
                round_row(sums + i * width, real, result + offsets[i]);
            return;
        }
        for (std::int64_t i = 0, end; i < count; i = end) {
            for (end = i + 1; end < count && offsets[end] == offsets[end - 1] + 1;) ++end;
            store_transposed(sums + i * width, width, end - i, real, result + offsets[i]);
        }
    }

    N* row_sums() { return row_sums_.of(box_.rows() * plan_.row_size()); }

    // Where the products of one source overlap those of the next, a vector load would wait for several
    // stores: then numbers are added one by one, each in a register.
    void add_to_rows(const N* sums, std::int64_t width, std::int64_t real, N* rows) const {
        const bool overlap = plan_.rows.step * plan_.outs < real;
        for (const std::int64_t offset : addresses_.to) {
            N* const to = rows + offset;
            if (overlap)
                for (std::int64_t j = 0; j < real; ++j) to[j] = in_register(to[j] + sums[j]);
            else
                for (std::int64_t j = 0; j < real; ++j) to[j] += sums[j];
            sums += width;
        }
    }

    void store_rows() {
        const Strides& strides = plan_.target;
        const auto& [ds, hs, ws] = box_.targets;
        const N* sums = row_sums() + plan_.rows.before * plan_.outs;
        for (std::int64_t image = box_.images.first; image < box_.images.last; ++image)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h, sums += plan_.row_size())
                    store_row(sums, targets_ + image * strides.image +
                                        group_ * plan_.outs * strides.channel +
                                        box_.phases[0]->target(d) * strides.element[0] +
                                        box_.phases[1]->target(h) * strides.element[1]);
    }

    void store_row(const N* sums, T* result) {
        const std::int64_t outs = plan_.outs, width = plan_.width;
        if (plan_.target.channel > 1) return store_transposed(sums, outs, width, outs, result);
        if (plan_.groups == 1) return round_row(sums, width * outs, result);
        for (std::int64_t w = 0; w < width; ++w)
            round_row(sums + w * outs, outs, result + w * plan_.target.element[2]);
    }

    const ConvPlan& plan_;
    const FilterPanels<N> panels_;
    const T* const sources_;
    const T* const filters_;
    const N* const packed_;
    T* const targets_;
    const BoxAddresses* const known_;
    const bool streamed_;
    BoxAddresses own_addresses_;
    const BoxAddresses& addresses_;
    Box box_;
    std::int64_t number_ = -1, group_ = 0;
    const N* from_ = nullptr;
    Range copied_{0, 0};  // groups
    std::vector<std::int64_t> sum_offsets_;
    Scratch<N> copies_, own_packed_, sums_, row_sums_, lines_;
};

// -- tasks ----------------------------------------------------------------------------------------

// A plan, and the addresses of its box if it has only one: small problems are many.
template <class T>
struct PlannedConv {
    const std::shared_ptr<const ConvPlan> kept;
    const ConvPlan& plan;
    std::optional<BoxAddresses> only;

    explicit PlannedConv(std::shared_ptr<const ConvPlan> given) : kept(std::move(given)), plan(*kept) {
        if (plan.box_count() == 1)
            only.emplace().find(plan, plan.box(0), Worker<T>::in_place(plan));
    }
};

// How the boxes of a plan are divided among tasks.
template <class T>
struct Tasks {
    FilterPanels<Wide<T>> panels;
    std::int64_t packed_size;  // numbers of all packed filters
    bool pack_first;           // filters are packed once, or by each task as it goes
    Parts shares;              // of the panels of a box: few boxes would leave threads idle
    std::int64_t count;

    explicit Tasks(const ConvPlan& plan) : panels(plan) {
        const std::int64_t boxes = plan.box_count();
        packed_size = plan.groups * panels.all() * plan.depth.n;
        pack_first = boxes > 3 && packed_size <= kMostPacked / std::int64_t{sizeof(Wide<T>)};
        const bool split = !plan.rows.accumulated() && boxes * plan.groups <= 64;
        shares = {panels.count(), split ? panels.count() : 1};
        count = boxes * plan.groups * shares.count;
    }
};

template <class T>
void run_direct(const PlannedConv<T>& planned, const T* sources, const T* filters, T* targets) {
    const ConvPlan& plan = planned.plan;
    // Targets whose taps read nothing but padding are in no box.
    if (!std::all_of(plan.axes.begin(), plan.axes.end(), [](auto& axis) { return axis.complete; }))
        std::memset(static_cast<void*>(targets), 0,
                    static_cast<std::size_t>(plan.images * plan.target.image) * sizeof(T));
    if (plan.box_count() == 0) return;
    const Tasks<T> tasks(plan);
    const Parts& shares = tasks.shares;
    Scratch<Wide<T>> packed;
    if (tasks.pack_first) pack_all(plan, filters, packed.of(tasks.packed_size));
    parallel_for(tasks.count, plan.work, [&](std::int64_t begin, std::int64_t end) {
        Worker<T> worker(plan, sources, filters, tasks.pack_first ? packed.get() : nullptr, targets,
                         planned.only ? &*planned.only : nullptr);
        for (std::int64_t task = begin; task < end; ++task) {
            // The groups of a box have its addresses in common.
            const std::int64_t part = task / shares.count, share = task % shares.count;
            if (task == begin || share == 0)
                worker.enter(part / plan.groups, part % plan.groups, div_up(end - task, shares.count));
            worker.run(shares[share]);
        }
        if (Worker<T>::streamed(plan, targets)) stream_fence();
    });
}

// y[b, o, n] = sum over taps t, channels c: x[b, o * s - pads + t * d, c] * w[t, c, n]
// dx[b, i, c] = sum over taps t, outputs o with o * s - pads + t * d = i, channels n:
//               dy[b, o, n] * w[t, c, n]
// A function of x, w and y if forward, else of w, dy and dx.
template <class T>
ConvFunction direct_conv(const ConvChoice& choice, bool forward) {
    return [forward, planned = std::make_shared<const PlannedConv<T>>(choice.plan)](const void* a, const void* b,
                                                                          void* result) {
        run_direct(*planned, in<T>(forward ? a : b), in<T>(forward ? b : a), out<T>(result));
    };
}

template <class T>
void explain_direct(const ConvPlan& plan, Choice& choice) {
    if (plan.box_count() == 0) return;
    const Tasks<T> tasks(plan);
    const std::array<Parts, 4>& parts = plan.boxes[0].parts;
    choice.with("inputs", Worker<T>::in_place(plan) ? "read in place" : "copied box by box");
    choice.with("filters", tasks.pack_first ? "packed once" : "packed box by box");
    choice.with("columns of a register tile",
                plan.rows.used ? "output channels and taps of the width" : "output channels");
    choice.with("register tile", {most_rows(2), kPanel<Wide<T>>});
    choice.with("box of images x depth x height x width",
                {parts[0].largest(), parts[1].largest(), parts[2].largest(), parts[3].largest()});
    choice.with("rows of filters at a time", plan.depth.largest());
    choice.with_loop(tasks.count, plan.work);
}

// -- kernels --------------------------------------------------------------------------------------

template <ConvPass pass>
ConvFunction plan(Type type, const Conv& conv) {
    const ConvChoice choice = choose_conv(type, conv, pass);
    if (choice.algorithm == ConvAlgorithm::depthwise) return plan_depthwise(type, conv, pass);
    if constexpr (pass == ConvPass::filter_grad) {
        ConvFunction direct = direct_filter_grad(type, conv);
        if (choice.algorithm == ConvAlgorithm::direct) return direct;
        if (choice.algorithm == ConvAlgorithm::small_channels)
            return small_channels_filter_grad(type, conv, std::move(direct));
        return winograd_filter_grad(type, choice, std::move(direct));
    } else {
        constexpr bool forward = pass == ConvPass::forward;
        ConvFunction direct =
            with_type(type, [&]<class T>(T) { return direct_conv<T>(choice, forward); });
        if (choice.algorithm == ConvAlgorithm::direct) return direct;
        return winograd_conv(type, choice, forward, std::move(direct));
    }
}

// Whether so many channels would leave half of the last vector of v4 empty, whose vectors are twice as long as
// those of v3: then v3 is faster.
bool half_a_vector_left(Type type, std::int64_t channels) {
    const std::int64_t half = type == Type::float64 ? 4 : 8, halves = (channels + half - 1) / half;
    return halves % 2 == 1 && halves < 6;
}

template <ConvPass pass>
Kernel prepared(const ConvCall& call, const Operand& a, const Operand& b, const Operand& result) {
    return call.planned(a, b, result, plan<pass>, [](Type type, const Conv& conv) {
        return explain_conv(type, conv, pass);
    });
}

const char* name_of(ConvAlgorithm algorithm) {
    switch (algorithm) {
        case ConvAlgorithm::depthwise: return "depthwise";
        case ConvAlgorithm::winograd_2d: return "Winograd F(2x2, 3x3)";
        case ConvAlgorithm::winograd_3d: return "Winograd F(2x2x2, 3x3x3)";
        case ConvAlgorithm::small_channels: return "small channel count, all taps as rows";
        case ConvAlgorithm::direct: break;
    }
    return "direct (implicit GEMM)";
}

}  // namespace

Choice ISA::explain_conv(Type type, const Conv& conv, ConvPass pass) {
    const ConvChoice chosen = choose_conv(type, conv, pass);
    if (chosen.algorithm == ConvAlgorithm::depthwise) {
        Choice choice = explain_depthwise(type, conv, pass);
        choice.reason = std::string(chosen.reason) + "; " + choice.reason;
        return choice;
    }
    Choice choice{kIsaName, name_of(chosen.algorithm), chosen.reason};
    if (chosen.algorithm == ConvAlgorithm::small_channels) {
        explain_small_channels_filter_grad(type, conv, choice);
    } else if (chosen.algorithm != ConvAlgorithm::direct) {
        if (pass == ConvPass::filter_grad) explain_winograd_filter_grad(type, chosen, choice);
        else explain_winograd_conv(type, chosen, choice);
        choice.with("if a result is not finite", name_of(ConvAlgorithm::direct));
    } else if (pass == ConvPass::filter_grad) {
        explain_direct_filter_grad(type, conv, choice);
    } else {
        with_type(type, [&]<class T>(T) { explain_direct<T>(*chosen.plan, choice); });
    }
    return choice;
}

Kernel ISA::conv(const ConvCall& call) {
    if constexpr (kVectorBytes == 64)
        if (half_a_vector_left(call.dtype, call.conv.out)) return v3::conv(call);
    return prepared<ConvPass::forward>(call, call.input, call.filters, call.output);
}

Kernel ISA::conv_input_grad(const ConvCall& call) {
    if constexpr (kVectorBytes == 64)
        if (half_a_vector_left(call.dtype, call.conv.in)) return v3::conv_input_grad(call);
    return prepared<ConvPass::input_grad>(call, call.filters, call.output, call.input);
}

Kernel ISA::conv_filter_grad(const ConvCall& call) {
    if constexpr (kVectorBytes == 64)
        if (half_a_vector_left(call.dtype, call.conv.out)) return v3::conv_filter_grad(call);
    return prepared<ConvPass::filter_grad>(call, call.input, call.output, call.filters);
}

}  // namespace backblocks
