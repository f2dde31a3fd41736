#pragma once

#include <vector>

#include "models/calibration/fit_problem.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// Shapes that the rows of each model of a catalogue have in a fit's labels.
struct ModelShapes {
  std::vector<ShapeSet> linear;
  std::vector<ShapeSet> attention;
  std::vector<ShapeSet> moe;
  std::vector<ShapeSet> latent;  ///< absorbed and expanded
};

[[nodiscard]] ModelShapes shapes_of(const std::vector<LlmSpec>& models);

}  // namespace kvsim::models
