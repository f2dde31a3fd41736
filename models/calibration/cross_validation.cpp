#include "models/calibration/cross_validation.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {
namespace {

/// Linear interpolation between order statistics (Hyndman-Fan 7).
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

/// Rows inside and outside of a set of shapes.
std::pair<std::vector<std::size_t>, std::vector<std::size_t>> split(const FitProblem& problem, const ShapeSet& shapes) {
  std::pair<std::vector<std::size_t>, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < problem.labels.size(); ++i) {
    (shapes.count(problem.labels[i].shape) > 0 ? rows.first : rows.second).push_back(i);
  }
  return rows;
}

}  // namespace

ErrorSummary summarise(const std::vector<double>& errors) {
  ErrorSummary s;
  s.count = errors.size();
  if (errors.empty()) return s;
  std::vector<double> sorted = errors;
  std::sort(sorted.begin(), sorted.end());
  s.bias = quantile(sorted, 0.5);
  for (double& e : sorted) e = std::abs(e);
  std::sort(sorted.begin(), sorted.end());
  s.median = quantile(sorted, 0.5);
  s.p90 = quantile(sorted, 0.9);
  s.max = sorted.back();
  return s;
}

std::vector<double> leave_out_shapes(const FitProblem& problem) {
  constexpr std::size_t kFolds = 6;
  constexpr std::size_t kFewShapes = 10;
  ShapeSet all;
  for (const RowLabel& label : problem.labels) all.insert(label.shape);
  if (all.size() < 2) return {};
  const std::vector<std::pair<double, double>> shapes(all.begin(), all.end());
  const std::size_t folds = shapes.size() <= kFewShapes ? shapes.size() : kFolds;
  std::vector<double> result(problem.measured.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    ShapeSet out;
    for (std::size_t i = fold; i < shapes.size(); i += folds) out.insert(shapes[i]);
    const auto [held_out, others] = split(problem, out);
    if (!enough_rows(problem, others.size())) return {};
    const std::vector<double> e = errors(problem, fit(problem, others).values, held_out);
    for (std::size_t i = 0; i < held_out.size(); ++i) result[held_out[i]] = e[i];
  }
  return result;
}

std::vector<double> leave_out_models(const FitProblem& problem, const std::vector<ShapeSet>& models) {
  std::vector<double> result;
  std::set<std::vector<std::size_t>> done;  // models with the same measured shapes are one test
  for (const ShapeSet& model : models) {
    const auto [held_out, others] = split(problem, model);
    if (held_out.empty() || !enough_rows(problem, others.size()) || !done.insert(held_out).second) continue;
    const std::vector<double> e = errors(problem, fit(problem, others).values, held_out);
    result.insert(result.end(), e.begin(), e.end());
  }
  return result;
}

}  // namespace kvsim::models
