// A sweep from the command line to its files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/results/sweep_figures.h"

namespace kvsim::cli {

struct SweepOptions : SimulationOptions {
  std::string scenario;
  std::vector<std::string> vary;    ///< PATH=SPEC
  std::string sample;               ///< "lhs:N"; empty: a grid
  std::string points;               ///< CSV file in place of `vary`
  std::vector<std::string> merged;  ///< folders of shards to put together, in place of everything else
  std::string shard;                ///< "k/n"; empty: all points
  std::string out;
  bool resume = false;
  bool json = false;
  bool csv = false;
  std::string metric{results::kThroughput};
};

/// Runs it, or goes on with it, and delivers files and output. Throws schema::InputError, OutputError, Interrupted
/// (what is finished is in the journal), planner::Infeasible where no point can be simulated, and what
/// planner::run_experiment throws.
void run_sweep(Console& console, const SweepOptions& options);

/// Puts shards together and delivers them like a sweep.
void merge_sweeps(Console& console, const SweepOptions& options);

}  // namespace kvsim::cli
