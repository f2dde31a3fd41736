// A run with its scenario, and what is derived from both.
#pragma once

#include <optional>
#include <string>

#include "models/prices/price_table.h"
#include "planner/experiment.h"

namespace kvsim::results {

/// A scenario and what it came to: what every page and document of runs and comparisons is made of.
struct Outcome {
  scenario::Scenario scenario;
  planner::ExperimentResult result;
  std::string policy;            ///< of a comparison, as asked for; else empty
  std::string interrupted = {};  ///< what the result is of, in a sentence, where the run was interrupted; else empty
};

/// Why what was measured is no steady state (planner::unsteady_state); empty where nothing speaks against one.
std::string unsteady_state(const Outcome& outcome);

/// Output tokens per second, over all replicas or nodes. 0 where no time was measured.
double output_tokens_per_s(const planner::ExperimentResult& result);

/// Output tokens/s over those of `baseline`; no value where the baseline has none.
std::optional<double> speedup(const planner::ExperimentResult& result, const planner::ExperimentResult& baseline);

/// The KV that an instance of the group holds in a run.
[[nodiscard]] const serving::KvCapacity& capacity_of(const Outcome& outcome, const serving::GroupConfig& group);

/// Mean time to the first token of the baseline over that of the result; none without samples.
[[nodiscard]] std::optional<double> ttft_speedup(const planner::ExperimentResult& result,
                                                 const planner::ExperimentResult& baseline);

/// USD an hour: the GPUs' rent, or that of nodes, and host memory and storage as `kvsim capacity` buys them. None where
/// the table has no price for the GPU.
[[nodiscard]] std::optional<double> usd_per_hour(const Outcome& outcome, const models::PriceTable& prices);

/// USD per 1M output tokens: the GPUs' rent, and host memory and storage as `kvsim capacity` buys them. None where the
/// table has no price for the GPU, or no tokens came out.
[[nodiscard]] std::optional<double> usd_per_million(const Outcome& outcome, const models::PriceTable& prices);

}  // namespace kvsim::results
