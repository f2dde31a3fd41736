#include "tools/results/cache_curves_page.h"

#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

std::string size_of(const HitRateView& view, std::uint64_t blocks) {
  const auto size = view.bytes(blocks);
  return size ? bytes(*size) : "-";
}

Json bytes_json(const HitRateView& view, std::uint64_t blocks) {
  const auto size = view.bytes(blocks);
  return size ? Json(*size) : Json(nullptr);
}

double found_share(const models::LatencyCurve& curve, std::uint64_t blocks) {
  return curve.prompt_tokens == 0
             ? 0
             : static_cast<double>(curve.found_tokens(blocks)) / static_cast<double>(curve.prompt_tokens);
}

}  // namespace

Json policy_curves_json(const HitRateView& view, const std::vector<PolicyHitRates>& policies) {
  const std::vector<std::uint64_t> capacities = curve_capacities(view);
  Json list = Json::array();
  for (const PolicyHitRates& p : policies) {
    Json points = Json::array();
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      points.push_back(
          {{"blocks", capacities[i]}, {"bytes", bytes_json(view, capacities[i])}, {"hit_rate", p.hit_rate[i]}});
    }
    list.push_back({{"policy", p.policy}, {"points", std::move(points)}});
  }
  return list;
}

Table policy_curves_table(const HitRateView& view, const std::vector<PolicyHitRates>& policies) {
  Table t{"Prefix cache: hit rate by capacity and eviction policy", {"blocks", "KV"}, {}, {}};
  for (const PolicyHitRates& p : policies) t.header.push_back(p.policy);
  t.align.assign(t.header.size(), Align::right);
  const std::vector<std::uint64_t> capacities = curve_capacities(view);
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    std::vector<std::string> row{whole(capacities[i]), size_of(view, capacities[i])};
    for (const PolicyHitRates& p : policies) row.push_back(percent(p.hit_rate[i]));
    t.rows.push_back(std::move(row));
  }
  return t;
}

Json latency_curve_json(const HitRateView& view, const LatencyView& latency) {
  Json points = Json::array();
  for (const std::uint64_t blocks : curve_capacities(view)) {
    points.push_back({{"blocks", blocks},
                      {"bytes", bytes_json(view, blocks)},
                      {"found_tokens", found_share(latency.curve, blocks)},
                      {"mean_ttft_s", latency.curve.mean_ttft_s(blocks, latency.times)}});
  }
  return {{"policy", "lru"},
          {"read_bytes_per_s", latency.read_bytes_per_s},
          {"prefill_tokens_per_s", latency.prefill_tokens_per_s},
          {"load_s_per_token", latency.times.load_s},
          {"prefill_s_per_token", latency.times.prefill_s},
          {"mean_ttft_s_without_cache", latency.curve.mean_ttft_s(0, latency.times)},
          {"points", std::move(points)}};
}

Table latency_curve_table(const HitRateView& view, const LatencyView& latency) {
  Table t{"Mean time to the first token by capacity (LRU): load what is found, prefill the rest, no queueing",
          {"blocks", "KV", "tokens found", "time to first token", "against no cache"},
          {},
          {}};
  t.align.assign(t.header.size(), Align::right);
  const double without = latency.curve.mean_ttft_s(0, latency.times);
  std::vector<std::uint64_t> capacities = curve_capacities(view);
  capacities.insert(capacities.begin(), 0);
  for (const std::uint64_t blocks : capacities) {
    const double with = latency.curve.mean_ttft_s(blocks, latency.times);
    t.rows.push_back({whole(blocks), size_of(view, blocks), percent(found_share(latency.curve, blocks)), seconds(with),
                      percent(with / without)});
  }
  return t;
}

}  // namespace kvsim::results
