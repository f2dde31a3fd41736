// How far a run is behind what its scenario asks for, whatever its figures: what sweeps, maps and reports rank by
// before they look at a figure.
#pragma once

#include <array>
#include <compare>
#include <string>
#include <vector>

#include "tools/results/section.h"

namespace kvsim::results {

/// The share of requests from which on a run meets its objectives where its document names no percentiles: those of
/// older documents are all of the 99th.
inline constexpr double kMetByEnough = 0.99;

/// Shortfall of a run. Of two runs, the one with less is nearer to what is asked for; what stands first counts first.
struct Shortfall {
  bool unsteady = false;  ///< a service is asked for, and the run was in no steady state
  /// slo.below_quality_floor or slo.below_functional_floor, the larger, in thousandths; infinity where one is not
  /// known.
  double below_floor = 0;
  /// By how much the share of requests that met a percentile's limits is below what that percentile names, of the one
  /// that is furthest, in thousandths, as shares are printed; 1 where none finished, whether or not objectives count.
  double missed = 0;

  auto operator<=>(const Shortfall&) const = default;
  [[nodiscard]] bool nothing() const { return *this == Shortfall{}; }
};

/// Demands that count.
struct Asked {
  bool steady = false;      ///< a service is asked for
  bool objectives = false;  ///< latencies and the floors of quality
};

/// Shortfall of a run's document; what an older one does not have does not count.
[[nodiscard]] Shortfall shortfall_of(const Json& result, Asked asked);

/// The shares of requests that must meet the objectives, by the percentiles of slo.percentiles.* ("p95"): "99.0 %"; of
/// several "95.0 % (p95) and 99.0 % (p99)"; kMetByEnough where none is named.
[[nodiscard]] std::string needed_words(const std::vector<std::string>& percentiles);
/// Needed shares by a run's document.
[[nodiscard]] std::string needed_words(const Json& result);

/// A floor of quality: its key, and the name of the figure under slo by how much a run is below it.
struct QualityFloor {
  const char* key;
  const char* below;
};
inline constexpr std::array<QualityFloor, 2> kQualityFloors{
    {{"slo.quality_floor", "below_quality_floor"}, {"slo.functional_floor", "below_functional_floor"}}};

/// The keys of the floors of quality that a run's document is judged by.
[[nodiscard]] std::vector<std::string> floors_set(const Json& result);

/// ", 0.005 below slo.quality_floor", ", of which nobody knows whether it reaches slo.quality_floor", or both floors'
/// such words; empty where the run reaches them, or there is none. Of a run's document.
[[nodiscard]] std::string floor_words(const Json& result);

}  // namespace kvsim::results
