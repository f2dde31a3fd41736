#include "sim/pools/stored_prompts.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/memory/prefix_store.h"

namespace kvsim::pools {
namespace {

using engine::Callback;

/// Everything from the start, or whole blocks, the least recently used going first.
class StoredBlocks final : public StoredPrompts {
 public:
  explicit StoredBlocks(const StoredPromptsParts& parts);

  /// Only whole blocks are shared.
  void arrived(PoolRequest& r, const models::RequestSpec& spec) override;
  [[nodiscard]] std::size_t blocks(const PoolRequest& r) const override {
    return parts_.memory.shares_blocks() ? hits(r) : 0;
  }
  [[nodiscard]] std::int64_t tokens(const PoolRequest& r) const override;
  void hold(PoolRequest& r) override;
  void release(const PoolRequest& r) override;
  void load(PoolRequest& r, Site& node, Claim claim, std::int64_t bytes) override {
    parts_.loads.load(r, node, claim, bytes, "first load");
  }
  void upload(PoolRequest& r, const Site& node, bool resumes) override;
  void offloaded(const PoolRequest& r) override { keep(*r.blocks); }
  void write_back(const PoolRequest& r, const Site& node, std::int64_t tokens) const override;
  void start_measuring() override;
  void finish_measuring(serving::Measurements& measured) override;
  void check_conservation() const override;

 private:
  struct Upload {
    std::vector<std::uint64_t> blocks;
    std::uint64_t request = 0;
    bool resumes = false;  // the request goes on when it is over
  };

  [[nodiscard]] std::size_t hits(const PoolRequest& r) const;
  /// Blocks that were there when the request was assigned. Precondition: store_.
  [[nodiscard]] std::span<const std::uint64_t> held(const PoolRequest& r) const {
    return {r.blocks->data(), static_cast<std::size_t>(r.stored / parts_.memory.block_tokens())};
  }
  void keep(const std::vector<std::uint64_t>& blocks) {
    if (store_) store_->insert(blocks);
  }
  void on_uploaded(std::uint64_t upload);

  StoredPromptsParts parts_;
  std::optional<memory::PrefixStore> store_;  // prefill: prefix_cache
  std::unordered_map<std::uint64_t, Upload> uploads_;
  std::uint64_t next_upload_ = 1;
  std::uint64_t hits_ = 0, misses_ = 0;
};

StoredBlocks::StoredBlocks(const StoredPromptsParts& parts) : parts_(parts) {
  if (parts_.config.prefill != serving::PrefillKind::prefix_cache || parts_.memory.block_tokens() == 0) return;
  store_.emplace(parts_.storage.capacity_bytes, parts_.memory.stored_transfer(parts_.memory.block_tokens()));
}

void StoredBlocks::arrived(PoolRequest& r, const models::RequestSpec& spec) {
  const bool recomputes = parts_.config.prefill == serving::PrefillKind::recompute;
  if (parts_.memory.block_tokens() == 0 || (recomputes && !parts_.config.schedule.prefix_caching)) return;
  const auto whole = static_cast<std::size_t>(r.request->prompt / parts_.memory.block_tokens());
  const auto count = static_cast<std::ptrdiff_t>(std::min(whole, spec.prefix_blocks.size()));
  if (count > 0) r.blocks.edit().assign(spec.prefix_blocks.begin(), spec.prefix_blocks.begin() + count);
}

std::size_t StoredBlocks::hits(const PoolRequest& r) const {
  if (parts_.config.prefill == serving::PrefillKind::recompute) return 0;  // they are named for nodes' own memory
  return store_ ? store_->leading_hits(*r.blocks) : r.blocks->size();
}

std::int64_t StoredBlocks::tokens(const PoolRequest& r) const {
  if (parts_.config.prefill == serving::PrefillKind::stored) return r.request->prompt;
  return static_cast<std::int64_t>(hits(r)) * parts_.memory.block_tokens();
}

void StoredBlocks::hold(PoolRequest& r) {
  r.stored = tokens(r);
  r.held->chain.assign(r.blocks->begin(), r.blocks->begin() + static_cast<std::ptrdiff_t>(blocks(r)));
  r.held->chain_tokens = static_cast<std::int64_t>(r.held->chain.size()) * parts_.memory.block_tokens();
  if (!store_) return;
  store_->touch(held(r));
  store_->pin(held(r));
  hits_ += held(r).size();
  misses_ += r.blocks->size() - held(r).size();
}

void StoredBlocks::release(const PoolRequest& r) {
  if (store_) store_->unpin(held(r));
}

void StoredBlocks::upload(PoolRequest& r, const Site& node, bool resumes) {
  if (!store_ && !resumes) return;
  if (resumes) r.in_transit += 1;
  uploads_.emplace(next_upload_, Upload{store_ ? *r.blocks : std::vector<std::uint64_t>{}, r.request->id, resumes});
  parts_.network.lane(node.pool(), node.index(), Direction::write)
      .submit({.bytes = parts_.memory.stored_transfer(r.request->prompt - r.stored),
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
  PoolRequest& r = *parts_.requests.find(upload.request);
  r.in_transit -= 1;
  parts_.listener.on_stored(r);
}

void StoredBlocks::write_back(const PoolRequest& r, const Site& node, std::int64_t tokens) const {
  parts_.network.lane(node.pool(), node.index(), Direction::write)
      .submit({.bytes = parts_.memory.full_transfer(tokens), .owner = r.request->id, .kind = "write back"});
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

/// A prompt store of replicas, in the storage node's memory and devices below it, read and written over nodes' own
/// links.
class TieredPrompts final : public StoredPrompts {
 public:
  /// All of it outlives this. `prompts` numbers groups of GPUs as StorageNetwork::lanes() has them.
  TieredPrompts(const StorageNetwork& network, Loads& loads, serving::PromptStore& prompts)
      : network_(network), loads_(loads), prompts_(prompts) {}

  void arrived(PoolRequest& r, const models::RequestSpec& spec) override { prompts_.arrived(*r.request, spec, 0); }
  void refused(const PoolRequest& r) override { prompts_.refused(*r.request); }
  void look(PoolRequest& r) override { r.request->prefix.set(prompts_.find(*r.request)); }
  [[nodiscard]] std::size_t blocks(const PoolRequest&) const override { return 0; }
  [[nodiscard]] std::int64_t tokens(const PoolRequest& r) const override { return r.request->prefix->tokens; }
  void hold(PoolRequest& r) override;
  void release(const PoolRequest& r) override { prompts_.finished(*r.request); }
  void preempted(const PoolRequest& r) override { prompts_.preempted(*r.request); }
  void load(PoolRequest& r, Site& node, Claim claim, std::int64_t bytes) override;
  void upload(PoolRequest& r, const Site& node, bool resumes) override;
  void start_measuring() override { prompts_.start_measuring(); }
  void finish_measuring(serving::Measurements& measured) override { prompts_.finish_measuring(measured); }
  void check_conservation() const override { prompts_.check_conservation(); }

 private:
  const StorageNetwork& network_;
  Loads& loads_;
  serving::PromptStore& prompts_;
};

void TieredPrompts::hold(PoolRequest& r) {
  const Site& node = r.local ? *r.local : *r.remote;
  prompts_.assigned(*r.request, network_.number(node.pool(), node.index()));
  r.stored = tokens(r);
}

void TieredPrompts::load(PoolRequest& r, Site& node, Claim claim, std::int64_t bytes) {
  if (r.stored == 0) return loads_.load(r, node, claim, bytes, "first load");
  prompts_.load(*r.request, loads_.expect(r, node, claim));
}

void TieredPrompts::upload(PoolRequest& r, const Site&, bool) {
  prompts_.computed(*r.request);
}

}  // namespace

std::unique_ptr<StoredPrompts> make_stored_prompts(const StoredPromptsParts& parts, serving::PromptStore* prompts) {
  if (!prompts) return std::make_unique<StoredBlocks>(parts);
  prompts->connect(parts.network.lanes());
  return std::make_unique<TieredPrompts>(parts.network, parts.loads, *prompts);
}

}  // namespace kvsim::pools
