// Parts of what a simulation measures (measurements.h), each with the list of its fields.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/engine/statistics.h"
#include "sim/serving/measurement_fields.h"
#include "sim/serving/slo.h"

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

/// Requests and tokens of one path through two pools.
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
/// one. Loads of verifications are left out.
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
  std::int64_t recomputed_tokens = 0;  ///< of chunks, recomputed over the whole prompt
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

/// Scores of answers, where prompts belong to tasks.
struct AnswerMeasurement {
  std::uint64_t answers = 0;
  double score = 0;        ///< sum
  double full_score = 0;   ///< sum of what the same answers score with all of the prompt computed
  std::uint64_t good = 0;  ///< at or above the quality floor; all of them where there is none
};

/// Fetches of steps from host memory beside computing (policies that fetch KV).
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

/// Proposals of an auxiliary drafter. Under policies that draft with something else besides, its tokens count here
/// alone until that draft is verified.
struct DrafterMeasurement {
  std::uint64_t steps = 0;  ///< of requests, with a proposal
  std::int64_t proposed_tokens = 0, accepted_tokens = 0;
  double gpu_s = 0;  ///< GPU time of its passes; of the whole run
};

/// Contents of one tier at the end of the run.
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

/// Loads, stores and moves of prompts that are stored and found again (sim/cache).
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
  std::uint64_t drops = 0;                       ///< dropped objects
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
  // Counts of the whole run.
  std::uint64_t begun = 0;
  std::uint64_t cut = 0;        ///< ended by a turn that was refused
  std::uint64_t under_way = 0;  ///< when it ended
  std::uint64_t alone = 0;      ///< requests of a trace that belong to none
  // Sub-agents, which the others do not count.
  std::uint64_t sub_agents_begun = 0, sub_agents_cut = 0, sub_agents_under_way = 0;
  // Counts of sessions that ended in the measured part, as a whole.
  std::uint64_t finished = 0;
  std::int64_t turns = 0;
};

/// Requests of one class that finished in the measured part.
struct ClassMeasurement {
  std::uint64_t completed = 0;
  std::uint64_t within_slo = 0;  ///< of its own objectives
  engine::Sample ttft_s, tpot_s, e2e_s;
};

constexpr auto fields_of(const TokenSlices*) {
  using M = TokenSlices;
  return std::tuple{field("length_s", &M::length_s), field("tokens", &M::tokens)};
}

constexpr auto fields_of(const TierMeasurement*) {
  using M = TierMeasurement;
  return std::tuple{field("hits", &M::hits), field("misses", &M::misses), field("evictions", &M::evictions),
                    field<Merge::largest>("bytes_peak", &M::bytes_peak)};
}

constexpr auto fields_of(const PathMeasurement*) {
  using M = PathMeasurement;
  return std::tuple{field("started", &M::started), field("completed", &M::completed),
                    field("output_tokens", &M::output_tokens)};
}

constexpr auto fields_of(const PoolMeasurement*) {
  using M = PoolMeasurement;
  return std::tuple{field("capacity_s", &M::capacity_s),
                    field("busy_s", &M::busy_s),
                    field("iterations", &M::iterations),
                    field("decode_tokens", &M::decode_tokens),
                    field("draft_tokens", &M::draft_tokens),
                    field("verifications", &M::verifications),
                    field("verified_tokens", &M::verified_tokens),
                    field("prefill_tokens", &M::prefill_tokens),
                    field<Merge::mean>("reserved_mean_bytes", &M::reserved_mean_bytes),
                    field<Merge::largest>("reserved_peak_bytes", &M::reserved_peak_bytes)};
}

constexpr auto fields_of(const PrefixMeasurement*) {
  using M = PrefixMeasurement;
  return std::tuple{field("loaded_tokens", &M::loaded_tokens), field("on_node_tokens", &M::on_node_tokens),
                    field("joined_tokens", &M::joined_tokens), field("prefilled_tokens", &M::prefilled_tokens)};
}

constexpr auto fields_of(const ReuseMeasurement*) {
  using M = ReuseMeasurement;
  return std::tuple{field("prompts", &M::prompts),
                    field("chunk_tokens", &M::chunk_tokens),
                    field("loaded_tokens", &M::loaded_tokens),
                    field("apart_tokens", &M::apart_tokens),
                    field("recomputed_tokens", &M::recomputed_tokens),
                    field("other_tokens", &M::other_tokens),
                    field("queue_s", &M::queue_s),
                    field("load_s", &M::load_s),
                    field("select_s", &M::select_s),
                    field("assemble_s", &M::assemble_s),
                    field("prefill_s", &M::prefill_s),
                    field("scorers_busy_s", &M::scorers_busy_s),
                    field("verified_tokens", &M::verified_tokens),
                    field("first_drafts", &M::first_drafts),
                    field("first_draft_s", &M::first_draft_s),
                    field("selections_longer", &M::selections_longer)};
}

constexpr auto fields_of(const AnswerMeasurement*) {
  using M = AnswerMeasurement;
  return std::tuple{field("answers", &M::answers), field("score", &M::score), field("full_score", &M::full_score),
                    field("good", &M::good)};
}

constexpr auto fields_of(const FetchMeasurement*) {
  using M = FetchMeasurement;
  return std::tuple{field("steps", &M::steps),
                    field("bytes", &M::bytes),
                    field("unused_bytes", &M::unused_bytes),
                    field("fetch_s", &M::fetch_s),
                    field("wait_s", &M::wait_s),
                    field("waiting_steps", &M::waiting_steps),
                    field("request_steps", &M::request_steps),
                    field("context_tokens", &M::context_tokens),
                    field("first_choices", &M::first_choices)};
}

constexpr auto fields_of(const DrafterMeasurement*) {
  using M = DrafterMeasurement;
  return std::tuple{field("steps", &M::steps), field("proposed_tokens", &M::proposed_tokens),
                    field("accepted_tokens", &M::accepted_tokens), field("gpu_s", &M::gpu_s)};
}

constexpr auto fields_of(const TierContents*) {
  using M = TierContents;
  return std::tuple{field("objects", &M::objects), field("bytes", &M::bytes), field("full_bytes", &M::full_bytes),
                    field("whole_bytes", &M::whole_bytes), field("options", &M::options)};
}

constexpr auto fields_of(const DatasetMeasurement*) {
  using M = DatasetMeasurement;
  return std::tuple{field("requests", &M::requests), field("ttft_s", &M::ttft_s), field("quality", &M::quality)};
}

constexpr auto fields_of(const PlacementMeasurement*) {
  using M = PlacementMeasurement;
  return std::tuple{field("loaded_tokens", &M::loaded_tokens),
                    field("computed_tokens", &M::computed_tokens),
                    field("loads", &M::loads),
                    field("joined_loads", &M::joined_loads),
                    field("stores", &M::stores),
                    field("unstored", &M::unstored),
                    field("promotions", &M::promotions),
                    field("demotions", &M::demotions),
                    field("recompressions", &M::recompressions),
                    field("drops", &M::drops),
                    field("moved_bytes", &M::moved_bytes),
                    field("whole_loads", &M::whole_loads),
                    field("whole_bytes", &M::whole_bytes),
                    field("profiled", &M::profiled),
                    field("profiled_tokens", &M::profiled_tokens),
                    field("quality", &M::quality),
                    field("contents", &M::contents),
                    field("datasets", &M::datasets)};
}

constexpr auto fields_of(const DraftLengthMeasurement*) {
  using M = DraftLengthMeasurement;
  return std::tuple{field("rounds", &M::rounds), field("expected_tokens", &M::expected_tokens),
                    field("best_tokens", &M::best_tokens)};
}

constexpr auto fields_of(const SessionMeasurement*) {
  using M = SessionMeasurement;
  return std::tuple{field("begun", &M::begun),
                    field("cut", &M::cut),
                    field("under_way", &M::under_way),
                    field("alone", &M::alone),
                    field("finished", &M::finished),
                    field("turns", &M::turns),
                    field("sub_agents_begun", &M::sub_agents_begun),
                    field("sub_agents_cut", &M::sub_agents_cut),
                    field("sub_agents_under_way", &M::sub_agents_under_way)};
}

constexpr auto fields_of(const ClassMeasurement*) {
  using M = ClassMeasurement;
  return std::tuple{field("completed", &M::completed), field("within_slo", &M::within_slo), field("ttft_s", &M::ttft_s),
                    field("tpot_s", &M::tpot_s), field("e2e_s", &M::e2e_s)};
}

}  // namespace kvsim::serving
