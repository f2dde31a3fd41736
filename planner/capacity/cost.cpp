#include "planner/capacity/cost.h"

namespace kvsim::planner::capacity {

HourlyCost hourly_cost(const models::PriceTable& prices, const std::string& gpu, std::int64_t gpus,
                       double host_memory_gb, double storage_gb) {
  HourlyCost cost;
  if (const models::Price* price = prices.gpu(gpu)) cost.gpus = price->usd.value * static_cast<double>(gpus);
  cost.host_memory = prices.dram.usd.value * host_memory_gb / models::kHoursPerMonth;
  cost.storage = prices.ssd.usd.value * storage_gb / models::kHoursPerMonth;
  return cost;
}

std::optional<double> usd_per_million_tokens(double usd_per_hour, double tokens_per_s) {
  constexpr double kSecondsPerHour = 3600;
  constexpr double kMillion = 1e6;
  if (!(tokens_per_s > 0)) return std::nullopt;
  return usd_per_hour / (tokens_per_s * kSecondsPerHour) * kMillion;
}

}  // namespace kvsim::planner::capacity
