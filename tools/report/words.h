// Words for policies, fleets and what binds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "planner/capacity/run_length.h"
#include "tools/report/documents.h"

namespace kvsim::report {

/// Load that the rates of a capacity result are of (its key `load`): requests/s where it does not say.
[[nodiscard]] planner::capacity::Load load_of(const Json& capacity);

/// The load that a fleet has to serve: "100 requests/s", "1000 users"; none where none was asked for.
[[nodiscard]] std::optional<std::string> required_load(const Json& capacity);

/// The sizes of tiers that a configuration of a search is of, where they are varied: ", 80 GB DRAM, ssd 800 GB"; empty
/// where none is.
[[nodiscard]] std::string sizes_of(const Json& configuration);

/// Whether a search is of stored prompts, whose tiers are paid for.
[[nodiscard]] bool stores_prompts(const Json& capacity);

/// Output of a configuration: "lossless", its mean task score, or "lossy" where that is not known.
[[nodiscard]] std::string output_of(const Json& configuration);

/// Why a fleet serves more than its replicas would one by one, where it does. Begins a line of its own.
[[nodiscard]] std::string pooling(const Json& capacity, const Json& configuration);

/// A lower bound, rounded down: "99.97 %".
[[nodiscard]] std::string at_least(double share);

/// "draft_verify: drafts on the compressed KV, .... staggered: verifications spread ...." of a run's policies; empty
/// where this kvsim knows none of them.
[[nodiscard]] std::string policy_words(const Json& result);

/// Where memory binds although the GPUs' time goes to something else: why that is no contradiction. Begins with a
/// line of its own.
[[nodiscard]] std::string time_and_memory(const Json& explanation);

/// Which plan an explanation is of, and its tokens/s: it is that of the closed forms. Begins a line of its own.
[[nodiscard]] std::string explained_plan(const Json& explanation);

/// "hbm_capacity" as people say it.
[[nodiscard]] std::string factor_name(std::string_view key);
/// A part of the GPUs' time (serving::kTimeParts), as time that goes to it.
[[nodiscard]] std::string time_part_name(std::string_view key);

}  // namespace kvsim::report
