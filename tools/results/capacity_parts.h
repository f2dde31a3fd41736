// Parts of a capacity search's document and page: figures of its rows, and words: what to buy, how it was found, and on
// what it rests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/results/capacity.h"
#include "tools/results/fields.h"

namespace kvsim::results {

inline constexpr std::string_view kNoPrice = "the price table has no price for this GPU: give one with --prices";
inline constexpr std::string_view kProbeFinishedNothing = "no request finished";
inline constexpr std::string_view kProbeNoTpot = "no request of two or more tokens finished";

/// A figure of the probe at the sustained rate; none where no rate passes.
template <class Get>
auto at_rate(Get get) {
  return [get](const planner::capacity::Configuration& c) { return c.sustained() ? get(c, *c.sustained()) : kNone; };
}

/// Figures of one replica at its rate: none where no rate passes.
const Fields<planner::capacity::Configuration>& rate_fields();
/// Of configurations that have a fleet. `placement`: as pages show it where prompts are stored in tiers.
Fields<planner::capacity::Configuration> fleet_fields(bool placement);

/// Whether the plan is of a scenario with placement: prompts are stored in tiers, whose sizes count.
bool with_placement(const planner::capacity::CapacityPlan& plan);

/// Of every configuration: machine and the sizes that are varied, and the policy where several are compared.
std::vector<std::string> names_of(const planner::capacity::CapacityPlan& plan);

/// "h100-sxm:2 ~": a machine of two GPUs a replica, whose kernel times are those of another machine, or of none,
/// scaled.
std::string marked_machine(const planner::capacity::Configuration& c);

/// What to buy, and what would be cheaper.
std::vector<std::string> capacity_decision(const planner::capacity::CapacityPlan& plan);

/// What the tables cannot say of single configurations.
List capacity_remarks(const planner::capacity::CapacityPlan& plan);

/// Figures that had to be replaced: "machine: what", once each.
List capacity_fallbacks(const planner::capacity::CapacityPlan& plan);

/// How attainment, confidence, run length, fleets and costs are defined, {word, sentence}; the numbers that a request
/// sets are in the sentences.
std::vector<std::pair<std::string, std::string>> capacity_definitions(const CapacityOutcome& outcome);

/// One line for every price that a configuration used, and for every one that was missing.
std::vector<std::string> price_lines(const CapacityOutcome& outcome);

}  // namespace kvsim::results
