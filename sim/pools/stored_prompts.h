// What the storage node holds of requests' prompts, and what goes back to it: everything from the start, or prefix
// blocks that were prefilled and brought there (prefix_cache).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/memory/prefix_store.h"
#include "sim/pools/node.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/storage_network.h"
#include "sim/serving/measurements.h"

namespace kvsim::pools {

/// Waits for what goes to the storage node.
class StoredPromptsOwner {
 public:
  virtual ~StoredPromptsOwner() = default;
  /// The prompt of a request that drafts elsewhere is there now.
  virtual void on_stored(PoolRequest& r) = 0;
};

class StoredPrompts {
 public:
  /// All of it outlives this.
  StoredPrompts(const serving::ServingConfig& config, const RequestMemory& memory, const StorageNetwork& network,
                const RequestTable& requests, StoredPromptsOwner& owner);

  /// The blocks of its prompt that it may share: only whole ones.
  [[nodiscard]] std::vector<std::uint64_t> shared(const serving::Request& q, const models::RequestSpec& spec) const;
  /// Of these, the leading ones that are here, as far as nodes share them (RequestMemory::shares_blocks()); and tokens
  /// of the prompt that need not be prefilled.
  [[nodiscard]] std::size_t blocks(const PoolRequest& r) const { return memory_.shares_blocks() ? hits(r) : 0; }
  [[nodiscard]] std::int64_t tokens(const PoolRequest& r) const;

  /// What is here when it is placed stays until release().
  void hold(PoolRequest& r);
  void release(const PoolRequest& r);

  /// `r` was prefilled on a node: what was goes back where others may read it, or where the request itself needs it,
  /// which then `resumes` when it is there.
  void upload(PoolRequest& r, const Node& node, bool resumes);
  /// The same once it has come by itself, layer by layer.
  void arrived(const PoolRequest& r) { keep(r.blocks); }
  /// New tokens' KV, for the next reload.
  void write_back(const PoolRequest& r, const Node& node, std::int64_t tokens) const;

  void start_measuring();
  void finish_measuring(serving::Measurements& measured);
  void check_conservation() const;

 private:
  struct Upload {
    std::vector<std::uint64_t> blocks;
    std::uint64_t request = 0;
    bool resumes = false;  // the request goes on when it is over
  };

  [[nodiscard]] std::size_t hits(const PoolRequest& r) const;
  [[nodiscard]] static std::span<const std::uint64_t> held(const PoolRequest& r) { return {r.blocks.data(), r.held}; }
  void keep(const std::vector<std::uint64_t>& blocks) {
    if (store_) store_->insert(blocks);
  }
  void on_uploaded(std::uint64_t upload);

  const serving::ServingConfig& config_;
  const RequestMemory& memory_;
  const StorageNetwork& network_;
  const RequestTable& requests_;
  StoredPromptsOwner& owner_;
  std::optional<memory::PrefixStore> store_;  // prefill: prefix_cache
  std::unordered_map<std::uint64_t, Upload> uploads_;
  std::uint64_t next_upload_ = 1;
  std::uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace kvsim::pools
