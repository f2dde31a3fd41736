// Names of stored objects and tiers: dense numbers, so that whatever is known of them lies in arrays.
#pragma once

#include <cstdint>

namespace kvsim::cache {

/// Objects are numbered from 0 in the order in which they were first seen.
using ObjectId = std::uint32_t;
inline constexpr ObjectId kNoObject = UINT32_MAX;

using TierIndex = std::uint16_t;
inline constexpr TierIndex kNoTier = UINT16_MAX;

}  // namespace kvsim::cache
