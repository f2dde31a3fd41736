#include "tools/results/definitions.h"

#include <array>

namespace kvsim::results {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kMetricDefinitions{{
    {"units", "seconds, bytes, tokens, nats; *_per_s are per second of simulated measured time, unless they say wall"},
    {"measured",
     "everything but the counts under requests is of the measured time, which begins after the warm-up; "
     "counts and times are added over replications"},
    {"percentiles", "exact, of all samples of all replications, linear between order statistics (Hyndman-Fan type 7)"},
    {"ttft", "s from a request's arrival to its first output token"},
    {"tpot", "s per output token after the first: (e2e - ttft) / (output tokens - 1); requests of one token have none"},
    {"itl",
     "s of every gap between consecutive output tokens; the tokens of one verified round arrive together, so that "
     "gaps within a round are 0"},
    {"round_gap", "s between consecutive deliveries of one or more tokens to a request"},
    {"e2e", "s from a request's arrival to its last output token"},
    {"latency_distribution_s", "quantiles at the fractions beside them, as percentiles are taken"},
    {"total_tokens", "output tokens, and prompt tokens whose KV became available (prefilled or loaded)"},
    {"slo",
     "attainment: share of finished requests that met every latency objective, 1 where none is set; goodput: such "
     "requests per s, if slo.quality_floor is set only those with an answer at or above it"},
    {"mean_accepted_length",
     "drafted tokens accepted per round, without the token that the verifier adds; some tools "
     "count that one too and report 1 more"},
    {"late_reloads", "verifications that had to wait because the full KV had not arrived"},
    {"mean_score",
     "task score relative to full KV, mean over finished requests; 1 where the output is that of full KV"},
    {"expected_kl_nats",
     "KL divergence from full-KV decoding summed over a request's steps, mean over finished requests"},
    {"full_kv_output_probability",
     "exp(-KL) of a request: the chance that it emits the full-KV output, mean over requests"},
    {"hbm_bytes", "of one replica, all its GPUs together: weights, and KV that is there (not merely reserved)"},
    {"memory",
     "bytes of one replica, all its GPUs together: kept free, weights, activations, other (a drafter's weights, a "
     "framework's workspace, stored prompts, less than a block) and KV capacity add up to gpu_bytes; of the capacity, "
     "means over time and replicas: streaming is reserved for full KV on its way or there for a verification, resident "
     "is what else is reserved"},
    {"bound_by",
     "shares of the replicas' time; an iteration counts whole for what decided most of its kernels' time, "
     "memory bandwidth or arithmetic; link: nothing could run until a transfer arrived; idle: nothing to do"},
    {"links",
     "utilisation: share of time in which at least one transfer was on the link; mean_wait_s: from a "
     "transfer's request to its start"},
    {"timeline",
     "of the first replication, warm-up included; requests and bytes at each time, over all replicas or nodes (a "
     "preempted request waits); shares of gpu and links of the period that ends there, means over replicas, nodes or "
     "links, an iteration under way as far as it has come; time after the last whole period is left out"},
    {"short_of_gpu_memory",
     "share of the replicas' time in which the next waiting request would not have fitted into GPU memory, whatever "
     "else kept it waiting, or a reload found no room; looked at as each iteration begins"},
    {"request_iterations",
     "iterations counted once for every request that decoded in them: drafting (or plain decoding), verifying, "
     "stalled in a round whose reload was late, stalled otherwise"},
    {"confidence", "half_width_95: Student-t 95 % interval of the mean"},
    {"keep_ratio", "compressed KV bytes / full KV bytes"},
}};

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> metric_definitions() {
  return kMetricDefinitions;
}

}  // namespace kvsim::results
