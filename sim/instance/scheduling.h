// The schedule policy of a replica: what it sees, whom it is asked about in which iteration, and what it has decided.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/ordered_queue.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {

class Scheduling {
 public:
  /// When the policy is asked, and about whom.
  enum class Asked : std::uint8_t {
    in_every_step,  ///< about everybody
    when_due,       ///< when what it decided stands no longer
    by_time         ///< likewise; iterations pass with the time, whether there are steps or not
  };

  /// All of it outlives this. `decoding` and `tokens_per_draft`: ReplicaView's.
  Scheduling(const InstanceEnvironment& environment, const SchedulePolicyEntry& policy,
             const std::vector<Request*>& decoding, const machine::GpuGroup& gpus, const KvHoldings& memory,
             double tokens_per_draft, Asked asked);

  /// Before anything else: where full KV comes from, which outlives this.
  void plans_loads_of(const FullKvLoads& full_kv) { full_kv_ = &full_kv; }
  [[nodiscard]] bool loads_first_at_once() const { return loads_first_at_once_; }

  /// May the request enter now? See SchedulePolicy::admit.
  [[nodiscard]] bool admit(const Request& r, std::int64_t first_load_bytes);
  /// Something has happened to a decoding request: the policy is asked about it in the coming iteration.
  void ask(Request& r);
  /// Its reload, as wished for, has started.
  void reload_started(Request& r) {
    if (asked_while_kv_comes(r)) ask(r);
  }
  /// Its reload found no memory: so many bytes.
  void reload_found_no_memory(Request& r, std::int64_t bytes, bool wished_until_it_starts);
  /// A reload that was wished for waits for memory.
  [[nodiscard]] bool memory_awaited() const { return !awaiting_memory_.empty(); }
  /// Its KV has arrived.
  void kv_arrived(Request& r);
  /// It has drafted what its round asks for, or all that it may. False: what was decided stands.
  bool drafted(Request& r);
  /// It was verified, and begins its next round. False: it has to be pushed out (SchedulePolicy::verified).
  [[nodiscard]] bool verified(Request& r);
  /// It has finished or is pushed out.
  void removed(Request& r);

  // An iteration begins. Precondition: the decode policy verifies.
  /// Those whom the policy will be asked about, in order of admission. By time, nothing follows where there are none.
  std::span<Request* const> begin_iteration();
  /// Decides, and says who is late.
  const IterationPlan& plan();
  /// Those whom it was asked about.
  [[nodiscard]] std::span<Request* const> asked() const { return asked_; }
  /// What becomes of a decoding request.
  [[nodiscard]] Action action(const Request& r) const {
    return env_.decode.verifies ? r.scheduled.action_ : Action::draft;  // else everybody decodes
  }
  [[nodiscard]] std::int64_t stalled() const { return stalled_; }
  [[nodiscard]] std::int64_t stalled_late() const { return stalled_late_; }  ///< of stalled(), in rounds that are late

  /// Iterations after this one that begin before the policy is asked again, if nothing happens until then.
  [[nodiscard]] std::int64_t iterations_left();
  /// One of these begins.
  void pass() { pass(1); }
  /// By time, when they and this one have passed; nothing: as long as nothing happens.
  [[nodiscard]] std::optional<engine::SimTime> asks_at();
  /// Somebody is asked about in the next step, whenever that is.
  [[nodiscard]] bool asks_next() const { return all_ || !asking_.empty(); }

 private:
  [[nodiscard]] ReplicaView view() const;
  [[nodiscard]] std::int64_t passed();
  [[nodiscard]] engine::SimTime end_of(std::int64_t iterations) const;
  [[nodiscard]] bool anybody_due();
  void pass(std::int64_t iterations);
  void tell_passed();
  void decide(Request& r, const Decision& decision);
  void forget(Request& r);
  [[nodiscard]] bool asked_while_kv_comes(const Request& r) const {
    return kv_comes_by_layers_ && !r.scheduled.whatever_comes_ && r.round.reload == Reload::in_flight;
  }
  void count(const ScheduledPlace& place, std::int64_t sign);

  const InstanceEnvironment& env_;
  const std::vector<Request*>& decoding_;
  const machine::GpuGroup& gpus_;
  const KvHoldings& memory_;
  const FullKvLoads* full_kv_ = nullptr;
  double tokens_per_draft_;
  bool when_due_, by_time_, kv_comes_by_layers_, loads_first_at_once_;
  std::int64_t draft_limit_;
  std::unique_ptr<SchedulePolicy> policy_;
  bool together_;
  std::int64_t now_ = 0;     // iterations since the start
  std::int64_t untold_ = 0;  // of these, that the policy has not been told of
  // By time: the latest decision, how long an iteration took then, and what of one had passed before.
  engine::SimTime decided_;
  double iteration_s_, part_ = 0;
  engine::OrderedQueue<Request*> ends_;  // decisions, by the first iteration that they are not for
  std::vector<Request*> asking_;         // in the coming iteration
  struct AwaitingMemory {
    Request* request;
    std::int64_t bytes;
  };
  std::vector<AwaitingMemory> awaiting_memory_;                 // not to be asked about before
  bool all_ = false;                                            // all are asked about in the coming iteration
  std::int64_t drafting_ = 0, stalled_ = 0, stalled_late_ = 0;  // as decided
  std::vector<Request*> asked_;                                 // in this iteration
  IterationPlan plan_;                                          // kept for its memory
};

}  // namespace kvsim::serving
