// Bytes that a request needs on each path: memory on the nodes, and what crosses the links.
#pragma once

#include <cstdint>

#include "models/paths/path.h"
#include "sim/pools/node_memory.h"
#include "sim/pools/pool_request.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::pools {

class RequestMemory {
 public:
  /// All of it outlives this. `block_tokens`: of a shared prefix block; 0: there are none.
  RequestMemory(const serving::ServingConfig& config, const serving::KvGeometry& geometry, std::int64_t block_tokens)
      : config_(config), geometry_(geometry), block_tokens_(block_tokens) {}

  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }

  /// In which form the remote node holds the prompt.
  [[nodiscard]] static KvForm remote_form(models::Path path) {
    return models::traits(path).drafts ? KvForm::compressed : KvForm::full;
  }

  /// Memory of one shared block.
  [[nodiscard]] std::int64_t block_bytes(KvForm form) const;

  /// Memory that a request with `blocks` shared blocks reserves for itself, from its placement to its end: the rest of
  /// the prompt, all of its output and the drafts of one round, where there are any.
  [[nodiscard]] std::int64_t local_private(const PoolRequest& r, models::Path path, std::int64_t blocks) const;
  [[nodiscard]] std::int64_t remote_private(const PoolRequest& r, models::Path path, std::int64_t blocks) const;
  /// The same for one reload (stateless), and the most that any reload of this request takes.
  [[nodiscard]] std::int64_t reload_private(const PoolRequest& r) const;
  [[nodiscard]] std::int64_t largest_reload(const PoolRequest& r) const;

  /// Bytes that cross a link. `tokens` of the prompt in the remote node's form; in full.
  [[nodiscard]] std::int64_t remote_transfer(const PoolRequest& r, models::Path path, std::int64_t tokens) const;
  [[nodiscard]] std::int64_t full_transfer(std::int64_t tokens) const { return geometry_.full_transfer(tokens); }
  /// What P2 sends after the compressed KV.
  [[nodiscard]] std::int64_t rest_transfer(const PoolRequest& r) const;

 private:
  [[nodiscard]] std::int64_t draft_room() const { return config_.decode.draft_length + 1; }
  [[nodiscard]] bool decompresses() const {
    return config_.decode.compressor.kind != models::CompressionKind::token_dropping;
  }

  const serving::ServingConfig& config_;
  const serving::KvGeometry& geometry_;
  std::int64_t block_tokens_;
};

}  // namespace kvsim::pools
