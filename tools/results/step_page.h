// One step of a scenario's GPUs, operator by operator: page and document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/kernels/step_operators.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/bottleneck.h"
#include "tools/results/fields.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Work of the step. Requests are alike.
struct StepQuestion {
  std::optional<std::int64_t> batch;    ///< requests that decode or draft; none: as many as have places and memory
  std::optional<std::int64_t> context;  ///< tokens of each; none: the mean of workload.context
  std::int64_t verifying = 0;           ///< further requests that verify decode.draft_length tokens
  std::int64_t chunk = 0;               ///< tokens of a prompt beside them, its first ones
};

struct StepReport {
  std::string model, gpu, profile;
  std::string what;  ///< the step has to do, in words
  std::int64_t gpus = 1;
  std::int64_t requests = 0;
  std::int64_t context = 0;
  std::int64_t verifying = 0;
  std::int64_t chunk = 0;
  double seconds = 0;
  std::vector<models::StepOperator> operators;
  serving::Bottleneck bound_by;
  bool launched_for_size = false;  ///< models::StepTimer::launched_for_size()
  std::vector<std::string> fallbacks;
};

/// Throws schema::InputError where the context is neither given nor that of the scenario, and for policies that fetch
/// KV while a step runs.
StepReport step_report(const scenario::Scenario& scenario, const StepQuestion& question);

Page step_page(const StepReport& report);
Json step_json(const StepReport& report);
KeyList step_keys();

}  // namespace kvsim::results
