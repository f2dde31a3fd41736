// Meaning of words and keys of results. Where a word is one metric, its sentence is that of the metric's row.
#include "tools/results/result_document.h"

#include <array>
#include <span>

#include "tools/results/metrics.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

struct Definition {
  std::string_view term;
  std::string_view sentence;     ///< empty: that of
  std::string_view metric = {};  ///< the row with this key
};

constexpr std::array<Definition, 27> kOfAll{{
    {"units", "seconds, bytes, tokens, nats; *_per_s are per second of simulated measured time, unless they say wall"},
    {"measured",
     "everything but the counts under requests and preemptions is of the measured time, which begins after the "
     "warm-up; counts and times are added over replications"},
    {"percentiles",
     "of all samples of all replications, linear between order statistics (Hyndman-Fan type 7), exact up to 10,000 "
     "values"},
    {"ttft", "", "latency_s.ttft.mean"},
    {"tpot", "", "latency_s.tpot.mean"},
    {"itl", "", "latency_s.itl.mean"},
    {"round_gap", "", "details.round_gap_s.mean"},
    {"e2e", "", "latency_s.e2e.mean"},
    {"latency_distribution_s", "quantiles at the fractions beside them, as percentiles are taken"},
    {"total_tokens", "", "throughput.total_tokens_per_s"},
    {"slo",
     "attainment: share of finished requests that met every latency objective; goodput: such "
     "requests per s, if slo.quality_floor or slo.functional_floor is set only those with an answer at or above it; "
     "null where nothing is "
     "asked for"},
    {"mean_accepted_length", "", "speculation.mean_accepted_length"},
    {"late_reloads", "", "speculation.late_reloads"},
    {"mean_score", "", "quality.mean_score"},
    {"least_functional", "", "quality.least_functional"},
    {"expected_kl_nats", "", "quality.expected_kl_nats"},
    {"full_kv_output_probability", "", "details.full_kv_output_probability"},
    {"hbm_bytes", "of one replica, all its GPUs together: weights, and KV that is there (not merely reserved)"},
    {"memory",
     "bytes of one replica, all its GPUs together: kept free, weights, activations, other (a drafter's weights, a "
     "framework's workspace, stored prompts, less than a block) and KV capacity add up to gpu_bytes; of the capacity, "
     "means over time and replicas: streaming is reserved for full KV on its way or there for a verification, resident "
     "is what else is reserved"},
    {"bound_by",
     "shares of the replicas' time, which add up to 1; of an iteration each resource has the share that shrinks with "
     "it, "
     "and what no resource shortens is fixed; link: nothing could run until a transfer arrived; front_end: nothing to "
     "do "
     "while every thread that turns prompts into tokens was at work; idle: nothing to do"},
    {"twice",
     "output tokens/s with twice the resource over those as it is, less 1, in a closed loop and to first order: each "
     "iteration's time is worked out anew with it"},
    {"links",
     "utilisation: share of time in which at least one transfer was on the link; mean_wait_s: from a transfer's "
     "request to its start"},
    {"timeline",
     "of the first replication, warm-up included; requests and bytes at each time, over all replicas or nodes (a "
     "preempted request waits); shares of gpu and links of the period that ends there, means over replicas, nodes or "
     "links, an iteration under way as far as it has come; time after the last whole period is left out"},
    {"short_of_gpu_memory", "", "details.short_of_gpu_memory"},
    {"request_iterations",
     "iterations counted once for every request that decoded in them: drafting (or plain decoding), verifying, stalled "
     "in a round whose reload was late, stalled otherwise"},
    {"confidence", "half_width_95: Student-t 95 % interval of the mean"},
    {"keep_ratio", "compressed KV bytes / full KV bytes"},
}};

constexpr std::array<Definition, 8> kOfPools{{
    {"replica", "a node of either pool, where these definitions say replica"},
    {"pools",
     "nodes: tensor-parallel groups; busy_fraction: share of the nodes' time with a forward pass under way; figures "
     "under gpu are those of the nodes of both pools"},
    {"pool_tokens",
     "decode: emitted by ordinary decoding; draft: drafted, accepted or not; verified: positions of verifications, one "
     "more than was drafted each; prefill: prompt tokens computed there"},
    {"kv_reserved", "KV memory reserved on a node: mean over nodes and time, peak of the fullest; capacity: of a node"},
    {"paths",
     "B1: local pool only; B2: remote pool only, with the full KV; P1: remote drafts on compressed KV, local verifies; "
     "P2: as P1 until the full KV has reached the remote pool; cached: full KV stays on the local node between rounds, "
     "stateless: it is read anew for each"},
    {"path_requests",
     "started: requests given the path in the measured time; completed: of the requests that finished in it, those on "
     "the path; share: of the requests started"},
    {"prefix",
     "tokens of prompts, each prompt once, for the remote node where it takes one, else for the local one; what "
     "verification reads is left out: read from the storage node, on the node already, on their way to it for another "
     "request, prefilled"},
    {"hit_rate", "of these, the share that was not prefilled"},
}};

constexpr std::array<Definition, 2> kOfDraftLengths{{
    {"draft_length",
     "tokens that a round was to draft, or an auxiliary drafter to propose for a request's step: mean, p10 and p90 "
     "over rounds. While a reload is late more are drafted, and at a request's end no more than it has left"},
    {"draft_length.regret",
     "1 - tokens expected at the lengths chosen / tokens that the best lengths would give in the same time, each "
     "request's agreement being known: the best x maximises (1 + A(x + h)) / (x + h + v) within decode.draft_lengths "
     "minimum to maximum. h: drafts made while the request's own reload is on its way; v: all else that does not grow "
     "with x, in drafting iterations: 1, what verifications add to iterations, and what rounds lately waited for "
     "others' reloads; between pools all that rounds lately took beside their drafts. Of an auxiliary drafter's "
     "proposals, the best lengths of all requests of a step together: those "
     "with the most tokens for the step, the drafter's passes and each token's share of both"},
}};

constexpr std::array<Definition, 5> kOfDrafters{{
    {"drafter",
     "of the auxiliary drafter; where the policy drafts on something itself, what of the proposed tokens became part "
     "of its own drafts, which speculation counts"},
    {"drafter.steps", "", "drafter.steps"},
    {"drafter.mean_accepted_length", "", "drafter.mean_accepted_length"},
    {"drafter.gpu_s", "", "drafter.gpu_s"},
    {"drafter.gpu_time_share", "", "drafter.gpu_time_share"},
}};

constexpr std::array<Definition, 10> kOfFetching{{
    {"fetch.mean_batch",
     "requests that decoded, mean over all iterations; mean_context: their tokens, prompt and output"},
    {"fetch.steps",
     "iterations with a fetch, waiting_steps: those that waited; link_s: time of their fetches on the link; copies: "
     "how rows are copied (decode.prefetch.copies)"},
    {"fetch.resident_fraction",
     "KV bytes on the GPU over those of a 16-bit cache at the mean context: bits/16 + 2/g + R/L for a low-bit copy, R "
     "the tokens kept or fetched in 16 bit, beside their low-bit copy: above 1 where R is nearly L; the share of "
     "layers that fit for full_offload"},
    {"fetch.row_bytes", "bytes of one scattered row; a link moves rows at row_bytes_per_s and long copies at its read"},
    {"fetch.bytes", "asked for beside computing, over all steps; unused_bytes: for a token that never was decoded"},
    {"fetch.hidden",
     "1 - wait / link time of all fetches: the share of fetching that computing hid; wait: the GPU stood still, for "
     "fetches or for loads ahead of them in the link's queue"},
    {"fetch.first_choices", "pre-decode steps of requests: a speculative token chooses the first pairs, no output"},
    {"fetch.quality",
     "share_of_keys: fetched pairs / context; mass: attention mass of a token's own top-k; hit_rate: of it, what the "
     "fetched set covers; recovered: of the score that quantising lost, what comes back; at the mean context"},
    {"fetch.two_token_cost",
     "time of a step with one more query token a request over that of one, less 1, at the mean batch and context"},
    {"fetch.two_token_batch",
     "the smallest batch at which that reaches 5 % on this machine; two_token_batch_always: from which on it always "
     "does (the cost may fall again in between)"},
}};

constexpr std::array<Definition, 11> kOfPlacement{{
    {"tiers",
     "hits: objects of prompts (contexts, blocks or chunks) that were found in the tier and loaded; misses: all the "
     "others that were looked for, wherever they were found; each prompt counts once"},
    {"placement.loaded_tokens",
     "tokens of prompts that continued from what was stored; computed_tokens: the others; each prompt counts once"},
    {"placement.loads",
     "objects that crossed links for a request; joined_loads: those that were on their way to the replica for another "
     "request already"},
    {"placement.stores",
     "objects that were stored; unstored: those that were not, because they fit into no tier or were not worth it"},
    {"placement.promotions",
     "objects that moved up a tier after they were loaded; demotions: down, for lack of room; recompressions: made "
     "smaller after they were stored; drops: given up"},
    {"placement.moved_bytes", "", "placement.moved_bytes"},
    {"placement.whole_loads",
     "objects of which a verification read what their compressed copy lacks; whole_load_bytes: of these"},
    {"placement.profiled",
     "contexts that were profiled again; profiled_tokens: decoded for that, beside the requests' own"},
    {"placement.quality",
     "of a finished request: the score of what it loaded, relative to the whole KV, 1 where nothing was loaded; p10: a "
     "tenth of the requests got less"},
    {"placement.contents",
     "at the end of the run, tiers of all replicas and replications added; bytes: as "
     "stored, full_bytes: of the same objects whole; options: objects by representation; "
     "whole_bytes: of copies kept whole beside them, to verify against"},
    {"placement.contents.mean_keep_ratio", "", "placement.contents.*.mean_keep_ratio"},
}};

constexpr std::array<Definition, 8> kOfReuse{{
    {"answers",
     "of finished requests; mean_score: of their tasks; full_score: what the same answers score with all of the prompt "
     "computed; good: answers with at least slo.quality_floor of their task's mean score with all of it computed"},
    {"reuse.chunk_tokens",
     "of prompts' chunks, each prompt counted when its first token was out; loaded_tokens: of chunks that were stored, "
     "apart_tokens: of those that were not and were computed alone, recomputed_tokens: computed over the whole prompt, "
     "other_tokens: behind the chunks"},
    {"reuse.recomputed_share", "", "reuse.recomputed_share"},
    {"reuse.mean_s",
     "means over prompts: queue: arrival to admission; load: admission to the last stored byte; select: admission to "
     "the choice of tokens, with its waiting; assemble: until both are there and missing chunks are computed; prefill: "
     "from there to the first token"},
    {"reuse.selections_longer", "", "reuse.selections_longer"},
    {"reuse.scorer_busy_fraction", "", "reuse.scorer_busy_fraction"},
    {"reuse.verified_tokens", "", "reuse.verified_tokens"},
    {"reuse.time_to_first_draft_s",
     "mean from a request's arrival to its first token as a draft; ttft counts tokens that are final: verified ones"},
}};

void add(Json& definitions, std::span<const Definition> list) {
  for (const Definition& d : list) {
    definitions[std::string(d.term)] = d.metric.empty() ? std::string(d.sentence) : find_metric(d.metric)->sentence;
  }
}

}  // namespace

Json definitions_of(const Outcome& outcome) {
  const scenario::Scenario& scenario = outcome.scenario;
  Json definitions = Json::object();
  add(definitions, kOfAll);
  if (std::string which = sketched_percentiles(outcome.result.measured); !which.empty()) {
    definitions["percentiles.sketched"] = std::move(which);
  }
  if (kPools.holds(scenario)) add(definitions, kOfPools);
  const bool drafts_on = scenario.serving.cluster.topology().drafts_while_waiting;
  if (outcome.result.measured.rounds > 0 && drafts_on) add(definitions, kOfDraftLengths);
  if (has_drafter(scenario)) add(definitions, kOfDrafters);
  if (holds_low_bit_copy_or_fetches(scenario)) add(definitions, kOfFetching);
  if (scenario.serving.placement) add(definitions, kOfPlacement);
  if (!scenario.serving.tasks.empty()) add(definitions, kOfReuse);
  return definitions;
}

}  // namespace kvsim::results
