// An instance: one engine with its group of GPUs, its memory, its link to where more KV is kept, and the step loop. It
// is the same wherever it stands. The decode policy decides what is computed, the schedule policy when, and the route
// where a request goes afterwards. Stages of a request's life with state of their own are parts of an instance:
// admission, transfers, assemblies, rounds, reloads.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/machine/gpu_group.h"
#include "sim/serving/admission.h"
#include "sim/serving/assembly.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/interference.h"
#include "sim/serving/kv_demand.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/kv_transfers.h"
#include "sim/serving/profiling.h"
#include "sim/serving/reloads.h"
#include "sim/serving/request.h"
#include "sim/serving/request_log.h"
#include "sim/serving/roster.h"
#include "sim/serving/rounds.h"
#include "sim/serving/route.h"
#include "sim/serving/scheduling.h"
#include "sim/serving/steady_rounds.h"
#include "sim/serving/step_loop.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

/// An instance among others of a system.
struct InstanceSpec {
  std::string name;
  std::int64_t host_bytes = 0;  ///< memory beside the GPUs, of its own
  bool grows = true;            ///< requests take memory token by token; else all that they will need when they enter
  /// Where KV beyond its GPUs is; none: behind host links of its own.
  std::optional<KvLink> link{};
  /// Where requests go on, and who gives them their memory; null: they are served here from their prompt to their last
  /// token.
  Route* route = nullptr;
};

/// What an instance has computed since measuring began.
struct ComputedWork {
  std::uint64_t iterations = 0;
  std::int64_t decode_tokens = 0;  ///< of ordinary decoding
  std::int64_t draft_tokens = 0;
  std::uint64_t verifications = 0;
  std::int64_t verified_tokens = 0;  ///< query positions of verifications
  std::int64_t prefill_tokens = 0;
};

class Instance final : private StepLoopOwner,
                       private AssemblyOwner,
                       private LoadOwner,
                       private OffloadOwner,
                       private Route {
 public:
  Instance(const InstanceEnvironment& environment, const InstanceSpec& spec, const SchedulePolicyEntry& schedule);

  /// Why this request could never run here, or an empty string.
  [[nodiscard]] std::string refusal(const Request& request) const;
  /// Takes over a request that has arrived now. With a route of its own it has its memory, and Route::on_entered()
  /// follows.
  void submit(Request& request);

  // For a route.
  /// The request's prompt is computed, or it decodes or drafts (Request::direct), from the next step on.
  void begin(Request& r, Phase phase);
  /// It takes part in no further step.
  void stop(Request& r);
  /// One of the other kinds of work, once, after what was queued before.
  void once(Request& r, Work work);
  /// Its verification, likewise, while the last of its full KV is on its way: arrived() follows, and the step ends when
  /// the last layer, which needs that, can have run.
  void verify_as_it_arrives(Request& r);
  void arrived(const Request& r) { loop_.arrived(r); }
  /// Something has changed that the next step may depend on.
  void wake() {
    if (!composing_) loop_.gpus().wake();
  }
  /// Hears when a step is to be decided, which may be given work by once().
  void before_steps(engine::Callback tell) { before_steps_ = tell; }
  /// Of steps that nothing else changes, too.
  void set_every_step(bool every) { every_step_ = every; }
  /// Whether requests that come enter at once (Admission).
  [[nodiscard]] bool admits_at_once() const { return admission_.at_once(); }
  /// So many more loads are under way for requests that entered.
  void await_loads(std::int64_t change);

  /// Tokens still to be prefilled or generated: what a router balances.
  [[nodiscard]] std::int64_t outstanding_tokens() const { return outstanding_tokens_; }
  /// Ends the warm-up: everything measured so far is forgotten.
  void start_measuring();
  /// Adds what was measured to the environment's measurements; the run ends now.
  void finish_measuring();
  [[nodiscard]] const ComputedWork& computed() const { return computed_; }
  /// Writes into requests what they have come to; between two calls it may lag behind.
  void update_requests();
  void update(Request& r) { loop_.steady().update(r); }
  /// Conservation laws of memory. Throws InvariantViolation.
  void check_conservation() const;

  /// GPU memory for KV in the whole group, and who has it.
  [[nodiscard]] KvHoldings& memory() { return memory_; }
  [[nodiscard]] const KvHoldings& memory() const { return memory_; }
  [[nodiscard]] machine::GpuGroup& gpus() { return loop_.gpus(); }
  [[nodiscard]] const machine::GpuGroup& gpus() const { return loop_.gpus(); }
  [[nodiscard]] const Roster& requests() const { return roster_; }
  /// Between its GPUs and where more KV is, where that is not planned (KvLink).
  [[nodiscard]] const transport::GroupLanes& lanes() const { return link_.lanes; }

 private:
  // Iterations (instance_step.cpp).
  bool decide() override;
  [[nodiscard]] std::span<Request* const> decoding() const override { return roster_.decoding(); }
  bool compose() override;
  [[nodiscard]] bool only_steady() const override;
  void start(machine::Step step) override;
  void idle(bool lags) override;
  void on_step_ended() override;
  void apply() override;
  bool loads_first();
  void admit_before_step();
  void batch_decoding();
  [[nodiscard]] bool decodes_steadily() const { return !schedules_ && loop_.steady().possible(Work::decode); }
  bool batch_steadily();
  void join_steady(Request& r);
  void batch_once();
  /// What becomes of a decoding request in a step that has room for so many more tokens.
  [[nodiscard]] StepPart part_of(const Request& r, Action action, std::int64_t budget) const;
  void batch_prefill();
  /// The next chunk of a prompt, of at most `budget` tokens; returns its tokens.
  std::int64_t batch_chunk(Request& r, std::int64_t budget);
  [[nodiscard]] std::int64_t longest_chunk() const;
  [[nodiscard]] bool has_work() const {
    return loop_.pass().work.tokens() > 0 || !loop_.pass().entries.empty() || assembly_.works();
  }
  void apply_step_of_decoding();
  void apply_decoding();
  void apply_steadily();
  void apply_alone(const StepEntry& entry);
  void count_for_nobody(const StepEntry& entry);
  void end(Request& r);
  void apply_once();
  void on_steady_step_ended() override;
  void on_steady_step_begins() override;
  void apply_decoded(Request& r, std::int64_t proposed);
  void apply_verification(Request& r);
  void apply_prefill();

  // What becomes of a request that is served here whole (instance.cpp).
  void enter(const Admitted& admitted);
  void on_loaded(Request& r) override;
  void on_assembled(Request& r) override;
  void on_settled(Request& r) override;
  void on_left(std::uint64_t id);
  void on_entered(Instance&, Request&) override {}
  [[nodiscard]] std::int64_t compressed(const Request& r) const override;
  void on_prefilled(Instance&, Request& r) override;
  void on_offloaded(Instance&, Request& r) override { offloading_.offloaded(r.id); }
  void on_drafted(Instance&, Request&) override {}  // the schedule decides what follows
  void on_done(Instance&, Request& r, Work work) override;
  void on_preempted(Instance&, Request&) override {}
  void on_finished(Instance&, Request& r) override;
  void become_ready(Request& r);
  void emit_directly(Request& r);
  /// The request's memory grows with its tokens.
  [[nodiscard]] bool grows(const Request& r) const { return own_ || (grows_ && (!env_.decode.verifies || r.resident)); }
  bool grow_held(Request& r);
  [[nodiscard]] Request& newest() const;
  bool resize_held(Request& r, std::int64_t bytes);
  void secure_reload_room();
  void preempt(Request& r);

  InstanceEnvironment env_;
  Route& route_;
  bool own_;        // requests are served here from their prompt to their last token
  bool grows_;      // InstanceSpec's
  bool schedules_;  // who drafts and verifies when is the schedule policy's decision
  KvDemand demand_;
  Roster roster_;
  StepLoop loop_;
  KvHoldings memory_;
  KvLink link_;
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
  std::deque<StepEntry> once_;
  engine::Callback before_steps_;
  ComputedWork computed_;
  std::vector<Request*> over_;  // with one step; kept for its memory
  std::int64_t outstanding_tokens_ = 0;
  std::int64_t coming_ = 0;  // await_loads()
  bool every_step_ = false;
  bool composing_ = false;  // a route is asked while a step is being put together, which needs no waking
  bool entered_ = false;    // who enters with the coming step has, which waits for what is loaded of them
};

}  // namespace kvsim::serving
