// Money: what a fleet costs per hour and per token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/prices/price_table.h"

namespace kvsim::planner::capacity {

/// What one hour of a fleet costs.
struct HourlyCost {
  /// USD/h for GPUs; none where the table has no price for them.
  std::optional<double> gpus;
  double host_memory = 0;  ///< USD/h
  double storage = 0;      ///< USD/h
  [[nodiscard]] std::optional<double> total() const {
    return gpus ? std::optional(*gpus + host_memory + storage) : std::nullopt;
  }
};

/// GPUs at their rent; host memory and storage (decimal GB) at the table's prices per GB and month of 730 h.
HourlyCost hourly_cost(const models::PriceTable& prices, const std::string& gpu, std::int64_t gpus,
                       double host_memory_gb, double storage_gb = 0);

/// USD per 1M output tokens: usd_per_hour / (tokens_per_s x 3600) x 1e6. None where no tokens come out.
std::optional<double> usd_per_million_tokens(double usd_per_hour, double tokens_per_s);

}  // namespace kvsim::planner::capacity
