// What a simulation measures, raw: samples and sums over the measured part of the run (after the warm-up). Results are
// made of these; measurements of several replications merge into one.
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
#include "sim/serving/slo.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

/// Output tokens over time in slices of equal length, at most `kMost` of them: when the last is full, neighbours merge
/// and the length doubles.
struct TokenSlices {
  static constexpr std::size_t kMost = 4096;  // even
  double length_s = 0.1;
  std::vector<double> tokens;

  void add(double at_s, double count);
};

struct TierMeasurement {
  std::uint64_t hits = 0;    ///< prompts whose KV was loaded from this tier; on a storage node, blocks of prompts
  std::uint64_t misses = 0;  ///< those whose KV was not in it and was prefilled
  std::uint64_t evictions = 0;
  std::int64_t bytes_peak = 0;  ///< most bytes reserved in one replica's tier
};

/// What requests on one path through two pools came to.
struct PathMeasurement {
  std::uint64_t started = 0;    ///< requests that were given this path in the measured part
  std::uint64_t completed = 0;  ///< of those that finished there, had this path
  std::int64_t output_tokens = 0;
};

/// One pool of nodes. Bytes are those of the fullest node.
struct PoolMeasurement {
  double capacity_s = 0;  ///< measured time, times nodes
  double busy_s = 0;      ///< node-seconds with a forward pass under way
  std::uint64_t iterations = 0;
  std::int64_t decode_tokens = 0;  ///< of ordinary decoding
  std::int64_t draft_tokens = 0;   ///< drafted
  std::uint64_t verifications = 0;
  std::int64_t verified_tokens = 0;  ///< query positions of verifications
  std::int64_t prefill_tokens = 0;
  double reserved_mean_bytes = 0;  ///< KV memory reserved, mean over nodes and time
  std::int64_t reserved_peak_bytes = 0;
};

/// Where prompts' KV came from, in tokens, each prompt once: for the remote node where it takes one, else for the local
/// one. What verification loads is left out.
struct PrefixMeasurement {
  std::int64_t loaded_tokens = 0;   ///< read from the storage node
  std::int64_t on_node_tokens = 0;  ///< already on the node: no transfer
  std::int64_t joined_tokens = 0;   ///< on their way to the node for another request: no transfer of its own
  std::int64_t prefilled_tokens = 0;
};

/// How prompts were put together from chunks. Tokens and seconds are sums over prompts, each counted once, when its
/// first token was out.
struct ReuseMeasurement {
  std::uint64_t prompts = 0;
  std::int64_t chunk_tokens = 0;       ///< of all chunks
  std::int64_t loaded_tokens = 0;      ///< of chunks that were stored
  std::int64_t apart_tokens = 0;       ///< of chunks that were not, computed alone
  std::int64_t recomputed_tokens = 0;  ///< of chunks, computed again over the whole prompt
  std::int64_t other_tokens = 0;       ///< behind the chunks
  double queue_s = 0;                  ///< arrival to admission
  double load_s = 0;                   ///< admission to the last stored byte
  double select_s = 0;                 ///< admission to the choice of tokens: scoring, its waiting, alignment
  double assemble_s = 0;      ///< admission to the first row: loading, choosing and computing chunks, side by side
  double prefill_s = 0;       ///< first row to first token
  double scorers_busy_s = 0;  ///< GPU seconds of GPUs that only score
  std::int64_t verified_tokens = 0;     ///< of prompts, computed whole to verify drafts
  std::uint64_t first_drafts = 0;       ///< requests whose first token was a draft
  double first_draft_s = 0;             ///< of these, arrival to that draft
  std::uint64_t selections_longer = 0;  ///< choices that came after the last stored byte
};

/// What answers scored, where prompts belong to tasks.
struct AnswerMeasurement {
  std::uint64_t answers = 0;
  double score = 0;        ///< sum
  double full_score = 0;   ///< sum of what the same answers score with all of the prompt computed
  std::uint64_t good = 0;  ///< at or above the quality floor; all of them where there is none
};

/// What steps fetched from host memory beside computing (policies that fetch KV).
struct FetchMeasurement {
  std::uint64_t steps = 0;          ///< forward passes with a fetch
  std::int64_t bytes = 0;           ///< asked for
  std::int64_t unused_bytes = 0;    ///< of these, for a token that was never decoded: the request was over
  double fetch_s = 0;               ///< link time of it
  double wait_s = 0;                ///< GPUs waiting for it: not hidden
  std::uint64_t waiting_steps = 0;  ///< steps with such a wait
  std::uint64_t request_steps = 0;  ///< requests that decoded, over all steps
  double context_tokens = 0;        ///< sum of their contexts
  std::uint64_t first_choices = 0;  ///< pre-decode steps of requests: pairs chosen before the first token
};

/// What an auxiliary drafter proposed. Of policies that draft with something else besides, its tokens count here alone
/// until that draft is verified.
struct DrafterMeasurement {
  std::uint64_t steps = 0;  ///< of requests, with a proposal
  std::int64_t proposed_tokens = 0, accepted_tokens = 0;
  double gpu_s = 0;  ///< GPU time of its passes; of the whole run
};

/// What lies in one tier at the end of the run.
struct TierContents {
  std::uint64_t objects = 0;
  std::int64_t bytes = 0;                        ///< as stored
  std::int64_t full_bytes = 0;                   ///< of the same, whole
  std::int64_t whole_bytes = 0;                  ///< of copies kept whole beside them, to verify against
  std::map<std::string, std::uint64_t> options;  ///< objects by representation
};

/// Requests that finished in the measured part, of contexts from one data set.
struct DatasetMeasurement {
  std::uint64_t requests = 0;
  double ttft_s = 0;   ///< sum
  double quality = 0;  ///< sum
};

/// What became of prompts that are stored and found again (sim/cache).
struct PlacementMeasurement {
  std::int64_t loaded_tokens = 0;                ///< of prompts, each once: continued from what was stored
  std::int64_t computed_tokens = 0;              ///< the others
  std::uint64_t loads = 0;                       ///< objects that crossed links for a request
  std::uint64_t joined_loads = 0;                ///< objects that were on their way to the replica for another request
  std::uint64_t stores = 0;                      ///< objects that were stored
  std::uint64_t unstored = 0;                    ///< not stored: they fit into no tier, or were not worth it
  std::uint64_t promotions = 0;                  ///< objects that belong to a higher tier since they were loaded
  std::uint64_t demotions = 0;                   ///< to a lower one, for lack of room
  std::uint64_t recompressions = 0;              ///< objects made smaller after they were stored, wherever they went
  std::uint64_t drops = 0;                       ///< objects given up
  std::int64_t moved_bytes = 0;                  ///< written to a tier for a store or a demotion
  std::uint64_t whole_loads = 0;                 ///< objects whose missing KV was read for a verification
  std::int64_t whole_bytes = 0;                  ///< of these
  std::uint64_t profiled = 0;                    ///< contexts profiled again
  std::int64_t profiled_tokens = 0;              ///< decoded for that
  engine::Sample quality;                        ///< of the requests that finished in the measured part
  std::map<std::string, TierContents> contents;  ///< by tier, tiers of all replicas together
  std::map<std::string, DatasetMeasurement> datasets;
};

/// The draft lengths that a policy chose, and what they gave beside the best ones.
struct DraftLengthMeasurement {
  std::vector<std::uint64_t> rounds;  ///< by draft length chosen
  double expected_tokens = 0;         ///< sum over rounds: what the length chosen brings, by the request's true law
  double best_tokens = 0;             ///< what the best lengths would bring in the same time

  void add(std::int64_t chosen);
};

/// Sessions: requests that wait for each other.
struct SessionMeasurement {
  // Of the whole run.
  std::uint64_t begun = 0;
  std::uint64_t cut = 0;        ///< ended by a turn that was refused
  std::uint64_t under_way = 0;  ///< when it ended
  std::uint64_t alone = 0;      ///< requests of a trace that belong to none
  // Sub-agents, which the others do not count.
  std::uint64_t sub_agents_begun = 0, sub_agents_cut = 0, sub_agents_under_way = 0;
  // Of those that ended in the measured part, as a whole.
  std::uint64_t finished = 0;
  std::int64_t turns = 0;
};

/// Requests of one class that finished in the measured part.
struct ClassMeasurement {
  std::uint64_t completed = 0;
  std::uint64_t within_slo = 0;  ///< of its own objectives
  engine::Sample ttft_s, tpot_s, e2e_s;
};

struct Measurements {
  // Requests: of the whole run.
  std::uint64_t arrived = 0, completed = 0, refused = 0, running = 0;
  std::uint64_t preemptions = 0;

  // Of the measured part.
  double measured_s = 0;
  std::uint64_t arrived_measured = 0;  ///< arrived in the measured part
  std::uint64_t waiting_before = 0;    ///< for admission when that began
  /// The same when it ended; where it went on past the arrivals, since requests are judged one by one
  /// (RunConfig::judge_until_s) or an open workload without sessions had no more of them, when the last had come.
  std::uint64_t waiting_after = 0;
  std::uint64_t runs_past_arrivals = 0;  ///< runs whose waiting_after is of the last arrival
  std::uint64_t completed_measured = 0;  ///< finished in the measured part
  /// Of the threads that turn prompts into tokens, one a replica (EngineConfig::tokenise_s): seconds of the texts that
  /// they began in the measured part, at most all of their seconds, and those. Both 0 where that takes no time.
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
  /// Of every request that arrived in the judged part of the run (RunConfig::judge_until_s), in order of arrival, which
  /// objectives it missed. Nobody is left out: the refused and the unfinished are misses.
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

/// Share of the time in which the threads that tokenise were at work, mean over replicas; 0 where it takes no time.
[[nodiscard]] inline double tokeniser_busy(const Measurements& m) {
  return engine::share(m.tokenising_s, m.tokenisers_s);
}
/// Beyond this share a thread or a link beside the iterations is the bottleneck, whatever the GPUs' time went to.
inline constexpr double kNeverRests = 0.95;

/// The times of finished requests that objectives of a metric limit.
[[nodiscard]] const engine::Sample& times_of(const Measurements& measured, SloMetric metric);

}  // namespace kvsim::serving
