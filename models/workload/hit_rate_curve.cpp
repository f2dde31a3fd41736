#include "models/workload/hit_rate_curve.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace kvsim::models {
namespace {

/// Fenwick tree: marks at positions, and how many lie at or before one, both in O(log n).
class Marks {
 public:
  explicit Marks(std::size_t positions) : sums_(positions + 1, 0) {}

  void set(std::size_t position) { add(position, 1); }
  void clear(std::size_t position) { add(position, -1); }
  [[nodiscard]] std::int64_t up_to(std::size_t position) const {
    std::int64_t sum = 0;
    for (std::size_t i = position + 1; i > 0; i -= lowest_bit(i)) sum += sums_[i];
    return sum;
  }

 private:
  static std::size_t lowest_bit(std::size_t i) { return i & (~i + 1); }
  void add(std::size_t position, std::int64_t change) {
    for (std::size_t i = position + 1; i < sums_.size(); i += lowest_bit(i)) sums_[i] += change;
  }

  std::vector<std::int64_t> sums_;
};

}  // namespace

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
  for (const RequestSpec& r : requests) curve.accesses += r.prefix_blocks.size();
  // A mark stands at the latest touch of every block. A block's stack distance when a request looks it up is the number
  // of different blocks touched since its own last touch, itself included: the least capacity that still holds it.
  Marks latest(curve.accesses);
  std::unordered_map<std::uint64_t, std::size_t> last_touch;
  std::vector<std::uint64_t> hits_at_distance;
  std::size_t now = 0;
  for (const RequestSpec& r : requests) {
    for (const std::uint64_t block : r.prefix_blocks) {
      const auto last = last_touch.find(block);
      if (last == last_touch.end()) continue;
      const auto blocks = static_cast<std::int64_t>(last_touch.size());
      const auto distance = static_cast<std::size_t>(blocks - latest.up_to(last->second) + 1);
      if (hits_at_distance.size() <= distance) hits_at_distance.resize(distance + 1, 0);
      hits_at_distance[distance] += 1;
    }
    for (auto block = r.prefix_blocks.rbegin(); block != r.prefix_blocks.rend(); ++block, ++now) {
      const auto [entry, is_new] = last_touch.try_emplace(*block, now);
      if (!is_new) latest.clear(std::exchange(entry->second, now));
      latest.set(now);
    }
  }
  curve.distinct = last_touch.size();
  std::uint64_t hits = 0;
  for (std::size_t distance = 1; distance < hits_at_distance.size(); ++distance) {
    if (hits_at_distance[distance] == 0) continue;
    hits += hits_at_distance[distance];
    curve.steps.push_back({distance, hits});
  }
  return curve;
}

}  // namespace kvsim::models
