// Work of a group of GPUs, a piece at a time, which goes on slower while copies use their memory too.
#pragma once

#include "sim/engine/simulator.h"
#include "sim/engine/time.h"

namespace kvsim::machine {

/// Pieces have a length of their own; of each nanosecond of it, what memory bandwidth decides takes longer by the share
/// that slows it now. Nothing slows it: every piece takes its own length, to the nanosecond.
class GpuWork {
 public:
  explicit GpuWork(engine::Simulator& simulator) : simulator_(simulator) {}

  /// A step begins: `memory_share` of each of its pieces is decided by memory bandwidth.
  void begin_step(double memory_share);
  /// So long a piece begins now; `what` runs when it is over, and no earlier than after `least`. Precondition: none is
  /// under way.
  void run(engine::Duration piece, const engine::Callback& what, engine::Duration least = {});
  /// From now on, what memory bandwidth decides takes this share longer. Precondition: share >= 0.
  void slow(double share);
  [[nodiscard]] double slowed_by() const { return share_; }

  /// A piece of this length with this share decided by memory bandwidth, as things are now.
  [[nodiscard]] engine::Duration length(engine::Duration piece, double memory_share) const;
  /// Time that slowing has added to the pieces of this step, or will add if it stays as it is.
  [[nodiscard]] engine::Duration added() const { return added_; }

 private:
  [[nodiscard]] double stretch() const { return 1 + memory_share_ * share_; }
  void schedule();
  void on_end();

  engine::Simulator& simulator_;
  double memory_share_ = 0, share_ = 0;
  double left_ns_ = 0;  // of the piece, at `since_`
  engine::SimTime since_, end_, least_end_;
  engine::Callback what_;
  engine::EventHandle event_;
  engine::Duration added_;
};

}  // namespace kvsim::machine
