// Figures of a step's time that a profile lacks or takes from elsewhere, in words, for reports.
#pragma once

#include <string>
#include <vector>

#include "models/kernels/operators/collectives.h"
#include "models/kernels/operators/linear.h"
#include "models/kernels/operators/window.h"

namespace kvsim::models {

/// Empty when no figure was replaced.
[[nodiscard]] std::vector<std::string> step_fallbacks(const StepSetup& setup, const LinearLayers& linear,
                                                      const Attention& attention, const Collectives& collectives);

}  // namespace kvsim::models
