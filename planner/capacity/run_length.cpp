#include "planner/capacity/run_length.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "models/workload/trace_reader.h"

namespace kvsim::planner::capacity {
namespace {

using serving::SloMetric;

constexpr double kExpectedMisses = 100;  // at the target, over all replications
constexpr double kLongestTransient_s = 3600;
constexpr double kWarmupShare = 0.2;        // of the time until a steady state
constexpr double kWarmupResidences = 2;     // times that a mean request may take
constexpr double kTraceWarmupShare = 0.05;  // of its span
constexpr double kLongOutput = 20;          // times the mean
constexpr double kUnboundedToken_s = 0.1;   // per token, where no objective bounds it: for warm-up and tail only

double per_token_s(const serving::SloConfig& slo) {
  const auto tpot = slo.longest_s(SloMetric::tpot);
  return tpot ? *tpot : slo.longest_s(SloMetric::itl).value_or(kUnboundedToken_s);
}

double patience_s(const serving::SloConfig& slo, double output_tokens) {
  for (const SloMetric metric : {SloMetric::ttft, SloMetric::e2e, SloMetric::itl}) {
    if (const auto limit = slo.longest_s(metric)) return *limit;
  }
  return per_token_s(slo) * output_tokens;
}

double span_s(const scenario::Scenario& s) {
  return static_cast<double>(s.trace->back().arrival_ns - s.trace->front().arrival_ns) / kNsPerSecond;
}

constexpr double kMostNew = 0.01;  // of prefixes or chunks after a warm-up: those that nobody had before
constexpr double kMostWarmingRequests = 20'000;

/// Draws of requests by popularity: of what, and how many each request makes.
struct Draws {
  std::int64_t of = 0;  ///< prefixes or chunks; 0: nothing is drawn
  double popularity = 1;
  double per_request = 1;
};

Draws draws_of(const scenario::WorkloadConfig& w) {
  if (w.prefixes) return {w.prefixes->count, w.prefixes->popularity, 1};
  // As if a prompt could have a chunk twice, which is close where they are many.
  if (w.chunks) return {w.chunks->count, w.chunks->popularity, static_cast<double>(w.chunks->per_request)};
  return {};
}

/// Share of draws that none of `n` earlier ones had: sum over prefixes, or chunks, of p (1 - p)^n.
double share_of_new(const std::vector<double>& weights, double n) {
  double total = 0, fresh = 0;
  for (const double w : weights) total += w;
  for (const double w : weights) fresh += w / total * std::pow(1 - w / total, n);
  return fresh;
}

bool has_shared_tier(const serving::ClusterConfig& cluster) {
  return cluster.host_shared || std::any_of(cluster.storage.begin(), cluster.storage.end(),
                                            [](const serving::StorageTierConfig& t) { return t.shared; });
}

/// Longest time that a mean request takes if it meets the objectives.
double residence_s(const scenario::Scenario& s) {
  const serving::SloConfig& slo = s.serving.slo;
  const double output = mean_request(s).output_tokens;
  return std::min(longest_time_s(slo, output), patience_s(slo, output) + per_token_s(slo) * output);
}

double mean_turns(const scenario::Scenario& s) {
  return s.workload.sessions ? models::LengthSampler(s.workload.sessions->spec.turns).mean() : 1;
}

/// From a request of a user to the next one, at most where the objectives are met.
double cycle_s(const scenario::Scenario& s) {
  if (!s.workload.sessions) return residence_s(s);
  return models::TimeSampler(s.workload.sessions->spec.think_time).mean_s() + residence_s(s);
}

}  // namespace

std::vector<Demand> demands_of(const serving::SloConfig& slo, const ProbeOptions& options) {
  if (options.target) return {{std::nullopt, *options.target, serving::kAnyMiss}};
  std::vector<Demand> demands;
  for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
    if (slo.asks(p)) demands.push_back({p, serving::slo_share(p), serving::percentile_bits(p)});
  }
  return demands;
}

double largest_share(const serving::SloConfig& slo, const ProbeOptions& options) {
  double largest = 0;
  for (const Demand& demand : demands_of(slo, options)) largest = std::max(largest, demand.share);
  return largest;
}

Load load_of(const scenario::Scenario& s) {
  if (s.workload.closed) return Load::users;
  return s.workload.sessions ? Load::sessions : Load::requests;
}

std::string_view words_of(Load load) {
  constexpr std::array kWords{"requests/s", "sessions/s", "users"};
  return kWords.at(static_cast<std::size_t>(load));
}

std::string load_text(double rate, Load load) {
  return load == Load::users ? fmt::format("{:.0f} user{}", rate, rate == 1 ? "" : "s")
                             : fmt::format("{:.3g} {}", rate, words_of(load));
}

double requests_per_session(const scenario::Scenario& s) {
  return s.workload.sessions ? models::mean_requests(s.workload.sessions->spec) : 1;
}

double requests_per_load(const scenario::Scenario& s) {
  return load_of(s) == Load::users ? 1 / cycle_s(s) : requests_per_session(s);
}

double warming_requests(const scenario::Scenario& s) {
  if (!s.serving.placement || s.trace) return 0;
  const double own = s.workload.arrivals ? s.serving.run.warmup_s * s.workload.arrivals->rate_per_s : 0;
  const Draws draws = draws_of(s.workload);
  if (draws.of == 0) return own;
  std::vector<double> weights;
  weights.reserve(static_cast<std::size_t>(draws.of));
  for (std::int64_t k = 1; k <= draws.of; ++k) weights.push_back(std::pow(static_cast<double>(k), -draws.popularity));
  double low = 0, high = kMostWarmingRequests * draws.per_request;
  if (share_of_new(weights, high) <= kMostNew) {
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (share_of_new(weights, middle) <= kMostNew ? high : low) = middle;
    }
  }
  const serving::ClusterConfig& cluster = s.serving.cluster;
  const double replicas = has_shared_tier(cluster) ? 1 : static_cast<double>(cluster.replicas());
  const double requests = std::ceil(high / draws.per_request);
  return std::max(own, std::min(requests * replicas, kMostWarmingRequests));
}

double requests_needed(double share) {
  return std::ceil(kExpectedMisses / (1 - share) - 1e-6);
}

MeanRequest mean_request(const scenario::Scenario& s) {
  if (!s.trace) {
    const models::LengthSampler context(*s.workload.context), output(*s.workload.output);
    const auto& prefixes = s.workload.prefixes;
    const auto& chunks = s.workload.chunks;
    const double shared = prefixes ? models::mean_prefix_tokens(*prefixes)
                          : chunks ? static_cast<double>(chunks->tokens_per_request())
                                   : 0;
    // A turn of a mean session has half of the other turns before it.
    const auto& sessions = s.workload.sessions;
    const double before = sessions ? (mean_turns(s) - 1) / 2 : 0;
    const double grown = sessions ? before * (models::LengthSampler(sessions->spec.growth).mean() + output.mean()) : 0;
    return {context.mean() + shared + grown, output.mean()};
  }
  MeanRequest mean;
  for (const models::RequestSpec& r : *s.trace) {
    mean.prompt_tokens += static_cast<double>(r.prompt_tokens);
    mean.output_tokens += static_cast<double>(r.output_tokens);
  }
  const double n = std::max(static_cast<double>(s.trace->size()), 1.0);
  return {mean.prompt_tokens / n, mean.output_tokens / n};
}

double trace_rate(const scenario::Scenario& s) {
  return s.trace ? models::arrival_rate(*s.trace) : 0;
}

double longest_time_s(const serving::SloConfig& slo, double output_tokens) {
  double longest = std::numeric_limits<double>::infinity();
  if (const auto e2e = slo.longest_s(SloMetric::e2e)) longest = *e2e;
  const auto ttft = slo.longest_s(SloMetric::ttft);
  const auto token_s = slo.limits(SloMetric::tpot) ? slo.longest_s(SloMetric::tpot) : slo.longest_s(SloMetric::itl);
  if (ttft && token_s) longest = std::min(longest, *ttft + *token_s * std::max(output_tokens - 1, 0.0));
  return longest;
}

RunLength run_length(const scenario::Scenario& s, double rate, const ProbeOptions& options) {
  const serving::SloConfig& slo = s.serving.slo;
  const double output = mean_request(s).output_tokens;
  const double patience = patience_s(slo, output);
  RunLength length;
  length.most_tail_s = patience + slo.longest_s(SloMetric::e2e).value_or(0) + per_token_s(slo) * kLongOutput * output;
  const double own_warmup = s.serving.run.warmup_s;
  if (s.trace) {
    const double slower = trace_rate(s) / rate;
    const double span = span_s(s) * slower;
    length.warmup_s = std::max(own_warmup * slower, kTraceWarmupShare * span);
    length.judged_s = span - length.warmup_s;
    return length;
  }
  length.settle_s = std::min(patience / options.tolerance, kLongestTransient_s);
  const double requests_per_s = rate * requests_per_load(s);
  const double needed =
      requests_needed(largest_share(slo, options)) / static_cast<double>(options.replications) / requests_per_s;
  length.judged_s = std::max({needed, length.settle_s, s.serving.run.duration_s.value_or(0) - own_warmup});
  const double once = s.workload.sessions ? mean_turns(s) * cycle_s(s) : residence_s(s);
  length.warmup_s = std::max(
      {own_warmup, kWarmupShare * length.settle_s, kWarmupResidences * once, warming_requests(s) / requests_per_s});
  if (options.stage == Stage::confirmation) {
    length.judged_s = std::max(length.judged_s, options.confirm_judged_s);
    length.warmup_s = std::max(length.warmup_s, options.confirm_warmup_s);
  }
  return length;
}

}  // namespace kvsim::planner::capacity
