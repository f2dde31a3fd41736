// The time of a group of GPUs, by what it went to.
#pragma once

#include <cstdint>

#include "models/kernels/step_account.h"
#include "sim/engine/server_pool.h"
#include "sim/engine/simulator.h"
#include "sim/engine/time.h"
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

/// SpentTime shares out the time of one group as it passes.
class SpentTime {
 public:
  /// All of it outlives this. `work`: its steps. `front_end`: see GpuGroup::Environment.
  SpentTime(engine::Simulator& simulator, const GpuWork& work, const engine::ServerPool* front_end)
      : simulator_(simulator), work_(work), front_end_(front_end) {}

  /// A step begins, which computes so long; the rest of its length is waiting for KV on a link. `account`: of its
  /// computing. Null: all of it is fixed times.
  void begin_step(const models::StepAccount* account, engine::Duration computing);
  void end_step();
  /// In place of both: the simulator advances by the `length` of such a step.
  void pass(const models::StepAccount* account, engine::Duration computing, engine::Duration length);
  /// The time without a step is waiting for a link from now on, or not.
  void wait_for_link(bool waits);
  /// Adds what the latest step would have saved beyond its account.
  void add_savings(const models::PerResource& saved_s, double link_saved_s);

  /// A step is under way.
  [[nodiscard]] bool computing() const { return computing_; }
  /// The account of the latest step.
  [[nodiscard]] const models::StepAccount& account() const { return account_; }
  /// Since the start of the run. Of a step under way computing comes first, and waiting for the link is its end.
  [[nodiscard]] GpuTime all() const;
  /// Ends the warm-up: what follows is measured.
  void start_measuring();
  /// Since then.
  [[nodiscard]] GpuTime measured() const;
  [[nodiscard]] engine::Duration measured_length() const { return simulator_.now() - measure_begin_; }

 private:
  void note();
  void note_account(const models::StepAccount* account);
  /// Counts what has passed since until_, but for its account.
  void advance(GpuTime& time) const;

  engine::Simulator& simulator_;
  const GpuWork& work_;
  const engine::ServerPool* front_end_;
  bool computing_ = false, waits_for_link_ = false;
  engine::Duration step_computing_;
  GpuTime spent_;                // up to until_, by account as far as accounted_
  models::StepAccount account_;  // of the latest step
  engine::Duration accounted_;   // of spent_.computing
  engine::SimTime until_, measure_begin_;
  engine::Duration saturated_before_;  // ServerPool::saturated() at until_
  GpuTime unmeasured_;                 // before measure_begin_
};

}  // namespace kvsim::machine
