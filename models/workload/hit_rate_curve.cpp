#include "models/workload/hit_rate_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/workload/stack_distances.h"

namespace kvsim::models {

std::uint64_t HitRateCurve::hits(std::uint64_t capacity) const {
  const auto above = std::upper_bound(steps.begin(), steps.end(), capacity,
                                      [](std::uint64_t blocks, const Step& s) { return blocks < s.capacity; });
  return above == steps.begin() ? 0 : std::prev(above)->hits;
}

double HitRateCurve::hit_rate(std::uint64_t capacity) const {
  return accesses == 0 ? 0 : static_cast<double>(hits(capacity)) / static_cast<double>(accesses);
}

std::uint64_t HitRateCurve::capacity_for(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(achievable())));
  const auto found = std::lower_bound(steps.begin(), steps.end(), wanted,
                                      [](const Step& s, std::uint64_t hits) { return s.hits < hits; });
  return found == steps.end() ? 0 : found->capacity;
}

HitRateCurve hit_rate_curve(std::span<const RequestSpec> requests) {
  HitRateCurve curve;
  curve.accesses = block_count(requests);
  StackDistances stack(curve.accesses);
  std::vector<std::uint64_t> hits_at_distance;
  for (const RequestSpec& r : requests) {
    for (const std::uint64_t distance : stack.next(r)) {
      if (distance == kNeverUsed) continue;
      if (hits_at_distance.size() <= distance) hits_at_distance.resize(distance + 1, 0);
      hits_at_distance[distance] += 1;
    }
  }
  curve.distinct = stack.distinct();
  std::uint64_t hits = 0;
  for (std::size_t distance = 1; distance < hits_at_distance.size(); ++distance) {
    if (hits_at_distance[distance] == 0) continue;
    hits += hits_at_distance[distance];
    curve.steps.push_back({distance, hits});
  }
  return curve;
}

}  // namespace kvsim::models
