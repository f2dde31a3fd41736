#include "tools/results/sweep.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "tools/results/metrics.h"
#include "tools/results/numbers.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

constexpr std::array<std::string_view, 6> kNotFigures{"schema_version", "kvsim_version", "scenario",
                                                      "seed",           "engine.wall_s", "engine.events_per_s"};
constexpr std::string_view kHalfWidth = "half_width_95";

void walk(const Json& node, const std::string& path, const std::function<void(const std::string&, const Json&)>& use) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) walk(value, path.empty() ? key : path + "." + key, use);
  } else if (node.is_number() || node.is_null()) {
    if (std::find(kNotFigures.begin(), kNotFigures.end(), path) == kNotFigures.end()) use(path, node);
  }
}

std::string last_step(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

}  // namespace

std::string encoded_figures(scenario::Scenario scenario, planner::ExperimentResult result) {
  return figures_document({std::move(scenario), std::move(result), ""}).dump();
}

void for_each_figure(const Json& figures, const std::function<void(const std::string&, const Json&)>& use) {
  for (const auto& [key, value] : figures.items()) {
    if (key != "confidence") walk(value, key, use);
  }
  for (const auto& [metric, interval] : figures.at("confidence").items()) {
    use(fmt::format("{}.{}", metric, kHalfWidth), interval.at(std::string(kHalfWidth)));
  }
}

std::vector<std::string> axis_labels(const std::vector<planner::sweep::Axis>& axes) {
  std::map<std::string, int> times;
  for (const planner::sweep::Axis& axis : axes) ++times[last_step(axis.path)];
  std::vector<std::string> result;
  for (const planner::sweep::Axis& axis : axes) {
    const std::string step = last_step(axis.path);
    result.push_back(times[step] == 1 ? step : axis.path);
  }
  return result;
}

FigureTable::FigureTable(const Sweep& sweep) {
  std::unordered_map<std::string, std::size_t> columns;
  for (const planner::sweep::PointResult& point : sweep.points) {
    std::vector<double>& row = rows_.emplace_back(names_.size(), kNone);
    if (!point.simulated()) continue;
    for_each_figure(Json::parse(point.result), [&](const std::string& name, const Json& value) {
      const auto [known, added] = columns.emplace(name, names_.size());
      if (added) {
        names_.push_back(name);
        row.push_back(kNone);
      }
      if (value.is_number()) row[known->second] = value.get<double>();
    });
  }
}

std::optional<std::size_t> FigureTable::column(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

double FigureTable::at(std::size_t row, std::string_view name) const {
  const auto at = column(name);
  return at && *at < rows_[row].size() ? rows_[row][*at] : kNone;  // earlier rows are shorter than later ones
}

std::vector<std::size_t> FigureTable::ranked(std::string_view metric) const {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const double value = at(row, metric);
    if (value == value) order.emplace_back(less_is_better(metric) ? value : -value, row);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> rows;
  for (const auto& [value, row] : order) rows.push_back(row);
  return rows;
}

}  // namespace kvsim::results
