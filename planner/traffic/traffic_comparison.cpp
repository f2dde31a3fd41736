#include "planner/traffic/traffic_comparison.h"

#include <algorithm>
#include <vector>

#include "planner/traffic/law_fit.h"

namespace kvsim::planner::traffic {
namespace {

std::vector<std::int64_t> ascending(std::span<const std::int32_t> values) {
  std::vector<std::int64_t> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

Apart apart(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  if (a.empty() || b.empty()) return {};
  return {distance(a, std::span<const std::int64_t>(b)), distance_by_chance(a.size(), b.size())};
}

}  // namespace

TrafficComparison compare_traffic(const TrafficSample& a, const TrafficSample& b) {
  std::vector<std::int64_t> gaps_a = a.gaps_ns(), gaps_b = b.gaps_ns();
  std::sort(gaps_a.begin(), gaps_a.end());
  std::sort(gaps_b.begin(), gaps_b.end());
  return {.a = a.statistics(),
          .b = b.statistics(),
          .length_correlation_a = rank_correlation(a.prompts(), a.outputs()),
          .length_correlation_b = rank_correlation(b.prompts(), b.outputs()),
          .gaps = apart(gaps_a, gaps_b),
          .prompts = apart(ascending(a.prompts()), ascending(b.prompts())),
          .outputs = apart(ascending(a.outputs()), ascending(b.outputs()))};
}

}  // namespace kvsim::planner::traffic
