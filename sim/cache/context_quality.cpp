#include "sim/cache/context_quality.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace kvsim::cache {

ContextQuality::ContextQuality(const models::PlacementSpec& spec, const models::OptionPool& pool,
                               std::vector<models::Sensitivity> sensitivities, const models::QualityTable* measured,
                               std::uint64_t seed)
    : spec_(spec),
      pool_(pool),
      sensitivities_(std::move(sensitivities)),
      measured_(measured),
      seed_(seed),
      draws_(engine::RandomStream(seed, "context quality")),
      profiled_(pool.size()),
      real_(pool.size()) {
  std::vector<std::string> names{""};
  for (const models::StorageOption& option : pool.all()) {
    const auto found = std::find(names.begin(), names.end(), option.method);
    method_.push_back(static_cast<std::size_t>(found - names.begin()));
    if (found == names.end()) names.push_back(option.method);
  }
  methods_ = names.size();
}

std::vector<float> ContextQuality::estimated(Estimate& estimate, std::span<const float> real) {
  const auto queries = static_cast<double>(spec_.profiling.queries);
  for (double& error : estimate.error) {
    const double of_these = spec_.profiling.noise * estimate.draws.normal() / std::sqrt(queries);
    error = (error * estimate.queries + of_these * queries) / (estimate.queries + queries);
  }
  estimate.queries += queries;
  std::vector<double> by_option;
  for (const std::size_t method : method_) by_option.push_back(estimate.error[method]);
  return models::estimated_curve(real, pool_, by_option, spec_.quality.shape);
}

models::CurveIndex ContextQuality::curve(std::size_t context) {
  while (profiled_.curves() <= context) {
    const std::size_t i = profiled_.curves();
    const models::Sensitivity& sensitivity = sensitivities_[i % sensitivities_.size()];
    const models::ContextLoss loss = models::draw_context(sensitivity, spec_.quality, draws_);
    std::vector<float> scores = models::generated_curve(loss, pool_, spec_.quality);
    if (measured_)
      scores.assign(measured_->curve(static_cast<models::CurveIndex>(i)).begin(),
                    measured_->curve(static_cast<models::CurveIndex>(i)).end());
    real_.add(scores);
    if (spec_.profiling.noise > 0) {
      estimates_.push_back({engine::RandomStream(seed_, "profile", i), 0, std::vector<double>(methods_)});
      profiled_.add(estimated(estimates_.back(), scores));
    } else {
      profiled_.add(scores);
    }
    if (spec_.drift.every_s > 0) {
      Drift drift{engine::RandomStream(seed_, "drift times", i), engine::RandomStream(seed_, "drift", i), 0};
      drift.next_s = drift.when.exponential(spec_.drift.every_s);
      drifts_.push_back(drift);
    }
  }
  return static_cast<models::CurveIndex>(context);
}

/// Changes happen at the context's own times, whenever somebody looks.
void ContextQuality::drift_until(models::CurveIndex curve, engine::SimTime now) {
  if (drifts_.empty()) return;
  Drift& drift = drifts_[curve];
  while (drift.next_s <= now.seconds()) {
    models::RandomSourceOf<engine::RandomStream> step(drift.step);
    real_.replace(curve,
                  models::drifted_curve(real_.curve(curve), pool_, spec_.drift.magnitude, spec_.quality.shape, step));
    drift.step.normal();  // the one that was drawn
    drift.next_s += drift.when.exponential(spec_.drift.every_s);
  }
}

double ContextQuality::achieved(models::CurveIndex curve, models::OptionIndex option, double quality,
                                engine::SimTime now) {
  drift_until(curve, now);
  const double real = real_.quality(curve, option);
  return quality < profiled_.quality(curve, option) ? std::min(real, quality) : real;
}

void ContextQuality::profile(models::CurveIndex curve, engine::SimTime now) {
  drift_until(curve, now);
  const std::vector<float> scores(real_.curve(curve).begin(), real_.curve(curve).end());
  profiled_.replace(curve, estimates_.empty() ? scores : estimated(estimates_[curve], scores));
}

}  // namespace kvsim::cache
