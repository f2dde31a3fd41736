// Links that move bytes between two places, one transfer after another or several at once. A link is a lane over links
// of a network, or has a planned future.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/engine/simulator.h"
#include "sim/engine/statistics.h"

namespace kvsim::transport {

/// How transfers follow each other.
enum class Queueing : std::uint8_t {
  serialised,  ///< one at a time, in order of priority, then of submission
  fair_share,  ///< all at once, each with its share of the bandwidth
};

/// A time in which links have a share of their bandwidth, or none.
struct Outage {
  double at_s = 0;
  double lasting_s = 0;
  double bandwidth_fraction = 0;  ///< in [0, 1)
};

/// One transfer. `on_complete` runs when the last byte has arrived (latency included).
struct Transfer {
  std::int64_t bytes = 0;  ///< >= 0
  double slowdown = 1;     ///< >= 1: each byte takes as long as so many (scattered rows)
  int priority = 0;        ///< larger goes first where one goes at a time; nothing under way is interrupted
  engine::Callback on_complete{};
  std::uint64_t owner = 0;  ///< who asked (a request's number), for the timeline
  const char* kind = "";    ///< what it is ("reload"), for the timeline; a string with static lifetime
};

/// In bytes of transfers that are not slowed down.
[[nodiscard]] inline double work_of(const Transfer& transfer) {
  return static_cast<double>(transfer.bytes) * transfer.slowdown;
}

struct TransferId {
  std::uint64_t value = 0;  ///< 0: none
};

struct LinkStatistics {
  std::int64_t bytes_submitted = 0;
  std::int64_t bytes_delivered = 0;  ///< of completed transfers
  std::int64_t bytes_cancelled = 0;  ///< of transfers cancelled before completion (whole size)
  std::uint64_t transfers_completed = 0;
  double busy_s = 0;        ///< time with at least one transfer occupying the link, setup included
  double total_wait_s = 0;  ///< sum over started transfers: start of service - submission
  std::uint64_t transfers_started = 0;
};

/// Totals of the links of one kind (all replicas' host_to_gpu, say).
struct LinkTotals {
  double busy_s = 0;
  double capacity_s = 0;   ///< time, times the number of such links
  std::int64_t bytes = 0;  ///< of transfers that have arrived
  double wait_s = 0;       ///< of transfers, from submission to service; counted on the first link of their lane
  std::uint64_t transfers = 0;
  std::int64_t links = 0;
};

class Link {
 public:
  virtual ~Link() = default;

  /// Queues or starts a transfer now. Never fails and never completes within the call.
  virtual TransferId submit(const Transfer& transfer) = 0;

  /// Withdraws a transfer that has not completed; what it had moved is lost. False if it had completed.
  virtual bool cancel(TransferId id) = 0;

  /// Bytes/s now, whoever else uses it.
  [[nodiscard]] virtual double bandwidth() const = 0;
  [[nodiscard]] virtual std::size_t in_flight_or_queued() const = 0;
  /// Bytes accepted and not yet moved across (of queued transfers and the remainder of those under way).
  [[nodiscard]] virtual std::int64_t backlog_bytes() const = 0;
  /// Statistics up to now().
  [[nodiscard]] virtual LinkStatistics statistics() const = 0;
  /// Time until `on_complete` of a transfer that is being served alone or already arriving, if its rate stays as it is.
  /// Nothing for one that waits, shares the link, stands still or is over. Not const: it may bring rates up to date.
  [[nodiscard]] virtual std::optional<engine::Duration> time_left(TransferId id) = 0;

  /// Conservation: submitted = delivered + cancelled + not yet delivered. Throws engine::InvariantViolation when
  /// broken.
  virtual void check_conservation() const = 0;
};

/// Throws engine::InvariantViolation for a transfer no link can carry.
void check_transfer(const Transfer& transfer);

/// Throws std::invalid_argument unless 0 < bytes_per_s < infinity and latency and setup are not negative.
void check_link(const std::string& name, double bytes_per_s, engine::Duration latency = {},
                engine::Duration setup = {});

/// submitted = delivered + cancelled + outstanding; throws engine::InvariantViolation.
void check_bytes_conserved(const std::string& link, const LinkStatistics& statistics, std::int64_t outstanding);

}  // namespace kvsim::transport
