#include "planner/sweep/design.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "models/schema/error.h"

namespace kvsim::planner::sweep {
namespace {

constexpr std::array<std::pair<DesignKind, std::string_view>, 3> kNames{
    {{DesignKind::grid, "grid"}, {DesignKind::latin_hypercube, "lhs"}, {DesignKind::list, "list"}}};

}  // namespace

std::string_view design_name(DesignKind kind) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const auto& n) { return n.first == kind; })->second;
}

DesignKind design_kind(std::string_view name) {
  const auto* const found = std::find_if(kNames.begin(), kNames.end(), [&](const auto& n) { return n.second == name; });
  if (found == kNames.end()) throw std::invalid_argument(fmt::format("unknown design \"{}\"", name));
  return found->first;
}

Design::Design(DesignKind kind, std::vector<Axis> axes, std::vector<std::vector<std::uint32_t>> chosen)
    : kind_(kind), axes_(std::move(axes)), chosen_(std::move(chosen)) {
  for (const Axis& axis : axes_) {
    if (axis.values.empty()) throw std::invalid_argument(fmt::format("{} has no values", axis.path));
  }
  for (const auto& point : chosen_) {
    bool fits = point.size() == axes_.size();
    for (std::size_t a = 0; fits && a < point.size(); ++a) fits = point[a] < axes_[a].values.size();
    if (!fits) throw std::invalid_argument("a point names values that its axes do not have");
  }
}

Design Design::grid(const std::vector<AxisSpec>& specs) {
  std::vector<Axis> axes;
  std::size_t points = 1;
  for (const AxisSpec& spec : specs) {
    if (spec.interval) {
      throw schema::InputError(schema::Origin("--vary " + spec.axis.path),
                               fmt::format("a range without a step has no values: write {}:{}:STEP, or sample it with "
                                           "--sample lhs:N",
                                           spec.interval->low, spec.interval->high));
    }
    points *= spec.axis.values.size();
    if (points > kMostPoints) {
      throw schema::InputError(
          fmt::format("--vary: the grid has more than {} points, expected fewer values, or "
                      "--sample lhs:N",
                      kMostPoints));
    }
    axes.push_back(spec.axis);
  }
  return {DesignKind::grid, std::move(axes), {}};
}

std::size_t Design::size() const {
  if (kind_ != DesignKind::grid) return chosen_.size();
  std::size_t points = 1;
  for (const Axis& axis : axes_) points *= axis.values.size();
  return points;
}

std::vector<std::uint32_t> Design::at(std::size_t point) const {
  if (kind_ != DesignKind::grid) return chosen_.at(point);
  std::vector<std::uint32_t> numbers(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0;) {
    numbers[a] = static_cast<std::uint32_t>(point % axes_[a].values.size());
    point /= axes_[a].values.size();
  }
  return numbers;
}

const std::string& Design::value(std::size_t point, std::size_t axis) const {
  return axes_.at(axis).values.at(at(point)[axis]);
}

std::vector<schema::Assignment> Design::changes(std::size_t point) const {
  const std::vector<std::uint32_t> numbers = at(point);
  std::vector<schema::Assignment> result;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const schema::Origin origin =
        lines_.empty() ? schema::Origin("--vary " + axes_[a].path) : schema::Origin(file_).at(lines_[point], 1);
    result.push_back({axes_[a].path, axes_[a].values[numbers[a]], origin});
  }
  return result;
}

std::string Design::describe(std::size_t point) const {
  std::string text;
  const std::vector<std::uint32_t> numbers = at(point);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    text += fmt::format("{}{}={}", a == 0 ? "" : ", ", axes_[a].path, axes_[a].values[numbers[a]]);
  }
  return text;
}

}  // namespace kvsim::planner::sweep
