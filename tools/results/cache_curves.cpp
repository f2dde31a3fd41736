#include "tools/results/cache_curves.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/schema/units.h"

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

/// 1, 2, 5, 10, 20, ... blocks, from a tenth of the first capacity with a hit, where policies other than LRU may find
/// some, to the one with all, and the knees; each once, with its largest share of the hits.
std::vector<CurvePoint> points_of(const HitRateView& view) {
  const models::HitRateCurve& curve = view.curve;
  std::vector<CurvePoint> points;
  if (curve.steps.empty()) return points;
  const std::uint64_t first = curve.steps.front().capacity, last = curve.steps.back().capacity;
  const auto add = [&](std::uint64_t blocks, const std::string& remark) {
    const auto at = std::lower_bound(points.begin(), points.end(), blocks,
                                     [](const CurvePoint& p, std::uint64_t below) { return p.blocks < below; });
    if (at == points.end() || at->blocks != blocks) {
      points.insert(at, {blocks, view.bytes(blocks), curve.hit_rate(blocks), std::nullopt, remark});
    } else {
      at->remark = remark;
    }
  };
  for (std::uint64_t decade = 1; decade <= last; decade *= 10) {
    for (const std::uint64_t digit : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5}}) {
      if (10 * digit * decade >= first && digit * decade < last) add(digit * decade, "");
    }
  }
  for (const double share : kKnees) {
    add(curve.capacity_for(share), fmt::format("knee: {:g} % of the achievable hits", share * 100));
  }
  add(last, "all achievable hits");
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto more = view.bytes(points[i + 1].blocks - points[i].blocks);
    if (more && *more > 0) points[i].per_gb = (points[i + 1].hit_rate - points[i].hit_rate) / (*more / kGB);
  }
  return points;
}

std::string small_percent(double share) {
  return fmt::format("{:.4f} %", share * 100);
}

/// A capacity and what a policy finds with it.
Fields<CurvePoint> hit_point_fields() {
  return {{"blocks", {kCount, "capacity of the cache in blocks"}, "blocks", &CurvePoint::blocks},
          {"bytes", {kBytes, "the capacity as KV of the model; null without a model"}, "KV", &CurvePoint::size},
          {"hit_rate",
           {kShare, kHigher,
            "share of the trace's prefix blocks that a cache of this size finds with all blocks before them"},
           "hit rate",
           &CurvePoint::hit_rate}};
}

const Fields<CurvePoint>& lru_point_fields() {
  static const Fields<CurvePoint> all = [] {
    Fields<CurvePoint> fields = hit_point_fields();
    append(fields, {{"hit_rate_per_gb",
                     {kSharePerGb, "hit rate that each GB more adds, up to the next point; null at the last"},
                     "each GB more adds",
                     &CurvePoint::per_gb,
                     small_percent},
                    {kOnPages, "", &CurvePoint::remark, Align::left}});
    return fields;
  }();
  return all;
}

struct Knee {
  double share = 0;
  std::uint64_t blocks = 0;
  std::optional<double> size;
};

std::vector<Knee> knees_of(const HitRateView& view) {
  std::vector<Knee> knees;
  for (const double share : kKnees) {
    const std::uint64_t blocks = view.curve.capacity_for(share);
    knees.push_back({share, blocks, view.bytes(blocks)});
  }
  return knees;
}

const Fields<Knee>& knee_fields() {
  static const Fields<Knee> fields{
      {"share_of_achievable", {kShare, "of the hits of a cache that never evicts"}, &Knee::share},
      {"blocks", {kCount, "least capacity in blocks that reaches this share"}, &Knee::blocks},
      {"bytes", {kBytes, "the capacity as KV of the model; null without a model"}, &Knee::size}};
  return fields;
}

struct PolicyCurve {
  std::string policy;
  std::vector<CurvePoint> points;
};

/// None without policies.
std::optional<std::vector<PolicyCurve>> policy_curves(const TraceCurves& curves) {
  if (curves.policies.empty()) return std::nullopt;
  const std::vector<std::uint64_t> capacities = curve_capacities(curves.hit_rates);
  std::vector<PolicyCurve> list;
  for (const PolicyHitRates& p : curves.policies) {
    PolicyCurve& curve = list.emplace_back(PolicyCurve{p.policy, {}});
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      curve.points.push_back({capacities[i], curves.hit_rates.bytes(capacities[i]), p.hit_rate[i], std::nullopt, ""});
    }
  }
  return list;
}

struct LatencyPoint {
  std::uint64_t blocks = 0;
  std::optional<double> size;
  double found = 0;  ///< share of prompt tokens
  double ttft_s = 0;
  double against_none = 0;
};

std::vector<LatencyPoint> latency_points(const TraceCurves& curves, const std::vector<std::uint64_t>& capacities) {
  const models::LatencyCurve& curve = curves.latency->curve;
  const double without = curve.mean_ttft_s(0, curves.latency->times);
  std::vector<LatencyPoint> points;
  for (const std::uint64_t blocks : capacities) {
    const double found = curve.prompt_tokens == 0 ? 0
                                                  : static_cast<double>(curve.found_tokens(blocks)) /
                                                        static_cast<double>(curve.prompt_tokens);
    const double ttft = curve.mean_ttft_s(blocks, curves.latency->times);
    points.push_back({blocks, curves.hit_rates.bytes(blocks), found, ttft, ttft / without});
  }
  return points;
}

const Fields<LatencyPoint>& latency_point_fields() {
  static const Fields<LatencyPoint> fields{
      {"blocks", {kCount, "capacity of the cache in blocks"}, "blocks", &LatencyPoint::blocks},
      {"bytes", {kBytes, "the capacity as KV of the model"}, "KV", &LatencyPoint::size},
      {"found_tokens",
       {kShare, kHigher, "share of all prompt tokens that the cache holds"},
       "tokens found",
       &LatencyPoint::found},
      {"mean_ttft_s",
       {kSeconds, kLower, "mean time to the first token: what is found is loaded, the rest prefilled, no queueing"},
       "time to first token",
       &LatencyPoint::ttft_s},
      {kOnPages, "against no cache", &LatencyPoint::against_none, percent}};
  return fields;
}

const Fields<TraceCurves>& latency_curve_fields() {
  static const Fields<TraceCurves> fields{
      {"policy", {kText, "by which the cache evicts"}, [](const TraceCurves&) { return "lru"; }},
      {"read_bytes_per_s",
       {kBytesPerS, "bandwidth at which the cache is read"},
       [](const TraceCurves& t) { return t.latency->read_bytes_per_s; }},
      {"prefill_tokens_per_s",
       {kTokensPerS, "rate at which tokens that the cache lacks are prefilled"},
       [](const TraceCurves& t) { return t.latency->prefill_tokens_per_s; }},
      {"load_s_per_token",
       {kSeconds, "time to load a token's KV from the cache"},
       [](const TraceCurves& t) { return t.latency->times.load_s; }},
      {"prefill_s_per_token",
       {kSeconds, "time to prefill a token"},
       [](const TraceCurves& t) { return t.latency->times.prefill_s; }},
      {"mean_ttft_s_without_cache",
       {kSeconds, kLower, "mean time to the first token where every prompt is prefilled whole"},
       [](const TraceCurves& t) { return t.latency->curve.mean_ttft_s(0, t.latency->times); }},
      Field<TraceCurves>::list(
          "points", "the times at capacities from the first hit to the last",
          [](const TraceCurves& t) { return latency_points(t, curve_capacities(t.hit_rates)); },
          latency_point_fields())};
  return fields;
}

}  // namespace

std::optional<double> HitRateView::bytes(std::uint64_t blocks) const {
  if (!kv_bytes_per_token) return std::nullopt;
  return static_cast<double>(blocks) * static_cast<double>(block_tokens) * *kv_bytes_per_token;
}

std::vector<std::uint64_t> curve_capacities(const HitRateView& view) {
  std::vector<std::uint64_t> capacities;
  for (const CurvePoint& p : points_of(view)) capacities.push_back(p.blocks);
  return capacities;
}

const Fields<HitRateView>& hit_rate_fields() {
  static const Fields<HitRateView> fields{
      {"block_tokens", {kTokens, "tokens in a block of the trace"}, &HitRateView::block_tokens},
      {"kv_bytes_per_token",
       {kBytes, "KV of a token in the model; null without one"},
       &HitRateView::kv_bytes_per_token},
      {"blocks", {kCount, "prefix blocks that the trace looks up"}, [](const auto& v) { return v.curve.accesses; }},
      {"distinct_blocks", {kCount, "different ones among them"}, [](const auto& v) { return v.curve.distinct; }},
      {"achievable_hit_rate",
       {kShare, kHigher, "share of the blocks that a cache that never evicts would hold"},
       [](const auto& v) { return v.curve.hit_rate(v.curve.distinct); }},
      Field<HitRateView>::list("knees", "least capacities for shares of the achievable hits", knees_of, knee_fields()),
      Field<HitRateView>::list("points",
                               "hit rates under LRU at capacities from a tenth of that of the first hit to the last",
                               points_of, lru_point_fields())};
  return fields;
}

Table hit_rate_table(const HitRateView& view) {
  return table_of("Prefix cache: hit rate by capacity (LRU)", lru_point_fields(), points_of(view));
}

Table policy_curves_table(const TraceCurves& curves) {
  const std::vector<PolicyCurve> policies = policy_curves(curves).value_or(std::vector<PolicyCurve>{});
  Fields<CurvePoint> fields = without(hit_point_fields(), {"hit rate"});
  Table table = table_of("Prefix cache: hit rate by capacity and eviction policy", fields, policies.front().points);
  for (const PolicyCurve& p : policies) {
    table.header.push_back(p.policy);
    table.align.push_back(Align::right);
    for (std::size_t i = 0; i < p.points.size(); ++i) table.rows[i].push_back(percent(p.points[i].hit_rate));
  }
  return table;
}

Table latency_curve_table(const TraceCurves& curves) {
  std::vector<std::uint64_t> capacities = curve_capacities(curves.hit_rates);
  capacities.insert(capacities.begin(), 0);
  return table_of("Mean time to the first token by capacity (LRU): load what is found, prefill the rest, no queueing",
                  latency_point_fields(), latency_points(curves, capacities));
}

const Fields<TraceCurves>& trace_curves_fields() {
  static const Fields<PolicyCurve> policy_fields{
      {"policy", {kText, "by which the cache evicts"}, &PolicyCurve::policy},
      Field<PolicyCurve>::list("points", "its hit rates at the same capacities", &PolicyCurve::points,
                               hit_point_fields())};
  static const Fields<TraceCurves> fields{
      Field<TraceCurves>::part("hit_rate_curve?", "hits of a prefix cache against its capacity, under LRU",
                               &TraceCurves::hit_rates, hit_rate_fields()),
      Field<TraceCurves>::list("policy_curves?", "the same under other eviction policies", policy_curves,
                               policy_fields),
      Field<TraceCurves>::part(
          "latency_curve?", "times to the first token against the capacity, each request alone",
          [](const TraceCurves& t) { return t.latency ? &t : nullptr; }, latency_curve_fields())};
  return fields;
}

std::vector<CacheOption> cache_options_of(const HitRateView& view, const models::PriceTable& prices) {
  const auto block = view.bytes(1);
  return block ? planner::capacity::cache_options(view.curve, *block, prices) : std::vector<CacheOption>{};
}

const Fields<CacheOption>& cache_option_fields() {
  static const Fields<CacheOption> fields{
      {"share_of_achievable",
       {kShare, "share of the hits of a cache that never evicts"},
       "achievable hits",
       &CacheOption::of_achievable},
      {"hit_rate",
       {kShare, kHigher, "share of the trace's prefix blocks that the cache holds"},
       "hit rate",
       &CacheOption::hit_rate},
      {"dram_hit_rate",
       {kShare, kHigher, "share of the trace's prefix blocks that its part in DRAM holds"},
       "of it in DRAM",
       &CacheOption::dram_hit_rate},
      {"dram_gb", {kGigabytes, "host memory of the cache"}, "DRAM", &CacheOption::dram_gb},
      {"ssd_gb", {kGigabytes, "storage of the cache on SSD"}, "SSD", &CacheOption::ssd_gb},
      {"usd_per_hour",
       {kDollarsPerHour, kLower, "what DRAM and SSD of the cache cost"},
       "$/h",
       &CacheOption::usd_per_hour,
       dollars}};
  return fields;
}

Table cache_options_table(const std::vector<CacheOption>& options) {
  return table_of("Prefix cache for all of this traffic: what its hits cost in memory", cache_option_fields(), options);
}

}  // namespace kvsim::results
