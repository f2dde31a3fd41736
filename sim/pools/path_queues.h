// Requests that wait for a place: one queue for each path, and one for those whose path is not decided. The first of
// every queue is offered to the dispatcher, in order of arrival.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"
#include "sim/pools/dispatcher.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/reloads.h"

namespace kvsim::pools {

/// Starts those whose turn has come.
class PathQueuesListener {
 public:
  virtual ~PathQueuesListener() = default;
  /// It may be assigned: the listener updates what is known of it.
  virtual void before_assigning(PoolRequest& r) = 0;
  virtual void on_assigned(PoolRequest& r, const Assignment& assignment) = 0;
};

class PathQueues {
 public:
  /// All of it outlives this; `trace` may be null.
  PathQueues(engine::Simulator& simulator, engine::TraceSink* trace, Dispatcher& dispatcher, const PoolsView& view,
             Reloads& reloads, PathQueuesListener& listener);

  void enqueue(PoolRequest& r);
  /// It was preempted: it takes its path again, before all others of it.
  void put_back(PoolRequest& r);
  /// Starts all requests that can start. Where one has waited for too long, no request that came later takes memory
  /// that it needs, and reloads of the local pool take turns.
  void assign();
  /// In all queues.
  [[nodiscard]] std::int64_t waiting() const { return waiting_; }

 private:
  struct Queue {
    std::deque<PoolRequest*> waiting;
    engine::SimTime head_since;  // since when its first one is the first
  };

  void count(std::int64_t change);
  void sort_heads();
  bool assign_one();
  bool assign_head(Queue& queue);
  [[nodiscard]] bool out_of_patience(const Queue& queue) const;

  engine::Simulator& simulator_;
  engine::TraceSink* trace_;
  Dispatcher& dispatcher_;
  const PoolsView& view_;
  Reloads& reloads_;
  PathQueuesListener& listener_;
  std::array<Queue, models::kPaths + 1> queues_;
  std::vector<Queue*> heads_;  // while requests are assigned; kept for its memory
  std::int64_t waiting_ = 0;
  int counter_ = -1;
  engine::EventHandle retry_;
};

}  // namespace kvsim::pools
