// The objectives that a document's scenario sets, and the values of a sweep's axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/view.h"

namespace kvsim::report {

/// Seconds; none where the scenario sets none.
struct Objectives {
  std::optional<double> ttft_s, tpot_s;
};

/// Of a document with a "resolved_scenario".
[[nodiscard]] Objectives objectives_of(const Json& document);

/// The values of an axis as numbers, if they are: quantities all in the same unit too ("0.5/s"). Empty where not.
struct AxisValues {
  std::vector<double> values;
  std::string unit;
};
[[nodiscard]] AxisValues axis_values(const Json& axis);

/// A figure of a point's result by its dotted path, as of sweeps.
[[nodiscard]] double figure_at(const Json& result, std::string_view path);

}  // namespace kvsim::report
