// A measured serving point as a scenario, or why kvsim cannot describe it.
#pragma once

#include <string>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/schema/config_node.h"
#include "planner/backtest/published.h"
#include "planner/backtest/serving_points.h"

namespace kvsim::planner::backtest {

/// Group by which points are told apart when errors are summed up.
struct PointGroup {
  std::string model, gpu;   ///< in the catalogue; as published where they are not known
  std::string engine;       ///< without its version
  std::string precision;    ///< "fp8", "fp8, KV fp8"
  std::string parallelism;  ///< "tp2"

  friend auto operator<=>(const PointGroup&, const PointGroup&) = default;
};

struct PointScenario {
  PointGroup group;
  /// Why kvsim cannot describe the point, in words that points have in common; empty: it can.
  std::string out_of_scope;
  schema::ConfigNode document;  ///< the scenario as it would be written; null where out of scope
};

/// The point's engine, model, GPUs and clients in kvsim's words: recompute with chunked prefill, full_kv, all clients
/// at once, as many requests a client and lengths as its source says. `include` are the files that the catalogue has
/// beside the built-in entries.
[[nodiscard]] PointScenario point_scenario(const ServingPoint& point, const Published& published,
                                           const models::Catalogue& catalogue,
                                           const std::vector<std::string>& include = {});

}  // namespace kvsim::planner::backtest
