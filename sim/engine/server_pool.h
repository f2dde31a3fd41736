// Identical servers and one queue before them: jobs in order of submission, each on the first server that is free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"
#include "sim/engine/time.h"

namespace kvsim::engine {

class ServerPool {
 public:
  /// `servers` >= 1; `simulator` outlives the pool.
  ServerPool(Simulator& simulator, std::size_t servers) : simulator_(simulator), free_(servers) {}
  ServerPool(const ServerPool&) = delete;
  ServerPool& operator=(const ServerPool&) = delete;

  /// A job of this length; `done` runs when a server has worked on it that long, never within the call.
  void submit(Duration length, Callback done) {
    waiting_.push_back({length, done});
    start();
  }

  /// Jobs waiting or being worked on.
  [[nodiscard]] std::size_t jobs() const { return waiting_.size() + busy_; }
  /// Server-seconds of the jobs that were begun.
  [[nodiscard]] double work_s() const { return work_s_; }
  /// Returns the time since the start of the run in which no server was free.
  [[nodiscard]] Duration saturated() const {
    return free_ > 0 ? saturated_ : saturated_ + (simulator_.now() - saturated_since_);
  }

 private:
  struct Job {
    Duration length;
    Callback done;
  };

  void start() {
    while (free_ > 0 && !waiting_.empty()) {
      const Job job = waiting_.front();
      waiting_.pop_front();
      if (--free_ == 0) saturated_since_ = simulator_.now();
      ++busy_;
      work_s_ += job.length.seconds();
      const auto slot = running_.acquire();
      slot.value = job.done;
      simulator_.schedule_in(job.length, Callback::to<&ServerPool::finish>(this, slot.id));
    }
  }

  void finish(std::uint64_t id) {
    const Callback done = running_[id];
    running_.release(id);
    if (free_++ == 0) saturated_ += simulator_.now() - saturated_since_;
    --busy_;
    start();
    done();
  }

  Simulator& simulator_;
  std::size_t free_;
  std::size_t busy_ = 0;
  std::deque<Job> waiting_;
  SlotTable<Callback> running_;
  double work_s_ = 0;
  Duration saturated_;  // up to the latest time that a server became free
  SimTime saturated_since_;
};

}  // namespace kvsim::engine
