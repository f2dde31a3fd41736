#include "tools/results/shortfall.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace kvsim::results {
namespace {

constexpr double kShareUnit = 0.001;  // results::percent()
constexpr double kScoreUnit = 0.001;  // results::fidelity_text()
constexpr const char* kBelowFloor = "below_quality_floor";

/// In units as it is printed, so that what prints alike is as far behind; a miss stays one.
double as_printed(double by, double unit) {
  return by > 0 ? std::max(std::round(by / unit), 0.5) * unit : 0;
}

/// slo.below_quality_floor; infinity where it is null, 0 where it is not there.
double below_floor(const Json& slo) {
  const auto below = slo.find(kBelowFloor);
  if (below == slo.end()) return 0;
  return below->is_number() ? below->get<double>() : std::numeric_limits<double>::infinity();
}

Json slo_of(const Json& result) {
  const auto slo = result.is_object() ? result.find("slo") : result.end();
  return slo != result.end() && slo->is_object() ? *slo : Json::object();
}

}  // namespace

Shortfall shortfall_of(const Json& result, Asked asked) {
  Shortfall by;
  if (asked.steady) {
    const Json::json_pointer unsteady("/requests/unsteady_state");
    by.unsteady = result.contains(unsteady) && result.at(unsteady).is_string() && result.at(unsteady) != "";
  }
  const Json slo = slo_of(result);
  if (asked.objectives) by.below_floor = as_printed(below_floor(slo), kScoreUnit);
  if (const auto met = slo.find("attainment"); met != slo.end()) {
    if (met->is_number()) {
      if (asked.objectives) by.missed = as_printed(kMetByEnough - met->get<double>(), kShareUnit);
    } else if (const Json::json_pointer finished("/latency_s/e2e/mean");
               !result.contains(finished) || !result.at(finished).is_number()) {
      by.missed = 1;  // else no objective is set
    }
  }
  return by;
}

std::string floor_words(const Json& result) {
  const double below = below_floor(slo_of(result));
  if (std::isinf(below)) return ", of which nobody knows whether it reaches slo.quality_floor";
  return below > 0 ? fmt::format(", {:.3g} below slo.quality_floor", below) : std::string();
}

}  // namespace kvsim::results
