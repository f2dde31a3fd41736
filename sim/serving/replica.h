// One replica: a tensor-parallel group of GPUs, its memory, its links to host memory, and the iteration loop. This is
// the mechanism; what is computed is the decode policy's and when is the schedule policy's decision.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "models/kernels/step_time.h"
#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/assembly.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_lengths.h"
#include "sim/serving/drafting.h"
#include "sim/serving/fetching.h"
#include "sim/serving/full_kv_source.h"
#include "sim/serving/kv_demand.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/layer_pipeline.h"
#include "sim/serving/measurements.h"
#include "sim/serving/profiling.h"
#include "sim/serving/prompt_store.h"
#include "sim/serving/request.h"
#include "sim/serving/request_log.h"
#include "sim/serving/roster.h"
#include "sim/serving/schedule_policy.h"
#include "sim/serving/steady_batch.h"
#include "sim/serving/step_parts.h"
#include "sim/transport/fabric.h"

namespace kvsim::serving {

/// What every replica of a cluster shares; all of it outlives the replicas.
struct ReplicaEnvironment {
  engine::Simulator& simulator;
  const ServingConfig& config;
  const DecodePolicy& decode;
  const KvGeometry& geometry;
  const models::StepTimer& timer;
  const models::AcceptanceModel& acceptance;
  Measurements& measured;
  transport::Fabric& fabric;
  engine::TraceSink* trace;
  engine::Callback on_finished;                           ///< word: the request's id; its last token is out
  engine::Callback on_released;                           ///< word: the request's id; nothing refers to it any more
  const std::vector<std::unique_ptr<Request>>& requests;  ///< by id
  machine::GpuGroup::Environment gpus;
  PromptStore* prompts = nullptr;  ///< where prompts are stored; null: nowhere
};

class Replica final : private machine::StepOwner, private AssemblyOwner {
 public:
  Replica(const ReplicaEnvironment& environment, int index, const SchedulePolicyEntry& schedule);

  /// Why this request could never run here, or an empty string.
  [[nodiscard]] std::string refusal(const Request& request) const;

  /// Takes over a request that has arrived now.
  void submit(Request& request);

  /// Tokens still to be prefilled or generated: what a router balances.
  [[nodiscard]] std::int64_t outstanding_tokens() const { return outstanding_tokens_; }

  /// Ends the warm-up: everything measured so far is forgotten.
  void start_measuring();
  /// Adds what was measured to the environment's measurements; the run ends now.
  void finish_measuring();

  /// Writes into requests what they have come to; between two calls it may lag behind.
  void update_requests();

  /// Conservation laws of memory. Throws InvariantViolation.
  void check_conservation() const;

  /// GPU memory for KV in the whole group, and who has it.
  [[nodiscard]] const KvHoldings& memory() const { return memory_; }
  [[nodiscard]] const machine::GpuGroup& gpus() const { return gpus_; }

  [[nodiscard]] const Roster& requests() const { return roster_; }

 private:
  struct StepEntry : StepPart {
    Request* request;
    std::uint64_t admission;  // tells a preempted and readmitted request from the one that was batched
  };

  void make_links(int index);

  // Iterations (replica_step.cpp).
  void begin_step() override;
  void end_step() override;
  void run_step();
  void run_layers();
  double draft_first();
  [[nodiscard]] bool offloads_lag() const;
  void plan_iteration();
  void mark_arriving();
  /// Time until the last layer of the step can have run, for the reloads that are still arriving.
  [[nodiscard]] engine::Duration reload_tail() const;
  void batch_decoding(models::StepWork& work);
  bool batch_steadily(models::StepWork& work);
  /// What becomes of a decoding request in a step that has room for so many more tokens.
  [[nodiscard]] StepPart part_of(const Request& r, Action action, std::int64_t budget) const;
  [[nodiscard]] std::int64_t proposals(const Request& r, std::int64_t budget) const;
  void note_proposals();
  void batch_prefill(models::StepWork& work);
  /// The next chunk of a prompt, of at most `budget` tokens; returns its tokens.
  std::int64_t batch_chunk(Request& r, std::int64_t budget, models::StepWork& work);
  void add(Request& r, const StepPart& part, models::StepWork& work);
  void apply_draft_results();
  void apply_steadily();
  void apply_prefill_results();
  void apply_verification(Request& r);
  void go_idle();
  [[nodiscard]] machine::Step step_of(engine::Duration computing) const;
  void note_fetch_wait();
  void trace_step();
  [[nodiscard]] ReplicaView view() const;

  // Admission, memory and transfers (replica_memory.cpp).
  void admit_waiting(std::int64_t budget, models::StepWork& work);
  /// Was it there when the coming iteration was decided?
  [[nodiscard]] bool seen(const Request& r) const;
  bool try_admit(Request& r);
  void choose_residency(Request& r);
  [[nodiscard]] bool has_memory_for(const Request& r) const;
  [[nodiscard]] bool needs_computing(const Request& r) const;
  void start_reloads();
  bool start_reload(Request& r, bool replaces_compressed);
  void on_first_load(std::uint64_t id);
  void on_reload(std::uint64_t id);
  void on_writeback(std::uint64_t id);
  void on_offloaded();
  void count_offloads();
  void write_back(Request& r, std::int64_t tokens);
  void become_ready(Request& r);
  void settle_after_prefill(Request& r);
  bool resize_held(Request& r, std::int64_t bytes);
  void secure_reload_room();
  void preempt(Request& r);
  void finish(Request& r);
  [[nodiscard]] std::int64_t largest_reload() const;
  [[nodiscard]] Request& request(std::uint64_t id) const override { return *env_.requests[id]; }

  // Prompts that were computed before (replica_requests.cpp).
  void load_prefix(Request& r);
  void begin_assembly(Request& r);
  void on_assembled(Request& r) override;
  void on_stale(Request& r) override { release_if_over(r); }
  void bring_at_once();
  void draft_first_token(Request& r);
  [[nodiscard]] bool has_work(const models::StepWork& work) const { return work.tokens() > 0 || assembly_.works(); }

  // Progress of requests (replica_requests.cpp).
  void emit_directly(Request& r);
  void apply_decoding(Request& r, std::int64_t proposed);
  std::int64_t accept_proposals(Request& r, std::int64_t proposed);
  static void note_unseen(Request& r, std::int64_t proposed, std::int64_t gained);
  [[nodiscard]] RoundEnd round_end(const Request& r) const;
  [[nodiscard]] OutputFidelity fidelity(const Request& r) const;
  void begin_round(Request& r);
  static void notify(engine::Callback callback, const Request& r);
  void release_if_over(const Request& r);
  void note_memory();

  ReplicaEnvironment env_;
  const ServingConfig& config_;
  const DecodePolicy& decode_;
  const KvGeometry& geometry_;
  KvDemand demand_;
  machine::GpuGroup gpus_;
  KvHoldings memory_;
  transport::Link* h2d_ = nullptr;  // from host memory; the fabric's
  transport::Link* d2h_ = nullptr;
  std::unique_ptr<LayerPipeline> layers_;  // of policies that fetch KV; uses the links
  StepParts parts_;
  Fetching fetching_;
  Drafting drafting_;
  std::unique_ptr<SchedulePolicy> schedule_;
  DraftLengths draft_lengths_;
  std::unique_ptr<FullKvSource> full_kv_;
  Profiling profiling_;
  Assembly assembly_;

  Roster roster_;
  SteadyBatch steady_;
  std::vector<Request*> joining_, over_;  // of one step; kept for their memory
  std::int64_t outstanding_tokens_ = 0;
  std::int64_t draft_limit_ = 0;

  std::vector<StepEntry> step_;
  IterationPlan plan_;
  models::StepWork work_;  ///< of the current iteration; kept for its memory
  models::StepTime step_time_;
  double step_drafting_s_ = 0;                         // of the step's computing, an auxiliary drafter's passes
  std::deque<std::vector<std::uint64_t>> offloading_;  // requests whose prompts' KV leaves, by step
  std::int64_t loading_bytes_ = 0;                     // of first loads, beside which fetches use the link
  bool decided_ahead_ = false;                         // the coming iteration was decided when the last one began
  std::int64_t finished_since_decided_ = 0;            // in the last iteration
  std::uint64_t known_requests_ = 0;  // those with smaller ids had arrived when the last iteration began

  RequestLog log_;
  std::int64_t weights_bytes_ = 0;
  bool admission_lacks_memory_ = false;
  bool reload_lacks_memory_ = false;
  engine::TimeWeighted memory_short_;  // 1 while either is so
  TierMeasurement host_tier_;
  int queue_counter_ = -1;
};

}  // namespace kvsim::serving
