#include "sim/transport/lane.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/time.h"

namespace kvsim::transport {

using engine::Callback;
using engine::Duration;
using engine::SimTime;

Lane::Lane(engine::Simulator& simulator, Network& network, engine::TraceSink* trace, LaneConfig config)
    : simulator_(simulator), network_(network), trace_(trace), config_(std::move(config)) {
  check_link(config_.name, 1, config_.latency, config_.setup);
  if (trace_ == nullptr) return;
  if (serialised()) {
    track_ = trace_->add_track(config_.group, config_.name);
  } else {
    rows_ = engine::TraceLanes(trace_, config_.group, config_.name);
    counter_ = trace_->add_counter(config_.group, config_.name + ": transfers under way");
  }
}

TransferId Lane::submit(const Transfer& transfer) {
  check_transfer(transfer);
  const auto [id, job] = jobs_.acquire();
  job = {.transfer = transfer, .since = simulator_.now()};
  statistics_.bytes_submitted += transfer.bytes;
  count_urgent(transfer, 1);
  if (serialised()) {
    job.waiting = waiting_.push(-std::int64_t{transfer.priority}, id);
    waiting_bytes_ += transfer.bytes;
    if (carried_ == 0) start_next();
  } else {
    start(id);
  }
  return {id};
}

void Lane::start_next() {
  const bool carried = std::exchange(carried_, 0) != 0;
  if (carried && config_.carrying) --*config_.carrying;
  if (waiting_.empty()) return;
  carried_ = waiting_.pop().value;
  if (config_.carrying) ++*config_.carrying;
  waiting_bytes_ -= jobs_[carried_].transfer.bytes;
  start(carried_);
}

void Lane::start(std::uint64_t id) {
  Job& job = jobs_[id];
  const SimTime now = simulator_.now();
  ++statistics_.transfers_started;
  statistics_.total_wait_s += (now - job.since).seconds();
  // On a serialised lane it was set up while the one before it moved, once that one was.
  const SimTime set_up = (serialised() ? std::max(job.since, previous_flowing_) : now) + config_.setup;
  job.since = now;
  job.flowing = std::max(now, set_up);
  job.state = State::under_way;
  previous_flowing_ = job.flowing;
  if (under_way_++ == 0) busy_since_ = now;
  if (trace_ != nullptr && !serialised()) {
    job.row = rows_.acquire();
    trace_->counter(counter_, now, static_cast<double>(under_way_));
  }
  Transfer flow = job.transfer;
  flow.on_complete = Callback::to<&Lane::on_last_byte>(this, id);
  job.flow = network_.submit(config_.route, flow, job.flowing - now);
}

void Lane::on_last_byte(std::uint64_t id) {
  Job& job = jobs_[id];
  leave(job, job.transfer.kind);
  job.state = State::arriving;
  job.since = simulator_.now();
  const bool late = config_.latency > Duration{};
  if (late) job.arrival = simulator_.schedule_in(config_.latency, Callback::to<&Lane::deliver>(this, id));
  if (serialised()) start_next();
  if (!late) deliver(id);
}

void Lane::leave(Job& job, const char* what) {
  const SimTime now = simulator_.now();
  count_urgent(job.transfer, -1);
  if (--under_way_ == 0) busy_ += now - busy_since_;
  if (trace_ == nullptr) return;
  const auto bytes = static_cast<double>(job.transfer.bytes);
  if (serialised()) {
    trace_->slice(track_, what, job.since, now, job.transfer.owner, bytes);
  } else {
    rows_.release(job.row, what, job.since, now, job.transfer.owner, bytes);
    trace_->counter(counter_, now, static_cast<double>(under_way_));
  }
}

void Lane::deliver(std::uint64_t id) {
  const Transfer transfer = jobs_[id].transfer;
  jobs_.release(id);
  statistics_.bytes_delivered += transfer.bytes;
  ++statistics_.transfers_completed;
  if (transfer.on_complete) transfer.on_complete();
}

bool Lane::cancel(TransferId id) {
  Job* job = jobs_.find(id.value);
  if (job == nullptr) return false;
  statistics_.bytes_cancelled += job->transfer.bytes;
  const State state = job->state;
  if (state == State::waiting) {
    waiting_.cancel(job->waiting);
    waiting_bytes_ -= job->transfer.bytes;
    count_urgent(job->transfer, -1);
  } else if (state == State::under_way) {
    network_.cancel(job->flow);
    leave(*job, "cancelled");
  } else {
    simulator_.cancel(job->arrival);
  }
  jobs_.release(id.value);
  if (state == State::under_way && serialised()) start_next();
  return true;
}

std::int64_t Lane::backlog_bytes() const {
  if (under_way_ == 0) return waiting_bytes_;
  double bytes = 0;
  if (carried_ != 0) {
    const Job& job = jobs_[carried_];
    bytes = network_.remaining(job.flow) / job.transfer.slowdown;
    return waiting_bytes_ + static_cast<std::int64_t>(std::ceil(bytes));
  }
  jobs_.for_each([&](std::uint64_t, const Job& job) {
    if (job.state == State::under_way) bytes += network_.remaining(job.flow) / job.transfer.slowdown;
  });
  return waiting_bytes_ + static_cast<std::int64_t>(std::ceil(bytes));
}

std::optional<Lane::Carried> Lane::carried() const {
  if (carried_ == 0) return std::nullopt;
  return Carried{jobs_[carried_].transfer, jobs_[carried_].since};
}

std::optional<Duration> Lane::time_left(TransferId id) {
  const Job* job = jobs_.find(id.value);
  const SimTime now = simulator_.now();
  if (job == nullptr || job->state == State::waiting) return std::nullopt;
  if (job->state == State::arriving) return job->since + config_.latency - now;
  if (!serialised()) return std::nullopt;
  const Duration setup = std::max(job->flowing, now) - now;
  const double rate = setup > Duration{} ? bandwidth() : network_.rate(job->flow);
  const Duration moving = engine::transfer_time(network_.remaining(job->flow), rate);
  if (moving == engine::forever) return std::nullopt;
  return setup + moving + config_.latency;
}

LinkStatistics Lane::statistics() const {
  LinkStatistics statistics = statistics_;
  const Duration busy = under_way_ == 0 ? busy_ : busy_ + (simulator_.now() - busy_since_);
  statistics.busy_s = busy.seconds();
  return statistics;
}

void Lane::check_conservation() const {
  std::int64_t outstanding = 0;
  jobs_.for_each([&](std::uint64_t, const Job& job) { outstanding += job.transfer.bytes; });
  check_bytes_conserved(config_.name, statistics_, outstanding);
}

}  // namespace kvsim::transport
