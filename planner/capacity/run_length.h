// How long a simulation must be for a statement about a percentile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::planner::capacity {

/// Short runs find a rate cheaply; long ones must confirm it, because near saturation queues relax over tens of
/// minutes.
enum class Stage { search, confirmation };

/// Options of every probe.
struct ProbeOptions {
  /// Share of requests, in (0, 1), that must meet all objectives at once; none: what each percentile asks for.
  std::optional<double> target{};
  double confidence = 0.95;       ///< one-sided, in (0, 1)
  double tolerance = 0.02;        ///< of the rate
  std::int64_t replications = 8;  ///< of generated workloads; a trace has one
  Stage stage = Stage::search;
  double confirm_judged_s = 1800;  ///< simulated: least judged time of a confirming run
  double confirm_warmup_s = 300;   ///< simulated: its least warm-up
};

/// A share of requests that must meet objectives.
struct Demand {
  std::optional<std::size_t>
      percentile;               ///< whose limits count, a number in serving::kSloPercentiles; none: all limits
  double share = 0;             ///< in (0, 1)
  serving::Verdict misses = 0;  ///< bits of which one makes a miss
};

/// All shares that are asked for: ProbeOptions::target of all objectives; without it that of each percentile that has a
/// limit, ascending. Empty where no limit is set.
[[nodiscard]] std::vector<Demand> demands_of(const serving::SloConfig& slo, const ProbeOptions& options);

/// The largest of these shares; 0 where nothing is asked for.
[[nodiscard]] double largest_share(const serving::SloConfig& slo, const ProbeOptions& options);

/// Load that is varied until the objectives break, and that rates are of, here and in searches and fleets.
enum class Load {
  requests,  ///< requests/s that arrive on their own
  sessions,  ///< sessions/s that begin
  users      ///< of a closed loop, each waiting for its answers; whole ones
};
[[nodiscard]] Load load_of(const scenario::Scenario& scenario);
/// "requests/s", "sessions/s", "users".
[[nodiscard]] std::string_view words_of(Load load);
/// So much of it in words: "12.5 requests/s", "60 users".
[[nodiscard]] std::string load_text(double rate, Load load);

/// Requests/s that one unit of the load brings at least while the objectives are met: those of a session, or what a
/// user asks who thinks and then waits for an answer as long as the objectives let it take.
[[nodiscard]] double requests_per_load(const scenario::Scenario& scenario);

/// Times of one run, in simulated seconds.
struct RunLength {
  double warmup_s = 0;     ///< not judged
  double judged_s = 0;     ///< arrivals within this time after the warm-up are judged
  double most_tail_s = 0;  ///< after it, at most, until every judged request is decided
  double settle_s = 0;     ///< least judged time, in which an overload as small as the tolerance shows
};

/// Requests of a mean session, those of its sub-agents among them; 1 where the workload has no sessions of its own.
[[nodiscard]] double requests_per_session(const scenario::Scenario& scenario);

/// Judged requests that all replications together need at least for a share of requests: 100 / (1 - share), so that at
/// that share about a hundred miss and it is known to about a tenth of the margin.
double requests_needed(double share);

/// For generated arrivals at `rate`, of the scenario's load:
/// - judged: the longest of what requests_needed() takes; the patience of the first objective that queueing breaks
///   (TTFT, else E2E, else ITL, else TPOT times the mean output) divided by the tolerance, because at a rate this much
///   too high a queue takes that long to outgrow it (at most an hour); and the scenario's own measured time.
/// - warm-up: the longest of the scenario's own, a fifth of that time, and twice the time that a mean request may take;
///   with placement also what warming_requests() takes; and twice the time that a mean session may take.
/// - tail: patience and time for an output of twenty times the mean.
/// Confirming runs last at least options.confirm_warmup_s and options.confirm_judged_s.
/// For a trace: all of it, in both stages alike, at the time scale that gives the rate, after 5 % of its span or the
/// scenario's warm-up.
RunLength run_length(const scenario::Scenario& scenario, double rate, const ProbeOptions& options);

/// Requests after which tiers that keep prompts have seen nearly all there are, with placement and generated prefixes
/// or chunks: the next request's prefix, or each of its chunks, is new with a probability of at most 1 %, for each
/// replica where none of the tiers is shared; at most 20,000; and as many as the scenario's own warm-up has at its own
/// rate. 0 elsewhere.
double warming_requests(const scenario::Scenario& scenario);

/// Mean prompt and output tokens of the workload. Clamping by min and max is left out of account.
struct MeanRequest {
  double prompt_tokens = 0;
  double output_tokens = 0;
};
MeanRequest mean_request(const scenario::Scenario& scenario);

/// Requests per second that the scenario's trace has as it stands. 0 without a trace or span.
double trace_rate(const scenario::Scenario& scenario);

/// Longest time, in seconds, that a request of this many output tokens takes if it meets the objectives; infinite where
/// they do not bound it.
double longest_time_s(const serving::SloConfig& slo, double output_tokens);

}  // namespace kvsim::planner::capacity
