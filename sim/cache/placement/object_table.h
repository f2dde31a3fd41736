// What is known of every stored object: how large it is, where it is and as what.
#pragma once

#include <cstdint>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/quality_table.h"
#include "sim/cache/eviction/object_id.h"

namespace kvsim::cache {

/// One object in one hierarchy of tiers. `tier` and `option` are where it belongs by decision; bytes may still be on
/// their way there.
struct CachedObject {
  std::uint64_t key = 0;  ///< its content: number of a context, or a block's hash
  std::int64_t full_bytes = 0;
  std::int64_t tokens = 0;
  models::CurveIndex curve = 0;    ///< in the quality tables
  float share = 1;                 ///< of a request's quality that this object decides: a block's tokens / its prompt's
  TierIndex tier = kNoTier;        ///< kNoTier: not stored
  models::OptionIndex option = 0;  ///< of the pool
  float quality = 1;               ///< as profiled, of the representation it is in: lower than its option's where it
                                   ///< went through a worse one
};

/// By ObjectId.
using ObjectTable = std::vector<CachedObject>;

}  // namespace kvsim::cache
