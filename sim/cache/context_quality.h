// Scores of contexts in each storage option: as profiled, and as they really are while queries drift. Contexts are
// numbered from 0 and drawn in that order, whenever they are first asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "models/workload/distributions.h"
#include "sim/engine/random.h"
#include "sim/engine/time.h"

namespace kvsim::cache {

class ContextQuality {
 public:
  /// Curves are `measured` where there are any, in order, else generated from sensitivities, which are dealt to
  /// contexts round robin (not empty). All else outlives this.
  ContextQuality(const models::PlacementSpec& spec, const models::OptionPool& pool,
                 std::vector<models::Sensitivity> sensitivities, const models::QualityTable* measured,
                 std::uint64_t seed);

  /// The context's row in both tables.
  models::CurveIndex curve(std::size_t context);

  /// As believed.
  [[nodiscard]] const models::QualityTable& profiled() const { return profiled_; }

  /// The score that a request gets from a stored copy now. `quality`: what the placement believes of it, lower than its
  /// option's where it went through a worse one.
  double achieved(models::CurveIndex curve, models::OptionIndex option, double quality, engine::SimTime now);

  /// Profiles the context again: the profile becomes what is really so, or what all queries so far say of it.
  void profile(models::CurveIndex curve, engine::SimTime now);

 private:
  struct Drift {
    engine::RandomStream when, step;
    double next_s = 0;
  };
  /// How far a context's profile is off, where profiles rest on few queries.
  struct Estimate {
    engine::RandomStream draws;
    double queries = 0;
    std::vector<double> error;  ///< by method, of its loss at keep ratio 0.1: the mean over these queries
  };
  void drift_until(models::CurveIndex curve, engine::SimTime now);
  /// The curve as a profile of `queries` further queries has it.
  [[nodiscard]] std::vector<float> estimated(Estimate& estimate, std::span<const float> real);

  const models::PlacementSpec& spec_;
  const models::OptionPool& pool_;
  std::vector<models::Sensitivity> sensitivities_;
  const models::QualityTable* measured_;
  std::uint64_t seed_;
  models::RandomSourceOf<engine::RandomStream> draws_;
  models::QualityTable profiled_, real_;
  std::vector<Drift> drifts_;        // by curve
  std::vector<std::size_t> method_;  // by option; 0: none
  std::size_t methods_ = 1;          // "none" among them
  std::vector<Estimate> estimates_;  // by curve; none: profiles are right
};

}  // namespace kvsim::cache
