// Simulations of variants of a scenario with common random numbers: the same seeds, so the same arrivals, lengths and
// acceptance draws. Differences between variants then vary far less than the variants themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/explain/explain.h"
#include "sim/engine/statistics.h"
#include "sim/serving/measurements.h"

namespace kvsim::planner {

struct PairedOptions {
  std::int64_t replications = 1;
  int jobs = 1;
  std::function<bool()> go_on;  ///< asked from any thread; false ends the runs early. May be empty.
};

struct VariantRuns {
  serving::Measurements measured;    ///< merged over replications, without samples
  std::vector<double> tokens_per_s;  ///< by replication; of one replication, by twentieths of the measured time
  std::vector<std::string> fallbacks;
  bool interrupted = false;

  [[nodiscard]] double mean() const;
};

/// By variant. Does not depend on `jobs`.
[[nodiscard]] std::vector<VariantRuns> simulate_paired(const std::vector<scenario::Scenario>& variants,
                                                       const PairedOptions& options);

/// Against `base`, as a share of its mean.
[[nodiscard]] Change paired_change(const VariantRuns& variant, const VariantRuns& base);

}  // namespace kvsim::planner
