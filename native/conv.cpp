// Convolution and its gradient in the input, as sums over sources (see conv_plan.hpp).
//
// Targets of a line have cell(t, j) = t.cell + j * stride. Their sums are a product of matrices with
// a row for each target, and rows need not lie together for it: it is made in tiles that stay in
// registers (see tile.hpp) for as many taps and channels as the cache has room for. Targets whose
// windows reach into the padding have fewer taps, and tiles of their own.
#include "conv.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "conv_pack.hpp"
#include "conv_plan.hpp"
#include "depthwise.hpp"
#include "half.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "tile.hpp"
#include "transpose.hpp"

namespace backblocks {
namespace {

using namespace ISA;
using namespace convolution;

// Filters of more bytes are packed by those who use them, as they go.
constexpr std::int64_t kMostPacked = std::int64_t{16} << 20;

// Bytes that stay in the second-level cache while they are used again and again.
constexpr std::int64_t kNear = 384 << 10;

// -- sums -----------------------------------------------------------------------------------------

// Adds to a tile of sums, or begins it with, what the stretches give it.
template <int vectors, class N>
void add_to_tile(std::int64_t rows, const Stretch* stretch, const Stretch* end, const N* sources,
                 const std::int64_t* from, const N* packed, std::int64_t first_row, bool begin,
                 bool streamed, N* sums, const std::int64_t* to) {
    constexpr std::int64_t width = vectors * kLanes<N>;
    with_constant<most_rows(vectors)>(rows, [&](auto constant) {
        Tile<N, constant, vectors> tile;
        if (begin) tile.clear();
        else tile.load(sums, to);
        const typename decltype(tile)::Rows all{sources, from};
        for (; stretch != end; ++stretch)
            tile.add(stretch->depth, all, stretch->place, 1,
                     packed + (stretch->row - first_row) * width, width);
        if (streamed) tile.stream(sums, to);
        else tile.store(sums, to);
    });
}

// Computes boxes, one after the other.
template <class T>
class Worker {
    using N = Wide<T>;

   public:
    // `packed` is what pack_all makes, or null. `known` is the layout of the only box, or null.
    Worker(const ConvPlan& plan, const T* sources, const T* filters, const N* packed, T* targets,
           const Layout* known)
        : plan_(plan),
          panels_(plan),
          sources_(sources),
          filters_(filters),
          packed_(packed),
          targets_(targets),
          known_(known),
          streamed_(streamed(plan, targets)),
          layout_(known ? *known : own_layout_) {}

    // Whether sources are read where they are. Of a small group that would be less than a cache line
    // at a time, from lines that keep pushing each other out of the cache: if each number has many
    // products, copying pays.
    static bool in_place(const ConvPlan& plan) {
        const bool small = plan.groups > 1 && plan.ins * sizeof(N) < kCacheLine;
        return std::is_same_v<T, N> && plan.source.channel == 1 &&
               !(small && plan.work >= 16 * plan.images * plan.source.image);
    }

    // Whether the filters are so small that all panels of a few targets can follow each other.
    static bool tile_by_tile(const ConvPlan& plan) {
        return plan.depth.n * size_of(plan.columns) <= kNear / std::int64_t{sizeof(N)};
    }

    // Whether tiles of results, which are whole cache lines and complete, go past the cache. Of more
    // than two panels they would be too far apart for the memory, unless they follow each other.
    static bool streamed(const ConvPlan& plan, const T* targets) {
        constexpr std::int64_t line = kCacheLine / sizeof(N);
        return kCanStream && std::is_same_v<T, N> && kLanes<N> * sizeof(N) * 2 >= kCacheLine &&
               plan.target.channel == 1 && !plan.rows.kept() && plan.depth.count == 1 &&
               size_of(plan.columns) % line == 0 &&
               (size_of(plan.columns) <= 2 * kPanel<N> || tile_by_tile(plan)) &&
               reinterpret_cast<std::uintptr_t>(targets) % kCacheLine == 0 &&
               outgrows_cache<T>(plan.images * (plan.source.image + plan.target.image));
    }

    // Goes to a box, of one group, the first of so many that will be needed.
    void enter(std::int64_t box, std::int64_t group, std::int64_t groups) {
        group_ = group;
        if (std::exchange(number_, box) != box) {
            box_ = plan_.box(box);
            if (!known_) own_layout_.find(plan_, box_, in_place(plan_));
            copied_ = {0, 0};
        }
        const T* first = sources_ + group * plan_.ins * plan_.source.channel +
                         box_.images.first * plan_.source.image;
        if (in_place(plan_)) {
            from_ = reinterpret_cast<const N*>(first);
            return;
        }
        const std::int64_t size = box_.images.size() * layout_.order.image;
        if (!copied_.has(group)) {
            // Of several groups, pieces of memory that are read at once are longer.
            const std::int64_t fit = kNear / std::max<std::int64_t>(size * sizeof(N), 1);
            const std::int64_t some = plan_.source.channel == 1 ? std::min(fit, groups) : 1;
            copied_ = {group, std::clamp(group + some, group + 1, plan_.groups)};
            copy(first, size, copies_.of(copied_.size() * size));
        }
        from_ = copies_.get() + (group - copied_.first) * size;
    }

    // Computes panels of the box.
    void run(Range panels) {
        if (streamed_ && packed_ && tile_by_tile(plan_)) return stream_tiles(panels);
        if (plan_.rows.kept()) std::fill_n(row_sums(), box_.rows() * plan_.row_size(), N{0});
        for (std::int64_t panel = panels.first; panel < panels.last; ++panel)
            if (panels_.width(panel) == kPanel<N>) run_panel<2>(panel);
            else run_panel<1>(panel);
        if (plan_.rows.kept()) store_rows();
    }

   private:
    // Copies the cells a box reads, in the type of the sums and with the channels side by side. Each
    // group has `size` numbers.
    void copy(const T* first, std::int64_t size, N* copies) {
        const Order &from = plan_.source, &to = layout_.order;
        const auto& [ds, hs, ws] = layout_.reach;
        for (std::int64_t image = 0; image < box_.images.size(); ++image)
            ds.each_copy([&](std::int64_t d, std::int64_t cell_d, std::int64_t planes) {
                hs.each_copy([&](std::int64_t h, std::int64_t cell_h, std::int64_t rows) {
                    ws.each_copy([&](std::int64_t w, std::int64_t cell_w, std::int64_t cells) {
                        // Whole rows lie side by side.
                        const bool whole = cells == ws.line->sweep.n;
                        for (std::int64_t i = 0; i < planes; ++i)
                            for (std::int64_t j = 0; j < (whole ? 1 : rows); ++j)
                                copy_cells(first + image * from.image +
                                               (cell_d + i) * from.cell[0] +
                                               (cell_h + j) * from.cell[1] + cell_w * from.cell[2],
                                           cells * (whole ? rows : 1), size,
                                           copies + image * to.image + (d + i) * to.cell[0] +
                                               (h + j) * to.cell[1] + w * to.cell[2]);
                    });
                });
            });
    }

    void copy_cells(const T* cells, std::int64_t count, std::int64_t size, N* to) {
        const std::int64_t ins = plan_.ins, cell = plan_.source.cell[2];
        const std::int64_t channel = plan_.source.channel;
        if (channel == 1 && plan_.groups == 1) {
            for (std::int64_t i = 0; i < count * ins; ++i) to[i] = widen(cells[i]);
        } else if (channel == 1) {
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t g = 0; g < copied_.size(); ++g)
                    each_vector<N>(ins, [&](std::int64_t c, auto lanes) {
                        store(load(cells + i * cell + g * ins + c, lanes),
                              to + g * size + i * ins + c, lanes);
                    });
        } else if constexpr (std::is_same_v<T, N>) {
            transpose(
                ins, count, [&](std::int64_t c) { return cells + c * channel; },
                [&](std::int64_t i) { return to + i * ins; });
        } else {
            for (std::int64_t c = 0; c < ins; c += kLanes<N>) {
                const std::int64_t channels = std::min<std::int64_t>(ins - c, kLanes<N>);
                N* lines = lines_.of(channels * count);
                for (std::int64_t j = 0; j < channels; ++j)
                    for (std::int64_t i = 0; i < count; ++i)
                        lines[j * count + i] = widen(cells[(c + j) * channel + i]);
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
        // A full tile can stay where it is made, if that is where it belongs.
        if (real == width && plan_.rows.kept() && plan_.rows.apart)
            return add_panel<vectors>(panel, row_sums() + panels_.first(panel), layout_.to.data());
        if (real == width && !plan_.rows.kept() && std::is_same_v<T, N> && plan_.target.channel == 1)
            return add_panel<vectors>(panel, reinterpret_cast<N*>(result), layout_.to.data());
        N* sums = sums_.of(size_of(layout_.to) * width);
        sum_places_.resize(layout_.to.size());
        for (std::size_t i = 0; i < sum_places_.size(); ++i)
            sum_places_[i] = static_cast<std::int64_t>(i) * width;
        add_panel<vectors>(panel, sums, sum_places_.data());
        if (plan_.rows.kept()) add_to_rows(sums, width, real, row_sums() + panels_.first(panel));
        else store_panel(sums, width, real, result);
    }

    template <int vectors>
    void add_panel(std::int64_t panel, N* sums, const std::int64_t* to) {
        for (std::int64_t part = 0; part < plan_.depth.count; ++part) {
            const Range rows = plan_.depth[part];
            const N* packed = filters_of(panel, rows);
            for (const Patch& patch : layout_.patches) {
                const auto stretch_at = [&](std::int64_t row) {
                    const Stretch* all = layout_.stretches.data();
                    return std::partition_point(
                        all + patch.stretches.first, all + patch.stretches.last,
                        [&](const Stretch& stretch) { return stretch.row < row; });
                };
                const Stretch *first = stretch_at(rows.first), *last = stretch_at(rows.last);
                if (part > 0 && first == last) continue;
                const Parts tiles = Parts::of_at_most(most_rows(vectors), patch.targets.size());
                for (std::int64_t i = 0; i < tiles.count; ++i) {
                    const std::int64_t target = patch.targets.first + tiles[i].first;
                    add_to_tile<vectors>(tiles[i].size(), first, last, from_,
                                         layout_.from.data() + target, packed, rows.first,
                                         part == 0, streamed_, sums, to + target);
                }
            }
        }
    }

    // Computes panels of few targets at a time, so that what goes past the cache lies side by side.
    void stream_tiles(Range panels) {
        const Stretch* all = layout_.stretches.data();
        N* result = reinterpret_cast<N*>(targets_) + box_.images.first * plan_.target.image +
                    group_ * plan_.outs;
        for (const Patch& patch : layout_.patches) {
            const Parts tiles = Parts::of_at_most(most_rows(2), patch.targets.size());
            for (std::int64_t i = 0; i < tiles.count; ++i)
                for (std::int64_t panel = panels.first; panel < panels.last; ++panel) {
                    const bool full = panels_.width(panel) == kPanel<N>;
                    const std::int64_t target = patch.targets.first + tiles[i].first;
                    (full ? add_to_tile<2, N> : add_to_tile<1, N>)(
                        tiles[i].size(), all + patch.stretches.first, all + patch.stretches.last,
                        from_, layout_.from.data() + target, filters_of(panel, {0, plan_.depth.n}),
                        0, true, true, result + panels_.first(panel), layout_.to.data() + target);
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

    static void store_line(const N* line, std::int64_t count, T* to) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<T>(line[i]);
    }

    // result[j * channel + i] = sums[i * width + j]
    void store_turned(const N* sums, std::int64_t width, std::int64_t count, std::int64_t columns,
                      T* result) {
        const std::int64_t channel = plan_.target.channel;
        const auto from = [&](std::int64_t i) { return sums + i * width; };
        if constexpr (std::is_same_v<T, N>) {
            transpose(count, columns, from, [&](std::int64_t j) { return result + j * channel; });
        } else {
            N* lines = lines_.of(columns * count);
            transpose(count, columns, from, [&](std::int64_t j) { return lines + j * count; });
            for (std::int64_t j = 0; j < columns; ++j)
                store_line(lines + j * count, count, result + j * channel);
        }
    }

    // Rounds the sums of a panel and puts them where they belong.
    void store_panel(const N* sums, std::int64_t width, std::int64_t real, T* result) {
        const std::int64_t count = size_of(layout_.to);
        const std::int64_t* places = layout_.to.data();
        if (plan_.target.channel == 1) {
            for (std::int64_t i = 0; i < count; ++i)
                store_line(sums + i * width, real, result + places[i]);
            return;
        }
        for (std::int64_t i = 0, end; i < count; i = end) {
            for (end = i + 1; end < count && places[end] == places[end - 1] + 1;) ++end;
            store_turned(sums + i * width, width, end - i, real, result + places[i]);
        }
    }

    N* row_sums() { return row_sums_.of(box_.rows() * plan_.row_size()); }

    // Where what one target adds overlaps what the next one does, a vector would wait for several
    // stores: then numbers stay single, each in a register.
    void add_to_rows(const N* sums, std::int64_t width, std::int64_t real, N* rows) const {
        const bool overlap = plan_.rows.step * plan_.outs < real;
        for (const std::int64_t place : layout_.to) {
            N* const to = rows + place;
            if (overlap)
                for (std::int64_t j = 0; j < real; ++j) to[j] = in_register(to[j] + sums[j]);
            else
                for (std::int64_t j = 0; j < real; ++j) to[j] += sums[j];
            sums += width;
        }
    }

    void store_rows() {
        const Order& order = plan_.target;
        const auto& [ds, hs, ws] = box_.targets;
        const N* sums = row_sums() + plan_.rows.before * plan_.outs;
        for (std::int64_t image = box_.images.first; image < box_.images.last; ++image)
            for (std::int64_t d = ds.first; d < ds.last; ++d)
                for (std::int64_t h = hs.first; h < hs.last; ++h, sums += plan_.row_size())
                    store_row(sums, targets_ + image * order.image +
                                        group_ * plan_.outs * order.channel +
                                        box_.lines[0]->target(d) * order.cell[0] +
                                        box_.lines[1]->target(h) * order.cell[1]);
    }

    void store_row(const N* sums, T* result) {
        const std::int64_t outs = plan_.outs, width = plan_.width;
        if (plan_.target.channel > 1) return store_turned(sums, outs, width, outs, result);
        if (plan_.groups == 1) return store_line(sums, width * outs, result);
        for (std::int64_t w = 0; w < width; ++w)
            store_line(sums + w * outs, outs, result + w * plan_.target.cell[2]);
    }

    const ConvPlan& plan_;
    const Panels<N> panels_;
    const T* const sources_;
    const T* const filters_;
    const N* const packed_;
    T* const targets_;
    const Layout* const known_;
    const bool streamed_;
    Layout own_layout_;
    const Layout& layout_;
    Box box_;
    std::int64_t number_ = -1, group_ = 0;
    const N* from_ = nullptr;
    Range copied_{0, 0};  // groups
    std::vector<std::int64_t> sum_places_;
    Room<N> copies_, own_packed_, sums_, row_sums_, lines_;
};

// -- kernels --------------------------------------------------------------------------------------

// A plan, and the layout of its box if there is but one: small problems are many.
template <class T>
struct Work {
    ConvPlan plan;
    std::optional<Layout> only;

    Work(const Conv& conv, bool forward) : plan(conv, forward, kLanes<Wide<T>>) {
        if (plan.box_count() == 1)
            only.emplace().find(plan, plan.box(0), Worker<T>::in_place(plan));
    }
};

template <class T>
void add_up(const Work<T>& work, const T* sources, const T* filters, T* targets) {
    using N = Wide<T>;
    const ConvPlan& plan = work.plan;
    // What no tap reaches is in no box.
    if (!std::all_of(plan.axes.begin(), plan.axes.end(), [](auto& axis) { return axis.complete; }))
        std::memset(static_cast<void*>(targets), 0,
                    static_cast<std::size_t>(plan.images * plan.target.image) * sizeof(T));
    const std::int64_t boxes = plan.box_count();
    if (boxes == 0) return;
    const Panels<N> panels(plan);
    const std::int64_t all = plan.groups * panels.all() * plan.depth.n;
    Room<N> packed;
    const bool pack_first = boxes > 3 && all <= kMostPacked / static_cast<std::int64_t>(sizeof(N));
    if (pack_first) pack_all(plan, filters, packed.of(all));
    // Few boxes would leave threads idle: then each panel of a box is a job.
    const bool split = !plan.rows.kept() && boxes * plan.groups <= 64;
    const Parts shares{panels.count(), split ? panels.count() : 1};
    parallel_for(boxes * plan.groups * shares.count, plan.work,
                 [&](std::int64_t begin, std::int64_t end) {
                     Worker<T> worker(plan, sources, filters, pack_first ? packed.of(0) : nullptr,
                                      targets, work.only ? &*work.only : nullptr);
                     for (std::int64_t job = begin; job < end; ++job) {
                         // The groups of a box have its layout in common.
                         const std::int64_t part = job / shares.count, share = job % shares.count;
                         if (job == begin || share == 0)
                             worker.enter(part / plan.groups, part % plan.groups,
                                          div_up(end - job, shares.count));
                         worker.run(shares[share]);
                     }
                     if (Worker<T>::streamed(plan, targets)) end_streams();
                 });
}

// y[b, o, n] = sum over taps t, channels c: x[b, o * s - pads + t * d, c] * w[t, c, n]
template <class T>
ConvKernels::Ready forward(const Conv& conv) {
    return [work = std::make_shared<const Work<T>>(conv, true)](const void* x, const void* w,
                                                                void* y) {
        add_up(*work, static_cast<const T*>(x), static_cast<const T*>(w), static_cast<T*>(y));
    };
}

// dx[b, i, c] = sum over taps t, outputs o with o * s - pads + t * d = i, channels n:
//               dy[b, o, n] * w[t, c, n]
template <class T>
ConvKernels::Ready input_grad(const Conv& conv) {
    return [work = std::make_shared<const Work<T>>(conv, false)](const void* w, const void* dy,
                                                                 void* dx) {
        add_up(*work, static_cast<const T*>(dy), static_cast<const T*>(w), static_cast<T*>(dx));
    };
}

// Where each result sees one channel, this is depthwise convolution. That has vectors over places,
// while few channels would leave them mostly empty here.
bool is_depthwise(const Conv& conv) {
    return conv.in == 1 && conv.out <= 4 && within_reach(conv);
}

}  // namespace

const ConvKernels ISA::conv_kernels{
    [](Type type, const Conv& conv) {
        if (is_depthwise(conv)) return depthwise_kernels.forward(type, conv);
        return conv_by_fewer_products(type, conv, true, with_type(type, [&]<class T>(T) {
                                          return forward<T>(conv);
                                      }));
    },
    [](Type type, const Conv& conv) {
        if (is_depthwise(conv)) return depthwise_kernels.input_grad(type, conv);
        return conv_by_fewer_products(type, conv, false, with_type(type, [&]<class T>(T) {
                                          return input_grad<T>(conv);
                                      }));
    },
    [](Type type, const Conv& conv) {
        if (is_depthwise(conv)) return depthwise_kernels.filter_grad(type, conv);
        const ConvKernels::Ready plain = conv_filter_grad(type, conv);
        return filter_grad_by_fewer_products(type, conv,
                                             filter_grad_of_few_channels(type, conv, plain));
    },
};

}  // namespace backblocks
