// Where one of two ways becomes the faster one, as something grows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kvsim::planner {

/// Where a condition holds between two ends.
struct HoldsWhere {
  bool at_first = false;        ///< whether it holds at the lower end
  std::vector<double> changes;  ///< ascending; from each on it is the other way round

  [[nodiscard]] bool always() const { return at_first && changes.empty(); }
  [[nodiscard]] bool never() const { return !at_first && changes.empty(); }
};

/// "always", "never", "at least 3", "below 3", "from 3 to below 5", "below 3 and at least 5"; numbers as `print` writes
/// them.
[[nodiscard]] std::string words_of(const HoldsWhere& where, const std::function<std::string(double)>& print);

/// How the place of a change is narrowed down between two points of the grid.
enum class BisectIn {
  linear,       ///< to a billionth of the distance
  logarithmic,  ///< to a billionth of the value
  whole         ///< to whole numbers: the first one where it is the other way round
};

/// Looks at every point of the grid (ascending, at least one; above 0 if logarithmic, whole if whole) and bisects
/// between neighbours that differ. Changes that are undone between neighbours are not seen.
[[nodiscard]] HoldsWhere holds_where(const std::function<bool(double)>& holds, std::span<const double> grid,
                                     BisectIn in);

}  // namespace kvsim::planner
