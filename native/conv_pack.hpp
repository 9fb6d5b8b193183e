// Packing of a convolution's filters into panels as wide as a register tile (tile.hpp), as GEMM packs its operand b.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conv_plan.hpp"
#include "dtypes.hpp"
#include "parallel.hpp"
#include "tile.hpp"
#include "transpose.hpp"

namespace backblocks::ISA {

using namespace convolution;

// The panels of the filters: as many columns each as a register tile has, fewer in the last.
template <class N>
struct FilterPanels {
    std::int64_t columns;

    explicit FilterPanels(const ConvPlan& plan) : columns(size_of(plan.columns)) {}

    std::int64_t count() const { return div_up(columns, kPanel<N>); }
    std::int64_t first(std::int64_t panel) const { return panel * kPanel<N>; }
    std::int64_t real(std::int64_t panel) const {
        return std::min<std::int64_t>(columns - first(panel), kPanel<N>);
    }
    // The width with zeros that fill the last vector.
    std::int64_t width(std::int64_t panel) const {
        return real(panel) > kLanes<N> ? kPanel<N> : kLanes<N>;
    }
    std::int64_t all() const { return first(count() - 1) + width(count() - 1); }
};

// packed[c, j] = filter[c * next + columns[j]] for each of the channels, with zeros up to `width`.
template <class T>
void pack_tap(const T* filter, std::int64_t next, std::int64_t channels,
              const std::int64_t* columns, std::int64_t real, std::int64_t width,
              Wide<T>* packed) {
    constexpr std::int64_t at_once = 32;
    Wide<T> lines[kPanel<Wide<T>>][at_once];
    const bool side_by_side = columns[real - 1] - columns[0] == real - 1;
    for (std::int64_t c = 0; c < channels; c += at_once, packed += at_once * width, filter += at_once * next) {
        const std::int64_t count = std::min(at_once, channels - c);
        if (side_by_side) {
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t j = 0; j < real; ++j)
                    packed[i * width + j] = widen(filter[i * next + columns[0] + j]);
        } else {
            for (std::int64_t j = 0; j < real; ++j)
                for (std::int64_t i = 0; i < count; ++i)
                    lines[j][i] = widen(filter[columns[j] + i * next]);
            transpose(
                real, count, [&](std::int64_t j) { return lines[j]; },
                [&](std::int64_t i) { return packed + i * width; });
        }
        for (std::int64_t i = 0; i < count && real < width; ++i)
            std::fill(packed + i * width + real, packed + (i + 1) * width, Wide<T>{0});
    }
}

// Packs rows of a panel. They are the taps, in the order of the plan, and their channels.
template <class T>
void pack(const ConvPlan& plan, const T* filters, std::int64_t panel, Range rows,
          Wide<T>* packed) {
    const FilterPanels<Wide<T>> panels(plan);
    for (std::int64_t row = rows.first; row < rows.last;) {
        const std::int64_t c = row % plan.ins, count = std::min(plan.ins - c, rows.last - row);
        pack_tap(filters + plan.offset_of_tap(row / plan.ins) + c * plan.filter_in, plan.filter_in,
                 count, plan.columns.data() + panels.first(panel), panels.real(panel),
                 panels.width(panel), packed);
        packed += count * panels.width(panel);
        row += count;
    }
}

// Packs all panels of all groups, one after the other.
template <class T>
void pack_all(const ConvPlan& plan, const T* filters, Wide<T>* packed) {
    const FilterPanels<Wide<T>> panels(plan);
    const std::int64_t depth = plan.depth.n, count = panels.count();
    parallel_for(plan.groups * count, plan.groups * panels.all() * depth * 4,
                 [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                         const std::int64_t group = i / count, panel = i % count;
                         pack(plan, filters + group * plan.filter_group, panel, {0, depth},
                              packed + depth * (group * panels.all() + panels.first(panel)));
                     }
                 });
}

}  // namespace backblocks::ISA
