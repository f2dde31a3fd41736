// One figure over the two axes of a sweep's grid.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/results/sweep_figures.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// The sweep's metric, the axis with fewer values across, the best point marked. A point that cannot be simulated is
/// "-", one whose run has no such figure "none", one that another shard has is blank. `order` is FigureTable::ranked of
/// the metric. No rows where an axis has too many values, or the sweep no such grid.
Table heat_map(const Sweep& sweep, const FigureTable& figures, const std::vector<std::size_t>& order);

}  // namespace kvsim::results
