// Stack distances of the blocks of requests: which LRU caches would hold a block when it is looked up (R. L. Mattson et
// al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970). The curves against capacity
// are sums over them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/workload/request_spec.h"

namespace kvsim::models {

/// Where a block was never used before: no cache holds it.
inline constexpr std::uint64_t kNeverUsed = UINT64_MAX;

/// Requests one after the other, each wholly before the next. A request looks all its blocks up, then touches its last
/// block first and its first block last, so that a prefix is always more recent than what follows it and is evicted
/// after it; what a cache holds is then always whole prefixes. Time O(n log n) and memory O(n) in the number of blocks.
class StackDistances {
 public:
  /// `accesses`: the blocks of all requests that will come, at most.
  explicit StackDistances(std::size_t accesses) : marks_(accesses + 1, 0) {}

  /// For each block of the next request, the least capacity in blocks of an LRU cache that still holds it. Valid until
  /// the next call.
  std::span<const std::uint64_t> next(const RequestSpec& request);

  /// Different blocks so far.
  [[nodiscard]] std::size_t distinct() const { return last_touch_.size(); }

 private:
  void add(std::size_t position, std::int64_t change);
  [[nodiscard]] std::int64_t marks_up_to(std::size_t position) const;

  // A mark stands at the latest touch of every block. A block's stack distance when a request looks it up is the number
  // of different blocks touched since its own last touch, itself included. Marks lie in a Fenwick tree.
  std::vector<std::int64_t> marks_;
  std::unordered_map<std::uint64_t, std::size_t> last_touch_;
  std::size_t now_ = 0;
  std::vector<std::uint64_t> distances_;
};

/// Blocks of all requests.
std::size_t block_count(std::span<const RequestSpec> requests);

}  // namespace kvsim::models
