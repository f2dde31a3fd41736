// Several policies on the same scenario and arrivals.
#pragma once

#include <string>
#include <vector>

#include "models/prices/price_table.h"
#include "tools/results/outcome.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// A policy that the scenario cannot be run under.
struct LeftOut {
  std::string policy;
  std::string reason;
};

struct Comparison {
  std::vector<Outcome> outcomes;  ///< at least one; the first is the baseline
  std::vector<LeftOut> left_out;
  models::PriceTable prices = models::PriceTable::built_in();
};

/// A comparison against the first.
Json compare_document(const Comparison& comparison, bool timing);

}  // namespace kvsim::results
