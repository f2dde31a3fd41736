// One step of a scenario's GPUs, operator by operator, for people.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/scenario/scenario.h"
#include "tools/page/page.h"

namespace kvsim::results {

/// What the step has to do. Requests are alike.
struct StepQuestion {
  std::optional<std::int64_t> batch;    ///< requests that decode or draft; none: as many as have places and memory
  std::optional<std::int64_t> context;  ///< tokens of each; none: the mean of workload.context
  std::int64_t verifying = 0;           ///< further requests that verify decode.draft_length tokens
  std::int64_t chunk = 0;               ///< tokens of a prompt beside them, its first ones
};

/// Throws schema::InputError where the context is neither given nor that of the scenario, and for policies that fetch
/// KV while a step runs.
page::Page step_page(const scenario::Scenario& scenario, const StepQuestion& question);

}  // namespace kvsim::results
