// What a reader should know before believing a sweep: what its points take for granted, which figures were replaced.
#pragma once

#include <string>
#include <vector>

#include "tools/results/sweep_figures.h"

namespace kvsim::results {

/// The assumptions of all points that were simulated, each once, in the order in which points bring them up. Those of
/// some points only begin with the values of the axes that they belong to ("cluster.gpu.type=l40s,a100: ..."), or with
/// the numbers of the points where no values tell them apart.
std::vector<std::string> assumptions_of(const Sweep& sweep);

/// The fall-backs, likewise.
std::vector<std::string> fallbacks_of(const Sweep& sweep);

}  // namespace kvsim::results
