// `kvsim plan SCENARIO --explain`: why the plan is what it is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/closed_form/search.h"
#include "planner/plan/scenario_plan.h"
#include "sim/engine/statistics.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/bottleneck.h"
#include "sim/serving/measurements.h"

namespace kvsim::planner {

// Factors that an explanation changes in a scenario, one at a time.

enum class Factor {
  hbm_bandwidth,   ///< peak bandwidth of GPU memory
  hbm_capacity,    ///< GPU memory
  link_bandwidth,  ///< host link, both directions
  compute,         ///< peak arithmetic rates, bf16 and fp8
  agreement,       ///< of drafted tokens: the survival S(i) of a draft becomes S(i)^(1/f), so -ln a is divided by f
  context          ///< prompt tokens
};

struct FactorName {
  Factor factor;
  std::string_view key;   ///< in documents
  std::string_view name;  ///< in prose
  std::string_view description;
  bool of_machine;      ///< a resource that binds and that can be bought
  bool has_elasticity;  ///< more of it is better
};

inline constexpr std::array<FactorName, 6> kFactors{{
    {Factor::hbm_bandwidth, "hbm_bandwidth", "HBM bandwidth", "peak bandwidth of GPU memory", true, true},
    {Factor::hbm_capacity, "hbm_capacity", "HBM capacity", "GPU memory", true, true},
    {Factor::link_bandwidth, "link_bandwidth", "link bandwidth", "host link, both directions", true, true},
    {Factor::compute, "compute", "compute", "peak arithmetic rates", true, true},
    {Factor::agreement, "agreement", "agreement", "-ln a of drafted tokens is divided by the factor", false, true},
    {Factor::context, "context", "context length", "prompt tokens of every request", false, false},
}};

[[nodiscard]] const FactorName& name_of(Factor factor);

/// The scenario with `by` (> 0) times as much of it. Machines change as datasheets do: the kernel profile stays, and
/// its forms scale with the peaks. On a GPU of another architecture than the profile's, fixed kernel times scale with
/// memory bandwidth too (models/kernels/profile.h, machine_for), which counts as HBM bandwidth here.
[[nodiscard]] scenario::Scenario scaled(const scenario::Scenario& scenario, Factor factor, double by);

// Why a plan is what it is: which resource binds, what requests spend their iterations on, what more of each resource
// would bring, and how far the machine may change before another plan is better.

/// The account of the replicas' time.
struct TimeShares {
  serving::Bottleneck of;
  double short_of_memory = 0;  ///< beside them: Measurements::memory_short_s, as a share
};

struct Utilisation {
  double gpu_busy = 0;     ///< share of time
  double link_to_gpu = 0;  ///< share of time with a transfer on the link
  double link_to_host = 0;
  double hbm_peak_bytes = 0;  ///< of one replica: weights, and KV that is there
  double hbm_mean_bytes = 0;
  double hbm_bytes = 0;  ///< of one replica: what weights and KV may fill
};

/// States of requests in the iterations that they decoded in: shares that add up to 1.
struct Stalls {
  double drafting = 0;  ///< or plain decoding
  double verifying = 0;
  double late_reload = 0;  ///< stalled in a round whose reload was late
  double otherwise = 0;    ///< stalled for another reason
  std::uint64_t request_iterations = 0;
  std::uint64_t rounds = 0;
  std::uint64_t late_rounds = 0;
  std::uint64_t preemptions = 0;
  double link_wait_s = 0;  ///< from a transfer's request to its start on the link to the GPU, mean; NaN: none
};

/// Change of the throughput against the plan as it is, from runs with the same random numbers.
struct Change {
  double relative = 0;       ///< dT / T
  double half_width_95 = 0;  ///< Student t over paired differences; NaN where there are too few
};

struct Elasticity {
  static constexpr double kStep = 0.1;  ///< of the factor
  Factor factor = Factor::hbm_bandwidth;
  Change kept;          ///< the plan kept as it is
  Change replanned;     ///< the plan that the closed forms choose for the changed scenario
  OperatingPoint plan;  ///< that plan
  bool same_plan = true;

  /// The better of the two: nobody is forced to take the new plan.
  [[nodiscard]] const Change& better() const { return replanned.relative > kept.relative ? replanned : kept; }
  /// (dT / T) / (dF / F).
  [[nodiscard]] double value() const { return better().relative / kStep; }
};

/// The first change of the optimum on one side.
struct MarginSide {
  std::optional<double> factor;        ///< at which it has changed; none: not within what was searched
  std::optional<OperatingPoint> plan;  ///< there; none though `factor` is: nothing fits
  std::string change;                  ///< "B_c 11 -> 12"; several where they change together
};

struct Margin {
  Factor factor = Factor::hbm_bandwidth;
  MarginSide down, up;
};

/// Another candidate, by the closed forms.
struct Alternative {
  std::string what;                    ///< "x - 1"
  std::optional<OperatingPoint> plan;  ///< none: does not fit
  double loss = 0;                     ///< share of the optimum's throughput
};

struct Explanation {
  OperatingPoint plan;
  double tokens_per_s = 0;  ///< simulated, over all replicas
  double half_width_95 = 0;
  std::size_t replications = 0;
  TimeShares shares;
  Utilisation utilisation;
  Stalls stalls;
  std::vector<Elasticity> elasticities;
  /// Resource of the machine with the largest elasticity; none where no gain exceeds its interval.
  std::optional<Factor> binding;
  bool load_bound = false;  ///< the offered load is below what the plan can serve
  std::vector<Margin> margins;
  std::string searched;  ///< where margins were looked for
  std::vector<Alternative> alternatives;
  std::vector<std::string> remarks;
  bool interrupted = false;
};

struct ExplainOptions {
  /// None: the scenario's, and kLeastReplications at least. With 1, intervals are of batch means.
  std::optional<std::int64_t> replications;
  int jobs = 1;                 ///< runs at once; no result depends on it
  std::function<bool()> go_on;  ///< asked from any thread; false interrupts. May be empty.

  static constexpr std::int64_t kLeastReplications = 5;
};

/// Simulates with_plan(scenario, plan.optimum) as it is and with 10 % more of each factor, the plan kept and planned
/// anew, with common random numbers; searches the margins. `plan` is plan(scenario, ...). Throws what plan() and
/// systems::simulate throw.
[[nodiscard]] Explanation explain(const scenario::Scenario& scenario, const ScenarioPlan& plan,
                                  const ExplainOptions& options = {});

// Differences between plans.

/// Whether two points are the same plan: x, c, B_c, B_g and, where there are reloads, l.
[[nodiscard]] bool same_plan(const OperatingPoint& a, const OperatingPoint& b);

/// Difference of two plans: "x 25 -> 24, B_c 11 -> 12".
[[nodiscard]] std::string difference(const OperatingPoint& from, const OperatingPoint& to);

// How far the machine and the traffic may change before another plan is the optimum.

/// Factors are searched between 1 / kFarthest and kFarthest.
inline constexpr double kFarthest = 2.0;

/// By factor, in the order of kFactors: the nearest change below and above 1. The whole search of the plan is repeated
/// (every draft length, keep ratio and batch of its request), at steps of growing size outwards from 1, and bisected
/// between the last step without a change and the first with one. A change and a return to the plan within one step
/// would go unseen. `go_on` as in PairedOptions; sides that were not reached have no factor then.
[[nodiscard]] std::vector<Margin> margins(const scenario::Scenario& scenario, const ScenarioPlan& plan, int jobs,
                                          const std::function<bool()>& go_on = {});

/// Range that margins() searches, in words.
[[nodiscard]] std::string margins_searched(const ScenarioPlan& plan);

// Losses of the candidates next to the optimum, by the closed forms.

/// The best batch with x - 1 and x + 1, with the next keep ratio below and above, and with no drafting at all; the
/// plan with B_c (or, where there is none, B_g) one smaller and one larger.
[[nodiscard]] std::vector<Alternative> alternatives(const scenario::Scenario& scenario, const ScenarioPlan& plan);

// Simulations of variants of a scenario with common random numbers: the same seeds, so the same arrivals, lengths and
// acceptance draws. Differences between variants then vary far less than the variants themselves.

struct PairedOptions {
  std::int64_t replications = 1;
  int jobs = 1;
  std::function<bool()> go_on;  ///< asked from any thread; false ends the runs early. May be empty.
};

struct VariantRuns {
  serving::Measurements measured;    ///< merged over replications, without samples
  std::vector<double> tokens_per_s;  ///< by replication; of one replication, by twentieths of the measured time
  std::vector<std::string> fallbacks;
  bool interrupted = false;

  [[nodiscard]] double mean() const;
};

/// By variant. Does not depend on `jobs`.
[[nodiscard]] std::vector<VariantRuns> simulate_paired(const std::vector<scenario::Scenario>& variants,
                                                       const PairedOptions& options);

/// Against `base`, as a share of its mean.
[[nodiscard]] Change paired_change(const VariantRuns& variant, const VariantRuns& base);

}  // namespace kvsim::planner
