// One replica: a tensor-parallel group of GPUs, its memory, its links to host memory, and the iteration loop. This is
// the mechanism; what is computed is the decode policy's and when is the schedule policy's decision. Stages of a
// request's life with state of their own are parts of it: admission, transfers, assemblies, rounds, reloads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/machine/gpu_group.h"
#include "sim/serving/admission.h"
#include "sim/serving/assembly.h"
#include "sim/serving/interference.h"
#include "sim/serving/kv_demand.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/kv_transfers.h"
#include "sim/serving/profiling.h"
#include "sim/serving/reloads.h"
#include "sim/serving/replica_environment.h"
#include "sim/serving/request.h"
#include "sim/serving/request_log.h"
#include "sim/serving/roster.h"
#include "sim/serving/rounds.h"
#include "sim/serving/scheduling.h"
#include "sim/serving/steady_rounds.h"
#include "sim/serving/step_loop.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

class Replica final : private StepLoopOwner, private AssemblyOwner, private LoadOwner, private OffloadOwner {
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
  [[nodiscard]] const machine::GpuGroup& gpus() const { return loop_.gpus(); }

  [[nodiscard]] const Roster& requests() const { return roster_; }
  /// Between its GPUs and host memory, where they are not planned (KvLink).
  [[nodiscard]] const transport::GroupLanes& host_lanes() const { return host_link_.lanes; }

 private:
  // Iterations (replica_step.cpp).
  bool decide() override;
  [[nodiscard]] std::span<Request* const> decoding() const override { return roster_.decoding(); }
  bool compose() override;
  [[nodiscard]] bool only_steady() const override;
  void start(machine::Step step) override;
  void idle(bool lags) override;
  void on_step_ended() override { use_.note(); }
  void apply() override;
  bool loads_first();
  void admit_before_step();
  void batch_decoding();
  [[nodiscard]] bool decodes_steadily() const { return !env_.decode.verifies && loop_.steady().possible(Work::decode); }
  bool batch_steadily();
  /// What becomes of a decoding request in a step that has room for so many more tokens.
  [[nodiscard]] StepPart part_of(const Request& r, Action action, std::int64_t budget) const;
  void batch_prefill();
  /// The next chunk of a prompt, of at most `budget` tokens; returns its tokens.
  std::int64_t batch_chunk(Request& r, std::int64_t budget);
  [[nodiscard]] std::int64_t longest_chunk() const;
  [[nodiscard]] bool has_work() const { return loop_.pass().work.tokens() > 0 || assembly_.works(); }
  void apply_step_of_decoding();
  void apply_decoding();
  void apply_steadily();
  void on_steady_step_ended() override;
  void on_steady_step_begins() override;
  void apply_decoded(Request& r, std::int64_t proposed);
  void apply_verification(Request& r);
  void apply_prefill();

  // What becomes of a request (replica.cpp).
  void enter(const Admitted& admitted);
  void on_loaded(Request& r) override;
  void on_assembled(Request& r) override;
  void on_settled(Request& r) override;
  void become_ready(Request& r);
  void emit_directly(Request& r);
  bool resize_held(Request& r, std::int64_t bytes);
  void secure_reload_room();
  void preempt(Request& r);
  void finish(Request& r);

  ReplicaEnvironment env_;
  KvDemand demand_;
  Roster roster_;
  StepLoop loop_;
  KvHoldings memory_;
  KvLink host_link_;
  Interference interference_;
  MemoryUse use_;
  RequestLog log_;
  FirstLoads loads_;
  Offloading offloading_;
  Scheduling scheduling_;
  Reloads reloads_;
  Rounds rounds_;
  SteadyRounds steady_rounds_;
  Admission admission_;
  Profiling profiling_;
  Assembly assembly_;
  std::vector<Request*> over_;  // with one step; kept for its memory
  std::int64_t outstanding_tokens_ = 0;
  bool entered_ = false;  // who enters with the coming step has, which waits for what is loaded of them
};

}  // namespace kvsim::serving
