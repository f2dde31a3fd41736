// A scenario and what it came to: what every page and document of runs and comparisons is made of.
#pragma once

#include <string>
#include <string_view>

#include "planner/experiment.h"

namespace kvsim::results {

/// Grows when a key changes its meaning or goes.
inline constexpr int kSchemaVersion = 1;

/// The version of the program, "0.1.0".
std::string_view kvsim_version();

struct Outcome {
  scenario::Scenario scenario;
  planner::ExperimentResult result;
  std::string policy;  ///< of a comparison, as asked for; else empty
};

}  // namespace kvsim::results
