#include "sim/engine/link.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/ordered_queue.h"
#include "sim/engine/slot_table.h"
#include "sim/engine/time.h"
#include "sim/engine/trace.h"

namespace kvsim::engine {
namespace {

// The mechanism of links that carry one transfer at a time, to its end. A discipline only says how transfers
// rank against each other.

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

/// In bytes of transfers that are not slowed down.
double work_of(const Transfer& transfer) {
  return static_cast<double>(transfer.bytes) * transfer.slowdown;
}

QueuedLink::QueuedLink(Simulator& simulator, LinkConfig config, TraceSink* trace)
    : simulator_(simulator), config_(std::move(config)), trace_(trace) {
  if (trace_ == nullptr) return;
  const TraceName row = trace_name(config_.name, "links");
  track_ = trace_->add_track(row.group, row.row);
}

TransferId QueuedLink::submit(const Transfer& transfer) {
  check_transfer(transfer);
  const auto [id, job] = jobs_.acquire();
  job = {transfer, simulator_.now(), {}, waiting_.push(-std::int64_t{rank(transfer)}, id), {}, State::waiting};
  waiting_bytes_ += transfer.bytes;
  statistics_.bytes_submitted += transfer.bytes;
  if (moving_ == 0) start_next();
  return {id};
}

void QueuedLink::start_next() {
  moving_ = 0;
  if (waiting_.empty()) return;
  moving_ = waiting_.pop().value;
  Job& job = jobs_[moving_];
  waiting_bytes_ -= job.transfer.bytes;
  ++statistics_.transfers_started;
  statistics_.total_wait_s += (simulator_.now() - job.since).seconds();
  job.state = State::moving;
  // It was set up while the one before it moved, once that one was.
  const SimTime set_up = std::max(job.since, moving_since_) + config_.setup;
  job.since = simulator_.now();
  remaining_ = work_of(job.transfer);
  moving_since_ = std::max(simulator_.now(), set_up);
  schedule_end_of_service();
}

void QueuedLink::schedule_end_of_service() {
  simulator_.cancel(end_of_service_);
  const bool whole = remaining_ == work_of(jobs_[moving_].transfer);
  const Duration left = transfer_time(whole ? remaining_ : remaining_ - negligible_bytes, config_.bytes_per_s);
  if (left == forever) return;  // stalled; set_bandwidth() schedules it
  const SimTime begin = std::max(simulator_.now(), moving_since_);
  end_of_service_ = simulator_.schedule_at(begin + left, Callback::to<&QueuedLink::on_end_of_service>(this));
}

void QueuedLink::on_end_of_service() {
  const std::uint64_t id = moving_;
  Job& job = jobs_[id];
  leave_link(job, job.transfer.kind);
  job.state = State::arriving;
  job.since_left_link = simulator_.now();
  if (config_.latency > Duration{}) {
    job.arrival = simulator_.schedule_in(config_.latency, Callback::to<&QueuedLink::deliver>(this, id));
  }
  start_next();
  if (config_.latency == Duration{}) deliver(id);
}

void QueuedLink::leave_link(const Job& job, std::string_view what) {
  busy_ += simulator_.now() - job.since;
  if (trace_ == nullptr) return;
  const double moved = static_cast<double>(job.transfer.bytes);
  trace_->slice(track_, what, job.since, simulator_.now(), job.transfer.owner, moved);
}

void QueuedLink::deliver(std::uint64_t id) {
  const Transfer transfer = jobs_[id].transfer;
  jobs_.release(id);
  statistics_.bytes_delivered += transfer.bytes;
  ++statistics_.transfers_completed;
  if (transfer.on_complete) transfer.on_complete();
}

bool QueuedLink::cancel(TransferId id) {
  const Job* job = jobs_.find(id.value);
  if (job == nullptr) return false;
  statistics_.bytes_cancelled += job->transfer.bytes;
  const State state = job->state;
  if (state == State::waiting) {
    waiting_.cancel(job->waiting);
    waiting_bytes_ -= job->transfer.bytes;
  } else if (state == State::moving) {
    simulator_.cancel(end_of_service_);
    leave_link(*job, "cancelled");
  } else {
    simulator_.cancel(job->arrival);
  }
  jobs_.release(id.value);
  if (state == State::moving) start_next();
  return true;
}

double QueuedLink::remaining_now() const {
  if (moving_ == 0 || simulator_.now() <= moving_since_) return remaining_;
  return std::max(0.0, remaining_ - config_.bytes_per_s * (simulator_.now() - moving_since_).seconds());
}

void QueuedLink::set_bandwidth(double bytes_per_s) {
  check_bandwidth(config_.name, bytes_per_s);
  if (moving_ == 0) {
    config_.bytes_per_s = bytes_per_s;
    return;
  }
  remaining_ = remaining_now();
  moving_since_ = std::max(moving_since_, simulator_.now());
  config_.bytes_per_s = bytes_per_s;
  schedule_end_of_service();
}

std::int64_t QueuedLink::backlog_bytes() const {
  if (moving_ == 0) return waiting_bytes_;
  return waiting_bytes_ + static_cast<std::int64_t>(std::ceil(remaining_now() / jobs_[moving_].transfer.slowdown));
}

std::optional<Duration> QueuedLink::time_left(TransferId id) const {
  const Job* job = jobs_.find(id.value);
  if (job == nullptr || job->state == State::waiting) return std::nullopt;
  if (job->state == State::arriving) return job->since_left_link + config_.latency - simulator_.now();
  const Duration moving = transfer_time(remaining_now(), config_.bytes_per_s);
  if (moving == forever) return std::nullopt;
  return std::max(moving_since_, simulator_.now()) - simulator_.now() + moving + config_.latency;
}

LinkStatistics QueuedLink::statistics() const {
  LinkStatistics statistics = statistics_;
  Duration busy = busy_;
  if (moving_ != 0) busy += simulator_.now() - jobs_[moving_].since;
  statistics.busy_s = busy.seconds();
  return statistics;
}

void QueuedLink::check_conservation() const {
  std::int64_t outstanding = 0;
  jobs_.for_each([&](std::uint64_t, const Job& job) { outstanding += job.transfer.bytes; });
  check_bytes_conserved(config_.name, statistics_, outstanding);
}

// First in, first out: the order of submission is the order of service.

class SerialLink final : public QueuedLink {
 public:
  using QueuedLink::QueuedLink;

 private:
  [[nodiscard]] int rank(const Transfer& /*transfer*/) const override { return 0; }
};

}  // namespace

std::unique_ptr<Link> make_serial_link(Simulator& simulator, LinkConfig config, TraceSink* trace) {
  return std::make_unique<SerialLink>(simulator, std::move(config), trace);
}

// Non-pre-emptive priority: when the link becomes free, the highest priority goes next; within one, first in, first
// out. A transfer under way is never interrupted.

namespace {

class PriorityLink final : public QueuedLink {
 public:
  using QueuedLink::QueuedLink;

 private:
  [[nodiscard]] int rank(const Transfer& transfer) const override { return transfer.priority; }
};

}  // namespace

std::unique_ptr<Link> make_priority_link(Simulator& simulator, LinkConfig config, TraceSink* trace) {
  return std::make_unique<PriorityLink>(simulator, std::move(config), trace);
}

void check_bandwidth(const std::string& link, double bytes_per_s) {
  if (!(bytes_per_s >= 0) || std::isinf(bytes_per_s)) {
    throw std::invalid_argument("link '" + link + "': bandwidth must be finite and not negative");
  }
}

void check_transfer(const Transfer& transfer) {
  KVSIM_ALWAYS(transfer.bytes >= 0, "a transfer must not be negative");
  KVSIM_ALWAYS(transfer.slowdown >= 1, "a transfer must not be faster than its link");
}

void check_bytes_conserved(const std::string& link, const LinkStatistics& statistics, std::int64_t outstanding) {
  KVSIM_ALWAYS(statistics.bytes_submitted == statistics.bytes_delivered + statistics.bytes_cancelled + outstanding,
               "link '" + link + "': bytes put on differ from bytes taken off");
}

void check_link(const LinkConfig& config) {
  check_bandwidth(config.name, config.bytes_per_s);
  if (config.bytes_per_s == 0) {
    throw std::invalid_argument("link '" + config.name + "': bandwidth must be positive at the start");
  }
  if (config.latency < Duration{} || config.setup < Duration{}) {
    throw std::invalid_argument("link '" + config.name + "': latency and setup must not be negative");
  }
}

std::unique_ptr<Link> make_link(Simulator& simulator, LinkConfig config, TraceSink* trace) {
  check_link(config);
  switch (config.discipline) {
    case LinkDiscipline::serialised:
      return make_serial_link(simulator, std::move(config), trace);
    case LinkDiscipline::priority:
      return make_priority_link(simulator, std::move(config), trace);
    case LinkDiscipline::fair_share:
      return make_fair_share_link(simulator, std::move(config), trace);
  }
  throw std::invalid_argument("link '" + config.name + "': unknown discipline");
}

}  // namespace kvsim::engine
