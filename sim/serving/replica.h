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
#include "sim/memory/memory_pool.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_lengths.h"
#include "sim/serving/drafting.h"
#include "sim/serving/fetching.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/layer_pipeline.h"
#include "sim/serving/measurements.h"
#include "sim/serving/prompt_store.h"
#include "sim/serving/request.h"
#include "sim/serving/request_log.h"
#include "sim/serving/schedule_policy.h"
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
  PromptStore* prompts = nullptr;                         ///< where prompts are stored; null: nowhere
};

class Replica final : private machine::StepOwner {
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

  /// Conservation laws of memory. Throws InvariantViolation.
  void check_conservation() const;

  /// Bytes of GPU memory for KV in the whole group.
  [[nodiscard]] std::int64_t kv_capacity() const { return hbm_.capacity(); }
  /// Of it, reserved now.
  [[nodiscard]] std::int64_t kv_reserved() const { return hbm_.reserved(); }
  /// Of that, for full KV that streams in or lies there for a verification.
  [[nodiscard]] std::int64_t kv_streaming() const { return staged_total_; }

  [[nodiscard]] const machine::GpuGroup& gpus() const { return gpus_; }

  /// Requests admitted and not finished.
  [[nodiscard]] std::int64_t running() const {
    return static_cast<std::int64_t>(decoding_.size() + prefilling_.size() + loading_.size());
  }
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(queue_.size()); }

 private:
  struct StepEntry {
    Request* request;
    std::uint64_t admission;  // tells a preempted and readmitted request from the one that was batched
    Action action;
    std::int64_t tokens;    // prefill: tokens of this chunk; 0 for decoding
    std::int64_t proposed;  // by an auxiliary drafter
  };

  /// Contexts that are decoded again to profile them.
  struct Profiling {
    ProfilingWork work;
    std::int64_t prefilled = 0;
    std::int64_t chunk = 0;  // of the step under way; 0: it decodes
    std::int64_t steps_done = 0;
    std::int64_t held = 0;  // GPU memory
    std::uint64_t number = 0;
  };

  /// What of an assembly a step does.
  struct AssemblyEntry {
    Request* request;
    std::uint64_t admission;
    std::int64_t apart;   // tokens of chunks computed alone
    std::int64_t scored;  // tokens that the small model reads
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
  [[nodiscard]] std::int64_t step_tokens(const Request& r, Action action, std::int64_t proposed) const;
  [[nodiscard]] std::int64_t proposals(const Request& r, Action action, std::int64_t budget) const;
  void note_proposals();
  void batch_prefill(models::StepWork& work);
  /// GPU time of compressing a context that was just prefilled: at the compressor's own rate where it has one, else by
  /// the kernels it takes.
  [[nodiscard]] double compression_s(const Request& r) const;
  /// The next chunk of a prompt, of at most `budget` tokens; returns its tokens.
  std::int64_t batch_chunk(Request& r, std::int64_t budget, models::StepWork& work);
  void add_decode(const Request& r, Action action, std::int64_t proposed, models::StepWork& work);
  void apply_draft_results();
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
  [[nodiscard]] std::int64_t loadable_tokens(const Request& r) const;
  [[nodiscard]] std::int64_t admission_reservation(const Request& r) const;
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
  void set_staged(Request& r, std::int64_t bytes);
  void release_staged(Request& r);
  void become_ready(Request& r);
  void settle_after_prefill(Request& r);
  bool resize_held(Request& r, std::int64_t bytes);
  bool make_room(Request& r, std::int64_t bytes);
  void secure_reload_room();
  void preempt(Request& r);
  void remove_from_lists(Request& r);
  void finish(Request& r);
  /// Its full KV is in host memory.
  [[nodiscard]] bool offloads(const Request& r) const {
    return decode_.offloads() && !r.resident && !drafts_as_loaded_;
  }
  /// GPU memory holds less than its full KV while it decodes, by the policy's own compression.
  [[nodiscard]] bool holds_part(const Request& r) const {
    return decode_.holds_part() && !r.resident && !drafts_as_loaded_;
  }
  /// Each of its steps gives final tokens.
  [[nodiscard]] bool decodes_directly(const Request& r) const { return !decode_.verifies || r.direct; }
  [[nodiscard]] std::int64_t decoding_reservation(const Request& r) const;
  /// Tokens beyond the context that a step or a round may bring.
  [[nodiscard]] std::int64_t draft_room() const;
  [[nodiscard]] bool can_stay_resident(const Request& r) const;
  [[nodiscard]] std::int64_t largest_reload() const;
  [[nodiscard]] std::int64_t reload_reservation(const Request& r) const;
  [[nodiscard]] std::int64_t host_reservation(const Request& r) const;
  [[nodiscard]] Request& request(std::uint64_t id) const { return *env_.requests[id]; }

  // Prompts that were computed before (replica_prompts.cpp).
  void load_prefix(Request& r);
  void on_stale_load(Request& r);
  void profile_if_asked(const Request& r);
  void batch_profiling(models::StepWork& work);
  void apply_profiling();

  // Prompts put together from chunks (replica.cpp).
  void begin_assembly(Request& r);
  void abandon_assembly(Request& r);
  void on_selected(std::uint64_t id);
  void batch_assembly(models::StepWork& work);
  std::int64_t batch_apart(Request& r, std::int64_t budget, models::StepWork& work);
  void apply_assembly();
  bool rows_can_begin(Request& r);
  void batch_rows(Request& r, std::int64_t rows, bool last, models::StepWork& work);
  void note_assembly(const Request& r);
  void enter_prefilling(Request& r);
  [[nodiscard]] bool has_work(const models::StepWork& work) const {
    return work.tokens() > 0 || !assembly_step_.empty();
  }

  // Drafts on prompts as they were loaded or put together, verified against whole ones (replica_prompts.cpp).
  void choose_drafts(Request& r);
  void bring_whole(Request& r);
  void begin_bringing();
  [[nodiscard]] bool keeps_what_came(const Request& r) const;
  void keep_what_came(Request& r);
  void batch_recomputing(models::StepWork& work, std::int64_t& budget);
  void apply_recomputing();
  void draft_first_token(Request& r);
  void on_whole_prompt(Request& r);

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
  machine::GpuGroup gpus_;
  memory::MemoryPool hbm_;
  memory::MemoryPool host_;
  transport::Link* h2d_ = nullptr;  // from host memory; the fabric's
  transport::Link* d2h_ = nullptr;
  std::unique_ptr<LayerPipeline> layers_;  // of policies that fetch KV; uses the links
  Fetching fetching_;
  Drafting drafting_;
  std::unique_ptr<SchedulePolicy> schedule_;
  DraftLengths draft_lengths_;

  std::deque<Request*> queue_;
  std::vector<Request*> decoding_;    // in order of admission
  std::vector<Request*> prefilling_;  // in order of admission
  std::vector<Request*> loading_;
  std::uint64_t next_admission_ = 1;
  std::int64_t resident_count_ = 0;
  std::int64_t offloaded_count_ = 0;
  std::int64_t held_total_ = 0;    // of hbm_, other than staged
  std::int64_t staged_total_ = 0;  // of hbm_, for reloads
  std::int64_t outstanding_tokens_ = 0;
  std::int64_t draft_limit_ = 0;
  WholeKv whole_ = WholeKv::host_memory;
  bool drafts_as_loaded_ = false;

  std::vector<StepEntry> step_;
  std::vector<AssemblyEntry> assembly_step_;
  std::vector<StepEntry> recompute_step_;
  std::vector<models::PrefillChunk> scoring_;  // of the current iteration; kept for its memory
  double step_scoring_s_ = 0;
  IterationPlan plan_;
  models::StepWork work_;  ///< of the current iteration; kept for its memory
  models::StepTime step_time_;
  double step_drafting_s_ = 0;                         // of the step's computing, an auxiliary drafter's passes
  std::deque<std::vector<std::uint64_t>> offloading_;  // requests whose prompts' KV leaves, by step
  std::int64_t loading_bytes_ = 0;                     // of first loads, beside which fetches use the link
  std::vector<Profiling> profiling_;
  std::int64_t profiling_held_ = 0;          // of hbm_
  bool decided_ahead_ = false;               // the coming iteration was decided when the last one began
  std::int64_t finished_since_decided_ = 0;  // in the last iteration
  std::uint64_t known_requests_ = 0;         // those with smaller ids had arrived when the last iteration began

  RequestLog log_;
  std::int64_t weights_bytes_ = 0;
  engine::TimeWeighted streaming_;
  bool admission_lacks_memory_ = false;
  bool reload_lacks_memory_ = false;
  engine::TimeWeighted memory_short_;  // 1 while either is so
  TierMeasurement host_tier_;
  int queue_counter_ = -1;
};

}  // namespace kvsim::serving
