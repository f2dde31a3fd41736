#include "planner/explain/explain.h"

#include <algorithm>
#include <optional>

#include "planner/experiment.h"
#include "planner/parallel.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner {
namespace {

constexpr std::size_t kPairedBatches = 20;  // as in confidence intervals of a single run

struct Run {
  serving::Measurements measured;
  std::vector<double> tokens_per_s;
  std::vector<std::string> fallbacks;
  bool interrupted = false;
};

/// Tokens emitted up to a time, linear within a slice.
double tokens_until(const serving::TokenSlices& slices, double at_s) {
  double sum = 0;
  const double whole = at_s / slices.length_s;
  for (std::size_t i = 0; i < slices.tokens.size() && static_cast<double>(i) < whole; ++i) {
    sum += slices.tokens[i] * std::min(1.0, whole - static_cast<double>(i));
  }
  return sum;
}

/// Rates in equal parts of the run's own measured time, so that runs of different lengths pair by progress.
std::vector<double> rates_by_batch(const serving::Measurements& m) {
  std::vector<double> rates;
  const double length_s = m.measured_s / static_cast<double>(kPairedBatches);
  for (std::size_t i = 0; i < kPairedBatches && length_s > 0; ++i) {
    const double begin_s = length_s * static_cast<double>(i);
    rates.push_back((tokens_until(m.tokens_by_slice, begin_s + length_s) - tokens_until(m.tokens_by_slice, begin_s)) /
                    length_s);
  }
  return rates;
}

Run run_one(const scenario::Scenario& scenario, std::uint64_t replication, bool single,
            const std::function<bool()>& go_on) {
  serving::SimulationOptions options;
  if (go_on) options.progress = [&go_on](engine::SimTime) { return go_on(); };
  serving::SimulationOutcome outcome = simulate_replication(scenario, replication, options);
  Run run;
  run.measured = std::move(outcome.measured);
  serving::Measurements& m = run.measured;
  if (single) {
    run.tokens_per_s = rates_by_batch(m);
  } else {
    run.tokens_per_s.push_back(m.measured_s > 0 ? static_cast<double>(m.output_tokens) / m.measured_s : 0.0);
  }
  for (engine::Sample* sample :
       {&m.ttft_s, &m.tpot_s, &m.e2e_s, &m.largest_gap_s, &m.itl_s, &m.round_gap_s, &m.iteration_s}) {
    *sample = {};  // as many as tokens, and nobody asks
  }
  run.fallbacks = std::move(outcome.fallbacks);
  run.interrupted = outcome.interrupted;
  return run;
}

}  // namespace

double VariantRuns::mean() const {
  return engine::confidence_95(tokens_per_s).mean;
}

std::vector<VariantRuns> simulate_paired(const std::vector<scenario::Scenario>& variants,
                                         const PairedOptions& options) {
  const auto replications = static_cast<std::size_t>(options.replications);
  std::vector<std::optional<Run>> runs(variants.size() * replications);
  for_each_index(runs.size(), options.jobs, [&](std::size_t i) {
    runs[i] = run_one(variants[i / replications], i % replications, replications == 1, options.go_on);
  });
  std::vector<VariantRuns> result(variants.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    VariantRuns& variant = result[i / replications];
    merge(variant.measured, runs[i]->measured);
    variant.tokens_per_s.insert(variant.tokens_per_s.end(), runs[i]->tokens_per_s.begin(), runs[i]->tokens_per_s.end());
    variant.fallbacks = std::move(runs[i]->fallbacks);
    variant.interrupted = variant.interrupted || runs[i]->interrupted;
  }
  return result;
}

Change paired_change(const VariantRuns& variant, const VariantRuns& base) {
  const double mean = base.mean();
  std::vector<double> differences;
  const std::size_t pairs = std::min(variant.tokens_per_s.size(), base.tokens_per_s.size());
  for (std::size_t i = 0; i < pairs && mean > 0; ++i) {
    differences.push_back((variant.tokens_per_s[i] - base.tokens_per_s[i]) / mean);
  }
  const engine::ConfidenceInterval interval = engine::confidence_95(differences);
  return {interval.mean, interval.half_width_95};
}

}  // namespace kvsim::planner
