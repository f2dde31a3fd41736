// The figures of a sweep's points side by side: which there are, which point is best by one of them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/sweep/journal.h"
#include "tools/results/outcome.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// What points are ranked by unless somebody asks for another figure.
inline constexpr std::string_view kThroughput = "throughput.output_tokens_per_s";

/// A sweep and what became of its points.
struct Sweep {
  planner::sweep::Plan plan;
  std::vector<planner::sweep::PointResult> points;  ///< by number
  std::string metric{kThroughput};                  ///< dotted path of the figure that ranks
};

/// A run's figures as one line of JSON: the `result` of a point.
std::string encoded_figures(scenario::Scenario scenario, planner::ExperimentResult result);

/// Calls `use` for every number of a figures_document (or null in place of one), in order: dotted path and value. Wall
/// clock, seed and versions are left out; half widths come last, as METRIC.half_width_95.
void for_each_figure(const Json& figures, const std::function<void(const std::string&, const Json&)>& use);

/// The last step of each path where that tells them apart, else the whole path.
std::vector<std::string> axis_labels(const std::vector<planner::sweep::Axis>& axes);

/// The figures as a table: a column a figure, a row a point. NaN where a point has none.
class FigureTable {
 public:
  explicit FigureTable(const Sweep& sweep);

  /// In the order in which points bring them up.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] double at(std::size_t row, std::string_view name) const;
  /// Rows by rank; those without the figure are left out. Equal figures: the smaller number first.
  [[nodiscard]] std::vector<std::size_t> ranked(std::string_view metric) const;

 private:
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;

  std::vector<std::string> names_;
  std::vector<std::vector<double>> rows_;
};

}  // namespace kvsim::results
