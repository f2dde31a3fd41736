#include "models/workload/stack_distances.h"

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
  for (const std::uint64_t block : request.prefix_blocks) {
    const auto last = last_touch_.find(block);
    distances_.push_back(
        last == last_touch_.end() ? kNeverUsed : static_cast<std::uint64_t>(blocks - marks_up_to(last->second) + 1));
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

}  // namespace kvsim::models
