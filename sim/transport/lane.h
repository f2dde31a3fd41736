// A lane: one way over links of a network (from a tier to one replica's GPUs, say), and the queue of those who wait for
// it. Every transfer of every lane lives the same life: waiting -> under way (what is left of its setup, then bytes) ->
// arriving (latency; the lane is free again) -> done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/ordered_queue.h"
#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"
#include "sim/engine/trace.h"
#include "sim/transport/network.h"

namespace kvsim::transport {

struct LaneConfig {
  std::string group, name;  ///< of its row in the timeline
  std::vector<LinkId> route;
  engine::Duration latency{};  ///< from the last byte leaving to its arrival; not occupying
  engine::Duration setup{};  ///< from submission to the first byte; where one goes at a time, one transfer is set up at
                             ///< a time, while the one before it moves
  Queueing queueing = Queueing::serialised;
  std::size_t* carrying = nullptr;  ///< of serialised lanes that share it: how many carry something now; outlives them
};

/// When one transfer leaves a serialised lane the next one starts before anyone's on_complete runs, so that a transfer
/// submitted from there queues behind it. Fair shares of a busy link: max-min, see Network.
class Lane : public Link {
 public:
  /// `simulator`, `network` and `trace` (unless null) must outlive it. Throws std::invalid_argument for a negative
  /// latency or setup.
  Lane(engine::Simulator& simulator, Network& network, engine::TraceSink* trace, LaneConfig config);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  TransferId submit(const Transfer& transfer) override;
  bool cancel(TransferId id) override;
  /// Bandwidth of the narrowest link of its route.
  [[nodiscard]] double bandwidth() const override { return network_.bandwidth(config_.route); }
  [[nodiscard]] std::size_t in_flight_or_queued() const override { return jobs_.size(); }
  [[nodiscard]] std::int64_t backlog_bytes() const override;
  [[nodiscard]] LinkStatistics statistics() const override;
  [[nodiscard]] std::optional<engine::Duration> time_left(TransferId id) override;
  void check_conservation() const override;

  [[nodiscard]] const LaneConfig& config() const { return config_; }
  /// Whole sizes of those that wait or are under way, where their priority is 0 or more.
  [[nodiscard]] std::int64_t urgent_bytes() const { return urgent_bytes_; }
  /// Transfer that a serialised lane carries now, and since when; null where it is free.
  struct Carried {
    const Transfer& transfer;
    engine::SimTime since;
  };
  [[nodiscard]] std::optional<Carried> carried() const;

 private:
  enum class State : std::uint8_t { waiting, under_way, arriving };

  struct Job {
    Transfer transfer{};
    engine::SimTime since{};    // when it was submitted, then when its service began, then when its last byte left
    engine::SimTime flowing{};  // its bytes flow from here (later than now during setup)
    std::uint64_t waiting = 0;  // its place in waiting_
    FlowId flow{};
    engine::EventHandle arrival{};
    int row = engine::TraceLanes::no_lane;
    State state = State::waiting;
  };

  [[nodiscard]] bool serialised() const { return config_.queueing == Queueing::serialised; }
  void start_next();
  void start(std::uint64_t id);
  void on_last_byte(std::uint64_t id);
  void leave(Job& job, const char* what);
  void count_urgent(const Transfer& transfer, std::int64_t sign) {
    if (transfer.priority >= 0) urgent_bytes_ += sign * transfer.bytes;
  }
  void deliver(std::uint64_t id);

  engine::Simulator& simulator_;
  Network& network_;
  engine::TraceSink* trace_;
  LaneConfig config_;
  int track_ = -1;           // of a serialised lane
  engine::TraceLanes rows_;  // of one whose transfers overlap
  int counter_ = -1;         // of those

  engine::SlotTable<Job> jobs_;
  engine::OrderedQueue<std::uint64_t> waiting_;  // of identifiers in jobs_
  std::int64_t waiting_bytes_ = 0;
  std::int64_t urgent_bytes_ = 0;  // of these and those under way
  std::size_t under_way_ = 0;
  std::uint64_t carried_ = 0;         // the job on a serialised lane; 0: none
  engine::SimTime previous_flowing_;  // of the one before it

  LinkStatistics statistics_;
  engine::SimTime busy_since_;
  engine::Duration busy_;
};

/// Both ways between a group of GPUs and the memory that is beside it, or that others share with it.
struct GroupLanes {
  Lane* to_gpu = nullptr;
  Lane* from_gpu = nullptr;
};

}  // namespace kvsim::transport
