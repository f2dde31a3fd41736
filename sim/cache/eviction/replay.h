// Replay of a trace under an eviction policy, which gives its hits: no time, no links, one cache. Objects are numbered
// from 0; the blocks of a trace, which come with hashes, are given such numbers first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/workload/request_source.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/engine/page_allocator.h"

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

/// Each use is a hit, or evicts until the object fits and inserts it; an object larger than the capacity, or that the
/// policy leaves outside, is a miss and is not inserted. A policy that needs the future gets it from the trace. Throws
/// std::invalid_argument where an id is not below `objects` or `bytes` is neither empty nor one size, of at least 0,
/// for each.
ReplayResult replay(const EvictionPolicyEntry& policy, std::int64_t capacity_bytes, const ObjectTrace& trace);

/// Numbers keys from 0 in the order in which they first come; any 64-bit value is a key. Open addressing with linear
/// probing, at most half full: 16 bytes a slot, a lookup is mostly one cache line.
class Interner {
 public:
  /// Makes room for so many different keys.
  explicit Interner(std::size_t keys = 0);

  /// The id of the key, a new one if it never came. Throws std::length_error beyond 2^31 keys.
  ObjectId intern(std::uint64_t key);
  /// Returns the ids of all keys in turn, faster: it fetches later slots while it looks at earlier ones. `ids` has as
  /// many elements as `keys`.
  void intern(std::span<const std::uint64_t> keys, std::span<ObjectId> ids);

  /// Different keys so far: the next new one gets this id.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    ObjectId id = kNoObject;  // none: the slot is free
  };

  /// Keys may be counters as well as hashes: multiplying spreads them (D. E. Knuth, TAOCP 3, 6.4).
  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> shift_);
  }
  void resize(unsigned bits);

  std::vector<Slot, engine::PageAllocator<Slot>> slots_;
  std::size_t size_ = 0;
  unsigned shift_ = 0;
};

/// The prefix blocks of requests, as dense ids.
struct BlockChains {
  std::vector<ObjectId> blocks;   ///< of all requests, one request after the other
  std::vector<std::size_t> ends;  ///< for each request, where its blocks end
  std::size_t objects = 0;        ///< different blocks
};

BlockChains block_chains(std::span<const models::RequestSpec> requests);

/// Blocks of equal size in a cache of `capacity` of them, by the rules of chain_rules.h: a tier of a store finds the
/// same blocks where one request comes after the other and nothing is in transit. Under LRU the hits are those of
/// models::HitRateCurve. A policy that needs the future knows in which request a block is next looked up. No policy has
/// more hits than belady where each block always has the same blocks before it.
ReplayResult replay_chains(const EvictionPolicyEntry& policy, std::size_t capacity, const BlockChains& chains);

}  // namespace kvsim::cache
