// A serialised link whose future is computed when a transfer is submitted, not simulated: first in, first out at one
// bandwidth, so nothing that comes later changes it. Behaves as a serialised Lane over a link of its own does, transfer
// by transfer and to the nanosecond, and takes a whole series of equal transfers at the cost of one.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"
#include "sim/transport/lane.h"

namespace kvsim::transport {

// A sequence of n integers that is the largest of a few arithmetic progressions: x_j = max_i (start_i + j step_i).
// Uniform pipelines (max-plus) yield it: times of the layers of a forward pass, known without visiting them.

class ConvexSequence {
 public:
  struct Line {
    std::int64_t start = 0;
    std::int64_t step = 0;
    [[nodiscard]] std::int64_t at(std::int64_t j) const { return start + j * step; }
  };

  /// `length` elements, as yet without a value: add() at least one progression.
  explicit ConvexSequence(std::int64_t length = 0) : length_(length) {}

  /// Raises every element to start + j step where that is larger.
  void add(Line line);
  /// Adds `by` to every element.
  void shift(std::int64_t by);

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] std::span<const Line> lines() const { return lines_; }

  // Precondition of all that follow: !empty().

  [[nodiscard]] std::int64_t at(std::int64_t j) const;
  [[nodiscard]] std::int64_t first() const { return at(0); }
  [[nodiscard]] std::int64_t last() const { return at(length_ - 1); }
  /// The smallest j >= 1 with x_j - x_{j-1} > step; length() if there is none. Increments do not fall: O(log length).
  [[nodiscard]] std::int64_t first_faster_than(std::int64_t step) const;
  /// Sum over all elements of x_j - x_0: O(lines squared).
  [[nodiscard]] std::int64_t sum_above_first() const;

 private:
  std::vector<Line> lines_;  // none that another one reaches everywhere
  std::int64_t length_;
};

class PlannedLink final : public Link {
 public:
  /// `config.route` is not used. `simulator` (and `trace`, unless null) must outlive it. Throws std::invalid_argument
  /// for a bandwidth that is not finite and positive, a negative latency or setup.
  PlannedLink(engine::Simulator& simulator, engine::TraceSink* trace, LaneConfig config, double bytes_per_s);
  PlannedLink(const PlannedLink&) = delete;
  PlannedLink& operator=(const PlannedLink&) = delete;

  TransferId submit(const Transfer& transfer) override;

  /// Transfers like `each`, submitted at the times of `submitted`, in ns of simulated time, which do not lie before any
  /// earlier submission. Nothing else may be submitted before the last of them. `each.on_complete` runs once, when the
  /// last has arrived, or now if that is past. Returns when each arrives.
  ConvexSequence submit_series(const ConvexSequence& submitted, const Transfer& each);

  /// One transfer submitted at `at`, which may lie in the future as a series' times may. Returns its arrival.
  engine::SimTime submit_at(engine::SimTime at, const Transfer& transfer);

  /// From submission to arrival where the link is free for it.
  [[nodiscard]] engine::Duration idle_transfer_time(const Transfer& transfer) const;

  /// Not possible here: throws engine::InvariantViolation.
  bool cancel(TransferId id) override;

  [[nodiscard]] double bandwidth() const override { return bytes_per_s_; }
  [[nodiscard]] std::size_t in_flight_or_queued() const override;
  [[nodiscard]] std::int64_t backlog_bytes() const override;
  [[nodiscard]] LinkStatistics statistics() const override;
  /// Nothing: a planned transfer is one of a series.
  [[nodiscard]] std::optional<engine::Duration> time_left(TransferId) override { return std::nullopt; }
  void check_conservation() const override;

 private:
  /// Transfers planned together, and what the statistics took them for.
  struct Series {
    ConvexSequence submitted;
    ConvexSequence begins;     // when bytes begin to flow
    std::int64_t each_ns = 0;  // bytes flowing
    std::int64_t before = 0;   // when the transfer before the first one left the link
    std::int64_t bytes = 0;    // of each

    [[nodiscard]] std::int64_t leaves(std::int64_t j) const { return begins.at(j) + each_ns; }
    [[nodiscard]] std::int64_t service(std::int64_t j) const;
  };

  /// Its bytes' time on the link.
  [[nodiscard]] engine::Duration flowing(const Transfer& transfer) const;
  void account(const Series& series);
  void retire();
  void draw(const Series& series, const Transfer& each);

  engine::Simulator& simulator_;
  engine::TraceSink* trace_;
  LaneConfig config_;
  double bytes_per_s_;
  int track_ = -1;
  std::int64_t free_ns_ = 0;       // when the next transfer's bytes may begin to flow at the earliest
  std::int64_t last_left_ns_ = 0;  // when the last transfer planned leaves the link
  std::uint64_t next_id_ = 1;
  std::deque<Series> planned_;  // not wholly arrived when last looked at
  LinkStatistics all_;          // of everything planned, as if over
  std::int64_t busy_ns_ = 0;
  std::int64_t wait_ns_ = 0;
};

}  // namespace kvsim::transport
