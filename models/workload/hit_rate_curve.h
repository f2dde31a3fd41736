// How many prefix blocks a cache of a given size would find again: hit rate against capacity under LRU, for every
// capacity at once, by stack distances.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/workload/request_spec.h"

namespace kvsim::models {

// Stack distances of the blocks of requests: which LRU caches would find a block when it is looked up (R. L. Mattson et
// al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970). A block without its prefix is
// not found. The curves against capacity are sums over them.

/// Where a block or one before it was never used before: no cache finds it.
inline constexpr std::uint64_t kNeverUsed = UINT64_MAX;

/// Requests one after the other, each wholly before the next. A request looks all its blocks up, then touches its last
/// block first and its first block last, so that a prefix is always more recent than what follows it and is evicted
/// after it; what a cache holds is then always whole prefixes. Time O(n log n) and memory O(n) in the number of blocks.
class StackDistances {
 public:
  /// `accesses`: the blocks of all requests that will come, at most.
  explicit StackDistances(std::size_t accesses) : marks_(accesses + 1, 0) {}

  /// For each block of the next request, the least capacity in blocks of an LRU cache that still holds it and all
  /// blocks before it. Valid until the next call.
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

/// Hits of an LRU cache of blocks as its capacity grows.
struct HitRateCurve {
  std::uint64_t accesses = 0;  ///< blocks of all requests
  std::uint64_t distinct = 0;  ///< of them, different ones: a cache of this many never evicts

  struct Step {
    std::uint64_t capacity = 0;  ///< blocks
    std::uint64_t hits = 0;      ///< with this capacity, and with any up to the next step's
  };
  std::vector<Step> steps;  ///< ascending in both; empty where no block is used twice

  [[nodiscard]] std::uint64_t hits(std::uint64_t capacity) const;
  /// Share of blocks found; 0 without accesses.
  [[nodiscard]] double hit_rate(std::uint64_t capacity) const;
  /// The hits of a cache that never evicts.
  [[nodiscard]] std::uint64_t achievable() const { return steps.empty() ? 0 : steps.back().hits; }
  /// The smallest capacity, in blocks, that reaches this share (0 to 1) of the achievable hits; 0 where there are none.
  [[nodiscard]] std::uint64_t capacity_for(double share) const;
};

/// The curve of a trace whose requests use their blocks as StackDistances says. Time O(n log n) and memory O(n) in the
/// number of blocks.
HitRateCurve hit_rate_curve(std::span<const RequestSpec> requests);

// How long requests wait for their first token beside a prefix cache of a given size: what the cache holds is loaded,
// the rest is prefilled. For every LRU capacity at once.

/// Cost of a token of the prompt, in seconds; both >= 0.
struct PromptTimes {
  double load_s = 0;     ///< where the cache holds it: its KV's bytes / the cache's read bandwidth
  double prefill_s = 0;  ///< where it does not: 1 / tokens prefilled per second
};

/// Prompt tokens that an LRU cache of blocks holds as its capacity grows.
struct LatencyCurve {
  std::uint64_t requests = 0;
  std::int64_t prompt_tokens = 0;  ///< of all requests

  struct Step {
    std::uint64_t capacity = 0;     ///< blocks
    std::int64_t found_tokens = 0;  ///< with this capacity, and with any up to the next step's
  };
  std::vector<Step> steps;  ///< ascending in both; empty where nothing is used twice

  [[nodiscard]] std::int64_t found_tokens(std::uint64_t capacity) const;
  /// Mean over requests of load(found tokens) + prefill(the others), each request alone on the machine: no queueing, no
  /// overlap of the two, and nothing prefilled where all is found. 0 without requests. Where loading a token takes
  /// longer than prefilling it, the time grows with the capacity.
  [[nodiscard]] double mean_ttft_s(std::uint64_t capacity, const PromptTimes& times) const;
};

/// The curve of requests whose blocks are used as StackDistances says. The last block of a prompt may be filled in
/// part. block_tokens >= 1.
LatencyCurve latency_curve(std::span<const RequestSpec> requests, std::int64_t block_tokens);

}  // namespace kvsim::models
