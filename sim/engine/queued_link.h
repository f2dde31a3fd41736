// Internal: the mechanism of links that carry one transfer at a time, to its end. A discipline only says how transfers
// rank against each other.
#pragma once

#include <cstdint>
#include <string>

#include "sim/engine/link.h"
#include "sim/engine/ordered_queue.h"
#include "sim/engine/slot_table.h"

namespace kvsim::engine {

/// Life of a transfer: waiting -> moving (setup, then bytes) -> arriving (latency; the link is free again) -> done.
/// When one leaves the link the next one starts before anyone's on_complete runs, so a transfer submitted from there
/// queues behind it.
class QueuedLink : public Link {
 public:
  QueuedLink(Simulator& simulator, LinkConfig config, TraceSink* trace);
  QueuedLink(const QueuedLink&) = delete;
  QueuedLink& operator=(const QueuedLink&) = delete;

  TransferId submit(const Transfer& transfer) final;
  bool cancel(TransferId id) final;
  void set_bandwidth(double bytes_per_s) final;
  [[nodiscard]] double bandwidth() const final { return config_.bytes_per_s; }
  [[nodiscard]] std::size_t in_flight_or_queued() const final { return jobs_.size(); }
  [[nodiscard]] std::int64_t backlog_bytes() const final;
  [[nodiscard]] LinkStatistics statistics() const final;
  [[nodiscard]] std::optional<Duration> time_left(TransferId id) const final;
  [[nodiscard]] const std::string& name() const final { return config_.name; }
  void check_conservation() const final;

 protected:
  /// Larger goes first; equal ranks in order of submission.
  [[nodiscard]] virtual int rank(const Transfer& transfer) const = 0;

 private:
  enum class State : std::uint8_t { waiting, moving, arriving };

  struct Job {
    Transfer transfer;
    SimTime since;              // when it was submitted, then when its service began
    SimTime since_left_link;    // when its last byte left
    std::uint64_t waiting = 0;  // its place in waiting_
    EventHandle arrival;
    State state = State::waiting;
  };

  void start_next();
  void schedule_end_of_service();
  void on_end_of_service();
  void leave_link(const Job& job, std::string_view what);
  void deliver(std::uint64_t id);
  [[nodiscard]] double remaining_now() const;

  Simulator& simulator_;
  LinkConfig config_;
  TraceSink* trace_;
  int track_ = -1;

  SlotTable<Job> jobs_;
  OrderedQueue<std::uint64_t> waiting_;  // of identifiers in jobs_
  std::int64_t waiting_bytes_ = 0;

  std::uint64_t moving_ = 0;  // the job on the link; 0: none
  double remaining_ = 0;      // its bytes not moved by moving_since_, times its slowdown
  SimTime moving_since_;      // its bytes flow from here (later than now during setup); kept for the next one's setup
  EventHandle end_of_service_;

  LinkStatistics statistics_;
  Duration busy_;  // of services that ended
};

}  // namespace kvsim::engine
