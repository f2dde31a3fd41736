// Measurements of a simulation, raw: samples and sums over the measured part of the run (after the warm-up). Results
// are made of these; measurements of several replications merge into one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/compression/functional.h"
#include "models/kernels/step_account.h"
#include "models/paths/path.h"
#include "sim/engine/statistics.h"
#include "sim/engine/time.h"
#include "sim/serving/measured_parts.h"
#include "sim/serving/slo.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

struct Measurements {
  // Requests: of the whole run.
  std::uint64_t arrived = 0, completed = 0, refused = 0, running = 0;
  std::uint64_t preemptions = 0;

  // Measured part of the run.
  double measured_s = 0;
  std::uint64_t arrived_measured = 0;  ///< arrived in the measured part
  std::uint64_t waiting_before = 0;    ///< for admission when that began
  /// Requests waiting for admission when the measured part ended, or at the last arrival if it went on past that. That
  /// is so where requests are judged (RunConfig::judge_until_s), or an open workload without sessions ran out.
  std::uint64_t waiting_after = 0;
  std::uint64_t runs_past_arrivals = 0;  ///< runs whose waiting_after is of the last arrival
  std::uint64_t completed_measured = 0;  ///< finished in the measured part
  /// Seconds of the threads that turn prompts into tokens, one a replica (EngineConfig::tokenise_s). First, of texts
  /// begun in the measured part, at most all seconds; second, all. Both 0 where that takes no time.
  double tokenising_s = 0, tokenisers_s = 0;
  std::int64_t output_tokens = 0;        ///< emitted in the measured part
  std::int64_t prompt_tokens = 0;        ///< whose KV became available there (loaded or prefilled)
  engine::Sample ttft_s, tpot_s, e2e_s;  ///< of the requests that finished in the measured part
  engine::Sample largest_gap_s;          ///< of the same: the longest time between two tokens of a request
  engine::Sample itl_s, round_gap_s;     ///< gaps that ended in the measured part
  std::uint64_t within_slo = 0;
  /// Requests that finished in the measured part and met all limits of a percentile, by its number in
  /// kSloPercentiles.
  std::array<std::uint64_t, kSloPercentiles.size()> within_percentile{};
  std::uint64_t good = 0;  ///< of within_slo, with a quality at or above the floors that are set: goodput
  /// Objectives that each request missed, for all that arrived in the judged part of the run
  /// (RunConfig::judge_until_s), in order of arrival. The refused and the unfinished are included as misses.
  std::vector<Verdict> verdicts;

  std::uint64_t rounds = 0;
  std::int64_t drafted_tokens = 0, accepted_tokens = 0, rejected_tokens = 0;
  std::int64_t corrections = 0;    ///< tokens the verifier gave
  std::int64_t direct_tokens = 0;  ///< tokens of ordinary decoding or prefill
  DraftLengthMeasurement draft_lengths;
  std::uint64_t late_reloads = 0;
  std::uint64_t stalled_request_iterations = 0;
  std::uint64_t late_request_iterations = 0;       ///< of these, in a round whose reload was late
  std::uint64_t drafting_request_iterations = 0;   ///< drafting, or plain decoding
  std::uint64_t verifying_request_iterations = 0;  ///< verifying
  double kl_nats = 0;                              ///< sum over completed requests
  double quality = 0;  ///< sum over completed requests, 1 for each whose output is that of full-KV decoding
  /// Sum over completed requests of functional correctness relative to full KV; NaN where it is not known of some.
  models::FunctionalScores functional{};
  double same_output = 0;  ///< sum over completed requests of the probability exp(-KL) of the full-KV output

  engine::Sample iteration_s;
  std::int64_t extrapolated_iterations =
      0;  ///< of these, with a size beyond what the profile's kernels were measured at
  std::int64_t launched_iterations =
      0;                          ///< of these, with more tokens than captured steps have: launched kernel by kernel
  double busy_s = 0;              ///< computing
  models::PerResource bound_s{};  ///< of it, by what decides it; the rest: fixed times
  double link_bound_s = 0, front_end_s = 0, idle_s = 0;  ///< beside it
  models::PerResource saved_s{};                         ///< by twice the resource, step by step
  double link_saved_s = 0;                               ///< by twice the link, in steps that wait for what they fetch
  double memory_short_s = 0;  ///< a request that had arrived could not be admitted, or a reload could not start, for
                              ///< lack of GPU memory; looked at as each iteration begins, added over replicas
  double capacity_s = 0;      ///< measured time, times the number of replicas
  std::int64_t hbm_peak_bytes = 0;           ///< of one replica: weights and KV that is there
  std::int64_t hbm_reserved_peak_bytes = 0;  ///< of one replica: weights and reservations
  double hbm_mean_bytes = 0;                 ///< mean over replicas
  // GPU memory for KV of replicas; of nodes see PoolMeasurement. Means are over replicas and time, peaks of one
  // replica.
  double kv_reserved_mean_bytes = 0;
  double kv_streaming_mean_bytes = 0;  ///< of it, for full KV that streams in or lies there for a verification
  std::int64_t kv_reserved_peak_bytes = 0;
  std::int64_t kv_streaming_peak_bytes = 0;
  std::map<std::string, transport::LinkTotals> links;
  std::map<std::string, TierMeasurement> tiers;

  DrafterMeasurement drafter;
  FetchMeasurement fetch;
  PlacementMeasurement placement;
  ReuseMeasurement reuse;
  AnswerMeasurement answers;

  // Sessions; empty where requests stand alone.
  SessionMeasurement sessions;
  engine::Sample session_s;                             ///< of those that ended in the measured part: first arrival to
                                                        ///< last token
  engine::Sample first_turn_ttft_s, later_turn_ttft_s;  ///< of the requests that finished there
  engine::Sample session_think_s;                       ///< from a turn that ended there to the next one
  engine::Sample sub_agent_s;                           ///< as session_s, of sub-agents
  std::map<std::string, ClassMeasurement> classes;

  // Two pools around a storage node; empty and zero elsewhere.
  std::array<PathMeasurement, models::kPaths> paths{};
  std::map<std::string, PoolMeasurement> pools;  ///< "local", "remote"
  PrefixMeasurement prefix;
  std::uint64_t events = 0;
  TokenSlices tokens_by_slice;  ///< of a single run, for batch means; not merged
};

constexpr auto fields_of(const Measurements*) {
  using M = Measurements;
  return std::tuple{field("arrived", &M::arrived),
                    field("completed", &M::completed),
                    field("refused", &M::refused),
                    field("running", &M::running),
                    field("preemptions", &M::preemptions),
                    field("measured_s", &M::measured_s),
                    field("arrived_measured", &M::arrived_measured),
                    field("waiting_before", &M::waiting_before),
                    field("waiting_after", &M::waiting_after),
                    field("runs_past_arrivals", &M::runs_past_arrivals),
                    field("completed_measured", &M::completed_measured),
                    field("tokenising_s", &M::tokenising_s),
                    field("tokenisers_s", &M::tokenisers_s),
                    field("output_tokens", &M::output_tokens),
                    field("prompt_tokens", &M::prompt_tokens),
                    field("ttft_s", &M::ttft_s),
                    field("tpot_s", &M::tpot_s),
                    field("e2e_s", &M::e2e_s),
                    field("largest_gap_s", &M::largest_gap_s),
                    field("itl_s", &M::itl_s),
                    field("round_gap_s", &M::round_gap_s),
                    field("within_slo", &M::within_slo),
                    field("within_percentile", &M::within_percentile),
                    field("good", &M::good),
                    field("verdicts", &M::verdicts),
                    field("rounds", &M::rounds),
                    field("drafted_tokens", &M::drafted_tokens),
                    field("accepted_tokens", &M::accepted_tokens),
                    field("rejected_tokens", &M::rejected_tokens),
                    field("corrections", &M::corrections),
                    field("direct_tokens", &M::direct_tokens),
                    field("draft_lengths", &M::draft_lengths),
                    field("late_reloads", &M::late_reloads),
                    field("stalled_request_iterations", &M::stalled_request_iterations),
                    field("late_request_iterations", &M::late_request_iterations),
                    field("drafting_request_iterations", &M::drafting_request_iterations),
                    field("verifying_request_iterations", &M::verifying_request_iterations),
                    field("kl_nats", &M::kl_nats),
                    field("quality", &M::quality),
                    field("functional", &M::functional),
                    field("same_output", &M::same_output),
                    field("iteration_s", &M::iteration_s),
                    field("extrapolated_iterations", &M::extrapolated_iterations),
                    field("launched_iterations", &M::launched_iterations),
                    field("busy_s", &M::busy_s),
                    field("bound_s", &M::bound_s),
                    field("saved_s", &M::saved_s),
                    field("link_bound_s", &M::link_bound_s),
                    field("link_saved_s", &M::link_saved_s),
                    field("front_end_s", &M::front_end_s),
                    field("idle_s", &M::idle_s),
                    field("memory_short_s", &M::memory_short_s),
                    field("capacity_s", &M::capacity_s),
                    field<Merge::largest>("hbm_peak_bytes", &M::hbm_peak_bytes),
                    field<Merge::largest>("hbm_reserved_peak_bytes", &M::hbm_reserved_peak_bytes),
                    field<Merge::mean>("hbm_mean_bytes", &M::hbm_mean_bytes),
                    field<Merge::mean>("kv_reserved_mean_bytes", &M::kv_reserved_mean_bytes),
                    field<Merge::mean>("kv_streaming_mean_bytes", &M::kv_streaming_mean_bytes),
                    field<Merge::largest>("kv_reserved_peak_bytes", &M::kv_reserved_peak_bytes),
                    field<Merge::largest>("kv_streaming_peak_bytes", &M::kv_streaming_peak_bytes),
                    field("links", &M::links),
                    field("tiers", &M::tiers),
                    field("drafter", &M::drafter),
                    field("fetch", &M::fetch),
                    field("placement", &M::placement),
                    field("reuse", &M::reuse),
                    field("answers", &M::answers),
                    field("sessions", &M::sessions),
                    field("session_s", &M::session_s),
                    field("first_turn_ttft_s", &M::first_turn_ttft_s),
                    field("later_turn_ttft_s", &M::later_turn_ttft_s),
                    field("session_think_s", &M::session_think_s),
                    field("sub_agent_s", &M::sub_agent_s),
                    field("classes", &M::classes),
                    field("paths", &M::paths),
                    field("pools", &M::pools),
                    field("prefix", &M::prefix),
                    field("events", &M::events),
                    field<Merge::none>("tokens_by_slice", &M::tokens_by_slice)};
}

/// a += b, as if b had been measured beside a: field by field, as fields_of() says.
void merge(Measurements& a, const Measurements& b);

/// Share of the time in which the threads that tokenise were at work, mean over replicas; 0 where it takes no time.
[[nodiscard]] inline double tokeniser_busy(const Measurements& m) {
  return engine::share(m.tokenising_s, m.tokenisers_s);
}
/// Beyond this share a thread or a link beside the iterations is the bottleneck, whatever the GPUs' time went to.
inline constexpr double kNeverRests = 0.95;

/// The times of finished requests that objectives of a metric limit.
[[nodiscard]] const engine::Sample& times_of(const Measurements& measured, SloMetric metric);

}  // namespace kvsim::serving
