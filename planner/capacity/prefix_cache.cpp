#include "planner/capacity/prefix_cache.h"

#include <algorithm>

namespace kvsim::planner::capacity {
namespace {

constexpr double kGb = 1e9;
constexpr double kShares[] = {0.9, 0.99};  // of the achievable hits
constexpr double kInDram = 0.9;            // of an option's hits, where there is an SSD too

}  // namespace

std::vector<CacheOption> cache_options(const models::HitRateCurve& curve, double block_bytes,
                                       const models::PriceTable& prices) {
  std::vector<CacheOption> options;
  if (curve.achievable() == 0) return options;
  const auto gb = [block_bytes](std::uint64_t blocks) { return static_cast<double>(blocks) * block_bytes / kGb; };
  const auto add = [&](double share, std::uint64_t blocks, std::uint64_t in_dram) {
    CacheOption o{share, curve.hit_rate(blocks), curve.hit_rate(in_dram), gb(in_dram), gb(blocks - in_dram), 0};
    o.usd_per_hour = (o.dram_gb * prices.dram.usd.value + o.ssd_gb * prices.ssd.usd.value) / models::kHoursPerMonth;
    options.push_back(o);
  };
  for (const double share : kShares) {
    const std::uint64_t blocks = curve.capacity_for(share);
    add(share, blocks, blocks);
    add(share, blocks, std::min(blocks, curve.capacity_for(share * kInDram)));
  }
  return options;
}

}  // namespace kvsim::planner::capacity
