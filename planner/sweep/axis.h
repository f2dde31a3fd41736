// Axis of a sweep: one scenario key and the values it takes, as `--vary PATH=SPEC` says it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/schema/units.h"

namespace kvsim::planner::sweep {

/// Points beyond which a sweep is taken for a mistake.
inline constexpr std::size_t kMostPoints = 1'000'000;

/// A key and its values in YAML, in the order in which they are swept.
struct Axis {
  std::string path;  ///< dotted: decode.draft_length
  std::vector<std::string> values;

  friend bool operator==(const Axis&, const Axis&) = default;
};

/// Every number between two ends, for designs that sample.
struct Interval {
  std::string low, high;  ///< as written, units included
  /// Dimension of the key's values: whole things (tokens, bytes, counts) are sampled whole.
  schema::Dimension dimension = schema::Dimension::number;
};

/// An axis as it was asked for: values, or an interval to sample from.
struct AxisSpec {
  Axis axis;  ///< no values where there is an interval
  std::optional<Interval> interval;
};

/// Reads PATH=SPEC. SPEC is a comma list of YAML values (maps, lists and quoted text may hold commas), of which each
/// may also be a range: `5:60:5` and `16k tokens:64k tokens:16k tokens` with a step, `1:64:*2` with a factor, both ends
/// included if hit. `0.1:0.9` alone, without a step, is an interval. Throws schema::InputError (`--vary PATH: ...`) for
/// empty ranges, steps of the wrong sign, values that are there twice and more than kMostPoints of them.
AxisSpec parse_axis(std::string_view assignment);

/// Refuses a path that is there twice, also set for all points (`a.b.c=v` each), or behind a key within it, whose
/// values it would replace. Throws schema::InputError.
void check_paths(const std::vector<Axis>& axes, const std::vector<std::string>& set);

}  // namespace kvsim::planner::sweep
