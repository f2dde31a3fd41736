// The roofline that every profile has, for operators and sizes that no form or table covers.
#pragma once

#include <functional>

#include "models/calibration/samples.h"
#include "models/kernels/profile.h"

namespace kvsim::models {

/// Fills linear_* and attention_* of a profile: t0 and bandwidth from rows that stream, by robust least squares;
/// efficiencies of arithmetic as medians by size. Where there are no such rows, a figure is an assumption and says so.
/// `before_step` as in FitProblem.
void fit_roofline(const Samples& samples, const Machine& machine, const std::string& reference,
                  const std::function<void()>& before_step, KernelProfile& profile);

}  // namespace kvsim::models
