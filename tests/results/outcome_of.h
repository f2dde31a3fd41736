// An outcome of measurements made by hand.
#pragma once

#include <utility>

#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"
#include "tools/results/result_document.h"

namespace kvsim::testing {

inline results::Outcome outcome_of(const scenario::Scenario& scenario, serving::Measurements measured) {
  results::Outcome outcome{scenario, {}, ""};
  outcome.result.measured = std::move(measured);
  outcome.result.replications = 1;
  for (const serving::GroupConfig& group : scenario.serving.cluster.groups) {
    outcome.result.capacities.push_back(serving::kv_capacity(scenario.serving, group));
  }
  return outcome;
}

}  // namespace kvsim::testing
