// A link moves bytes between two places. Every discipline (serialised, priority, fair share) is used through this one
// interface; which one applies is data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/engine/simulator.h"
#include "sim/engine/statistics.h"
#include "sim/engine/trace.h"

namespace kvsim::engine {

enum class LinkDiscipline { serialised, priority, fair_share };

struct LinkConfig {
  std::string name{};
  double bytes_per_s = 0;  ///< > 0; may be set to 0 during the run (link down)
  Duration latency{};      ///< from the last byte leaving to its arrival; not occupying
  Duration setup{};  ///< from submission to the first byte; on queued links one transfer is set up at a time, while
                     ///< the one before it moves
  LinkDiscipline discipline = LinkDiscipline::serialised;
};

/// One transfer. `on_complete` runs when the last byte has arrived (latency included).
struct Transfer {
  std::int64_t bytes = 0;  ///< >= 0
  double slowdown = 1;     ///< >= 1: each byte takes as long as so many (scattered rows); queued links only
  int priority = 0;        ///< larger goes first on a priority link; ties in order of submission; not pre-emptive
  Callback on_complete{};
  std::uint64_t owner = 0;  ///< who asked (a request's number), for the timeline
  const char* kind = "";    ///< what it is ("reload"), for the timeline; a string with static lifetime
};

struct TransferId {
  std::uint64_t value = 0;  ///< 0: none
};

struct LinkStatistics {
  std::int64_t bytes_submitted = 0;
  std::int64_t bytes_delivered = 0;  ///< of completed transfers
  std::int64_t bytes_cancelled = 0;  ///< of transfers cancelled before completion (whole size)
  std::uint64_t transfers_completed = 0;
  double busy_s = 0;        ///< time with at least one transfer occupying the link
  double total_wait_s = 0;  ///< sum over started transfers: start of service - submission
  std::uint64_t transfers_started = 0;
};

class Link {
 public:
  virtual ~Link() = default;

  /// Queues or starts a transfer now. Never fails and never completes within the call.
  virtual TransferId submit(const Transfer& transfer) = 0;

  /// Withdraws a transfer that has not completed; what it had moved is lost. False if it had completed.
  virtual bool cancel(TransferId id) = 0;

  /// Changes the bandwidth from now on, for transfers under way too. 0 stalls the link until it is raised again.
  virtual void set_bandwidth(double bytes_per_s) = 0;

  [[nodiscard]] virtual double bandwidth() const = 0;
  [[nodiscard]] virtual std::size_t in_flight_or_queued() const = 0;
  /// Bytes accepted and not yet moved across (of queued transfers and the remainder of those under way).
  [[nodiscard]] virtual std::int64_t backlog_bytes() const = 0;
  /// Statistics up to now().
  [[nodiscard]] virtual LinkStatistics statistics() const = 0;
  /// Time until `on_complete` of a transfer that is being served alone or already arriving, if the bandwidth stays as
  /// it is. Nothing for one that waits, shares the link, stands still or is over.
  [[nodiscard]] virtual std::optional<Duration> time_left(TransferId id) const = 0;
  [[nodiscard]] virtual const std::string& name() const = 0;

  /// Conservation: submitted = delivered + cancelled + not yet delivered. Throws InvariantViolation when broken.
  virtual void check_conservation() const = 0;
};

/// Makes a link with the configured discipline. `simulator` (and `trace`, unless null) must outlive it.
/// Throws std::invalid_argument when the configuration is impossible (bandwidth <= 0, negative latency).
std::unique_ptr<Link> make_link(Simulator& simulator, LinkConfig config, TraceSink* trace);

// Internal: one maker for each link discipline. Use make_link(), which checks the configuration first.

std::unique_ptr<Link> make_serial_link(Simulator& simulator, LinkConfig config, TraceSink* trace);
std::unique_ptr<Link> make_priority_link(Simulator& simulator, LinkConfig config, TraceSink* trace);
std::unique_ptr<Link> make_fair_share_link(Simulator& simulator, LinkConfig config, TraceSink* trace);

/// Throws std::invalid_argument unless 0 <= bytes_per_s < infinity.
void check_bandwidth(const std::string& link, double bytes_per_s);

/// Throws std::invalid_argument for a configuration no link can have.
void check_link(const LinkConfig& config);

/// Throws InvariantViolation for a transfer no link can carry.
void check_transfer(const Transfer& transfer);

/// submitted = delivered + cancelled + outstanding; throws InvariantViolation.
void check_bytes_conserved(const std::string& link, const LinkStatistics& statistics, std::int64_t outstanding);

}  // namespace kvsim::engine
