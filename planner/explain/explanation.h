// Why a plan is what it is: which resource binds, what requests spend their iterations on, what more of each resource
// would bring, and how far the machine may change before another plan is better.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/closed_form/search.h"
#include "planner/explain/factor.h"

namespace kvsim::planner {

/// Shares of the replicas' time. The first four add up to 1.
struct TimeShares {
  double hbm_bandwidth = 0;
  double compute = 0;
  double link = 0;
  double idle = 0;
  double short_of_memory = 0;  ///< beside the others: Measurements::memory_short_s
};

struct Utilisation {
  double gpu_busy = 0;     ///< share of time
  double link_to_gpu = 0;  ///< share of time with a transfer on the link
  double link_to_host = 0;
  double hbm_peak_bytes = 0;  ///< of one replica: weights, and KV that is there
  double hbm_mean_bytes = 0;
  double hbm_bytes = 0;  ///< of one replica: what weights and KV may fill
};

/// What requests did in the iterations that they decoded in: shares that add up to 1.
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
  /// Of the machine's resources, the one with the largest elasticity; none where no gain exceeds its interval.
  std::optional<Factor> binding;
  bool load_bound = false;  ///< the offered load is below what the plan can serve
  std::vector<Margin> margins;
  std::string searched;  ///< where margins were looked for
  std::vector<Alternative> alternatives;
  std::vector<std::string> remarks;
  bool interrupted = false;
};

}  // namespace kvsim::planner
