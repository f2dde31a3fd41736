// Policies that choose the object to leave a full tier. To add a policy: a file in policies/ with a class and
// `EvictionPolicyEntry eviction_NAME()`. The build finds it.
//
// A policy sees names, sizes and uses; it knows nothing of time, links or representations. The owner of the tier asks
// for victims until there is room, then inserts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/schema/own_keys.h"
#include "models/schema/registry.h"

namespace kvsim::cache {

// Names of stored objects and tiers: dense numbers, so that whatever is known of them lies in arrays.

/// Objects are numbered from 0 in the order in which they were first seen.
using ObjectId = std::uint32_t;
inline constexpr ObjectId kNoObject = UINT32_MAX;

using TierIndex = std::uint16_t;
inline constexpr TierIndex kNoTier = UINT16_MAX;

/// Objects that must not be evicted now: they are being read or moved. The array outlives this; objects beyond its end
/// are free.
class Pins {
 public:
  Pins() = default;
  explicit Pins(const std::vector<std::uint32_t>& counts) : counts_(&counts) {}
  [[nodiscard]] bool operator()(ObjectId id) const {
    return counts_ != nullptr && id < counts_->size() && (*counts_)[id] > 0;
  }

 private:
  const std::vector<std::uint32_t>* counts_ = nullptr;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  /// The object, which is not in the tier, comes in with this size; room was made before. Some policies remember it
  /// from an earlier stay.
  virtual void insert(ObjectId id, std::int64_t bytes) = 0;
  /// The object, which is in the tier, is used.
  virtual void hit(ObjectId id) = 0;
  /// The object, which is in the tier, counts as used as lately as what was inserted last, and no more often than
  /// before: the first blocks of a chain whose end was just stored. It matters to policies that order by the time of
  /// use, or equals by it.
  virtual void touch(ObjectId) {}
  /// Takes the next victim out of the tier; kNoObject where it is empty or all are pinned. `incoming`: the object that
  /// room is made for (some policies look whether they remember it), or kNoObject. Returns `incoming`, and takes
  /// nothing out, where that is better left outside.
  virtual ObjectId evict(const Pins& pins, ObjectId incoming) = 0;
  /// The object leaves the tier for another reason than to make room; nothing of it is remembered.
  virtual void remove(ObjectId id) = 0;

  /// Objects in the tier.
  [[nodiscard]] virtual std::size_t size() const = 0;
};

/// When an object is used next, as a number that grows with time; UINT64_MAX: never again. Asked when it is inserted or
/// hit, about the time after that use.
using NextUse = std::function<std::uint64_t(ObjectId)>;

struct EvictionContext {
  std::int64_t capacity_bytes = 0;  ///< of the tier; some policies size their queues and memories by it
  NextUse next_use{};               ///< of a policy that needs the future
  schema::OwnKeys own{};            ///< keys of the policy
};

struct EvictionPolicyEntry {
  std::string_view name;
  std::string_view description;
  int place = schema::kListedLast;  ///< in lists
  bool needs_future = false;        ///< make() throws std::invalid_argument without EvictionContext::next_use
  schema::KeyFragment keys{};       ///< that it reads in EvictionContext::own
  std::unique_ptr<EvictionPolicy> (*make)(const EvictionContext& context) = nullptr;
};

/// All registered policies, in the order in which they are listed to users.
std::span<const EvictionPolicyEntry> eviction_policies();
/// The policy of this name, or null.
inline const EvictionPolicyEntry* find_eviction_policy(std::string_view name) {
  return schema::find_named(eviction_policies(), name);
}

}  // namespace kvsim::cache
