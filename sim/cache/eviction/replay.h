// What an eviction policy would hit on a trace: no time, no links, one cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/workload/request_source.h"
#include "sim/cache/eviction/eviction_policy.h"

namespace kvsim::cache {

/// Uses of objects, one after the other.
struct ObjectTrace {
  std::vector<ObjectId> uses;
  std::vector<std::int64_t> bytes;  ///< of each object, by id; empty: 1 each
  std::size_t objects = 0;          ///< every id is below
};

struct ReplayResult {
  std::uint64_t requests = 0;
  std::uint64_t hits = 0;
  std::int64_t bytes = 0;  ///< asked for
  std::int64_t byte_hits = 0;

  [[nodiscard]] std::uint64_t misses() const { return requests - hits; }
  /// 0 without requests.
  [[nodiscard]] double hit_rate() const {
    return requests == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(requests);
  }
  [[nodiscard]] double byte_hit_rate() const {
    return bytes == 0 ? 0 : static_cast<double>(byte_hits) / static_cast<double>(bytes);
  }

  bool operator==(const ReplayResult&) const = default;
};

/// Each use is a hit, or evicts until the object fits and inserts it; an object larger than the capacity is a miss and
/// is not inserted. A policy that needs the future gets it from the trace. Throws std::invalid_argument where an id is
/// not below `objects` or `bytes` is neither empty nor one size, of at least 0, for each.
ReplayResult replay(const EvictionPolicyEntry& policy, std::int64_t capacity_bytes, const ObjectTrace& trace);

/// The prefix blocks of requests, as dense ids.
struct BlockChains {
  std::vector<ObjectId> blocks;   ///< of all requests, one request after the other
  std::vector<std::size_t> ends;  ///< for each request, where its blocks end
  std::size_t objects = 0;        ///< different blocks
};

BlockChains block_chains(std::span<const models::RequestSpec> requests);

/// Blocks of equal size in a cache of `capacity` of them, used as models::StackDistances says: a request looks all
/// its blocks up, each of which may be a hit, then uses its last block first and its first block last, and those that
/// are not there come in. Under LRU the hits are those of the curve. A policy that needs the future knows in which
/// request a block is next looked up, which makes belady the bound of these hits where no request repeats a block.
ReplayResult replay_chains(const EvictionPolicyEntry& policy, std::size_t capacity, const BlockChains& chains);

}  // namespace kvsim::cache
