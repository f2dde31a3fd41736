#include "tools/results/shortfall.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/serving/slo.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

constexpr double kShareUnit = 0.001;  // results::percent()
constexpr double kScoreUnit = 0.001;  // results::fidelity_text()

/// In units as it is printed, so that what prints alike is as far behind; a miss stays one.
double as_printed(double by, double unit) {
  return by > 0 ? std::max(std::round(by / unit), 0.5) * unit : 0;
}

/// The figure by how much the run is below a floor; infinity where it is null, 0 where it is not there.
double below_floor(const Json& slo, const QualityFloor& floor) {
  const auto below = slo.find(floor.below);
  if (below == slo.end()) return 0;
  return below->is_number() ? below->get<double>() : std::numeric_limits<double>::infinity();
}

/// The largest difference, over the percentiles that are asked for, between the share named and the share that met
/// them.
double furthest_below(const Json& slo, double met_all) {
  const auto percentiles = slo.find("percentiles");
  if (percentiles == slo.end() || !percentiles->is_object()) return kMetByEnough - met_all;
  double most = 0;
  for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
    const auto met = percentiles->find(serving::percentile_name(p));
    if (met != percentiles->end() && met->is_number())
      most = std::max(most, serving::slo_share(p) - met->get<double>());
  }
  return most;
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
  if (asked.objectives) {
    for (const QualityFloor& floor : kQualityFloors) {
      by.below_floor = std::max(by.below_floor, as_printed(below_floor(slo, floor), kScoreUnit));
    }
  }
  if (const auto met = slo.find("attainment"); met != slo.end()) {
    if (met->is_number()) {
      if (asked.objectives) by.missed = as_printed(furthest_below(slo, met->get<double>()), kShareUnit);
    } else if (const Json::json_pointer finished("/latency_s/e2e/mean");
               !result.contains(finished) || !result.at(finished).is_number()) {
      by.missed = 1;  // else no objective is set
    }
  }
  return by;
}

std::string needed_words(const std::vector<std::string>& percentiles) {
  std::string words;
  for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
    const std::string name = serving::percentile_name(p);
    if (std::find(percentiles.begin(), percentiles.end(), name) == percentiles.end()) continue;
    words += (words.empty() ? "" : " and ") + percent(serving::slo_share(p));
    if (percentiles.size() > 1) words += fmt::format(" ({})", name);
  }
  return words.empty() ? percent(kMetByEnough) : words;
}

std::string needed_words(const Json& result) {
  std::vector<std::string> names;
  const Json slo = slo_of(result);
  if (const auto percentiles = slo.find("percentiles"); percentiles != slo.end() && percentiles->is_object()) {
    for (const auto& [name, met] : percentiles->items()) names.push_back(name);
  }
  return needed_words(names);
}

std::vector<std::string> floors_set(const Json& result) {
  const Json slo = slo_of(result);
  std::vector<std::string> keys;
  for (const QualityFloor& floor : kQualityFloors) {
    if (slo.contains(floor.below)) keys.emplace_back(floor.key);
  }
  return keys;
}

std::string floor_words(const Json& result) {
  const Json slo = slo_of(result);
  std::string words;
  for (const QualityFloor& floor : kQualityFloors) {
    const double below = below_floor(slo, floor);
    if (std::isinf(below)) {
      words += fmt::format(", of which nobody knows whether it reaches {}", floor.key);
    } else if (below > 0) {
      words += fmt::format(", {:.3g} below {}", below, floor.key);
    }
  }
  return words;
}

}  // namespace kvsim::results
