// The options of `kvsim plan`, all of its modes together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/run_options.h"

namespace kvsim::cli {

struct PlanOptions : RunOptions {
  std::string scenario;
  std::string symbols;
  std::string paths;
  std::string lp_out;  ///< with paths
  std::string model;
  std::string draft_length;
  std::string keep_ratio;
  std::vector<std::string> without;  ///< refinements
  bool simulate = false;
  bool explain = false;
  bool pareto = false;
  bool draft_table = false;
  std::string prices;  ///< with pareto
  // Of scenarios whose prompts are made of chunks.
  std::string context;
  std::string hit_rate;
  std::string link;
  std::string tier;
  std::vector<std::string> engines;  ///< --export
};

}  // namespace kvsim::cli
