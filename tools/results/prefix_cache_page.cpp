#include "tools/results/prefix_cache_page.h"

#include <fmt/format.h>

#include "tools/results/numbers.h"

namespace kvsim::results {

using planner::capacity::CacheOption;

std::vector<CacheOption> cache_options_of(const HitRateView& view, const models::PriceTable& prices) {
  const auto block = view.bytes(1);
  return block ? planner::capacity::cache_options(view.curve, *block, prices) : std::vector<CacheOption>{};
}

Json cache_options_json(const std::vector<CacheOption>& options) {
  Json list = Json::array();
  for (const CacheOption& o : options) {
    list.push_back({{"share_of_achievable", o.of_achievable},
                    {"hit_rate", o.hit_rate},
                    {"dram_hit_rate", o.dram_hit_rate},
                    {"dram_gb", o.dram_gb},
                    {"ssd_gb", o.ssd_gb},
                    {"usd_per_hour", o.usd_per_hour}});
  }
  return list;
}

Table cache_options_table(const std::vector<CacheOption>& options) {
  constexpr double kGb = 1e9;
  Table t{"Prefix cache for all of this traffic: what its hits cost in memory",
          {"achievable hits", "hit rate", "of it in DRAM", "DRAM", "SSD", "$/h"},
          {},
          {}};
  t.align.assign(t.header.size(), Align::right);
  for (const CacheOption& o : options) {
    t.rows.push_back({percent(o.of_achievable), percent(o.hit_rate), percent(o.dram_hit_rate), bytes(o.dram_gb * kGb),
                      bytes(o.ssd_gb * kGb), fmt::format("${:.2f}", o.usd_per_hour)});
  }
  return t;
}

}  // namespace kvsim::results
