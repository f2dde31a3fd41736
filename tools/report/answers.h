// The answers that a report begins with, each from one kind of result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/documents.h"
#include "tools/report/parts.h"

namespace kvsim::report {

inline constexpr const char* kWhichPolicy = "Which policy?";
inline constexpr const char* kWhichPlan = "Which draft length x and keep ratio c?";
inline constexpr const char* kHowManyGpus = "How many GPUs?";
inline constexpr const char* kWhatBinds = "What binds?";
inline constexpr const char* kWhatToBuy = "What to buy next?";

/// Which policy, by a comparison (best_policy.h), or by a sweep over policies.
[[nodiscard]] Fact policy_of(const Inputs::Compared& compared);
[[nodiscard]] std::optional<Fact> swept_policy(const Json& sweep);

/// Which policy, by a capacity search over several: that of the first configuration; none where it is over one.
[[nodiscard]] std::optional<Fact> searched_policy(const Json& capacity);

/// Which x and c, by a plan, or by a sweep over them.
[[nodiscard]] Fact plan_of(const Json& plan);
[[nodiscard]] std::optional<Fact> swept_plan(const Json& sweep);

/// How many GPUs for the rate, or which rate one replica sustains. Precondition: it has a configuration.
[[nodiscard]] Fact gpus_of(const Json& capacity);

/// Resource that binds, by the explanation of a plan, or by what the GPUs' time went to.
[[nodiscard]] Fact binds(const Json& explanation);
[[nodiscard]] Fact bound_by(const Simulated& run);
/// Resource that binds the first configuration of a capacity search, at the rate it sustains; none: it sustains none.
[[nodiscard]] std::optional<Fact> bound_at_rate(const Json& capacity);

/// Answer on what can be bought: not the agreement of drafts, not shorter contexts.
[[nodiscard]] Fact purchase(const Json& explanation);

/// Intervals of what the results are chosen by, confidence of fleets, and how many figures are assumptions.
[[nodiscard]] Fact how_sure(const Inputs& inputs);

/// The points of a sweep that the answers rest on: the best; where the traffic is varied, the best at each that is in a
/// steady state. None where nothing can be simulated.
[[nodiscard]] std::vector<const Json*> answering_points(const Json& sweep);

/// A line that says why a run's figures are those of no steady state; empty where nothing speaks against one.
[[nodiscard]] std::string unsteady_words(const Json& result);

/// "its output is that of full-KV decoding", or its score.
[[nodiscard]] std::string output_words(const Json& result);

}  // namespace kvsim::report
