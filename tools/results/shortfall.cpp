#include "tools/results/shortfall.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace kvsim::results {
namespace {

constexpr const char* kBelowFloor = "below_quality_floor";

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
  if (asked.objectives) by.below_floor = below_floor(slo);
  if (const auto met = slo.find("attainment"); met != slo.end()) {
    if (!met->is_number()) {
      by.missed = 1;
    } else if (asked.objectives) {
      by.missed = std::max(0.0, kMetByEnough - met->get<double>());
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
