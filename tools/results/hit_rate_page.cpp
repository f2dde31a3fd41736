#include "tools/results/hit_rate_page.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

constexpr double kGb = 1e9;
constexpr std::array kKnees{0.9, 0.99};  // of the achievable hits

struct Point {
  std::uint64_t blocks = 0;
  double hit_rate = 0;
  std::optional<double> per_gb;  ///< hit rate gained per GB from here to the next point; none at the last
  std::string remark;
};

/// 1, 2, 5, 10, 20, ... blocks, from the first capacity with a hit to the one with all, and the knees.
std::vector<Point> points_of(const HitRateView& view) {
  const models::HitRateCurve& curve = view.curve;
  std::vector<Point> points;
  if (curve.steps.empty()) return points;
  const std::uint64_t first = curve.steps.front().capacity, last = curve.steps.back().capacity;
  const auto add = [&](std::uint64_t blocks, std::string remark) {
    points.push_back({blocks, curve.hit_rate(blocks), std::nullopt, std::move(remark)});
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
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.blocks < b.blocks; });
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto more = view.bytes(points[i + 1].blocks - points[i].blocks);
    if (more && *more > 0) points[i].per_gb = (points[i + 1].hit_rate - points[i].hit_rate) / (*more / kGb);
  }
  return points;
}

Json or_null(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::optional<double> HitRateView::bytes(std::uint64_t blocks) const {
  if (!kv_bytes_per_token) return std::nullopt;
  return static_cast<double>(blocks) * static_cast<double>(block_tokens) * *kv_bytes_per_token;
}

std::vector<std::uint64_t> curve_capacities(const HitRateView& view) {
  std::vector<std::uint64_t> capacities;
  for (const Point& p : points_of(view)) capacities.push_back(p.blocks);
  capacities.erase(std::unique(capacities.begin(), capacities.end()), capacities.end());
  return capacities;
}

Json hit_rate_json(const HitRateView& view) {
  const models::HitRateCurve& curve = view.curve;
  Json knees = Json::array(), points = Json::array();
  for (const double share : kKnees) {
    const std::uint64_t blocks = curve.capacity_for(share);
    knees.push_back({{"share_of_achievable", share}, {"blocks", blocks}, {"bytes", or_null(view.bytes(blocks))}});
  }
  for (const Point& p : points_of(view)) {
    points.push_back({{"blocks", p.blocks},
                      {"bytes", or_null(view.bytes(p.blocks))},
                      {"hit_rate", p.hit_rate},
                      {"hit_rate_per_gb", or_null(p.per_gb)}});
  }
  return {{"block_tokens", view.block_tokens},
          {"kv_bytes_per_token", or_null(view.kv_bytes_per_token)},
          {"blocks", curve.accesses},
          {"distinct_blocks", curve.distinct},
          {"achievable_hit_rate", curve.hit_rate(curve.distinct)},
          {"knees", std::move(knees)},
          {"points", std::move(points)}};
}

Table hit_rate_table(const HitRateView& view) {
  Table t{"Prefix cache: hit rate by capacity (LRU)", {"blocks", "KV", "hit rate", "each GB more adds", ""}, {}, {}};
  t.align = {Align::right, Align::right, Align::right, Align::right, Align::left};
  for (const Point& p : points_of(view)) {
    const auto size = view.bytes(p.blocks);
    t.rows.push_back({whole(p.blocks), size ? bytes(*size) : "-", percent(p.hit_rate),
                      p.per_gb ? fmt::format("{:.4f} %", *p.per_gb * 100) : "-", p.remark});
  }
  return t;
}

}  // namespace kvsim::results
