#include "planner/experiment.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "planner/parallel.h"
#include "planner/paths/path_plan.h"
#include "planner/planned_dispatch.h"
#include "sim/cache/simulation.h"
#include "sim/pools/simulation.h"
#include "sim/reuse/simulation.h"

namespace kvsim::planner {
namespace {

using engine::Sample;
using serving::Measurements;
using serving::SimulationOutcome;

constexpr std::size_t kBatches = 20;

void append(Sample& a, const Sample& b) {
  for (const double v : b.values()) a.add(v);
}

double per_second(double amount, const Measurements& m) {
  return m.measured_s > 0 ? amount / m.measured_s : 0.0;
}

/// The figures that get an interval, as numbers of one run.
std::map<std::string, double> headline_figures(const Measurements& m) {
  return {{"throughput.output_tokens_per_s", per_second(static_cast<double>(m.output_tokens), m)},
          {"throughput.requests_per_s", per_second(static_cast<double>(m.completed_measured), m)},
          {"latency_s.ttft.mean", m.ttft_s.mean()},
          {"latency_s.tpot.mean", m.tpot_s.mean()},
          {"latency_s.itl.mean", m.itl_s.mean()},
          {"latency_s.e2e.mean", m.e2e_s.mean()}};
}

/// Output tokens per second in equal batches of the measured time. The last slice is shorter and left out.
engine::ConfidenceInterval throughput_batches(const Measurements& m) {
  std::vector<double> rates = m.tokens_by_slice.tokens;
  rates.resize(
      std::min(static_cast<std::size_t>(m.measured_s / m.tokens_by_slice.length_s), serving::TokenSlices::kMost));
  for (double& tokens : rates) tokens /= m.tokens_by_slice.length_s;
  return engine::batch_means_95(rates, kBatches);
}

std::map<std::string, engine::ConfidenceInterval> intervals(const std::vector<SimulationOutcome>& runs) {
  std::map<std::string, engine::ConfidenceInterval> result;
  if (runs.size() == 1) {
    const Measurements& m = runs.front().measured;
    result["throughput.output_tokens_per_s"] = throughput_batches(m);
    result["latency_s.ttft.mean"] = engine::batch_means_95(m.ttft_s.values(), kBatches);
    result["latency_s.tpot.mean"] = engine::batch_means_95(m.tpot_s.values(), kBatches);
    result["latency_s.itl.mean"] = engine::batch_means_95(m.itl_s.values(), kBatches);
    result["latency_s.e2e.mean"] = engine::batch_means_95(m.e2e_s.values(), kBatches);
    return result;
  }
  std::map<std::string, std::vector<double>> observations;
  for (const SimulationOutcome& run : runs) {
    for (const auto& [name, value] : headline_figures(run.measured)) observations[name].push_back(value);
  }
  for (const auto& [name, values] : observations) result[name] = engine::confidence_95(values);
  return result;
}

std::vector<SimulationOutcome> run_all(const scenario::Scenario& scenario, const ExperimentOptions& options) {
  const auto count = static_cast<std::size_t>(scenario.replications);
  std::vector<std::optional<SimulationOutcome>> outcomes(count);
  for_each_index(count, options.jobs, [&](std::size_t i) {
    serving::SimulationOptions one;
    one.trace = i == 0 ? options.trace : nullptr;
    one.timeline = i == 0 && options.timeline;
    if (options.progress) one.progress = [&, i](engine::SimTime now) { return options.progress(i, now.seconds()); };
    outcomes[i] = simulate_replication(scenario, i, one);
  });
  std::vector<SimulationOutcome> result;
  result.reserve(count);
  for (std::optional<SimulationOutcome>& outcome : outcomes) result.push_back(std::move(*outcome));
  return result;
}

void merge_placement(serving::PlacementMeasurement& a, const serving::PlacementMeasurement& b) {
  a.loaded_tokens += b.loaded_tokens;
  a.computed_tokens += b.computed_tokens;
  a.loads += b.loads;
  a.joined_loads += b.joined_loads;
  a.stores += b.stores;
  a.unstored += b.unstored;
  a.promotions += b.promotions;
  a.demotions += b.demotions;
  a.recompressions += b.recompressions;
  a.drops += b.drops;
  a.moved_bytes += b.moved_bytes;
  a.whole_loads += b.whole_loads;
  a.whole_bytes += b.whole_bytes;
  a.profiled += b.profiled;
  a.profiled_tokens += b.profiled_tokens;
  append(a.quality, b.quality);
  for (const auto& [name, contents] : b.contents) {
    serving::TierContents& sum = a.contents[name];
    sum.objects += contents.objects;
    sum.bytes += contents.bytes;
    sum.full_bytes += contents.full_bytes;
    sum.whole_bytes += contents.whole_bytes;
    for (const auto& [option, objects] : contents.options) sum.options[option] += objects;
  }
}

void merge_reuse(serving::ReuseMeasurement& a, const serving::ReuseMeasurement& b) {
  a.prompts += b.prompts;
  a.chunk_tokens += b.chunk_tokens;
  a.loaded_tokens += b.loaded_tokens;
  a.apart_tokens += b.apart_tokens;
  a.recomputed_tokens += b.recomputed_tokens;
  a.other_tokens += b.other_tokens;
  a.queue_s += b.queue_s;
  a.load_s += b.load_s;
  a.select_s += b.select_s;
  a.assemble_s += b.assemble_s;
  a.prefill_s += b.prefill_s;
  a.scorers_busy_s += b.scorers_busy_s;
  a.selections_longer += b.selections_longer;
  a.verified_tokens += b.verified_tokens;
  a.first_drafts += b.first_drafts;
  a.first_draft_s += b.first_draft_s;
}

void merge_answers(serving::AnswerMeasurement& a, const serving::AnswerMeasurement& b) {
  a.answers += b.answers;
  a.score += b.score;
  a.full_score += b.full_score;
  a.good += b.good;
}

void merge_pools(Measurements& a, const Measurements& b) {
  for (std::size_t i = 0; i < models::kPaths; ++i) {
    a.paths[i].started += b.paths[i].started;
    a.paths[i].completed += b.paths[i].completed;
    a.paths[i].output_tokens += b.paths[i].output_tokens;
  }
  for (const auto& [name, pool] : b.pools) {
    serving::PoolMeasurement& sum = a.pools[name];
    const double weight = sum.capacity_s + pool.capacity_s;
    if (weight > 0) {
      sum.reserved_mean_bytes =
          (sum.reserved_mean_bytes * sum.capacity_s + pool.reserved_mean_bytes * pool.capacity_s) / weight;
    }
    sum.capacity_s += pool.capacity_s;
    sum.busy_s += pool.busy_s;
    sum.iterations += pool.iterations;
    sum.decode_tokens += pool.decode_tokens;
    sum.draft_tokens += pool.draft_tokens;
    sum.verifications += pool.verifications;
    sum.verified_tokens += pool.verified_tokens;
    sum.prefill_tokens += pool.prefill_tokens;
    sum.reserved_peak_bytes = std::max(sum.reserved_peak_bytes, pool.reserved_peak_bytes);
  }
  a.prefix.loaded_tokens += b.prefix.loaded_tokens;
  a.prefix.on_node_tokens += b.prefix.on_node_tokens;
  a.prefix.joined_tokens += b.prefix.joined_tokens;
  a.prefix.prefilled_tokens += b.prefix.prefilled_tokens;
}

}  // namespace

void merge(Measurements& a, const Measurements& b) {
  a.arrived += b.arrived;
  a.completed += b.completed;
  a.refused += b.refused;
  a.running += b.running;
  a.preemptions += b.preemptions;
  const double weight_a = a.capacity_s, weight_b = b.capacity_s;
  for (double Measurements::*mean :
       {&Measurements::hbm_mean_bytes, &Measurements::kv_reserved_mean_bytes, &Measurements::kv_streaming_mean_bytes}) {
    a.*mean = weight_a + weight_b > 0 ? (a.*mean * weight_a + b.*mean * weight_b) / (weight_a + weight_b)
                                      : std::max(a.*mean, b.*mean);
  }
  a.measured_s += b.measured_s;
  a.arrived_measured += b.arrived_measured;
  a.completed_measured += b.completed_measured;
  a.output_tokens += b.output_tokens;
  a.prompt_tokens += b.prompt_tokens;
  append(a.ttft_s, b.ttft_s);
  append(a.tpot_s, b.tpot_s);
  append(a.itl_s, b.itl_s);
  append(a.round_gap_s, b.round_gap_s);
  append(a.e2e_s, b.e2e_s);
  a.within_slo += b.within_slo;
  a.good += b.good;
  a.verdicts.insert(a.verdicts.end(), b.verdicts.begin(), b.verdicts.end());
  a.rounds += b.rounds;
  a.drafted_tokens += b.drafted_tokens;
  a.accepted_tokens += b.accepted_tokens;
  a.rejected_tokens += b.rejected_tokens;
  a.corrections += b.corrections;
  a.direct_tokens += b.direct_tokens;
  a.draft_lengths.add(b.draft_lengths);
  a.late_reloads += b.late_reloads;
  a.drafter.steps += b.drafter.steps;
  a.drafter.proposed_tokens += b.drafter.proposed_tokens;
  a.drafter.accepted_tokens += b.drafter.accepted_tokens;
  a.drafter.gpu_s += b.drafter.gpu_s;
  a.fetch.steps += b.fetch.steps;
  a.fetch.bytes += b.fetch.bytes;
  a.fetch.unused_bytes += b.fetch.unused_bytes;
  a.fetch.fetch_s += b.fetch.fetch_s;
  a.fetch.wait_s += b.fetch.wait_s;
  a.fetch.waiting_steps += b.fetch.waiting_steps;
  a.fetch.request_steps += b.fetch.request_steps;
  a.fetch.context_tokens += b.fetch.context_tokens;
  a.fetch.first_choices += b.fetch.first_choices;
  a.stalled_request_iterations += b.stalled_request_iterations;
  a.late_request_iterations += b.late_request_iterations;
  a.drafting_request_iterations += b.drafting_request_iterations;
  a.verifying_request_iterations += b.verifying_request_iterations;
  a.kl_nats += b.kl_nats;
  a.quality += b.quality;
  a.same_output += b.same_output;
  append(a.iteration_s, b.iteration_s);
  a.extrapolated_iterations += b.extrapolated_iterations;
  a.busy_s += b.busy_s;
  a.hbm_bound_s += b.hbm_bound_s;
  a.compute_bound_s += b.compute_bound_s;
  a.link_bound_s += b.link_bound_s;
  a.idle_s += b.idle_s;
  a.memory_short_s += b.memory_short_s;
  a.capacity_s += b.capacity_s;
  a.hbm_peak_bytes = std::max(a.hbm_peak_bytes, b.hbm_peak_bytes);
  a.hbm_reserved_peak_bytes = std::max(a.hbm_reserved_peak_bytes, b.hbm_reserved_peak_bytes);
  a.kv_reserved_peak_bytes = std::max(a.kv_reserved_peak_bytes, b.kv_reserved_peak_bytes);
  a.kv_streaming_peak_bytes = std::max(a.kv_streaming_peak_bytes, b.kv_streaming_peak_bytes);
  for (const auto& [name, link] : b.links) {
    serving::LinkMeasurement& sum = a.links[name];
    sum.busy_s += link.busy_s;
    sum.capacity_s += link.capacity_s;
    sum.bytes += link.bytes;
    sum.wait_s += link.wait_s;
    sum.transfers += link.transfers;
  }
  for (const auto& [name, tier] : b.tiers) {
    serving::TierMeasurement& sum = a.tiers[name];
    sum.hits += tier.hits;
    sum.misses += tier.misses;
    sum.evictions += tier.evictions;
    sum.bytes_peak = std::max(sum.bytes_peak, tier.bytes_peak);
  }
  merge_pools(a, b);
  merge_placement(a.placement, b.placement);
  merge_reuse(a.reuse, b.reuse);
  merge_answers(a.answers, b.answers);
  a.events += b.events;
}

serving::SimulationOutcome simulate_replication(const scenario::Scenario& scenario, std::uint64_t offset,
                                                const serving::SimulationOptions& options) {
  if (needs_planned_weights(scenario))
    return simulate_replication(with_best_planned_weights(scenario), offset, options);
  serving::ServingConfig config = scenario.serving;
  config.run.seed += offset;
  const auto feed = make_feed(scenario, config.run.seed);
  if (config.cluster.pools) return pools::simulate(config, *feed, options);
  if (!config.placement) return serving::simulate(config, *feed, options);
  if (config.reuse) {
    return reuse::simulate(config, *feed, options, [&] { return make_feed(scenario, config.run.seed); });
  }
  return cache::simulate(config, *feed, options, [&] { return make_feed(scenario, config.run.seed); });
}

ExperimentResult run_experiment(const scenario::Scenario& scenario, const ExperimentOptions& options) {
  if (needs_planned_weights(scenario))
    return run_experiment(with_best_planned_weights(scenario), options);  // once for all
  const auto begin = std::chrono::steady_clock::now();
  ExperimentResult result;
  result.capacity = serving::kv_capacity(scenario.serving);
  std::vector<SimulationOutcome> runs = run_all(scenario, options);
  result.replications = runs.size();
  result.confidence = intervals(runs);
  for (const SimulationOutcome& run : runs) {
    merge(result.measured, run.measured);
    result.interrupted = result.interrupted || run.interrupted;
  }
  result.fallbacks = runs.front().fallbacks;
  if (result.measured.extrapolated_iterations > 0) {
    result.own_fallbacks.push_back(
        fmt::format("{} of {} iterations had a size beyond what profile {} was measured at: its forms were carried on",
                    result.measured.extrapolated_iterations, result.measured.iteration_s.count(),
                    scenario.serving.cluster.profile.name));
  }
  const Measurements& m = result.measured;
  if (2 * m.arrived_measured < m.completed_measured) {
    result.own_fallbacks.push_back(
        fmt::format("{} requests finished in the measured time and {} arrived in it: its figures, goodput among them, "
                    "are those of a queue that drains; give more workload.requests, or a shorter run.warmup",
                    m.completed_measured, m.arrived_measured));
  }
  result.refusals = runs.front().refusals;
  result.timeline = std::move(runs.front().timeline);
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace kvsim::planner
