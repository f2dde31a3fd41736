// Runs scenarios side by side; results come by index, whatever the number of threads.
#pragma once

#include <string>
#include <vector>

#include "sim/engine/trace.h"
#include "sim/scenario/scenario.h"
#include "tools/results/result_document.h"

namespace kvsim::cli {

struct Planned {
  scenario::Scenario scenario;
  std::string policy;                  ///< of a comparison; else empty
  engine::TraceSink* trace = nullptr;  ///< of its first replication
  bool timeline = false;               ///< keep its first replication's load over time
};

/// Throws schema::InputError for scenarios that turn out not to make sense, Interrupted after SIGINT, and what
/// planner::run_experiment throws.
std::vector<results::Outcome> run_experiments(std::vector<Planned> planned, int jobs);

}  // namespace kvsim::cli
