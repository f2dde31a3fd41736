// Fits every operator of a profile to rows that were selected and checked. Internal to calibrate.cpp.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/calibration.h"
#include "models/hardware/gpu.h"

namespace kvsim::models {

/// Another GPU with rows of the same framework.
struct OtherMachine {
  GpuSpec gpu;
  Samples samples;
};

/// Adds the profile of `gpu`, tables of collectives and reports to `result`. `framework`: whose rows `samples` are.
void fit_profile(const GpuSpec& gpu, const std::string& framework, Samples samples, std::vector<OtherMachine> others,
                 const std::vector<LlmSpec>& models, const CalibrationOptions& options, Calibration& result);

}  // namespace kvsim::models
