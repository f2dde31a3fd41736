// A tensor-parallel group of GPUs that computes step after step: its clock, where its time goes, what of its memory is
// in use, and its rows of a timeline. What is computed in a step, and how long that takes, is its owner's decision.
#pragma once

#include <cstdint>
#include <string>

#include "models/kernels/step_account.h"
#include "sim/engine/server_pool.h"
#include "sim/engine/simulator.h"
#include "sim/engine/statistics.h"
#include "sim/engine/time.h"
#include "sim/engine/trace.h"
#include "sim/machine/gpu_work.h"

namespace kvsim::machine {

/// GpuTime shares out the time of groups. A step under way is counted as far as it has come; the durations add up to
/// the time passed, times groups.
struct GpuTime {
  engine::Duration computing;
  engine::Duration link;       ///< waiting for KV on a link, in a step or between two
  engine::Duration front_end;  ///< without work while every thread that turns prompts into tokens was at work
  engine::Duration idle;
  models::PerResource bound_s{};  ///< of computing, by what decides it; the rest: fixed times of kernels
  models::PerResource saved_s{};  ///< of all of it, what twice the resource would have saved
  double link_saved_s = 0;        ///< the same of twice the link, in steps that wait for what they fetch

  GpuTime& operator+=(const GpuTime& other) { return add(other, 1); }
  GpuTime& operator-=(const GpuTime& other) { return add(other, -1); }
  /// Fixed times of kernels within computing.
  [[nodiscard]] double fixed_s() const;
  /// Counts `length` of computing, which is in `computing` already, by this account.
  void add(const models::StepAccount& account, engine::Duration length);

 private:
  GpuTime& add(const GpuTime& other, std::int64_t sign);
};

/// An Overlap relates computing to something else that is busy meanwhile (a link, a thread). The time that computing
/// waited shows how much of the shorter one runs beside the longer one; the rest of it comes on top.
class Overlap {
 public:
  /// All three are of the same time, in seconds or shares.
  Overlap(double computing, double busy, double waited);
  /// Returns how long both take in this relation to each other, if they take so long each.
  [[nodiscard]] double length(double computing, double busy) const;
  /// As they are.
  [[nodiscard]] double length() const { return length(computing_, busy_); }
  [[nodiscard]] double computing() const { return computing_; }
  [[nodiscard]] double busy() const { return busy_; }

 private:
  double computing_, busy_;
  double beside_ = 0;   // of the shorter one, what runs beside the longer one
  double latency_ = 0;  // what was waited for beyond the time that the other is busy
};

/// Who decides what a group computes.
class StepOwner {
 public:
  virtual ~StepOwner() = default;
  /// No step is under way, and the last one has ended or something has changed: start one, or none if there is nothing
  /// to do.
  virtual void begin_step() = 0;
  /// What was started is over. The next one begins at once, or after everything else of this instant if somebody wakes
  /// the group meanwhile.
  virtual void end_step() = 0;
};

/// A step that starts.
struct Step {
  engine::Duration computing;  ///< the rest of its length is waiting for KV on a link, at its end
  /// The account of its computing; read as it starts. Null: all of it is fixed times.
  const models::StepAccount* account = nullptr;
  bool decodes = true;        ///< one of the iterations that iteration_s() is about
  double memory_share = 0;    ///< of `computing`, what memory bandwidth decides
  bool within_domain = true;  ///< its size is one that the profile's kernels were measured at
};

class GpuGroup {
 public:
  /// What all groups of a system share; all of it outlives them.
  struct Environment {
    engine::Simulator& simulator;
    double shortest_s;                              ///< of a step with one token: iteration_s() until one was measured
    engine::TraceSink* trace;                       ///< null: no timeline
    engine::Sample& iteration_s;                    ///< length of every step
    std::int64_t& extrapolated_iterations;          ///< steps beyond what the profile's kernels were measured at
    std::int64_t& launched_iterations;              ///< steps with more tokens than captured ones have
    const engine::ServerPool* front_end = nullptr;  ///< which a group without work may wait for; null: none
  };

  GpuGroup(const Environment& environment, StepOwner& owner, const std::string& name);

  /// Something has changed: unless a step is under way one may begin, after everything else that happens at this
  /// instant.
  void wake();
  /// From within begin_step(). The event ended() must follow.
  void start(const Step& step);
  /// The same; it ends when it is computed, but no earlier than after `least`.
  void start(const Step& step, engine::Duration least);
  /// From within begin_step(), in place of start() and ended(): all of a step of this length at once. Its owner does
  /// what end_step() does, and begins the next. Precondition: its end lies before Simulator::free_before().
  void pass(const Step& step, engine::Duration length);
  /// To be called when the step that was started is over.
  [[nodiscard]] engine::Callback ended();
  /// What the pieces of a step run on; copies slow it.
  [[nodiscard]] GpuWork& work() { return work_; }

  /// From within end_step(): somebody has said since the step began that something has changed.
  [[nodiscard]] bool woken() const { return woken_; }
  [[nodiscard]] bool computing() const { return computing_; }
  /// It has looked for work since its last step and found none, or has not begun.
  [[nodiscard]] bool idle() const { return idle_; }
  /// Within begin_step(): the time since the last look for work, if that found none.
  [[nodiscard]] engine::Duration idle_for() const {
    return idle_ ? env_.simulator.now() - looked_ : engine::Duration{};
  }
  /// Of its idle time from now on: it is time waiting for a link, for requests are here and what they need is under
  /// way.
  void wait_for_link(bool waits);
  /// Adds the savings of the step that has just ended, within end_step(). Those of twice each resource go beyond what
  /// the account says (less than nothing where the rest is waited for); those of twice the link are all there are.
  void note_savings(const models::PerResource& beyond_account_s, double link_saved_s);
  /// The account of the latest step.
  [[nodiscard]] const models::StepAccount& account() const { return account_; }

  [[nodiscard]] engine::SimTime step_begin() const { return step_begin_; }
  /// Of the step that has just ended, what of its length was waiting for KV.
  [[nodiscard]] engine::Duration waited() const { return length_ - step_.computing; }
  /// How long a step that begins now computes, if nothing changes about what slows it.
  [[nodiscard]] engine::Duration computing(const Step& step) const {
    return work_.length(step.computing, step.memory_share);
  }
  /// Expected length of an iteration: the exponentially weighted mean (0.2 for the newest) of steps that decoded; at
  /// first, of a step with one token.
  [[nodiscard]] double iteration_s() const { return iteration_estimate_s_; }

  /// Since the start of the run. Of a step under way computing comes first, and waiting for the link is its end.
  [[nodiscard]] GpuTime time() const;
  /// `bytes` of its memory are in use from now on.
  void use_memory(std::int64_t bytes) { used_.set(static_cast<double>(bytes), env_.simulator.now()); }

  /// Ends the warm-up: what follows is measured.
  void start_measuring();
  [[nodiscard]] engine::Duration measured() const { return env_.simulator.now() - measure_begin_; }
  [[nodiscard]] GpuTime measured_time() const;
  /// Of memory in use, since then.
  [[nodiscard]] std::int64_t used_peak() const { return static_cast<std::int64_t>(used_.peak()); }
  [[nodiscard]] double used_mean() const { return used_.mean(env_.simulator.now()); }

  // Its rows of a timeline, where there is one.
  [[nodiscard]] bool traced() const { return env_.trace != nullptr; }
  /// The step that has just ended computed `name` for so many requests.
  void trace_step(const std::string& name, std::size_t requests) const;
  void trace_running(std::int64_t requests) const;

 private:
  void begin();
  void end();
  void note_end();
  void note_time();
  void note_account(const Step& step);
  /// Counts what has passed since spent_until_, but for its account.
  void advance(GpuTime& time) const;

  Environment env_;
  StepOwner& owner_;
  GpuWork work_;
  bool computing_ = false, wake_pending_ = false, woken_ = false, idle_ = true, waits_for_link_ = false;
  Step step_;
  engine::SimTime step_begin_, looked_, measure_begin_;
  engine::Duration length_;
  double iteration_estimate_s_ = 0;
  GpuTime spent_;                // up to spent_until_, by account as far as accounted_
  models::StepAccount account_;  // of the latest step
  engine::Duration accounted_;   // of spent_.computing
  engine::SimTime spent_until_;
  engine::Duration saturated_before_;  // ServerPool::saturated() then
  GpuTime unmeasured_;                 // before measure_begin_
  engine::TimeWeighted used_;
  int track_ = -1, running_counter_ = -1;
};

}  // namespace kvsim::machine
