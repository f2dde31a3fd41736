#include "models/calibration/operator_report.h"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace kvsim::models {
namespace {

void add_values(const FitProblem& problem, const Solution& found, OperatorReport& report,
                std::vector<std::string>& warnings) {
  constexpr double kNear = 1e-3;
  for (std::size_t i = 0; i < problem.parameters.size(); ++i) {
    const Parameter& p = problem.parameters[i];
    if (p.low >= p.high) continue;  // not fitted here
    const double range = p.high - p.low;
    // At zero, or at a whole: nothing of the effect, or all of it.
    const bool at_low = found.values[i] - p.low < kNear * range && p.low != 0;
    const bool at_high = p.high - found.values[i] < kNear * range;
    report.values.push_back({p.name, found.values[i], at_low || at_high});
    if (at_low || at_high) {
      warnings.push_back(
          fmt::format("{} {}: {} is at its bound, {:.4g}", report.name, report.format, p.name, found.values[i]));
    }
  }
}

void add_regions(const FitProblem& problem, const std::vector<double>& in_sample, const std::vector<double>& held_out,
                 OperatorReport& report) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> regions;
  for (std::size_t i = 0; i < in_sample.size(); ++i) {
    auto& [in, out] = regions[problem.labels[i].region];
    in.push_back(in_sample[i]);
    if (!held_out.empty()) out.push_back(held_out[i]);
  }
  for (const auto& [name, e] : regions) report.regions.push_back({name, summarise(e.first), summarise(e.second)});
}

}  // namespace

std::optional<FormError> error_of(const OperatorReport& report) {
  const bool held_out = report.shapes.count > 0;
  const ErrorSummary& e = held_out ? report.shapes : report.in_sample;
  if (e.count == 0) return std::nullopt;
  FormError error{e.median, e.p90, held_out};
  if (report.models.count > 0) {
    error.models_median = report.models.median;
    error.models_p90 = report.models.p90;
  }
  return error;
}

std::optional<Solution> fit_and_report(const FitProblem& problem, const std::vector<ShapeSet>& models,
                                       const CalibrationOptions& options, OperatorReport& report,
                                       std::vector<std::string>& warnings) {
  if (problem.measured.empty()) return std::nullopt;
  if (!enough_rows(problem, problem.measured.size())) {
    warnings.push_back(fmt::format("{} {}: {} rows are too few to fit {} parameters, expected twice as many; left out",
                                   report.name, report.format, problem.measured.size(), free_parameters(problem)));
    return std::nullopt;
  }
  const std::vector<std::size_t> rows = all_rows(problem);
  Solution found = fit(problem, rows);
  const std::vector<double> in_sample = errors(problem, found, rows);
  report.in_sample = summarise(in_sample);
  std::vector<double> held_out;
  if (options.leave_out_shapes) held_out = leave_out_shapes(problem, found);
  report.shapes = summarise(held_out);
  if (options.leave_out_models) report.models = summarise(leave_out_models(problem, found, models));
  add_values(problem, found, report, warnings);
  add_regions(problem, in_sample, held_out, report);
  return found;
}

}  // namespace kvsim::models
