// Prompts in tiers: what replicas ask of a prompt store, answered by a tiered store. It knows which objects a request's
// prompt consists of, how many tokens and how much quality stored copies bring, and when a context must be profiled
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/kernels/step_time.h"
#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/workload/request_source.h"
#include "models/workload/shared_chunks.h"
#include "sim/cache/context_quality.h"
#include "sim/cache/store/tiered_store.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/prompt_store.h"
#include "sim/transport/fabric.h"

namespace kvsim::cache {

// When each object is used next, for the policy that knows the future (Belady).

class FutureUses {
 public:
  /// Adds the next request of the workload, in order of arrival. `keys`: what it uses.
  void add(std::uint64_t request, const std::vector<std::uint64_t>& keys);

  /// The first request after `request` that uses the object; UINT64_MAX: none.
  [[nodiscard]] std::uint64_t next(std::uint64_t key, std::uint64_t request) const;

 private:
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> uses_;  ///< requests by key, ascending
};

// Stored objects that a prompt is made of: the context it shares, or a chain of blocks, or chunks of their own.

struct PromptPart {
  std::uint64_t key = 0;
  std::int64_t tokens = 0;
};

/// In order, the first `tokens` of them each begin where the one before ends. Nothing for a prompt that shares nothing.
/// `block_tokens`: of RequestSpec::prefix_blocks.
std::vector<PromptPart> prompt_parts(const models::RequestSpec& spec, models::Granularity granularity,
                                     std::int64_t block_tokens);

/// Cost of computing a prompt alone, in chunks of a full iteration. It is exact at 8 and at 32 of them (or at the
/// model's longest context).
models::PrefillCost prefill_cost(const serving::ServingConfig& config, const serving::KvGeometry& geometry,
                                 const models::StepTimer& timer);

/// Decoding with what is stored compressed is verified against copies that are kept whole.
bool verifies_stored(const serving::ServingConfig& config);

/// The tiers of a configuration with placement, from the top down.
std::vector<StoreTier> tiers_of(const serving::ServingConfig& config);

/// These with what else the store is made of, without the lanes to them.
StoreConfig store_config(const serving::ServingConfig& config);

class PromptCache : public serving::PromptStore {
 public:
  /// All of it outlives the cache; `future` may be null where the policy does not need it. `block_tokens`: of
  /// RequestSpec::prefix_blocks.
  PromptCache(engine::Simulator& simulator, transport::Fabric& fabric, const serving::ServingConfig& config,
              std::int64_t block_tokens, const FutureUses* future);

  /// Before the first request: so many chunks (granularity chunks), numbered by popularity, are stored as far as there
  /// is room.
  void preload(const models::SharedChunkSpec& chunks);

  [[nodiscard]] bool stores() const override { return true; }
  void connect(std::vector<transport::GroupLanes> replicas) override;
  [[nodiscard]] std::string refusal(const serving::Request& r, const models::RequestSpec& spec,
                                    std::int64_t kv_bytes) const override;
  void arrived(const serving::Request& r, const models::RequestSpec& spec, std::size_t replica) override;
  void refused(const serving::Request& r) override { prompts_.erase(r.id); }
  /// Precondition: all tiers are shared.
  void assigned(const serving::Request& r, std::size_t replica) override { prompts_.at(r.id).replica = replica; }
  [[nodiscard]] serving::StoredPrefix find(const serving::Request& r) const override;
  [[nodiscard]] std::uint64_t changes() const override { return store_->changes(); }
  /// Whether what find() returns holds the prompt's first tokens.
  [[nodiscard]] bool has_first(const serving::Request& r) const;
  void load(const serving::Request& r, engine::Callback on_complete) override;
  void load_missing(const serving::Request& r, engine::Callback on_complete) override;
  [[nodiscard]] double load_s(const serving::Request& r) const override;
  [[nodiscard]] double load_missing_s(const serving::Request& r) const override;
  void computed(const serving::Request& r) override;
  void preempted(const serving::Request& r) override { store_->withdraw(r.id); }
  std::optional<serving::ProfilingWork> finished(const serving::Request& r) override;
  std::uint64_t profiling(const serving::Request& r) override;
  void profiled(std::uint64_t number) override;
  void add_to(serving::LoadSample& sample) const override {
    sample.scored += scored_;
    sample.quality += quality_sum_;
  }
  void start_measuring() override;
  void finish_measuring(serving::Measurements& measured) override;
  void check_conservation() override { store_->check_conservation(); }

 private:
  struct Part {
    PromptPart part;
    ObjectId own = kNoObject;  // in the tiers of its replica
  };
  struct FoundPart {
    std::size_t part = 0;  // of the prompt's
    Found copy;
  };
  /// A request's prompt, from its arrival to its end.
  struct Prompt {
    std::size_t replica = 0;
    std::uint64_t request = 0;  // in the workload
    std::vector<Part> parts;
    std::vector<FoundPart> loaded;  // at the latest admission
    double believed = 1;            // of the quality of what was loaded: of contexts
    bool counted = false;
  };

  struct Profiled {
    std::uint64_t context = 0;
    std::size_t replica = 0;
    ObjectId object = kNoObject;
  };
  /// Lookups counts parts of prompts that were looked up, each once, and those that were found.
  struct Lookups {
    std::uint64_t parts = 0;
    std::vector<std::uint64_t> hits;  // by level
  };

  models::CurveIndex curve_of(std::uint64_t key);
  [[nodiscard]] std::vector<FoundPart> found(const Prompt& prompt) const;
  [[nodiscard]] std::vector<TieredStore::Missing> missing(const Prompt& prompt) const;
  void count(const serving::Request& r, const Prompt& prompt);
  void measure_tiers(serving::Measurements& measured) const;

  engine::Simulator& simulator_;
  const serving::ServingConfig& config_;
  const models::PlacementSpec& spec_;
  models::Granularity granularity_;
  bool verified_;  // decoding with what is stored is verified against whole copies
  std::int64_t block_tokens_ = 0;
  const FutureUses* future_;
  serving::KvGeometry geometry_;
  models::OptionPool pool_;
  mutable ContextQuality quality_;  // looking at it lets it drift to now
  std::uint64_t request_now_ = 0;   // in the workload: whose turn it is
  transport::Fabric& fabric_;
  std::optional<TieredStore> store_;                           // once it is connected
  std::unordered_map<std::uint64_t, Prompt> prompts_;          // by request
  Profiled to_profile_;                                        // what finished() asked for last
  std::unordered_map<models::CurveIndex, Profiled> profiles_;  // under way
  serving::PlacementMeasurement measured_;
  std::uint64_t scored_ = 0;  // since the start of the run
  double quality_sum_ = 0;
  Lookups lookups_;
};

}  // namespace kvsim::cache
