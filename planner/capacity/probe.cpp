#include "planner/capacity/probe.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "planner/parallel.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner::capacity {
namespace {

using serving::Measurements;
using serving::Miss;

/// The trace with its arrivals `factor` times as far apart, from time zero; without block hashes, which no simulation
/// reads.
std::shared_ptr<const std::vector<models::RequestSpec>> stretched(const std::vector<models::RequestSpec>& trace,
                                                                  double factor) {
  std::vector<models::RequestSpec> requests;
  requests.reserve(trace.size());
  const std::int64_t first = trace.front().arrival_ns;
  for (const models::RequestSpec& r : trace) {
    const std::int64_t at = std::llround(static_cast<double>(r.arrival_ns - first) * factor);
    requests.push_back({r.id, at, r.prompt_tokens, r.output_tokens, {}});
  }
  return std::make_shared<const std::vector<models::RequestSpec>>(std::move(requests));
}

scenario::Scenario at_rate(const scenario::Scenario& scenario, double rate, const RunLength& length) {
  scenario::Scenario changed = scenario;
  if (scenario.trace) {
    changed.trace = stretched(*scenario.trace, trace_rate(scenario) / rate);
  } else {
    changed.workload.arrivals->rate_per_s = rate;
    changed.workload.requests = 0;
  }
  serving::RunConfig& run = changed.serving.run;
  constexpr double just_after_s = 1e-6;  // so that a trace's last request is judged too
  run.warmup_s = length.warmup_s;
  run.judge_until_s = length.warmup_s + length.judged_s + just_after_s;
  run.duration_s = *run.judge_until_s + length.most_tail_s;
  run.sample_every_s.reset();
  return changed;
}

constexpr Miss kMisses[] = {Miss::ttft, Miss::tpot, Miss::itl, Miss::e2e, Miss::refused, Miss::unfinished};

void summarise(Probe& probe, const std::vector<serving::SimulationOutcome>& runs) {
  engine::Sample ttft, tpot;
  double measured_s = 0, capacity_s = 0, tokens = 0;
  for (const serving::SimulationOutcome& run : runs) {
    const Measurements& m = run.measured;
    for (const double v : m.ttft_s.values()) ttft.add(v);
    for (const double v : m.tpot_s.values()) tpot.add(v);
    measured_s += m.measured_s;
    capacity_s += m.capacity_s;
    tokens += static_cast<double>(m.output_tokens);
    probe.bound_by.hbm_bandwidth += m.hbm_bound_s;
    probe.bound_by.compute += m.compute_bound_s;
    probe.bound_by.link += m.link_bound_s;
    probe.bound_by.idle += m.idle_s;
    for (const auto& [name, tier] : m.tiers) probe.host_peak_bytes = std::max(probe.host_peak_bytes, tier.bytes_peak);
    for (const std::uint8_t verdict : m.verdicts) {
      for (const Miss miss : kMisses) {
        if ((verdict & serving::miss_bit(miss)) != 0) probe.misses[miss] += 1;
      }
    }
    if (probe.refusal.empty() && !run.refusals.empty()) probe.refusal = run.refusals.front();
  }
  constexpr double p99 = 0.99;
  probe.ttft_p99_s = ttft.quantile(p99);
  probe.tpot_p99_s = tpot.quantile(p99);
  if (measured_s > 0) probe.tokens_per_s = tokens / measured_s;
  if (capacity_s > 0) {
    BoundBy& b = probe.bound_by;
    for (double* share : {&b.hbm_bandwidth, &b.compute, &b.link, &b.idle}) *share /= capacity_s;
  }
}

}  // namespace

Probe probe_rate(const scenario::Scenario& scenario, double rate, const ProbeOptions& options, int jobs,
                 const Watch& watch) {
  Probe probe;
  probe.rate = rate;
  probe.length = run_length(scenario, rate, options);
  const scenario::Scenario scaled = at_rate(scenario, rate, probe.length);
  // A trace arrives the same way in every replication, so it has one, judged by batches.
  const std::size_t count = scenario.trace ? 1 : static_cast<std::size_t>(options.replications);
  std::vector<serving::SimulationOutcome> runs(count);
  for_each_index(count, jobs, [&](std::size_t i) {
    serving::ServingConfig config = scaled.serving;
    config.run.seed += i;
    const auto feed = make_feed(scaled, config.run.seed);
    serving::SimulationOptions one;
    if (watch) {
      one.progress = [&watch](engine::SimTime) {
        watch();
        return true;
      };
    }
    runs[i] = serving::simulate(config, *feed, one);
    Measurements& m = runs[i].measured;  // a sample per token or iteration, and a large fleet has millions
    m.itl_s = m.round_gap_s = m.iteration_s = {};
  });
  std::vector<Verdicts> verdicts;
  verdicts.reserve(count);
  for (const serving::SimulationOutcome& run : runs) verdicts.push_back(run.measured.verdicts);
  probe.attainment = attainment_of(verdicts, options.confidence);
  probe.passes = probe.attainment.lower >= options.target;
  summarise(probe, runs);
  return probe;
}

}  // namespace kvsim::planner::capacity
