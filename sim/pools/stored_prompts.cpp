#include "sim/pools/stored_prompts.h"

#include <algorithm>
#include <utility>

#include "sim/pools/tiered_prompts.h"

namespace kvsim::pools {

using engine::Callback;

std::unique_ptr<StoredPrompts> make_stored_prompts(const StoredPromptsParts& parts, serving::PromptStore* prompts) {
  if (!prompts) return std::make_unique<StoredBlocks>(parts);
  prompts->connect(parts.network.lanes());
  return std::make_unique<TieredPrompts>(parts.network, parts.loads, *prompts);
}

StoredBlocks::StoredBlocks(const StoredPromptsParts& parts)
    : config_(parts.config),
      memory_(parts.memory),
      network_(parts.network),
      requests_(parts.requests),
      loads_(parts.loads),
      owner_(parts.owner) {
  if (config_.prefill != serving::PrefillKind::prefix_cache || memory_.block_tokens() == 0) return;
  store_.emplace(config_.cluster.pools->storage.capacity_bytes, memory_.stored_transfer(memory_.block_tokens()));
}

void StoredBlocks::arrived(PoolRequest& r, const models::RequestSpec& spec) {
  if (memory_.block_tokens() == 0 || config_.prefill == serving::PrefillKind::recompute) return;
  const auto whole = static_cast<std::size_t>(r.request->prompt / memory_.block_tokens());
  const auto count = static_cast<std::ptrdiff_t>(std::min(whole, spec.prefix_blocks.size()));
  r.blocks.assign(spec.prefix_blocks.begin(), spec.prefix_blocks.begin() + count);
}

std::size_t StoredBlocks::hits(const PoolRequest& r) const {
  return store_ ? store_->leading_hits(r.blocks) : r.blocks.size();
}

std::int64_t StoredBlocks::tokens(const PoolRequest& r) const {
  if (config_.prefill == serving::PrefillKind::stored) return r.request->prompt;
  return static_cast<std::int64_t>(hits(r)) * memory_.block_tokens();
}

void StoredBlocks::hold(PoolRequest& r) {
  r.stored = tokens(r);
  r.chain.assign(r.blocks.begin(), r.blocks.begin() + static_cast<std::ptrdiff_t>(blocks(r)));
  r.chain_tokens = static_cast<std::int64_t>(r.chain.size()) * memory_.block_tokens();
  if (!store_) return;
  store_->touch(held(r));
  store_->pin(held(r));
  hits_ += held(r).size();
  misses_ += r.blocks.size() - held(r).size();
}

void StoredBlocks::release(const PoolRequest& r) {
  if (store_) store_->unpin(held(r));
}

void StoredBlocks::upload(PoolRequest& r, const Node& node, bool resumes) {
  if (!store_ && !resumes) return;
  if (resumes) r.in_transit += 1;
  uploads_.emplace(next_upload_, Upload{store_ ? r.blocks : std::vector<std::uint64_t>{}, r.request->id, resumes});
  network_.lane(node.pool(), node.index(), Direction::write)
      .submit({.bytes = memory_.stored_transfer(r.request->prompt - r.stored),
               .on_complete = Callback::to<&StoredBlocks::on_uploaded>(this, next_upload_),
               .owner = r.request->id,
               .kind = "store"});
  ++next_upload_;
}

void StoredBlocks::on_uploaded(std::uint64_t id) {
  const auto node = uploads_.extract(id);
  const Upload& upload = node.mapped();
  keep(upload.blocks);
  if (!upload.resumes) return;
  PoolRequest& r = *requests_.find(upload.request);
  r.in_transit -= 1;
  owner_.on_stored(r);
}

void StoredBlocks::write_back(const PoolRequest& r, const Node& node, std::int64_t tokens) const {
  network_.lane(node.pool(), node.index(), Direction::write)
      .submit({.bytes = memory_.full_transfer(tokens), .owner = r.request->id, .kind = "write back"});
}

void StoredBlocks::start_measuring() {
  if (store_) store_->reset_statistics();
  hits_ = misses_ = 0;
}

void StoredBlocks::finish_measuring(serving::Measurements& measured) {
  if (!store_) return;
  serving::TierMeasurement& tier = measured.tiers["storage"];
  tier.hits += hits_;
  tier.misses += misses_;
  tier.evictions += store_->evictions();
  tier.bytes_peak = std::max(tier.bytes_peak, store_->peak_bytes());
}

void StoredBlocks::check_conservation() const {
  if (store_) store_->check_conservation();
}

}  // namespace kvsim::pools
