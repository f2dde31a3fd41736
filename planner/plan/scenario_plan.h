// `kvsim plan SCENARIO`: which x, c, B_c, B_g and l are best on this machine, by the closed forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/closed_form/search.h"
#include "planner/plan/scenario_costs.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

struct PlanRequest {
  TransferModel model = TransferModel::rings;
  Refinements refinements;
  std::int64_t least_draft_length = 1;
  std::int64_t most_draft_length = 60;
  std::vector<double> keep_ratios;  ///< empty: default_keep_ratios; a quantiser has its own ratio only
};

/// 0.05, 0.10, ..., 0.95.
std::vector<double> default_keep_ratios();

/// The optimum with the refinements up to and including this one.
struct BreakdownRow {
  std::string name;  ///< "bytes / peak", or the refinement added
  std::string description;
  std::optional<OperatingPoint> optimum;
  std::optional<OperatingPoint> full_kv;
};

/// The open system: offered load against what the plan can serve. Per replica.
struct OfferedLoad {
  double offered_tokens_per_s = 0;
  double capacity_tokens_per_s = 0;
  [[nodiscard]] double utilisation() const { return offered_tokens_per_s / capacity_tokens_per_s; }
  [[nodiscard]] bool sustainable() const { return offered_tokens_per_s < capacity_tokens_per_s; }
};

/// Quantities of one replica.
struct ScenarioPlan {
  PlanRequest request;
  OperatingPoint optimum;                                   ///< under request.model
  std::optional<OperatingPoint> full_kv;                    ///< none: not even one full KV fits
  std::map<TransferModel, OperatingPoint> by_model;         ///< the optimum of each of the three models
  std::vector<std::optional<OperatingPoint>> best_of_each;  ///< by keep ratio, then draft length, as in `request`
  std::vector<BreakdownRow> breakdown;
  std::optional<OfferedLoad> load;  ///< of an open-loop workload
  BatchLimits limits;
  double kv_bytes = 0;       ///< full KV of a request
  double room_bytes = 0;     ///< HBM for KV
  double weights_bytes = 0;  ///< M
  std::int64_t prompt_tokens = 0, generated_tokens = 0;
  std::uint64_t evaluated = 0;
  std::vector<std::string> fallbacks;
};

/// The request with the keep ratios that it stands for: the compressor's own or the default ones where it has none.
/// Throws schema::InputError where the scenario has no compressor.
PlanRequest completed(const scenario::Scenario& scenario, PlanRequest request);

/// All drafting cycles of a completed request, by keep ratio, then draft length. Throws schema::InputError where the
/// agreement is not known.
std::vector<Cycle> cycles_of(const scenario::Scenario& scenario, const ScenarioCosts& costs,
                             const PlanRequest& request);

/// The optimum alone, under request.model; none where nothing fits. `request` is completed.
std::optional<OperatingPoint> optimum_of(const scenario::Scenario& scenario, const PlanRequest& request);

/// The plan. Throws schema::InputError where the scenario has no compressor or its agreement is not known, Infeasible
/// where not even one request fits.
ScenarioPlan plan(const scenario::Scenario& scenario, const PlanRequest& request);

/// The scenario as planned: draft_verify under the staggered schedule (its own, where that verifies) with the point's
/// x, c, B_c and B_g; full_kv where the point is the baseline.
scenario::Scenario with_plan(const scenario::Scenario& scenario, const OperatingPoint& point);

// Trade-offs between throughput, speed for each user, quality, cost and energy.

/// A policy with a batch, by the closed forms. Of one replica.
struct Choice {
  std::string policy;  ///< full_kv, draft_verify or lossy
  OperatingPoint point;
  double tokens_per_s_per_gpu = 0;
  double tokens_per_s_per_user = 0;         ///< 1 / TPOT
  std::optional<double> quality;            ///< task score relative to the full KV, 1 where lossless; none: unknown
  std::optional<double> functional;         ///< models::least_functional of the same; none: unknown
  std::optional<double> usd_per_1m_tokens;  ///< output tokens; none: the GPU has no price
  std::optional<double> joules_per_token;   ///< output token, every GPU at its board power; none: not known
};

/// Price and power of a GPU.
struct GpuRates {
  std::optional<double> usd_per_hour;
  std::optional<double> board_power_w;
};

/// Which of `points` (equally many objectives each, larger is better) no other one matches or beats in all objectives
/// and beats in one; of equal ones, the first. Indices, ascending.
std::vector<std::size_t> pareto_front(const std::vector<std::vector<double>>& points);

/// The front over throughput per GPU, tokens/s per user and quality of: for every batch size, full_kv, the best
/// draft_verify plan and lossy decoding at every keep ratio whose quality is known. Ordered by tokens/s per user,
/// fastest first. On one machine cost and energy per token are inverse to throughput, so that fronts over them are this
/// one. Throws what plan() throws.
std::vector<Choice> pareto_choices(const scenario::Scenario& scenario, const PlanRequest& request,
                                   const GpuRates& rates);

}  // namespace kvsim::planner
