// The schedule policy of an instance: what it sees, whom it is asked about in which iteration, and what it has decided.
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

/// IterationClock counts the iterations of a group of GPUs, the idle time in iterations of the usual length.
class IterationClock {
 public:
  /// Both outlive this. `by_time`: iterations pass with the time, whether there are steps or not.
  IterationClock(const engine::Simulator& simulator, const machine::GpuGroup& gpus, bool by_time)
      : simulator_(simulator), gpus_(gpus), by_time_(by_time), iteration_s_(gpus.iteration_s()) {}

  [[nodiscard]] bool by_time() const { return by_time_; }
  /// Iterations since the start.
  [[nodiscard]] std::int64_t now() const { return now_; }
  /// An iteration begins; what has passed since the latest one counts, too.
  void begin_iteration() { now_ += passed(); }
  /// An iteration begins in which nothing is decided.
  void pass() { now_ += 1; }
  /// By time, the end of so many iterations after the latest begin_iteration().
  [[nodiscard]] engine::SimTime end_of(std::int64_t iterations) const {
    return begun_ + engine::from_seconds((static_cast<double>(iterations) - part_) * iteration_s_);
  }

 private:
  /// Iterations since the latest one.
  [[nodiscard]] std::int64_t passed();

  const engine::Simulator& simulator_;
  const machine::GpuGroup& gpus_;
  bool by_time_;
  std::int64_t now_ = 0;
  // By time: the latest begin_iteration(), how long an iteration took then, and what of one had passed before.
  engine::SimTime begun_;
  double iteration_s_, part_ = 0;
};

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
  void plans_loads_of(const FullKvLoads& full_kv) { view_.full_kv = &full_kv; }
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
  /// It was verified, and begins its next round. False: it has to be preempted (SchedulePolicy::verified).
  [[nodiscard]] bool verified(Request& r);
  /// It has finished or is preempted.
  void removed(Request& r);

  // An iteration begins. Precondition: the decode policy verifies.
  /// Those whom the policy will be asked about, in order of admission. By time, nothing follows where there are none.
  std::span<Request* const> begin_iteration();
  /// Decides, and says who is late.
  const IterationPlan& plan();
  /// Those whom it was asked about.
  [[nodiscard]] std::span<Request* const> asked() const { return asked_; }
  /// Action of a decoding request.
  [[nodiscard]] Action action(const Request& r) const {
    return env_.decode.verifies ? r.scheduled.action_ : Action::draft;  // else everybody decodes
  }
  [[nodiscard]] std::int64_t stalled() const { return decided_.stalled; }
  /// Stalled requests whose rounds are late.
  [[nodiscard]] std::int64_t stalled_late() const { return decided_.stalled_late; }

  /// Iterations after this one that begin before the policy is asked again, if nothing happens until then.
  [[nodiscard]] std::int64_t iterations_left();
  /// One of these begins.
  void pass() { clock_.pass(); }
  /// By time, when they and this one have passed; nothing: as long as nothing happens.
  [[nodiscard]] std::optional<engine::SimTime> asks_at();
  /// Somebody is asked about in the next step, whenever that is.
  [[nodiscard]] bool asks_next() const { return all_ || !asking_.empty(); }

 private:
  /// Decided counts requests by what was decided about them.
  struct Decided {
    std::int64_t drafting = 0, stalled = 0, stalled_late = 0;

    void count(const ScheduledPlace& place, std::int64_t sign) {
      if (place.action_ == Action::draft) drafting += sign;
      if (place.action_ != Action::stall) return;
      stalled += sign;
      if (place.late_) stalled_late += sign;
    }
  };

  [[nodiscard]] ReplicaView view() const;
  [[nodiscard]] bool anybody_due();
  void tell_passed();
  void decide(Request& r, const Decision& decision);
  void forget(Request& r);
  [[nodiscard]] bool asked_while_kv_comes(const Request& r) const {
    return kv_comes_by_layers_ && !r.scheduled.whatever_comes_ && r.round.reload == Reload::in_flight;
  }

  const InstanceEnvironment& env_;
  const std::vector<Request*>& decoding_;
  const machine::GpuGroup& gpus_;
  const KvHoldings& memory_;
  ReplicaView view_;  // as far as it never changes
  IterationClock clock_;
  bool when_due_, kv_comes_by_layers_, loads_first_at_once_;
  std::unique_ptr<SchedulePolicy> policy_;
  bool together_;
  std::int64_t told_ = 0;                // iterations of the clock that the policy has been told of
  engine::OrderedQueue<Request*> ends_;  // decisions, by the first iteration that they are not for
  std::vector<Request*> asking_;         // in the coming iteration
  struct AwaitingMemory {
    Request* request;
    std::int64_t bytes;
  };
  std::vector<AwaitingMemory> awaiting_memory_;  // not to be asked about before
  bool all_ = false;                             // all are asked about in the coming iteration
  Decided decided_;
  std::vector<Request*> asked_;  // in this iteration
  IterationPlan plan_;           // kept for its memory
};

}  // namespace kvsim::serving
