// How many prefix blocks a cache of a given size would find again: hit rate against capacity under LRU, for every
// capacity at once, by stack distances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/workload/request_spec.h"

namespace kvsim::models {

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

}  // namespace kvsim::models
