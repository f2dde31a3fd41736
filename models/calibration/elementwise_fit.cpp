#include <algorithm>

#include "models/calibration/operator_fits.h"
#include "models/schema/si.h"

namespace kvsim::models {
namespace {}  // namespace

ElementwiseForm elementwise_form(std::span<const double> values) {
  ElementwiseForm form;
  form.t0_s = values[0] * kMicrosecond;
  form.stream = {values[1], std::max(rounded(values[1] * values[2]), values[1]), values[3], values[4]};
  return form;
}

FitProblem elementwise_problem(std::vector<ElementwiseSample> rows, const Machine& machine) {
  FitProblem problem;
  problem.parameters = {{"t0 (us)", 2.5, 0, 20},
                        {"bandwidth_efficiency", 0.8, 0.2, 1.0},
                        {"l2_rate (of HBM's)", 2, 1, 30},
                        {"l2_share", 0.8, 0.1, 3},
                        {"l2_width", 0.3, 0.02, 3}};
  for (const ElementwiseSample& row : rows) {
    problem.measured.push_back(row.seconds);
    problem.labels.push_back({{row.bytes / row.tokens, 0}, row.layer});
  }
  problem.predict = [rows = std::move(rows), machine](std::span<const double> values,
                                                      std::span<const std::size_t> which, std::span<double> seconds) {
    const ElementwiseForm form = elementwise_form(values);
    for (std::size_t i = 0; i < which.size(); ++i) seconds[i] = form.seconds(rows[which[i]].bytes, machine);
  };
  return problem;
}

}  // namespace kvsim::models
