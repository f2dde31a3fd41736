// Which combinations of values a sweep simulates: its points, numbered from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/schema/overrides.h"
#include "planner/sweep/axis.h"

namespace kvsim::planner::sweep {

enum class DesignKind {
  grid,             ///< every combination, the last axis fastest
  latin_hypercube,  ///< every axis in as many strata as there are points, one point in each
  list              ///< as written in a file
};

/// "grid", ...; and back (throws std::invalid_argument).
std::string_view design_name(DesignKind kind);
DesignKind design_kind(std::string_view name);

class Design {
 public:
  /// One point without any change.
  Design() = default;

  /// Throws schema::InputError for intervals, which have no values to combine, and for more than kMostPoints.
  static Design grid(const std::vector<AxisSpec>& axes);
  /// `points` of them. Intervals are sampled within strata of equal width, lists in strata of equal numbers of points
  /// (a value each where there are as many). Each axis draws from a random stream of its own, named by its path.
  static Design latin_hypercube(const std::vector<AxisSpec>& axes, std::size_t points, std::uint64_t seed);
  /// A CSV file with a header of paths and a row a point; fields in double quotes may hold commas. Throws
  /// schema::InputError with file and line.
  static Design list(const std::string& file);

  /// From its parts, as axes() and chosen() give them; chosen is not used by grids. Throws std::invalid_argument where
  /// they do not go together.
  Design(DesignKind kind, std::vector<Axis> axes, std::vector<std::vector<std::uint32_t>> chosen);

  [[nodiscard]] DesignKind kind() const { return kind_; }
  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  /// Numbers of each point's values; empty for grids.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& chosen() const { return chosen_; }
  [[nodiscard]] std::size_t size() const;

  /// The number of the value of each axis at a point.
  [[nodiscard]] std::vector<std::uint32_t> at(std::size_t point) const;
  [[nodiscard]] const std::string& value(std::size_t point, std::size_t axis) const;
  /// Changes of the scenario at a point. The origins name the option, or the line of the file.
  [[nodiscard]] std::vector<schema::Assignment> changes(std::size_t point) const;
  /// "decode.draft_length=5, decode.keep_ratio=0.1".
  [[nodiscard]] std::string describe(std::size_t point) const;

  /// Whether both have the same points in the same order; where they were written does not count.
  friend bool operator==(const Design& a, const Design& b) {
    return a.kind_ == b.kind_ && a.axes_ == b.axes_ && a.chosen_ == b.chosen_;
  }

 private:
  DesignKind kind_ = DesignKind::grid;
  std::vector<Axis> axes_;
  std::vector<std::vector<std::uint32_t>> chosen_;
  std::string file_;        ///< of a list; empty: read from elsewhere
  std::vector<int> lines_;  ///< of each point in it
};

}  // namespace kvsim::planner::sweep
