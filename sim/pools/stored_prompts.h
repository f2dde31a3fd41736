// Requests' prompts on the storage node, and KV that goes back to it. That is everything from the start, or prefix
// blocks that were prefilled and uploaded (prefix_cache), or the objects that a placement keeps in tiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sim/pools/loads.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/site.h"
#include "sim/pools/storage_network.h"
#include "sim/serving/measurements.h"
#include "sim/serving/prompt_store.h"

namespace kvsim::pools {

/// Waits for what goes to the storage node.
class StoredPromptsListener {
 public:
  virtual ~StoredPromptsListener() = default;
  /// The prompt of a request that drafts elsewhere is there now.
  virtual void on_stored(PoolRequest& r) = 0;
};

class StoredPrompts {
 public:
  virtual ~StoredPrompts() = default;

  /// It has come; PoolRequest::blocks are known from here on.
  virtual void arrived(PoolRequest& r, const models::RequestSpec& spec) = 0;
  /// It may have come, and could never run.
  virtual void refused(const PoolRequest& r) { (void)r; }
  /// Before it may be assigned to nodes: what of it is here now. It holds until something else happens.
  virtual void look(PoolRequest& r) { (void)r; }
  /// The leading ones of its blocks that are here, as far as nodes share them (RequestMemory::shares_blocks()); and
  /// tokens of the prompt that need not be prefilled.
  [[nodiscard]] virtual std::size_t blocks(const PoolRequest& r) const = 0;
  [[nodiscard]] virtual std::int64_t tokens(const PoolRequest& r) const = 0;

  /// Holds the KV that is here when the request is assigned, until release().
  virtual void hold(PoolRequest& r) = 0;
  virtual void release(const PoolRequest& r) = 0;
  /// It was preempted, and will be assigned again.
  virtual void preempted(const PoolRequest& r) { release(r); }
  /// That is loaded to a node that it is assigned to, for its claim there: `bytes` of it, where they are not there.
  virtual void load(PoolRequest& r, Site& node, Claim claim, std::int64_t bytes) = 0;

  /// `r` was prefilled on a node: what was goes back where others may read it, or where the request itself needs it,
  /// which then `resumes` when it is there.
  virtual void upload(PoolRequest& r, const Site& node, bool resumes) = 0;
  /// The KV of a prefilled prompt has come by itself, layer by layer.
  virtual void offloaded(const PoolRequest& r) { (void)r; }
  /// New tokens' KV, for the next reload.
  virtual void write_back(const PoolRequest& r, const Site& node, std::int64_t tokens) const {
    (void)r, (void)node, (void)tokens;
  }

  virtual void start_measuring() = 0;
  virtual void finish_measuring(serving::Measurements& measured) = 0;
  virtual void check_conservation() const = 0;
};

/// All of it outlives them.
struct StoredPromptsParts {
  const serving::ServingConfig& config;
  const serving::StorageConfig& storage;
  const RequestMemory& memory;
  const StorageNetwork& network;
  const RequestTable& requests;
  Loads& loads;
  StoredPromptsListener& listener;
};

/// `prompts`: those of a placement, which outlive this; null: whole blocks, or everything.
std::unique_ptr<StoredPrompts> make_stored_prompts(const StoredPromptsParts& parts, serving::PromptStore* prompts);

}  // namespace kvsim::pools
