// Routed experts as a fit problem.
#pragma once

#include "models/calibration/fit_problem.h"
#include "models/calibration/samples.h"
#include "models/kernels/moe_form.h"

namespace kvsim::models {

/// Rows of one number format and one kernel, of benchmarks that repeat one layer.
[[nodiscard]] FitProblem moe_problem(std::vector<MoeSample> rows, NumberFormat weights, const Machine& machine);
[[nodiscard]] MoeForm moe_form(NumberFormat weights, std::span<const double> values);

}  // namespace kvsim::models
