// The result of a capacity search, for people and as a JSON document. Its keys, their order and their nesting are
// fixed; what is not in the fixed set is under "details". Equal scenario, request, seed and version give equal bytes,
// whatever the threads.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/cache_curves.h"
#include "tools/results/fields.h"
#include "tools/results/provenance.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct CapacityOutcome {
  planner::capacity::CapacityPlan plan;
  std::optional<HitRateView> hit_rates;  ///< where the workload is a trace with block hashes
  std::string resolved;                  ///< the scenario as it was given, with every default
                                         ///< written out, YAML
};

Json capacity_document(const CapacityOutcome& outcome);
KeyList capacity_keys();
/// The key of all configurations, with fields of its own for each.
Field<CapacityOutcome> configurations_field();

/// The decision, then the tables, then on what it rests.
Page capacity_page(const CapacityOutcome& outcome);

// Parts of document and page: figures of their rows, and words: what to buy, how it was found, and on what it rests.

inline constexpr std::string_view kNoPrice = "the price table has no price for this GPU: give one with --prices";
inline constexpr std::string_view kProbeFinishedNothing = "no request finished";
inline constexpr std::string_view kProbeNoTpot = "no request of two or more tokens finished";

/// A figure of the probe at the sustained rate; none where no rate passes.
template <class Get>
auto at_rate(Get get) {
  return [get](const planner::capacity::Configuration& c) { return c.sustained() ? get(c, *c.sustained()) : kNone; };
}

/// Heading of the requests/s that sessions bring.
inline constexpr std::string_view kRequests_s = "requests/s";

/// Figures of one replica at its rate: none where no rate passes.
const Fields<planner::capacity::Configuration>& rate_fields();
/// Fields of configurations that have a fleet. `placement`: as pages show it where prompts are stored in tiers.
Fields<planner::capacity::Configuration> fleet_fields(bool placement);

/// Load that rates of the plan are of.
planner::capacity::Load capacity_load(const planner::capacity::CapacityPlan& plan);

/// A rate of such a load as pages have it, users as whole ones: "12.50", "60"; and with what it is of: "12.50
/// requests/s", "60 users".
[[nodiscard]] std::string load_number(planner::capacity::Load load, double rate);
[[nodiscard]] std::string load_figure(planner::capacity::Load load, double rate);

/// The requests/s that so many sessions/s bring; none where the load is none of sessions.
[[nodiscard]] std::optional<double> requests_of_sessions(const scenario::Scenario& scenario, double sessions_per_s);

/// The price of an hour as that of a month of models::kHoursPerMonth.
[[nodiscard]] double usd_per_month(double usd_per_hour);
/// "$101,470".
[[nodiscard]] std::string whole_dollars(double usd);

/// The part of the price that host memory is; none without a price. 0 where it is in the price of nodes.
[[nodiscard]] std::optional<double> dram_share(const planner::capacity::HourlyCost& cost);

/// None where GPUs are bought alone.
[[nodiscard]] std::optional<std::int64_t> gpus_per_node(const planner::capacity::Configuration& c);
/// " in 2 nodes of 8", behind the GPUs that are in them; empty where GPUs are bought alone.
[[nodiscard]] std::string in_nodes(std::int64_t nodes, std::int64_t gpus_of_one);

/// "80 GB DRAM", "ssd 800 GB": a tier and its size.
[[nodiscard]] std::string size_words(std::string_view tier, double bytes);

/// Whether the plan is of a scenario with placement: prompts are stored in tiers, whose sizes count.
bool with_placement(const planner::capacity::CapacityPlan& plan);

/// Whether host memory is bought with nodes that have so much of it (cluster.node.memory).
bool with_node_memory(const planner::capacity::CapacityPlan& plan);

/// Names of the configurations: machine and the sizes that are varied, and the policy where several are compared.
std::vector<std::string> names_of(const planner::capacity::CapacityPlan& plan);

/// "h100-sxm:2 ~": a machine of two GPUs a replica, whose kernel times are those of another machine, or of none,
/// scaled.
std::string marked_machine(const planner::capacity::Configuration& c);

/// How the output differs from that of full-KV decoding, with its task score where that is known; empty where it does
/// not.
[[nodiscard]] std::string output_differs(const planner::capacity::Configuration& c);

/// A sentence on the load or the replicas that the error of the model asks for, and on what has no known error; empty
/// where no rate is sustained.
[[nodiscard]] std::string margin_sentence(const planner::capacity::Configuration& c);

/// Where another fleet is cheaper once the error of the model is bought for, which one; else nothing.
[[nodiscard]] std::string cheaper_with_model_error(const planner::capacity::CapacityPlan& plan);

/// How the GPUs per replica were chosen.
[[nodiscard]] std::string placement_words(const planner::capacity::Configuration& c);

/// "h100-sxm:2", of two GPUs a replica.
[[nodiscard]] std::string machine_words(const planner::capacity::Configuration& c);
/// Whether the kernel times of this machine are those of another, or of none, scaled.
[[nodiscard]] bool scaled_times(const planner::capacity::Configuration& c);
/// "h100-sxm, 80 GB DRAM, ssd 800 GB": with the sizes that are varied.
[[nodiscard]] std::string sized_name(const planner::capacity::Configuration& c, std::string name);
/// A load in words; sessions also as the requests that they bring: "33.30 sessions/s (199.8 requests/s)".
[[nodiscard]] std::string load_of_plan(const planner::capacity::CapacityPlan& plan, double rate);
/// How many configurations were not done; `plan.stopped` are.
[[nodiscard]] std::string interrupted_sentence(const planner::capacity::CapacityPlan& plan);

/// Purchase that the plan proposes, and what would be cheaper.
std::vector<std::string> capacity_decision(const planner::capacity::CapacityPlan& plan);

/// Remarks that the tables cannot make on single configurations.
List capacity_remarks(const planner::capacity::CapacityPlan& plan);

/// Figures that had to be replaced, once each, with the configurations that they are of.
[[nodiscard]] std::vector<std::string> named_fallbacks(const planner::capacity::CapacityPlan& plan);
/// That list as pages have it, with the mark of scaled kernel times.
List capacity_fallbacks(const planner::capacity::CapacityPlan& plan);

/// How attainment, confidence, run length, fleets and costs are defined, {word, sentence}; the numbers that a request
/// sets are in the sentences.
std::vector<std::pair<std::string, std::string>> capacity_definitions(const CapacityOutcome& outcome);

/// Whether the price of host memory counts anywhere: not where all is bought in nodes that have a price.
bool prices_memory(const CapacityOutcome& outcome);

/// The prices that configurations used.
std::vector<PriceRow> capacity_prices(const CapacityOutcome& outcome);
/// Lines for these, and for every machine without one.
std::vector<std::string> price_lines(const CapacityOutcome& outcome);

}  // namespace kvsim::results
