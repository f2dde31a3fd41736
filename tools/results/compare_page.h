// Several policies on the same scenario and arrivals, one row each, the best of every column marked.
#pragma once

#include "tools/results/comparison.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Grouped: policies that share a decode policy stand below its name, which saves width.
enum class Labels { full, grouped };

Page compare_page(const Comparison& comparison, bool timing, Labels labels);

}  // namespace kvsim::results
