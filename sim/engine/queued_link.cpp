#include "sim/engine/queued_link.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/engine/link_disciplines.h"
#include "sim/engine/trace_name.h"
#include "sim/engine/transfer_time.h"

namespace kvsim::engine {
namespace {

/// In bytes of transfers that are not slowed down.
double work_of(const Transfer& transfer) {
  return static_cast<double>(transfer.bytes) * transfer.slowdown;
}

}  // namespace

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

}  // namespace kvsim::engine
