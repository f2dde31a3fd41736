// Which of a profile's figures decide a model's step times, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/hardware/gpu.h"
#include "models/kernels/profile.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

struct UsedFigure {
  std::string name;   ///< as a path in the scenario, from `profile.`
  std::string value;  ///< with its unit, or what it is: curve, table, form
  schema::Source source;
};

/// In the order of the profile's keys. Of tables, only those whose shape the model has.
[[nodiscard]] std::vector<UsedFigure> used_figures(const GpuSpec& gpu, const KernelProfile& profile,
                                                   const LlmSpec& model, std::int64_t tensor_parallel);

}  // namespace kvsim::models
