// The objectives that a document's scenario sets, and the values of a sweep's axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/view.h"

namespace kvsim::report {

/// The scenario that a document carries ("resolved_scenario", of a run under "details"), read again; empty where there
/// is none, or one that was changed by hand into something else.
[[nodiscard]] Json resolved_scenario(const Json& document);

/// Seconds; none where the scenario sets none.
struct Objectives {
  std::optional<double> ttft_s, tpot_s;
};
[[nodiscard]] Objectives objectives_of(const Json& document);

/// All of them in words: "TTFT p99 30.0 s, TPOT p99 120 ms"; empty where the scenario sets none.
[[nodiscard]] std::string objectives_words(const Json& document);

/// What drafts are made with in a scenario: "x = 25, c = 0.2"; empty where it does not say.
[[nodiscard]] std::string draft_settings(const Json& document);

/// The values of an axis as numbers, if they are: quantities all in the same unit too ("0.5/s"). Empty where not.
struct AxisValues {
  std::vector<double> values;
  std::string unit;
};
[[nodiscard]] AxisValues axis_values(const Json& axis);

/// A figure of a point's result by its dotted path, as of sweeps.
[[nodiscard]] double figure_at(const Json& result, std::string_view path);

}  // namespace kvsim::report
