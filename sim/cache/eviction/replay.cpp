#include "sim/cache/eviction/replay.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/cache/eviction/chain_rules.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/engine/invariant.h"

namespace kvsim::cache {
namespace {

constexpr unsigned kLeastBits = 6;
constexpr unsigned kMostBits = 32;  // half of it are 2^31 keys

}  // namespace

Interner::Interner(std::size_t keys) {
  resize(std::clamp(static_cast<unsigned>(std::bit_width(2 * keys)), kLeastBits, kMostBits));
}

void Interner::resize(unsigned bits) {
  if (bits > kMostBits) throw std::length_error("more different keys than an object id can number");
  std::vector<Slot, engine::PageAllocator<Slot>> old(std::size_t{1} << bits);
  std::swap(old, slots_);
  shift_ = 64 - bits;
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNoObject) continue;
    std::size_t i = home(slot.key);
    while (slots_[i].id != kNoObject) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

ObjectId Interner::intern(std::uint64_t key) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = home(key);
  for (; slots_[i].id != kNoObject; i = (i + 1) & mask) {
    if (slots_[i].key == key) return slots_[i].id;
  }
  if (2 * (size_ + 1) > slots_.size()) [[unlikely]] {
    resize(64 - shift_ + 1);
    return intern(key);
  }
  slots_[i] = {key, static_cast<ObjectId>(size_)};
  return static_cast<ObjectId>(size_++);
}

void Interner::intern(std::span<const std::uint64_t> keys, std::span<ObjectId> ids) {
  constexpr std::size_t ahead = 16;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + ahead < keys.size()) __builtin_prefetch(slots_.data() + home(keys[i + ahead]));
    ids[i] = intern(keys[i]);
  }
}

namespace {

// The cache that a replay fills.

class ReplayedCache {
 public:
  /// `bytes` of each object, or null: 1 each.
  ReplayedCache(std::unique_ptr<EvictionPolicy> policy, std::int64_t capacity, std::size_t objects,
                const std::int64_t* bytes)
      : policy_(std::move(policy)),
        capacity_(capacity),
        free_(capacity),
        bytes_(bytes),
        present_(objects, 0),
        pins_(objects, 0) {}

  [[nodiscard]] bool contains(ObjectId id) const { return present_[id] != 0; }
  [[nodiscard]] std::int64_t bytes(ObjectId id) const { return bytes_ == nullptr ? 1 : bytes_[id]; }

  /// The object is used; it counts if it is there.
  void use(ObjectId id) {
    if (contains(id)) policy_->hit(id);
  }

  /// The object, which is used and not there, comes in.
  void miss(ObjectId id) {
    fresh_.clear();
    KVSIM_ALWAYS(admit(id), "the policy has no victim though nothing is pinned");
    for (const ObjectId admitted : fresh_) enter(admitted);
  }

  /// A chain's blocks that are missing come in.
  void store(std::span<const ObjectId> found, std::span<ObjectId> missing) {
    fresh_.clear();
    store_chain(*this, found, missing);
  }

  // See store_chain().
  bool hold(ObjectId id) {
    pins_[id] += 1;
    return true;
  }
  void release(ObjectId id) { pins_[id] -= 1; }
  bool admit(ObjectId id) {
    const std::int64_t size = bytes(id);
    if (contains(id) || size > capacity_) return true;
    while (free_ < size) {
      const ObjectId victim = policy_->evict(Pins(pins_), id);
      if (victim == kNoObject) return false;
      if (victim == id) return true;
      present_[victim] = 0;
      free_ += bytes(victim);
    }
    present_[id] = 1;
    free_ -= size;
    fresh_.push_back(id);
    return true;
  }
  [[nodiscard]] std::span<const ObjectId> fresh() const { return fresh_; }
  void enter(ObjectId id) { policy_->insert(id, bytes(id)); }
  void touch(ObjectId id) { policy_->touch(id); }

 private:
  std::unique_ptr<EvictionPolicy> policy_;
  std::int64_t capacity_;
  std::int64_t free_;
  const std::int64_t* bytes_;
  std::vector<std::uint8_t> present_;
  std::vector<std::uint32_t> pins_;
  std::vector<ObjectId> fresh_;
};

void check(const ObjectTrace& trace) {
  const auto too_high = [&trace](ObjectId id) { return id >= trace.objects; };
  if (std::any_of(trace.uses.begin(), trace.uses.end(), too_high)) {
    throw std::invalid_argument("replay: an object's id is not below their number");
  }
  const auto negative = [](std::int64_t bytes) { return bytes < 0; };
  if (!trace.bytes.empty() &&
      (trace.bytes.size() != trace.objects || std::any_of(trace.bytes.begin(), trace.bytes.end(), negative))) {
    throw std::invalid_argument("replay: sizes must be one for each object, and not negative");
  }
}

/// For each use, the position of the next one of the same object.
std::vector<std::uint64_t> next_uses(const ObjectTrace& trace) {
  std::vector<std::uint64_t> next(trace.uses.size()), first(trace.objects, UINT64_MAX);
  for (std::size_t i = trace.uses.size(); i-- > 0;) {
    next[i] = first[trace.uses[i]];
    first[trace.uses[i]] = i;
  }
  return next;
}

}  // namespace

ReplayResult replay(const EvictionPolicyEntry& policy, std::int64_t capacity_bytes, const ObjectTrace& trace) {
  check(trace);
  EvictionContext context{capacity_bytes};
  std::size_t now = 0;
  std::vector<std::uint64_t> next;
  if (policy.needs_future) {
    next = next_uses(trace);
    context.next_use = [&](ObjectId) { return next[now]; };  // asked about the object of this very use
  }
  ReplayedCache cache(policy.make(context), capacity_bytes, trace.objects,
                      trace.bytes.empty() ? nullptr : trace.bytes.data());
  ReplayResult result;
  result.requests = trace.uses.size();
  for (; now < trace.uses.size(); ++now) {
    const ObjectId id = trace.uses[now];
    const std::int64_t bytes = cache.bytes(id);
    result.bytes += bytes;
    if (cache.contains(id)) {
      result.hits += 1;
      result.byte_hits += bytes;
      cache.use(id);
    } else {
      cache.miss(id);
    }
  }
  return result;
}

namespace {

/// Which request looks a block up next.
class NextLookups {
 public:
  explicit NextLookups(const BlockChains& chains)
      : after_(chains.blocks.size(), UINT64_MAX), of_block_(chains.objects, UINT64_MAX) {
    for (std::size_t request = chains.ends.size(); request-- > 0;) {
      const std::size_t begin = request == 0 ? 0 : chains.ends[request - 1];
      // First all are read, then all are written: a block that comes twice in a request is not its own next.
      for (std::size_t i = begin; i < chains.ends[request]; ++i) after_[i] = of_block_[chains.blocks[i]];
      for (std::size_t i = begin; i < chains.ends[request]; ++i) of_block_[chains.blocks[i]] = request;
    }
  }

  /// The request at hand looks up the block at this position: what of_block() answers is from now on what follows.
  void pass(std::size_t position, ObjectId block) { of_block_[block] = after_[position]; }
  [[nodiscard]] std::uint64_t of_block(ObjectId block) const { return of_block_[block]; }

 private:
  std::vector<std::uint64_t> after_;  // by position
  std::vector<std::uint64_t> of_block_;
};

}  // namespace

BlockChains block_chains(std::span<const models::RequestSpec> requests) {
  BlockChains chains;
  Interner interner;
  for (const models::RequestSpec& r : requests) {
    const std::size_t begin = chains.blocks.size();
    chains.blocks.resize(begin + r.prefix_blocks.size());
    interner.intern(r.prefix_blocks, std::span(chains.blocks).subspan(begin));
    chains.ends.push_back(chains.blocks.size());
  }
  chains.objects = interner.size();
  return chains;
}

ReplayResult replay_chains(const EvictionPolicyEntry& policy, std::size_t capacity, const BlockChains& chains) {
  EvictionContext context{static_cast<std::int64_t>(capacity)};
  std::optional<NextLookups> next;
  if (policy.needs_future) {
    next.emplace(chains);
    context.next_use = [&next](ObjectId block) { return next->of_block(block); };
  }
  ReplayedCache cache(policy.make(context), context.capacity_bytes, chains.objects, nullptr);
  ReplayResult result;
  result.requests = chains.blocks.size();
  std::vector<ObjectId> own;
  std::size_t begin = 0;
  for (const std::size_t end : chains.ends) {
    own.assign(chains.blocks.begin() + static_cast<std::ptrdiff_t>(begin),
               chains.blocks.begin() + static_cast<std::ptrdiff_t>(end));
    // A block that this request has looked up is no longer wanted for it.
    for (std::size_t i = begin; next && i < end; ++i) next->pass(i, chains.blocks[i]);
    const std::size_t found = find_chain(own.size(), [&](std::size_t i) { return cache.contains(own[i]); });
    result.hits += found;
    use_chain(own.size(), [&](std::size_t i) { cache.use(own[i]); });
    cache.store(std::span(own).first(found), std::span(own).subspan(found));
    begin = end;
  }
  result.bytes = static_cast<std::int64_t>(result.requests);
  result.byte_hits = static_cast<std::int64_t>(result.hits);
  return result;
}

}  // namespace kvsim::cache
