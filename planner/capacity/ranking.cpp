#include "planner/capacity/ranking.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvsim::planner::capacity {
namespace {

constexpr double kLast = std::numeric_limits<double>::infinity();

/// Smaller is better.
std::pair<double, double> key(const Configuration& c, bool by_price) {
  if (c.search.rate <= 0) return {kLast, kLast};
  if (c.fleet) {
    const auto gpus = static_cast<double>(c.fleet->gpus);
    return {by_price ? c.fleet->cost.total().value_or(kLast) : gpus, gpus};
  }
  const double per_gpu = c.rate_per_replica() / static_cast<double>(c.gpus_per_replica());
  return {by_price ? c.usd_per_million.value_or(kLast) : -per_gpu, -per_gpu};
}

}  // namespace

void rank(CapacityPlan& plan) {
  plan.ranked_by_price =
      std::all_of(plan.configurations.begin(), plan.configurations.end(),
                  [](const Configuration& c) { return c.search.rate <= 0 || c.cost.gpus.has_value(); });
  std::stable_sort(plan.configurations.begin(), plan.configurations.end(),
                   [&](const Configuration& a, const Configuration& b) {
                     return key(a, plan.ranked_by_price) < key(b, plan.ranked_by_price);
                   });
}

}  // namespace kvsim::planner::capacity
