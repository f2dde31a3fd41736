#include "planner/experiment.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "planner/parallel.h"
#include "sim/systems/systems.h"

namespace kvsim::planner {
namespace {

using serving::Measurements;
using serving::SimulationOutcome;

constexpr std::size_t kRunBatches = 20;

constexpr const char* kTokenRate = "throughput.output_tokens_per_s";
constexpr std::array kLatencies{
    std::pair{"latency_s.ttft.mean", &Measurements::ttft_s}, std::pair{"latency_s.tpot.mean", &Measurements::tpot_s},
    std::pair{"latency_s.itl.mean", &Measurements::itl_s}, std::pair{"latency_s.e2e.mean", &Measurements::e2e_s}};

/// Output tokens per second in equal batches of the measured time. The last slice is shorter and left out.
engine::ConfidenceInterval throughput_batches(const Measurements& m) {
  std::vector<double> rates = m.tokens_by_slice.tokens;
  rates.resize(
      std::min(static_cast<std::size_t>(m.measured_s / m.tokens_by_slice.length_s), serving::TokenSlices::kMost));
  for (double& tokens : rates) tokens /= m.tokens_by_slice.length_s;
  return engine::batch_means_95(rates, kRunBatches);
}

std::map<std::string, engine::ConfidenceInterval> intervals(const std::vector<SimulationOutcome>& runs) {
  std::map<std::string, engine::ConfidenceInterval> result;
  if (runs.size() == 1) {
    const Measurements& m = runs.front().measured;
    result[kTokenRate] = throughput_batches(m);
    for (const auto& [path, sample] : kLatencies) result[path] = (m.*sample).batch_means_95(kRunBatches);
    return result;
  }
  std::map<std::string, std::vector<double>> observations;
  for (const SimulationOutcome& run : runs) {
    const Measurements& m = run.measured;
    const auto rate = [&m](auto count) { return engine::share(static_cast<double>(count), m.measured_s); };
    observations[kTokenRate].push_back(rate(m.output_tokens));
    observations["throughput.requests_per_s"].push_back(rate(m.completed_measured));
    for (const auto& [path, sample] : kLatencies) observations[path].push_back((m.*sample).mean());
  }
  for (const auto& [name, values] : observations) result[name] = engine::confidence_95(values);
  return result;
}

/// The replications by index; where the experiment was ended early, those before the first that was not finished.
std::vector<SimulationOutcome> run_all(const scenario::Scenario& scenario, const ExperimentOptions& options) {
  const auto count = static_cast<std::size_t>(scenario.replications);
  std::vector<std::optional<SimulationOutcome>> outcomes(count);
  std::atomic<bool> ended{false};
  for_each_index(count, options.jobs, [&](std::size_t i) {
    if (ended || (options.progress && !options.progress(i, 0))) {  // setting up what follows takes its time, too
      ended = true;
      return;
    }
    serving::SimulationOptions one;
    one.trace = i == 0 ? options.trace : nullptr;
    one.requests = i == 0 ? options.requests : nullptr;
    one.timeline = i == 0 && options.timeline;
    if (options.progress) one.progress = [&, i](engine::SimTime now) { return options.progress(i, now.seconds()); };
    outcomes[i] = simulate_replication(scenario, i, one);
  });
  std::vector<SimulationOutcome> result;
  result.reserve(count);
  for (std::optional<SimulationOutcome>& outcome : outcomes) {
    if (!outcome || outcome->interrupted) break;
    result.push_back(std::move(*outcome));
  }
  return result;
}

}  // namespace

serving::SimulationOutcome simulate_replication(const scenario::Scenario& scenario, std::uint64_t offset,
                                                const serving::SimulationOptions& options) {
  serving::ServingConfig config = scenario.serving;
  config.run.seed += offset;
  const auto feed = make_feed(scenario, config.run.seed);
  return systems::simulate(config, *feed, options, [&] { return make_feed(scenario, config.run.seed); });
}

double variation_of_gaps(const scenario::Scenario& s) {
  const auto& law = s.workload.arrivals;
  return law && law->kind == models::ArrivalKind::gamma ? law->cv : 1;
}

double growth_by_chance(std::uint64_t arrived, double cv) {
  constexpr double kFew = 20;
  const auto n = static_cast<double>(arrived);
  return std::max(kFew, std::max(1.0, cv) * std::min(n / 20, 4 * std::sqrt(n)));
}

std::string unsteady_state(const serving::Measurements& m, double cv) {
  if (m.arrived > 0 && m.refused == m.arrived) return "every request was refused: it has no latencies";
  if (m.completed_measured == 0) {
    return fmt::format(
        "no request finished in the measured time of {:.4g} s: it has no latencies; give a longer "
        "run.duration, or a shorter run.warmup",
        m.measured_s);
  }
  if (2 * m.arrived_measured < m.completed_measured) {
    return fmt::format(
        "{} requests finished in the measured time and {} arrived in it: its figures, goodput among them, "
        "are those of a queue that drains; give more workload.requests, or a shorter run.warmup",
        m.completed_measured, m.arrived_measured);
  }
  const std::uint64_t grown = m.waiting_after - std::min(m.waiting_after, m.waiting_before);
  const bool judged = !m.verdicts.empty();
  const std::uint64_t came = judged ? m.verdicts.size() : m.arrived_measured;
  if (static_cast<double>(grown) <= growth_by_chance(came, cv)) return {};
  const char* past_arrivals = judged ? "the last judged request arrived" : "the last request arrived";
  return fmt::format(
      "{} request{} waited for admission when measuring began and {} when {}, while {} arrived: the queue grows, "
      "and latencies are those of a run of this length, not of a service; where a longer run sees it grow on, "
      "more requests arrive than can be served",
      m.waiting_before, m.waiting_before == 1 ? "" : "s", m.waiting_after,
      m.runs_past_arrivals > 0 ? past_arrivals : "it ended", came);
}

ExperimentResult run_experiment(const scenario::Scenario& scenario, const ExperimentOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  ExperimentResult result;
  for (const serving::GroupConfig& group : scenario.serving.cluster.groups) {
    result.capacities.push_back(group.count > 0 ? serving::kv_capacity(scenario.serving, group)
                                                : serving::KvCapacity{});
  }
  std::vector<SimulationOutcome> runs = run_all(scenario, options);
  result.replications = runs.size();
  result.interrupted = runs.size() < static_cast<std::size_t>(scenario.replications);
  if (runs.empty()) return result;
  result.confidence = intervals(runs);
  for (const SimulationOutcome& run : runs) merge(result.measured, run.measured);
  result.fallbacks = runs.front().fallbacks;
  if (result.measured.extrapolated_iterations > 0) {
    std::vector<std::string> profiles;
    for (const serving::GroupConfig* group : serving::kinds(scenario.serving.cluster)) {
      profiles.push_back(group->profile.name);
    }
    result.own_fallbacks.push_back(fmt::format(
        "{} of {} iterations had a size beyond what profile {} was measured at: its forms were carried on",
        result.measured.extrapolated_iterations, result.measured.iteration_s.count(), fmt::join(profiles, " and ")));
  }
  result.refusals = runs.front().refusals;
  result.timeline = std::move(runs.front().timeline);
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace kvsim::planner
