// A sweep for programs: one JSON document, or CSV with a row a point. Equal plan and version give equal bytes, whatever
// interrupted the sweep and however many threads ran it.
#pragma once

#include <string>

#include "tools/results/sweep_figures.h"

namespace kvsim::results {

/// {"schema_version", "kvsim_version", "scenario", "seed", "replications", "shard" (of a part), "design", "axes":
/// [{"path", "values"}], "resolved_scenario" (YAML, before anything varies), "assumptions", "fallbacks" (sentences, see
/// sweep_caveats.h), "points": [{"index", "set", "status", "reason" or "result"}], "best"}; a line a point.
std::string sweep_json(const Sweep& sweep);

/// index, a column an axis, status, reason, a column a figure. Fields are quoted where they hold commas.
std::string sweep_csv(const Sweep& sweep);

}  // namespace kvsim::results
