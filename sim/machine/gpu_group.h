// A tensor-parallel group of GPUs that computes step after step: its clock, where its time goes, what of its memory is
// in use, and its rows of a timeline. What is computed in a step, and how long that takes, is its listener's decision.
#pragma once

#include <cstdint>
#include <string>

#include "models/kernels/step_account.h"
#include "sim/engine/server_pool.h"
#include "sim/engine/simulator.h"
#include "sim/engine/statistics.h"
#include "sim/engine/time.h"
#include "sim/engine/trace.h"
#include "sim/machine/gpu_time.h"
#include "sim/machine/gpu_work.h"

namespace kvsim::machine {

/// Listener that decides what a group computes.
class StepListener {
 public:
  virtual ~StepListener() = default;
  /// No step is under way, and the last one has ended or something has changed: start one, or none if there is nothing
  /// to do.
  virtual void begin_step() = 0;
  /// The started step is over. The next one begins at once, or after everything else of this instant if somebody wakes
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
  /// Environment that all groups of a system share; all of it outlives them.
  struct Environment {
    engine::Simulator& simulator;
    double shortest_s;                              ///< of a step with one token: iteration_s() until one was measured
    engine::TraceSink* trace;                       ///< null: no timeline
    engine::Sample& iteration_s;                    ///< length of every step
    std::int64_t& extrapolated_iterations;          ///< steps beyond what the profile's kernels were measured at
    std::int64_t& launched_iterations;              ///< steps with more tokens than captured ones have
    const engine::ServerPool* front_end = nullptr;  ///< which a group without work may wait for; null: none
  };

  GpuGroup(const Environment& environment, StepListener& listener, const std::string& name);

  /// Something has changed: unless a step is under way one may begin, after everything else that happens at this
  /// instant.
  void wake();
  /// From within begin_step(). The event ended() must follow.
  void start(const Step& step);
  /// Starts a step that ends when it is computed, but no earlier than after `least`.
  void start(const Step& step, engine::Duration least);
  /// From within begin_step(), in place of start() and ended(): all of a step of this length at once. Its listener does
  /// what end_step() does, and begins the next. Precondition: its end lies before Simulator::free_before().
  void pass(const Step& step, engine::Duration length);
  /// To be called when the step that was started is over.
  [[nodiscard]] engine::Callback ended();
  /// Work that the pieces of a step run on; copies slow it.
  [[nodiscard]] GpuWork& work() { return work_; }

  /// From within end_step(): somebody has said since the step began that something has changed.
  [[nodiscard]] bool woken() const { return woken_; }
  /// Where its time goes.
  [[nodiscard]] const SpentTime& spent() const { return spent_; }
  /// It has looked for work since its last step and found none, or has not begun.
  [[nodiscard]] bool idle() const { return idle_; }
  /// Within begin_step(): the time since the last look for work, if that found none.
  [[nodiscard]] engine::Duration idle_for() const {
    return idle_ ? env_.simulator.now() - looked_ : engine::Duration{};
  }
  /// Says whether its idle time from now on is time waiting for a link: requests are here, and what they need is under
  /// way.
  void wait_for_link(bool waits) { spent_.wait_for_link(waits); }
  /// Adds the savings of the step that has just ended, within end_step(). Those of twice each resource go beyond what
  /// the account says (less than nothing where the rest is waited for); those of twice the link are all there are.
  void note_savings(const models::PerResource& beyond_account_s, double link_saved_s) {
    spent_.add_savings(beyond_account_s, link_saved_s);
  }

  [[nodiscard]] engine::SimTime step_begin() const { return step_begin_; }
  /// Time of the step that has just ended that was waiting for KV.
  [[nodiscard]] engine::Duration waited() const { return length_ - step_.computing; }
  /// How long a step that begins now computes, if nothing changes about what slows it.
  [[nodiscard]] engine::Duration computing(const Step& step) const {
    return work_.length(step.computing, step.memory_share);
  }
  /// Expected length of an iteration: the exponentially weighted mean (0.2 for the newest) of steps that decoded; at
  /// first, of a step with one token.
  [[nodiscard]] double iteration_s() const { return iteration_estimate_s_; }

  /// `bytes` of its memory are in use from now on.
  void use_memory(std::int64_t bytes) { used_.set(static_cast<double>(bytes), env_.simulator.now()); }

  /// Ends the warm-up: what follows is measured.
  void start_measuring();
  /// Peak of the memory in use, since then.
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

  Environment env_;
  StepListener& listener_;
  GpuWork work_;
  SpentTime spent_;
  bool wake_pending_ = false, woken_ = false, idle_ = true;
  Step step_;
  engine::SimTime step_begin_, looked_;
  engine::Duration length_;
  double iteration_estimate_s_ = 0;
  engine::TimeWeighted used_;
  int track_ = -1, running_counter_ = -1;
};

}  // namespace kvsim::machine
