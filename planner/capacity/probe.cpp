#include "planner/capacity/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/math/distributions/binomial.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "planner/experiment.h"
#include "planner/parallel.h"
#include "sim/engine/statistics.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner::capacity {
namespace {

/// Requests that missed by one of the bits.
std::uint64_t missed(std::span<const serving::Verdict> verdicts, serving::Verdict misses) {
  return static_cast<std::uint64_t>(
      std::count_if(verdicts.begin(), verdicts.end(), [misses](serving::Verdict v) { return (v & misses) != 0; }));
}

double met_share(std::span<const serving::Verdict> verdicts, serving::Verdict misses) {
  return static_cast<double>(verdicts.size() - missed(verdicts, misses)) / static_cast<double>(verdicts.size());
}

/// Attainments of equal batches of one run; a remainder at the start is dropped.
std::vector<double> batch_shares(std::span<const serving::Verdict> verdicts, serving::Verdict misses) {
  std::vector<double> shares;
  const std::size_t length = verdicts.size() / kBatches;
  if (length == 0) return shares;
  for (std::size_t i = 0; i < kBatches; ++i) {
    shares.push_back(met_share(verdicts.subspan(verdicts.size() - (kBatches - i) * length, length), misses));
  }
  return shares;
}

double student_lower_bound(std::span<const double> shares, double confidence) {
  const auto n = static_cast<double>(shares.size());
  return engine::mean(shares) - engine::student_t_quantile(confidence, n - 1) * std::sqrt(engine::variance(shares) / n);
}

}  // namespace

Attainment attainment_of(std::span<const Verdicts> replications, double confidence, serving::Verdict misses) {
  Attainment a;
  std::vector<double> shares;
  for (const Verdicts& verdicts : replications) {
    if (verdicts.empty()) continue;
    a.requests += verdicts.size();
    a.misses += missed(verdicts, misses);
    shares.push_back(met_share(verdicts, misses));
  }
  if (a.requests == 0) return a;
  const auto met = static_cast<double>(a.requests - a.misses);
  a.share = met / static_cast<double>(a.requests);
  if (shares.size() == 1) {
    for (const Verdicts& verdicts : replications) {
      if (!verdicts.empty()) shares = batch_shares(verdicts, misses);
    }
  }
  a.observations = shares.size();
  if (shares.size() < 2) return a;
  const double binomial = boost::math::binomial_distribution<>::find_lower_bound_on_p(static_cast<double>(a.requests),
                                                                                      met, 1.0 - confidence);
  a.lower = std::clamp(std::min(binomial, student_lower_bound(shares, confidence)), 0.0, 1.0);
  return a;
}

namespace {

using serving::Measurements;
using serving::Miss;

/// The trace with its arrivals `factor` times as far apart, from time zero; without block hashes where nothing is
/// stored by them.
std::shared_ptr<const std::vector<models::RequestSpec>> stretched(const std::vector<models::RequestSpec>& trace,
                                                                  double factor, bool with_blocks) {
  std::vector<models::RequestSpec> requests;
  requests.reserve(trace.size());
  const std::int64_t first = trace.front().arrival_ns;
  for (const models::RequestSpec& r : trace) {
    const std::int64_t at = std::llround(static_cast<double>(r.arrival_ns - first) * factor);
    requests.push_back(
        {r.id, at, r.prompt_tokens, r.output_tokens, {}, r.context, r.context_tokens, r.chunks, r.chunk_tokens});
    if (with_blocks) requests.back().prefix_blocks = r.prefix_blocks;
  }
  return std::make_shared<const std::vector<models::RequestSpec>>(std::move(requests));
}

/// Requests that arrive in the judged part of this feed.
std::uint64_t judged_arrivals(serving::RequestFeed& feed, const serving::RunConfig& run) {
  std::uint64_t count = 0;
  while (const auto spec = feed.next()) {
    const double at = engine::SimTime{spec->arrival_ns}.seconds();
    if (at >= *run.judge_until_s) break;
    count += at >= run.warmup_s ? 1 : 0;
  }
  return count;
}

/// The share of misses in one of `n` runs beyond which the target is out of reach, whatever the others come to.
/// Student's bound with a share d missed here and none elsewhere is 1 - d (1 + t) / n, and a miss elsewhere lowers it
/// as long as t < n - 1; the mean alone, which is above the bound, is 1 - d / n.
double hopeless_share(std::size_t n, double target, double confidence) {
  const auto runs = static_cast<double>(n);
  if (n < 2) return 1 - target;
  const double t = engine::student_t_quantile(confidence, runs - 1);
  return runs * (1 - target) / (t < runs - 1 ? 1 + std::max(t, 0.0) : 1);
}

std::vector<std::string> fallbacks_of(const std::vector<serving::SimulationOutcome>& runs, std::size_t iterations,
                                      const std::string& profile) {
  std::vector<std::string> list = runs.front().fallbacks;
  std::uint64_t extrapolated = 0;
  for (const serving::SimulationOutcome& run : runs)
    extrapolated += static_cast<std::uint64_t>(run.measured.extrapolated_iterations);
  if (extrapolated > 0) {
    list.push_back(
        fmt::format("{} of {} iterations had a size beyond what profile {} was measured at: its forms were carried on",
                    extrapolated, iterations, profile));
  }
  return list;
}

Measurements together(const std::vector<serving::SimulationOutcome>& runs) {
  Measurements all;
  for (const serving::SimulationOutcome& run : runs) merge(all, run.measured);
  return all;
}

constexpr Miss kMisses[] = {Miss::ttft, Miss::tpot, Miss::itl, Miss::e2e, Miss::refused, Miss::unfinished};

void summarise(Probe& probe, const Measurements& all, const std::vector<serving::SimulationOutcome>& runs) {
  const Demand& asked = probe.tightest().demand;
  const serving::Verdict counted = asked.misses;
  const auto counted_as = [counted](Miss miss) {
    const serving::Verdict bits = serving::miss_bits(miss);
    return miss == Miss::unfinished ? bits : bits & counted;
  };
  engine::Sample ttft, tpot, quality;
  double measured_s = 0, tokens = 0;
  for (const serving::SimulationOutcome& run : runs) {
    const Measurements& m = run.measured;
    ttft.add(m.ttft_s);
    tpot.add(m.tpot_s);
    measured_s += m.measured_s;
    tokens += static_cast<double>(m.output_tokens);
    quality.add(m.placement.quality);
    for (const auto& [name, tier] : m.tiers) {
      if (name == "host") probe.host_peak_bytes = std::max(probe.host_peak_bytes, tier.bytes_peak);
      const auto contents = m.placement.contents.find(name);
      if (contents == m.placement.contents.end()) continue;
      TierUse& use = probe.tiers[name];
      use.hits += tier.hits;
      use.lookups += tier.hits + tier.misses;
      if (&run == &runs.front()) use.bytes = contents->second.bytes;
    }
    for (const serving::Verdict verdict : m.verdicts) {
      if ((verdict & counted) == 0) continue;
      for (const Miss miss : kMisses) {
        if ((verdict & counted_as(miss)) != 0) probe.misses[miss] += 1;
      }
    }
    if (probe.refusal.empty() && !run.refusals.empty()) probe.refusal = run.refusals.front();
  }
  probe.tokeniser_busy = serving::tokeniser_busy(all);
  constexpr double p99 = 0.99;
  probe.ttft_mean_s = ttft.mean();
  if (quality.count() > 0) probe.quality = quality.mean();
  const double score = all.quality / static_cast<double>(all.completed_measured);  // not a number where none is known
  if (std::isfinite(score)) probe.score = score;
  for (std::size_t task = 0; task < probe.functional.size(); ++task) {
    probe.functional[task] = all.functional[task] / static_cast<double>(all.completed_measured);
  }
  probe.ttft_p99_s = ttft.quantile(p99);
  probe.tpot_p99_s = tpot.quantile(p99);
  const double order = asked.percentile ? serving::slo_share(*asked.percentile) : p99;
  probe.ttft_asked_s = ttft.quantile(order);
  probe.tpot_asked_s = tpot.quantile(order);
  probe.sketched = ttft.sketched() || tpot.sketched();
  probe.tokens_per_s = measured_s > 0 ? tokens / measured_s : std::numeric_limits<double>::quiet_NaN();
  probe.bound_by = serving::bottleneck(all);
  probe.launched = static_cast<double>(all.launched_iterations) / static_cast<double>(all.iteration_s.count());
}

}  // namespace

const JudgedDemand& Probe::tightest() const {
  const auto missing = [](const JudgedDemand& d) { return (1 - d.attainment.lower) / (1 - d.demand.share); };
  return *std::max_element(demands.begin(), demands.end(),
                           [&](const JudgedDemand& a, const JudgedDemand& b) { return missing(a) < missing(b); });
}

double TierUse::hit_rate() const {
  return lookups > 0 ? static_cast<double>(hits) / static_cast<double>(lookups) : 0;
}

std::vector<std::string> tier_names(const scenario::Scenario& scenario) {
  std::vector<std::string> names;
  if (!scenario.serving.placement) return names;
  if (scenario.serving.placement->gpu_memory_bytes > 0) names.emplace_back("gpu");
  if (scenario.serving.cluster.uniform().host_memory_bytes > 0) names.emplace_back("host");
  for (const serving::StorageTierConfig& t : scenario.serving.cluster.storage) names.push_back(t.name);
  return names;
}

scenario::Scenario at_rate(const scenario::Scenario& scenario, double rate, const RunLength& length) {
  scenario::Scenario changed = scenario;
  if (scenario.trace) {
    changed.trace = stretched(*scenario.trace, trace_rate(scenario) / rate, scenario.serving.placement.has_value());
  } else if (changed.workload.closed) {
    changed.workload.closed->concurrency = std::max<std::int64_t>(1, std::llround(rate));
  } else {
    changed.workload.arrivals->rate_per_s = rate;
  }
  changed.workload.requests = 0;
  if (changed.workload.sessions) changed.workload.sessions->count = 0;
  serving::RunConfig& run = changed.serving.run;
  constexpr double just_after_s = 1e-6;  // so that a trace's last request is judged too
  run.warmup_s = length.warmup_s;
  run.judge_until_s = length.warmup_s + length.judged_s + just_after_s;
  run.duration_s = *run.judge_until_s + length.most_tail_s;
  run.token_samples = false;
  return changed;
}

namespace {

/// Tells the watcher how far the runs of a probe have come. Threads may call it at the same time.
class Progress {
 public:
  Progress(const scenario::Scenario& scenario, std::size_t runs, const Watch& watch)
      : watch_(watch), end_s_(*scenario.serving.run.judge_until_s), reached_s_(runs) {
    now_.replicas = scenario.serving.cluster.replicas();
    now_.runs = runs;
  }

  /// Run `i` has come to this time.
  void reached(std::size_t i, engine::SimTime now) {
    if (!watch_) return;
    reached_s_[i].store(std::min(now.seconds(), end_s_), std::memory_order_relaxed);
    ProbeProgress progress = now_;
    double total_s = 0;
    for (const auto& reached : reached_s_) total_s += reached.load(std::memory_order_relaxed);
    progress.share = total_s / (end_s_ * static_cast<double>(reached_s_.size()));
    progress.run = 1 + static_cast<std::size_t>(progress.share * static_cast<double>(progress.runs));
    progress.run = std::min(progress.run, progress.runs);
    progress.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    watch_(progress);
  }

 private:
  const Watch& watch_;
  double end_s_;
  std::vector<std::atomic<double>> reached_s_;
  ProbeProgress now_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Probe probe_rate(const scenario::Scenario& scenario, double rate, const ProbeOptions& options, int jobs,
                 const Watch& watch) {
  Probe probe;
  probe.rate = rate;
  probe.length = run_length(scenario, rate, options);
  const scenario::Scenario scaled = at_rate(scenario, rate, probe.length);
  // A trace arrives the same way in every replication, so it has one, judged by batches.
  const std::size_t count = scenario.trace ? 1 : static_cast<std::size_t>(options.replications);
  const bool confirming = options.stage == Stage::confirmation && !scenario.trace;
  std::vector<serving::SimulationOutcome> runs(count);
  std::vector<std::size_t> iterations(count, 0);
  std::vector<std::string> overflows(count);  // too many requests were in the system, in words
  std::atomic<std::size_t> last{count - 1};   // the first run dropped: those after it are left out
  const std::vector<Demand> demands = demands_of(scaled.serving.slo, options);
  Progress progress(scaled, count, watch);
  for_each_index(count, jobs, [&](std::size_t i) {
    if (i > last) return;
    scenario::Scenario replication = scaled;
    serving::RunConfig& run = replication.serving.run;
    const std::uint64_t offset = i + (confirming ? kConfirmationSeeds : 0);
    // Clients that wait for answers arrive by how fast those come: their number is not known before.
    if (confirming && load_of(scenario) == Load::requests) {
      const auto judged = static_cast<double>(judged_arrivals(*make_feed(scaled, run.seed + offset), run));
      for (const Demand& demand : demands) {
        const double hopeless = judged * hopeless_share(count, demand.share, options.confidence);
        run.most_misses.push_back({demand.misses, static_cast<std::uint64_t>(std::ceil(hopeless))});
      }
    }
    serving::SimulationOptions one;
    one.progress = [&](engine::SimTime now) {
      progress.reached(i, now);
      return i <= last;
    };
    try {
      runs[i] = simulate_replication(replication, offset, one);
    } catch (const serving::TooManyInFlight& error) {
      overflows[i] = error.what();
      runs[i].given_up = true;
    }
    if (runs[i].given_up) {
      std::size_t known = last;
      while (i < known && !last.compare_exchange_weak(known, i)) {
      }
    }
    Measurements& m = runs[i].measured;  // a sample per iteration, and a large fleet has millions
    iterations[i] = m.iteration_s.count();
    m.itl_s = m.round_gap_s = m.iteration_s = {};
  });
  runs.resize(last + 1);
  iterations.resize(runs.size());
  probe.stage = options.stage;
  probe.given_up = runs.back().given_up;
  std::vector<Verdicts> verdicts;
  verdicts.reserve(runs.size());
  for (const serving::SimulationOutcome& run : runs) verdicts.push_back(run.measured.verdicts);
  probe.attainment = attainment_of(verdicts, options.confidence);
  for (const Demand& demand : demands) {
    probe.demands.push_back({demand, attainment_of(verdicts, options.confidence, demand.misses)});
  }
  probe.meets = !probe.given_up &&
                std::all_of(probe.demands.begin(), probe.demands.end(), [](const JudgedDemand& d) { return d.met(); });
  const Measurements all = together(runs);
  // A wait is a part of the time to the first token and of all of it: who has such an objective sees the queue himself.
  const serving::SloConfig& slo = scaled.serving.slo;
  const bool seen = slo.limits(serving::SloMetric::ttft) || slo.limits(serving::SloMetric::e2e);
  probe.unsteady = overflows[last];
  if (probe.unsteady.empty() && !seen) probe.unsteady = unsteady_state(all, variation_of_gaps(scaled));
  if (!seen && probe.attainment.requests > 0) {
    probe.unseen = growth_by_chance(probe.attainment.requests, variation_of_gaps(scaled)) /
                   static_cast<double>(probe.attainment.requests);
  }
  probe.passes = probe.meets && probe.unsteady.empty();
  probe.fallbacks = fallbacks_of(runs, std::accumulate(iterations.begin(), iterations.end(), std::size_t{0}),
                                 scaled.serving.cluster.uniform().profile.name);
  summarise(probe, all, runs);
  for (const serving::SloObjective& o : slo.objectives()) {
    probe.limited_s.push_back(times_of(all, o.metric).quantile(serving::slo_share(o.percentile)));
  }
  return probe;
}

namespace {

/// Capacity of a tier of all replicas together.
std::optional<std::int64_t> capacity_of(const scenario::Scenario& s, const std::string& tier) {
  const serving::ClusterConfig& cluster = s.serving.cluster;
  if (tier == "gpu") return s.serving.placement->gpu_memory_bytes * cluster.replicas();
  if (tier == "host") return cluster.uniform().host_memory_bytes * cluster.replicas();
  for (const serving::StorageTierConfig& t : cluster.storage) {
    if (t.name == tier && t.capacity_bytes) return *t.capacity_bytes * (t.shared ? 1 : cluster.replicas());
  }
  return std::nullopt;
}

}  // namespace

bool TierFill::filling() const {
  return !overflowed &&
         static_cast<double>(at_end_bytes) > (1 + kStillFilling) * static_cast<double>(after_warmup_bytes);
}

std::vector<TierFill> tier_fills(const scenario::Scenario& scenario, const Probe& probe, const Watch& watch) {
  if (!scenario.serving.placement) return {};
  scenario::Scenario warming = at_rate(scenario, probe.rate, probe.length);
  serving::RunConfig& run = warming.serving.run;
  run.duration_s = run.warmup_s;
  run.warmup_s = 0;
  run.judge_until_s.reset();
  serving::SimulationOptions options;
  options.progress = [&](engine::SimTime) {
    if (watch) watch({});
    return true;
  };
  const bool confirming = probe.stage == Stage::confirmation && !scenario.trace;
  const auto outcome = simulate_replication(warming, confirming ? kConfirmationSeeds : 0, options);
  const auto& contents = outcome.measured.placement.contents;
  const auto fill_of = [&](const std::string& tier) {
    TierFill fill{tier, capacity_of(scenario, tier), 0, 0, false};
    const auto& tiers = outcome.measured.tiers;
    if (const auto found = tiers.find(tier); found != tiers.end()) fill.overflowed = found->second.evictions > 0;
    if (const auto found = contents.find(tier); found != contents.end()) fill.after_warmup_bytes = found->second.bytes;
    if (const auto found = probe.tiers.find(tier); found != probe.tiers.end()) fill.at_end_bytes = found->second.bytes;
    return fill;
  };
  std::vector<TierFill> fills;
  for (const std::string& tier : tier_names(scenario)) fills.push_back(fill_of(tier));
  return fills;
}

}  // namespace kvsim::planner::capacity
