// Properties of a scenario, asked and in words: what it runs on, how it decodes, drafts and puts prompts together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/complexity.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/slo.h"

namespace kvsim::results {

/// "replica" or "node": one tensor-parallel group.
std::string_view group_word(const serving::ClusterConfig& cluster);

/// "2 replicas of 4 x h100-sxm", "1 local and 4 remote nodes of 2 x h100-nvl".
std::string machines_text(const serving::ClusterConfig& cluster);

/// Tiers of a scenario with placement: "host memory 80 GB, ssd 800 GB, remote without end"; of
/// several replicas also whose it is: "host memory 6.00 GB shared by 2 replicas" is what they have together.
std::string tiers_text(const serving::ServingConfig& config);

/// "stored", ...: the word of the scenario's key.
std::string_view prefill_word(serving::PrefillKind prefill);

using planner::lossless;
using planner::stores_whole;

/// Whether an auxiliary drafter proposes tokens.
[[nodiscard]] bool has_drafter(const scenario::Scenario& scenario);

/// Whether something drafts, or a drafter proposes.
[[nodiscard]] bool something_drafts(const scenario::Scenario& scenario);

/// Whether the scenario's decode policy keeps a low-bit copy, or fetches KV.
[[nodiscard]] bool holds_low_bit_copy_or_fetches(const scenario::Scenario& scenario);

/// Whether drafts go on from prompts as they were loaded or put together: nothing is compressed for them.
[[nodiscard]] bool drafts_as_found(const serving::ServingConfig& config);

/// Whether those drafts go on only until the prompt is computed whole.
[[nodiscard]] bool drafts_until_computed(const serving::ServingConfig& config);

/// Whether the policy itself reads what a compressor makes or a selection chooses, running requests' KV being its own.
[[nodiscard]] bool reads_own_choice(const serving::ServingConfig& config);

/// "draft_verify with kvzip, keep ratio 0.2, draft length 25", "sparse_self reading 0.05 of the KV, chosen by
/// magicdec-snapkv, ...", "drafter, eagle3-llama-3.1-8b proposing 3 tokens a step".
[[nodiscard]] std::string decoding_text(const serving::ServingConfig& config);

/// "keep ratio 0.2", "budget 1,024 tokens": what is left of a KV.
[[nodiscard]] std::string kept_text(const serving::DecodeConfig& decode);

/// "0.6 a token", "0.74, 0.54 by position": a law of accepted lengths.
[[nodiscard]] std::string acceptance_text(const models::AcceptanceSpec& law);

/// "25", "adaptive (1 to 64)" or "table".
[[nodiscard]] std::string draft_length_text(const serving::DecodeConfig& decode);

/// "recompute" as it is called beside the reuse of chunks, "selective, rho 0.15, scored by llama-3.2-1b".
[[nodiscard]] std::string prefill_text(const scenario::Scenario& scenario);

/// Gaps that a limit of ITL is of.
inline constexpr std::string_view kItlOf = "each request's largest gap between two tokens";
/// How a limit of ITL is to be read.
inline constexpr std::string_view kItlJudged =
    "each request's largest gap between two tokens is judged, not the gaps of all requests";

/// A column of a table of times: an objective's percentile with its limit, or the 99th of TTFT or TPOT, whose limit is
/// 0.
struct LatencyColumn {
  serving::SloObjective of;
  bool limited = false;       ///< an objective limits it
  std::size_t objective = 0;  ///< its position among the objectives, where one does
  std::string title;          ///< "TTFT p95"
  std::string key;            ///< "ttft_p95"
};
/// The times that tables and plots show, by metric: the percentiles that objectives limit, in place of the 99th, and
/// the 99th of TTFT and TPOT where nothing limits them and the table has room.
[[nodiscard]] std::vector<LatencyColumn> latency_columns(const std::vector<serving::SloObjective>& objectives);

/// Assumptions of ranks, experts in parts and stages, in sentences; empty for a tensor-parallel group.
[[nodiscard]] std::vector<std::string> parallelism_assumptions(const serving::ClusterConfig& cluster);

/// Assumptions of drafting, in sentences.
[[nodiscard]] std::vector<std::string> drafting_assumptions(const scenario::Scenario& scenario);

/// Assumptions of answers' scores.
[[nodiscard]] std::vector<std::string> reuse_assumptions(const scenario::Scenario& scenario);

}  // namespace kvsim::results
