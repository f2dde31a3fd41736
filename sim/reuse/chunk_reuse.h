// Prompt store of replicas, for prompts made of chunks: a cache of chunks in tiers, and how what it finds is
// put together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/cache/prompt_cache.h"
#include "sim/engine/server_pool.h"
#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"
#include "sim/reuse/prompt_assembly.h"
#include "sim/reuse/reuse_times.h"
#include "sim/serving/prompt_store.h"
#include "sim/serving/simulation.h"

namespace kvsim::reuse {

// GPUs of a small model's own: prompts are scored one after the other on each, then tokens are chosen on a CPU.

class Scorers {
 public:
  /// `gpus` >= 1 for each replica. `simulator` outlives this.
  Scorers(engine::Simulator& simulator, std::size_t replicas, std::size_t gpus);

  /// `done` runs `align` after a GPU of the replica has worked `score` on it; never within the call.
  void submit(std::size_t replica, engine::Duration score, engine::Duration align, engine::Callback done);

  /// GPU seconds of what was begun, over all replicas.
  [[nodiscard]] double work_s() const;

 private:
  struct Job {
    engine::Duration align;
    engine::Callback done;
  };
  void on_scored(std::uint64_t job);

  engine::Simulator& simulator_;
  std::vector<std::unique_ptr<engine::ServerPool>> pools_;
  engine::SlotTable<Job> jobs_;
};

class ChunkReuse final : public serving::PromptStore {
 public:
  /// All of it outlives this; `future` may be null where the placement does not need it. Throws schema::InputError for
  /// a file of importances that cannot be read.
  ChunkReuse(const serving::RunEnvironment& environment, const cache::FutureUses* future);

  [[nodiscard]] bool stores() const override { return true; }
  void connect(std::vector<transport::GroupLanes> replicas) override;
  [[nodiscard]] std::string refusal(const serving::Request& r, const models::RequestSpec& spec,
                                    std::int64_t kv_bytes) const override;
  void arrived(const serving::Request& r, const models::RequestSpec& spec, std::size_t replica) override;
  [[nodiscard]] serving::StoredPrefix find(const serving::Request& r) const override;
  [[nodiscard]] std::uint64_t changes() const override { return chunks_.changes(); }
  [[nodiscard]] std::unique_ptr<serving::PromptAssembly> assembly(const serving::Request& r) const override;
  void load(const serving::Request& r, engine::Callback on_complete) override { chunks_.load(r, on_complete); }
  void select_elsewhere(const serving::Request& r, engine::Callback on_selected) override;
  [[nodiscard]] double scoring_s(std::span<const models::PrefillChunk> chunks) const override {
    return times_.scoring_s(chunks);
  }
  void computed(const serving::Request& r) override { chunks_.computed(r); }
  void preempted(const serving::Request& r) override { chunks_.preempted(r); }
  std::optional<serving::ProfilingWork> finished(const serving::Request& r) override;
  std::uint64_t profiling(const serving::Request& r) override { return chunks_.profiling(r); }
  void profiled(std::uint64_t number) override { chunks_.profiled(number); }
  [[nodiscard]] std::vector<std::string> fallbacks() const override;
  void add_to(serving::LoadSample& sample) const override { chunks_.add_to(sample); }
  void start_measuring() override;
  void finish_measuring(serving::Measurements& measured) override;
  void check_conservation() override { chunks_.check_conservation(); }

 private:
  struct Prompt {
    std::size_t replica = 0;
    std::int64_t chunks = 0;
    std::int64_t chunk_tokens = 0;
    ChunkRows rows;
    double first_layer_s = 0;
  };

  [[nodiscard]] ChunkPrompt described(const serving::Request& r, const Prompt& prompt) const;

  const serving::ServingConfig& config_;
  const models::ReuseSpec& spec_;
  cache::PromptCache chunks_;
  ReuseTimes times_;
  ChunkRowCounter rows_;
  std::optional<Scorers> scorers_;
  std::unordered_map<std::uint64_t, Prompt> prompts_;  // by request
  double scorers_before_s_ = 0;
};

}  // namespace kvsim::reuse
