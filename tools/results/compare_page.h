// Several policies on the same scenario and arrivals, one row each.
#pragma once

#include <vector>

#include "tools/results/result_document.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Grouped: policies that share a decode policy stand below its name, which saves width.
enum class Labels { full, grouped };

Page compare_page(const std::vector<Outcome>& outcomes, bool timing, Labels labels);

}  // namespace kvsim::results
