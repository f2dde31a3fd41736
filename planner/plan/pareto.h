// What cannot be had together: throughput, speed for each user, quality, cost, energy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planner/plan/scenario_plan.h"

namespace kvsim::planner {

/// A policy with a batch, by the closed forms. Of one replica.
struct Choice {
  std::string policy;  ///< full_kv, draft_verify or lossy
  OperatingPoint point;
  double tokens_per_s_per_gpu = 0;
  double tokens_per_s_per_user = 0;         ///< 1 / TPOT
  std::optional<double> quality;            ///< task score relative to the full KV, 1 where lossless; none: unknown
  std::optional<double> usd_per_1m_tokens;  ///< output tokens; none: the GPU has no price
  std::optional<double> joules_per_token;   ///< output token, every GPU at its board power; none: not known
};

/// What a GPU costs and draws.
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
