#include <optional>

#include "sim/cache/eviction/interner.h"
#include "sim/cache/eviction/replay.h"
#include "sim/cache/eviction/replayed_cache.h"

namespace kvsim::cache {
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
  std::size_t begin = 0;
  for (const std::size_t end : chains.ends) {
    for (std::size_t i = begin; i < end; ++i) {
      const bool found = cache.contains(chains.blocks[i]);
      result.hits += found ? 1 : 0;
      if (!next) continue;
      // A block that this request has looked up is no longer wanted for it.
      next->pass(i, chains.blocks[i]);
      if (found) cache.hit(chains.blocks[i]);
    }
    for (std::size_t i = end; i-- > begin;) {
      const ObjectId block = chains.blocks[i];
      if (cache.contains(block)) {
        cache.hit(block);
      } else {
        cache.miss(block);
      }
    }
    begin = end;
  }
  result.bytes = static_cast<std::int64_t>(result.requests);
  result.byte_hits = static_cast<std::int64_t>(result.hits);
  return result;
}

}  // namespace kvsim::cache
