// Capacity under objectives: the request rate that each configuration (a machine, a decode policy) sustains, and the
// cheapest fleet for a required rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/prices/price_table.h"
#include "planner/capacity/fleet.h"
#include "planner/capacity/machine_choice.h"
#include "planner/capacity/probe.h"
#include "planner/capacity/rate_search.h"
#include "planner/policy_words.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::capacity {

struct CapacityPlan;

struct CapacityRequest {
  ProbeOptions probe;
  std::vector<MachineRequest> machines;  ///< empty: the scenario's own
  std::vector<UnderPolicy> policies;     ///< the scenario under each; empty: under its own
  std::vector<TierSizes> sizes;  ///< of a scenario with placement: each combination is a configuration; policies under
                                 ///< which nothing is stored have one
  std::optional<double> rate;    ///< required, of the scenario's load; none: only what a replica sustains
  bool n_minus_1 = false;
  double model_confidence = 0.9;  ///< one-sided, in (0.5, 1): that a configuration's ModelMargin suffices
  models::PriceTable prices;
  int jobs = 1;  ///< simulations at once; no result depends on it
  Watch watch;   ///< called between events of every simulation; may throw
  /// Called from any thread after every probed rate of configuration `i`.
  std::function<void(std::size_t i, const Probe& probe)> report;
  /// Called where a rate is required, with the plan as if it had been stopped before any fleet was sized.
  std::function<void(const CapacityPlan& plan)> partial;
};

struct Configuration {
  scenario::Scenario scenario;  ///< on its machine, under its policy
  std::string machine;
  std::int64_t tensor_parallel = 1;
  std::string policy;
  SizeChoice sizes;  ///< of the tiers that are varied
  Placement placement = Placement::own;
  std::string problem;  ///< why it cannot run at all; empty: it can, and the rest is filled
  /// GPUs per replica that were chosen automatically, tried besides `tensor_parallel`, and met the objectives at no
  /// rate.
  std::vector<std::int64_t> failed_sizes;
  RateSearch search;           ///< the load of all of the scenario's replicas together; the rate is the confirmed one
  std::vector<Probe> probes;   ///< in order of probing: the search's, then the confirmation's
  std::optional<Fleet> fleet;  ///< where a rate is required, a replica sustains one, and the fleet could be sized
  /// Why there is no fleet though a rate is required and a replica sustains one; empty where there is one.
  std::string no_fleet;
  /// Where no number of replicas meets the objectives at the required rate though one replica sustains a lower one.
  struct TooMuch {
    std::int64_t replicas = 0;        ///< the most that were tried
    double required = 0, of_one = 0;  ///< rates
  };
  std::optional<TooMuch> too_much;
  ModelMargin margin;

  // Figures of one replica at its rate.
  double dram_gb = 0;
  double ssd_gb = 0;  ///< a tier that replicas share: its share of it
  HourlyCost cost;
  std::optional<double> usd_per_million;
  std::vector<TierFill> fills;  ///< with placement: how warm tiers were at the sustained rate

  /// The probe at the sustained rate; null where no rate passes.
  [[nodiscard]] const Probe* sustained() const;
  /// The first rate above it that fails; null where none was found.
  [[nodiscard]] const Probe* first_failure() const;
  /// Figures that had to be replaced, in words: of the sustained rate, or of the last one probed.
  [[nodiscard]] std::vector<std::string> fallbacks() const;
  /// The last probe of the search's, before any confirming one; null where nothing was probed.
  [[nodiscard]] const Probe* last_of_search() const;
  /// Those it computes on (tensor_parallel), and those that only score.
  [[nodiscard]] std::int64_t gpus_per_replica() const;
  /// Rate of the load that one replica sustains; 0 where no rate passes.
  [[nodiscard]] double rate_per_replica() const;
  /// The load that one replica sustains where requests take as long as ModelMargin allows for.
  [[nodiscard]] double rate_with_model_error() const { return rate_per_replica() / margin.slower; }
  /// Objective that most failing requests miss just above the sustained rate (word_of), kQueue where they meet the
  /// objectives there and more come than are served; empty where nothing fails.
  [[nodiscard]] std::string_view limited_by() const;
};

struct CapacityPlan {
  CapacityRequest request;
  std::vector<Configuration> configurations;  ///< best first
  /// By $/h of the fleet where a rate is required, else by $ per 1M output tokens; false: a price is missing, and the
  /// order is by GPUs, or by requests/s per GPU.
  bool ranked_by_price = true;
  /// Configurations that were not done when `request.watch` threw Stopped: those without a rate as those that cannot
  /// run, those with one as they are without a fleet, for that reason.
  std::size_t stopped = 0;
};

/// "ttft", "tpot", "itl", "e2e", "memory" (refused), "unfinished".
std::string_view word_of(serving::Miss miss);
inline constexpr std::string_view kQueue = "queue";

/// Searches every machine under every policy with every combination of sizes: short runs find a rate, long ones with
/// fresh seeds confirm or lower it (planner/capacity/rate_search.h). A size that was chosen automatically and sustains
/// nothing is doubled, up to 16 GPUs. Throws schema::InputError for missing objectives, classes, a rate that changes,
/// sessions of a trace or one without a span, unknown names; Infeasible where no configuration meets the objectives at
/// any rate, naming the nearest miss; and what `request.watch` throws: Stopped only where no configuration that meets
/// the objectives was done, else these are the plan.
CapacityPlan plan_capacity(const scenario::Scenario& scenario, CapacityRequest request);

// The order in which configurations are shown. Internal to the capacity planner.

/// Best first: with a required rate by $/h of the fleet, then the simpler (planner::Complexity), then the larger
/// headroom, then by GPUs, and behind these those without a fleet by $/h of as many single replicas as carry the rate;
/// without one by $ per 1M output tokens, then the simpler. Prices that print alike are equal. Where a configuration
/// that works has no price, by GPUs of the fleet, or by requests/s per GPU. Those that meet the objectives at no rate
/// come last. Equal ones keep their order.
void rank(CapacityPlan& plan);

/// "no fleet of up to 64 replicas meets the objectives at 300/s, though one replica sustains 4.1/s"; empty unless
/// `too_much`.
[[nodiscard]] std::string too_much_words(const Configuration& c);

// Advice where no configuration meets the objectives at any rate. Internal to the capacity planner.

/// Whether at the lowest rate probed more of its requests met the objectives than of the other's, or as many, and the
/// 99th percentile that is the furthest above its limit is less so. Precondition: something was probed of both.
[[nodiscard]] bool nearer(const Configuration& c, const Configuration& other);

/// Throws Infeasible: which objective was missed and by how much at the lowest rate probed, by the configuration that
/// came nearest; and why the others could not run.
[[noreturn]] void throw_nearest_miss(const std::vector<Configuration>& configurations, const ProbeOptions& options);

/// "TTFT p99 2.4 s > 2 s": what most of the misses of a probe are about; where it meets the objectives, or has none to
/// tell, why it does not keep up.
std::string describe_misses(const Probe& probe, const serving::SloConfig& slo);

// Consequences of buying less.

/// The most expensive of what costs less an hour than the plan's first configuration, and is not beaten by another of
/// these: one that is at most as dear and sustains more, or as much for less.
struct NextCheaper {
  const Configuration* configuration = nullptr;
  std::int64_t replicas = 1;
  double usd_per_hour = 0;
  double rate = 0;  ///< requests/s that these replicas sustain; 0 where none is known
  /// Objectives that are missed: where a rate is required, at that rate, with the replica that may fail gone; else just
  /// above `rate`.
  std::string why;
};

/// Next cheaper choice of a ranked plan. Where a rate is required: among the largest fleets of each configuration that
/// cost less and have fewer replicas than it needs, and single replicas of those that meet the objectives at no rate;
/// none of them serves the rate.
/// Without one: among single replicas, which sustain less or cost more per token.
/// None where nothing that was simulated costs less, or a price is missing.
std::optional<NextCheaper> next_cheaper(const CapacityPlan& plan);

}  // namespace kvsim::planner::capacity
