// Chains of blocks come into a cache by these rules. The tiers of a store and the replay of a trace both follow them,
// so that they find the same blocks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/cache/eviction/eviction_policy.h"

namespace kvsim::cache {

/// Counts the leading blocks of a chain that are found: a block without its prefix is no hit. `found(i)` tells whether
/// block i is there.
template <class Found>
std::size_t find_chain(std::size_t blocks, Found found) {
  std::size_t leading = 0;
  while (leading < blocks && found(leading)) ++leading;
  return leading;
}

/// Uses all blocks of a chain, the first one last: a prefix is more recent than what follows it. `use(i)` uses block i.
template <class Use>
void use_chain(std::size_t blocks, Use use) {
  for (std::size_t i = blocks; i-- > 0;) use(i);
}

/// Stores the blocks that a chain lacks, in order, until one finds no room. The blocks that were found stay meanwhile
/// and are more recent afterwards. New blocks take part in evictions once all have room; the first one enters last.
/// Returns how many blocks are done with. `Cache` has:
///   bool hold(ObjectId)     the block is not evicted until release(); false: it is absent, or held already
///   void release(ObjectId)
///   bool admit(ObjectId&)   the block is done with: it is there, stays out, or joins fresh(), maybe renamed; false: it
///                           has no room
///   fresh()                 the admitted blocks, in order
///   void enter(ObjectId)    an admitted block may be evicted from now on
///   void touch(ObjectId)    EvictionPolicy::touch(), where the block is there
template <class Cache>
std::size_t store_chain(Cache&& cache, std::span<const ObjectId> found, std::span<ObjectId> missing) {
  std::vector<ObjectId> held;
  for (const ObjectId id : found) {
    if (cache.hold(id)) held.push_back(id);
  }
  const std::size_t done = find_chain(missing.size(), [&](std::size_t i) { return cache.admit(missing[i]); });
  use_chain(cache.fresh().size(), [&](std::size_t i) { cache.enter(cache.fresh()[i]); });
  for (const ObjectId id : held) cache.release(id);
  use_chain(found.size(), [&](std::size_t i) { cache.touch(found[i]); });
  return done;
}

}  // namespace kvsim::cache
