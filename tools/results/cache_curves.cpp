#include "tools/results/cache_curves.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/schema/si.h"
#include "tools/results/fields.h"

namespace kvsim::results {
namespace {

using planner::capacity::CacheOption;

constexpr std::array kKnees{0.9, 0.99};  // of the achievable hits

struct CurvePoint {
  std::uint64_t blocks = 0;
  std::optional<double> size;  ///< bytes
  double hit_rate = 0;
  std::optional<double> per_gb;  ///< hit rate gained per GB from here to the next point; none at the last
  std::string remark;
};

/// 1, 2, 5, 10, 20, ... blocks, from the first capacity with a hit to the one with all, and the knees.
std::vector<CurvePoint> points_of(const HitRateView& view) {
  const models::HitRateCurve& curve = view.curve;
  std::vector<CurvePoint> points;
  if (curve.steps.empty()) return points;
  const std::uint64_t first = curve.steps.front().capacity, last = curve.steps.back().capacity;
  const auto add = [&](std::uint64_t blocks, std::string remark) {
    points.push_back({blocks, view.bytes(blocks), curve.hit_rate(blocks), std::nullopt, std::move(remark)});
  };
  for (std::uint64_t decade = 1; decade <= last; decade *= 10) {
    for (const std::uint64_t digit : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5}}) {
      if (digit * decade >= first && digit * decade < last) add(digit * decade, "");
    }
  }
  for (const double share : kKnees) {
    add(curve.capacity_for(share), fmt::format("knee: {:g} % of the achievable hits", share * 100));
  }
  add(last, "all achievable hits");
  std::stable_sort(points.begin(), points.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.blocks < b.blocks; });
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto more = view.bytes(points[i + 1].blocks - points[i].blocks);
    if (more && *more > 0) points[i].per_gb = (points[i + 1].hit_rate - points[i].hit_rate) / (*more / kGB);
  }
  return points;
}

std::string small_percent(double share) {
  return fmt::format("{:.4f} %", share * 100);
}

const Fields<CurvePoint> kCurvePointFields{{"blocks", "blocks", &CurvePoint::blocks},
                                           {"bytes", "KV", &CurvePoint::size, bytes},
                                           {"hit_rate", "hit rate", &CurvePoint::hit_rate, percent},
                                           {"hit_rate_per_gb", "each GB more adds", &CurvePoint::per_gb, small_percent},
                                           {"", "", &CurvePoint::remark, Align::left}};

/// Of capacities in blocks.
Fields<std::uint64_t> size_fields(const HitRateView& view) {
  return {{"blocks", "blocks", [](std::uint64_t blocks) { return blocks; }},
          {"bytes", "KV", [&view](std::uint64_t blocks) { return view.bytes(blocks); }, bytes}};
}

/// Adds a policy's hit rates at `capacities`, which are curve_capacities().
void add_policy(Fields<std::uint64_t>& fields, const PolicyHitRates& p, const std::vector<std::uint64_t>& capacities) {
  const auto hit_rate = [&p, &capacities](std::uint64_t blocks) {
    const auto at = std::lower_bound(capacities.begin(), capacities.end(), blocks);
    return p.hit_rate[static_cast<std::size_t>(at - capacities.begin())];
  };
  fields.push_back({"hit_rate", p.policy, hit_rate, percent});
}

double found_share(const models::LatencyCurve& curve, std::uint64_t blocks) {
  return curve.prompt_tokens == 0
             ? 0
             : static_cast<double>(curve.found_tokens(blocks)) / static_cast<double>(curve.prompt_tokens);
}

Fields<std::uint64_t> latency_fields(const HitRateView& view, const LatencyView& latency) {
  const auto ttft = [&latency](std::uint64_t blocks) { return latency.curve.mean_ttft_s(blocks, latency.times); };
  const double without = ttft(0);
  Fields<std::uint64_t> fields = size_fields(view);
  fields.push_back({"found_tokens", "tokens found",
                    [&latency](std::uint64_t blocks) { return found_share(latency.curve, blocks); }, percent});
  fields.push_back({"mean_ttft_s", "time to first token", ttft, seconds});
  fields.push_back({"", "against no cache", [=](std::uint64_t blocks) { return ttft(blocks) / without; }, percent});
  return fields;
}

const Fields<CacheOption> kCacheOptionFields{
    {"share_of_achievable", "achievable hits", &CacheOption::of_achievable, percent},
    {"hit_rate", "hit rate", &CacheOption::hit_rate, percent},
    {"dram_hit_rate", "of it in DRAM", &CacheOption::dram_hit_rate, percent},
    {"dram_gb", "DRAM", &CacheOption::dram_gb, bytes_of_gb},
    {"ssd_gb", "SSD", &CacheOption::ssd_gb, bytes_of_gb},
    {"usd_per_hour", "$/h", &CacheOption::usd_per_hour, dollars}};

}  // namespace

std::optional<double> HitRateView::bytes(std::uint64_t blocks) const {
  if (!kv_bytes_per_token) return std::nullopt;
  return static_cast<double>(blocks) * static_cast<double>(block_tokens) * *kv_bytes_per_token;
}

std::vector<std::uint64_t> curve_capacities(const HitRateView& view) {
  std::vector<std::uint64_t> capacities;
  for (const CurvePoint& p : points_of(view)) capacities.push_back(p.blocks);
  capacities.erase(std::unique(capacities.begin(), capacities.end()), capacities.end());
  return capacities;
}

Json hit_rate_json(const HitRateView& view) {
  const models::HitRateCurve& curve = view.curve;
  Json knees = Json::array();
  for (const double share : kKnees) {
    const std::uint64_t blocks = curve.capacity_for(share);
    knees.push_back({{"share_of_achievable", share}, {"blocks", blocks}, {"bytes", or_null(view.bytes(blocks))}});
  }
  return {{"block_tokens", view.block_tokens},
          {"kv_bytes_per_token", or_null(view.kv_bytes_per_token)},
          {"blocks", curve.accesses},
          {"distinct_blocks", curve.distinct},
          {"achievable_hit_rate", curve.hit_rate(curve.distinct)},
          {"knees", std::move(knees)},
          {"points", array(kCurvePointFields, points_of(view))}};
}

Table hit_rate_table(const HitRateView& view) {
  return table_of("Prefix cache: hit rate by capacity (LRU)", kCurvePointFields, points_of(view));
}

Json policy_curves_json(const HitRateView& view, const std::vector<PolicyHitRates>& policies) {
  const std::vector<std::uint64_t> capacities = curve_capacities(view);
  Json list = Json::array();
  for (const PolicyHitRates& p : policies) {
    Fields<std::uint64_t> fields = size_fields(view);
    add_policy(fields, p, capacities);
    list.push_back({{"policy", p.policy}, {"points", array(fields, capacities)}});
  }
  return list;
}

Table policy_curves_table(const HitRateView& view, const std::vector<PolicyHitRates>& policies) {
  const std::vector<std::uint64_t> capacities = curve_capacities(view);
  Fields<std::uint64_t> fields = size_fields(view);
  for (const PolicyHitRates& p : policies) add_policy(fields, p, capacities);
  return table_of("Prefix cache: hit rate by capacity and eviction policy", fields, capacities);
}

Json latency_curve_json(const HitRateView& view, const LatencyView& latency) {
  return {{"policy", "lru"},
          {"read_bytes_per_s", latency.read_bytes_per_s},
          {"prefill_tokens_per_s", latency.prefill_tokens_per_s},
          {"load_s_per_token", latency.times.load_s},
          {"prefill_s_per_token", latency.times.prefill_s},
          {"mean_ttft_s_without_cache", latency.curve.mean_ttft_s(0, latency.times)},
          {"points", array(latency_fields(view, latency), curve_capacities(view))}};
}

Table latency_curve_table(const HitRateView& view, const LatencyView& latency) {
  std::vector<std::uint64_t> capacities = curve_capacities(view);
  capacities.insert(capacities.begin(), 0);
  return table_of("Mean time to the first token by capacity (LRU): load what is found, prefill the rest, no queueing",
                  latency_fields(view, latency), capacities);
}

std::vector<CacheOption> cache_options_of(const HitRateView& view, const models::PriceTable& prices) {
  const auto block = view.bytes(1);
  return block ? planner::capacity::cache_options(view.curve, *block, prices) : std::vector<CacheOption>{};
}

Json cache_options_json(const std::vector<CacheOption>& options) {
  return array(kCacheOptionFields, options);
}

Table cache_options_table(const std::vector<CacheOption>& options) {
  return table_of("Prefix cache for all of this traffic: what its hits cost in memory", kCacheOptionFields, options);
}

}  // namespace kvsim::results
