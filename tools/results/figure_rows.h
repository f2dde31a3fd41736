// Figures of several results as a table for people's own tools: a row a result, a column a figure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/results/metrics/metric.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// The last step of the path of an interval's half width.
inline constexpr std::string_view kHalfWidth = "half_width_95";

/// Calls `use` for every number of a figures_document (or null in place of one), in order: dotted path and value. Wall
/// clock, seed and versions are left out; half widths come last, as METRIC.half_width_95.
void for_each_figure(const Json& figures, const std::function<void(const std::string&, const Json&)>& use);

/// The rows of a CSV file: cells that tell them apart, then every figure that any of them has.
struct FigureRows {
  std::vector<std::string> heading;  ///< of the cells

  /// `figures`: a figures_document, or null for a row without any.
  void add(std::vector<std::string> cells, Json figures) { rows_.emplace_back(std::move(cells), std::move(figures)); }
  /// Columns in the order in which rows bring them up; empty where a row has none or null.
  [[nodiscard]] std::string csv() const;

 private:
  std::vector<std::pair<std::vector<std::string>, Json>> rows_;
};

/// A row a run: its scenario, its policy where any was asked for by name, and its figures.
[[nodiscard]] std::string outcomes_csv(const std::vector<Outcome>& outcomes);

/// Objects of a document's list, a row each: what in them is a word or a number, by its path.
[[nodiscard]] std::string objects_csv(const Json& objects);

}  // namespace kvsim::results
