#include "planner/capacity/model_margin.h"

#include <algorithm>
#include <cmath>

namespace kvsim::planner::capacity {

ModelMargin model_margin(const StatedErrors& errors, const models::PriceTable& prices,
                         const scenario::Scenario& scenario, const Fleet* fleet, double confidence) {
  ModelMargin margin;
  margin.error = stated_error(errors, error_question(scenario, 0), 2 * confidence - 1);
  margin.slower = std::max(1.0, margin.error.e2e.high);
  if (fleet == nullptr || !fleet->found) return margin;
  // headroom: replicas x rate of one / required rate - 1.
  const double of_one = (1 + fleet->headroom) / static_cast<double>(fleet->replicas);
  constexpr double kRounding = 1e-9;
  const auto needed = static_cast<std::int64_t>(std::ceil(margin.slower / of_one - kRounding));
  margin.replicas = std::max(fleet->needed, needed) + (fleet->n_minus_1 ? 1 : 0);
  const double more =
      static_cast<double>(margin.replicas) / static_cast<double>(std::max<std::int64_t>(fleet->replicas, 1));
  margin.usd_per_hour =
      hourly_cost(prices, scenario.serving.cluster, margin.replicas, fleet->dram_gb * more, fleet->ssd_gb * more)
          .total();
  return margin;
}

}  // namespace kvsim::planner::capacity
