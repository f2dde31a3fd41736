// Which waiting requests enter an instance, and what GPU memory they get. Nothing enters GPU memory that was not
// reserved first: what does not fit waits.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/instance/reloads.h"
#include "sim/instance/request_queues.h"
#include "sim/instance/scheduling.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/kv_demand.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/measurements.h"

namespace kvsim::serving {

struct Admitted {
  Request& request;
  std::int64_t load_bytes;     ///< that come from host memory first
  std::int64_t cached_tokens;  ///< whose KV is there already
};

class Admission {
 public:
  /// All of it outlives this. Not `own`: requests have their memory when they come, and only wait for their turn.
  Admission(const InstanceEnvironment& environment, const KvDemand& demand, KvHoldings& memory, RequestQueues& queues,
            const Reloads& reloads, Scheduling& scheduling, bool own)
      : env_(environment),
        demand_(demand),
        memory_(memory),
        queues_(queues),
        reloads_(reloads),
        scheduling_(scheduling),
        own_(own) {}

  /// The next request to enter the step that begins, in order of arrival, with so many of the step's tokens left: a
  /// request whose prompt is computed here enters with its first chunk. It has its memory, and a place once it was
  /// moved somewhere. Nothing if nobody can enter (any more).
  [[nodiscard]] std::optional<Admitted> next(std::int64_t budget);
  /// Whether a request that comes and has its memory enters at once: no rule of the engine makes it wait for a step.
  [[nodiscard]] bool at_once() const {
    const ScheduleConfig& s = env_.config.schedule;
    return !s.asynchronous && s.receive_interval == 1 && s.batch_wait.iterations == 0 && !s.blocking_loads;
  }
  /// Whatever else keeps the next one waiting, a limit on requests for instance: it would not fit.
  [[nodiscard]] bool lacks_memory() const { return lacks_memory_; }
  /// After next() gave nothing, as long as memory does not fall free and nothing happens to this group: nobody can
  /// enter.
  [[nodiscard]] bool waits_for_event() const {
    const ScheduleConfig& s = env_.config.schedule;
    return !queues_.anybody_waits() ||
           !(s.asynchronous || s.receive_interval > 1 || held_ > 0 || env_.prompts.stores() || put_off_);
  }
  /// Then another iteration begins: as memory is taken, does the next one still fit?
  void next_of_fast_forward() {
    known_requests_ = env_.requests.arrived();
    unseen_for_ = (unseen_for_ + 1) % env_.config.schedule.receive_interval;
    if (own_ && queues_.anybody_waits()) lacks_memory_ = !has_memory_for(queues_.next());
  }
  /// An iteration is put together, after one that computed prompts, or not.
  void begin_step(bool prompts_before);

  // Where iterations are decided one ahead, what happened in the last one was not known.
  /// The last step has ended: the coming one was decided when it began.
  void decided_ahead() { decided_ahead_ = env_.config.schedule.asynchronous; }
  /// There was nothing to decide ahead: it is decided now. False where it was anyway.
  [[nodiscard]] bool decide_now();
  /// The step begins, or there is nothing to do.
  void step_begun();
  /// A request has finished.
  void finished() { finished_since_decided_ += 1; }

  /// Ends the warm-up.
  void start_measuring() { host_tier_ = {}; }
  /// Adds what was measured since then.
  void finish_measuring() const;

 private:
  [[nodiscard]] std::optional<Admitted> try_next(std::int64_t budget);
  [[nodiscard]] std::optional<Admitted> next_with_memory(std::int64_t budget);
  /// The engine knows of it.
  [[nodiscard]] bool seen(const Request& r) const { return r.id < received_; }
  /// Nothing else keeps the next one waiting: is it held back, all the same, for more to come with it?
  [[nodiscard]] bool held_back();
  void choose_residency(Request& r) const;
  /// Room that memory has to have before the request enters.
  struct Need {
    const Request* of = nullptr;
    std::uint64_t changes = 0;    // of the queues
    std::uint64_t stored = 0;     // changes of the prompt store
    std::uint64_t evictions = 0;  // of blocks that requests share
    std::int64_t admission = 0;   // beside what is reserved
    std::int64_t held = 0;        // beside what requests hold, with the largest reload
    std::int64_t reload = 0;      // its own
  };
  /// Whether the latest need is still that of the next request. A need changes with what is stored of its request, and
  /// when a request comes or goes.
  [[nodiscard]] bool knows_need_of(const Request& r) const {
    const bool blocks_come = env_.config.schedule.prefix_caching && !queues_.prefilling().empty();
    return need_.of == &r && need_.changes == queues_.changes() && need_.stored == env_.prompts.changes() &&
           need_.evictions == memory_.gpu().blocks().evictions() && !blocks_come;
  }
  [[nodiscard]] bool has_memory_for(const Request& r);
  [[nodiscard]] bool has_needed_memory() const;
  [[nodiscard]] bool needs_computing(const Request& r) const;

  const InstanceEnvironment& env_;
  const KvDemand& demand_;
  KvHoldings& memory_;
  RequestQueues& queues_;
  const Reloads& reloads_;
  Scheduling& scheduling_;
  bool own_;
  bool decided_ahead_ = false;               // the coming iteration was decided when the last one began
  std::int64_t finished_since_decided_ = 0;  // in the last iteration
  std::uint64_t known_requests_ = 0;         // those with smaller ids had arrived when the last iteration began
  std::int64_t unseen_for_ = 0;              // iterations since it was looked at new requests
  std::uint64_t received_ = 0;               // those with smaller ids are known
  std::int64_t held_ = 0;                    // iterations that the next one has been held back
  bool released_ = false;                    // in this iteration
  Need need_;
  bool lacks_memory_ = false;
  bool looked_ = false;        // whether the next one fits, as it was last tried
  bool put_off_ = false;       // by the schedule, whose belief changes with every iteration
  TierMeasurement host_tier_;  // of no meaning with a prompt store
};

}  // namespace kvsim::serving
