// The law of workload.prefixes that fits what a trace's prompts have in common: how many beginnings, how popular, how
// long.
#pragma once

#include <optional>

#include "models/workload/shared_prefixes.h"
#include "planner/traffic/law_fit.h"
#include "planner/traffic/traffic_sample.h"

namespace kvsim::planner::traffic {

struct PrefixFit {
  models::SharedPrefixSpec law;
  LengthFit own;           ///< tokens that follow the prefix
  double token_reuse = 0;  ///< of the trace, in a cache that never evicts

  // What is expected of as many requests of the law, blocks of the trace's size, for 199 draws of which prefixes are
  // long (a run makes one): the median, the least and the most, between which a further one is with a chance of 99 %.
  // Means over requests vary more than if each had a length of its own; what they vary by chance anyway is added.
  Estimate law_token_reuse;  ///< as token_reuse
  Estimate law_prompt_mean;  ///< of whole prompts
  Estimate law_prompt_cv;
};

/// None where no two requests begin alike. Each request belongs to the longest beginning that it has in common with
/// another; those that have none are of prefixes that nobody else has drawn, of mean
/// length.
std::optional<PrefixFit> fit_prefixes(const TrafficSample& sample);

}  // namespace kvsim::planner::traffic
