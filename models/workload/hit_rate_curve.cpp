#include "models/workload/hit_rate_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace kvsim::models {
namespace {

std::size_t lowest_bit(std::size_t i) {
  return i & (~i + 1);
}

}  // namespace

void StackDistances::add(std::size_t position, std::int64_t change) {
  for (std::size_t i = position + 1; i < marks_.size(); i += lowest_bit(i)) marks_[i] += change;
}

std::int64_t StackDistances::marks_up_to(std::size_t position) const {
  std::int64_t sum = 0;
  for (std::size_t i = position + 1; i > 0; i -= lowest_bit(i)) sum += marks_[i];
  return sum;
}

std::span<const std::uint64_t> StackDistances::next(const RequestSpec& request) {
  distances_.clear();
  const auto blocks = static_cast<std::int64_t>(last_touch_.size());
  std::uint64_t needed = 0;  // by the block and all before it
  for (const std::uint64_t block : request.prefix_blocks) {
    const auto last = last_touch_.find(block);
    needed = std::max(needed, last == last_touch_.end()
                                  ? kNeverUsed
                                  : static_cast<std::uint64_t>(blocks - marks_up_to(last->second) + 1));
    distances_.push_back(needed);
  }
  for (auto block = request.prefix_blocks.rbegin(); block != request.prefix_blocks.rend(); ++block, ++now_) {
    const auto [entry, is_new] = last_touch_.try_emplace(*block, now_);
    if (!is_new) add(std::exchange(entry->second, now_), -1);
    add(now_, 1);
  }
  return distances_;
}

std::size_t block_count(std::span<const RequestSpec> requests) {
  std::size_t blocks = 0;
  for (const RequestSpec& r : requests) blocks += r.prefix_blocks.size();
  return blocks;
}

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
      if (distance == kNeverUsed) break;
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

std::int64_t LatencyCurve::found_tokens(std::uint64_t capacity) const {
  const auto above = std::upper_bound(steps.begin(), steps.end(), capacity,
                                      [](std::uint64_t blocks, const Step& s) { return blocks < s.capacity; });
  return above == steps.begin() ? 0 : std::prev(above)->found_tokens;
}

double LatencyCurve::mean_ttft_s(std::uint64_t capacity, const PromptTimes& times) const {
  if (requests == 0) return 0;
  const std::int64_t found = found_tokens(capacity);
  const double seconds =
      static_cast<double>(found) * times.load_s + static_cast<double>(prompt_tokens - found) * times.prefill_s;
  return seconds / static_cast<double>(requests);
}

LatencyCurve latency_curve(std::span<const RequestSpec> requests, std::int64_t block_tokens) {
  LatencyCurve curve;
  StackDistances stack(block_count(requests));
  // A token's time is the same in every request, so the sum over requests needs only the sum of tokens: what each
  // capacity finds that the one before did not.
  std::vector<std::int64_t> more_tokens_at;
  for (const RequestSpec& r : requests) {
    curve.requests += 1;
    curve.prompt_tokens += r.prompt_tokens;
    std::int64_t left = r.prompt_tokens;
    for (const std::uint64_t distance : stack.next(r)) {
      if (distance == kNeverUsed || left == 0) break;
      if (more_tokens_at.size() <= distance) more_tokens_at.resize(distance + 1, 0);
      const std::int64_t tokens = std::min(block_tokens, left);
      more_tokens_at[distance] += tokens;
      left -= tokens;
    }
  }
  std::int64_t found = 0;
  for (std::size_t capacity = 1; capacity < more_tokens_at.size(); ++capacity) {
    if (more_tokens_at[capacity] == 0) continue;
    found += more_tokens_at[capacity];
    curve.steps.push_back({capacity, found});
  }
  return curve;
}

}  // namespace kvsim::models
