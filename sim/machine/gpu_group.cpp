#include "sim/machine/gpu_group.h"

#include <algorithm>
#include <numeric>

#include "sim/engine/invariant.h"

namespace kvsim::machine {

using engine::Callback;
using engine::Duration;
using engine::SimTime;

GpuTime& GpuTime::add(const GpuTime& other, std::int64_t sign) {
  const auto times = static_cast<double>(sign);
  computing += other.computing * sign;
  link += other.link * sign;
  front_end += other.front_end * sign;
  idle += other.idle * sign;
  for (std::size_t i = 0; i < models::kResources; ++i) {
    bound_s[i] += times * other.bound_s[i];
    saved_s[i] += times * other.saved_s[i];
  }
  link_saved_s += times * other.link_saved_s;
  return *this;
}

double GpuTime::fixed_s() const {
  return std::max(computing.seconds() - std::accumulate(bound_s.begin(), bound_s.end(), 0.0), 0.0);
}

void GpuTime::add(const models::StepAccount& account, Duration length) {
  const double seconds = length.seconds();
  for (std::size_t i = 0; i < models::kResources; ++i) {
    bound_s[i] += account.bound[i] * seconds;
    saved_s[i] += account.saved[i] * seconds;
  }
}

Overlap::Overlap(double computing, double busy, double waited)
    : computing_(computing), busy_(busy), latency_(std::max(waited - busy, 0.0)) {
  const double shorter = std::min(computing_, busy_);
  if (shorter > 0) beside_ = std::clamp((busy_ - waited) / shorter, 0.0, 1.0);
}

double Overlap::length(double computing, double busy) const {
  return computing + busy + latency_ - beside_ * std::min(computing, busy);
}

GpuGroup::GpuGroup(const Environment& environment, StepOwner& owner, const std::string& name)
    : env_(environment), owner_(owner), work_(environment.simulator), iteration_estimate_s_(environment.shortest_s) {
  if (!env_.trace) return;
  track_ = env_.trace->add_track(name, engine::kGpuRow);
  running_counter_ = env_.trace->add_counter(name, "running requests");
}

void GpuGroup::wake() {
  woken_ = true;
  if (computing_ || wake_pending_) return;
  wake_pending_ = true;  // one step for everything that happens at this instant
  env_.simulator.schedule_in({}, Callback::to<&GpuGroup::begin>(this));
}

void GpuGroup::begin() {
  wake_pending_ = false;
  woken_ = false;
  owner_.begin_step();
  if (computing_) return;
  idle_ = true;
  looked_ = env_.simulator.now();
}

void GpuGroup::start(const Step& step) {
  KVSIM_ALWAYS(!computing_, "a step begins while another is under way");
  note_time();
  idle_ = false;
  computing_ = true;
  step_ = step;
  note_account(step);
  step_begin_ = env_.simulator.now();
  work_.begin_step(step.memory_share);
}

void GpuGroup::start(const Step& step, Duration least) {
  start(step);
  work_.run(step.computing, ended(), least);
}

Callback GpuGroup::ended() {
  return Callback::to<&GpuGroup::end>(this);
}

void GpuGroup::pass(const Step& step, Duration length) {
  KVSIM_ALWAYS(!computing_, "a step begins while another is under way");
  note_time();
  idle_ = false;
  step_ = step;
  note_account(step);
  step_begin_ = env_.simulator.now();
  env_.simulator.advance(step_begin_ + length);
  spent_until_ = env_.simulator.now();
  if (env_.front_end) saturated_before_ = env_.front_end->saturated();
  spent_.computing += step.computing;
  spent_.link += length - step.computing;
  note_end();
}

void GpuGroup::end() {
  note_time();
  computing_ = false;
  step_.computing += work_.added();
  note_end();
  owner_.end_step();
  if (!wake_pending_) begin();
}

void GpuGroup::note_end() {
  length_ = env_.simulator.now() - step_begin_;
  env_.iteration_s.add(length_.seconds());
  env_.extrapolated_iterations += step_.within_domain ? 0 : 1;
  env_.launched_iterations += account_.launched_for_size ? 1 : 0;
  if (step_.decodes) {
    constexpr double kPast = 0.8;
    iteration_estimate_s_ = kPast * iteration_estimate_s_ + (1 - kPast) * length_.seconds();
  }
}

void GpuGroup::wait_for_link(bool waits) {
  if (waits == waits_for_link_) return;
  if (!computing_) note_time();
  waits_for_link_ = waits;
}

void GpuGroup::note_savings(const models::PerResource& beyond_account_s, double link_saved_s) {
  for (std::size_t i = 0; i < models::kResources; ++i) spent_.saved_s[i] += beyond_account_s[i];
  spent_.link_saved_s += link_saved_s;
}

/// A step begins, and those before it have ended.
void GpuGroup::note_account(const Step& step) {
  if (step.account != nullptr ? step.account->cell == account_.cell : account_.cell == 0) return;
  spent_.add(account_, spent_.computing - accounted_);
  accounted_ = spent_.computing;
  account_ = step.account != nullptr ? *step.account : models::StepAccount{};
}

void GpuGroup::note_time() {
  if (spent_until_ == env_.simulator.now()) return;
  advance(spent_);
  spent_until_ = env_.simulator.now();
  if (env_.front_end) saturated_before_ = env_.front_end->saturated();
}

void GpuGroup::advance(GpuTime& time) const {
  const Duration past = env_.simulator.now() - spent_until_;
  if (!computing_) {
    if (waits_for_link_) {
      time.link += past;
      return;
    }
    const Duration front_end = env_.front_end ? env_.front_end->saturated() - saturated_before_ : Duration{};
    time.front_end += front_end;
    time.idle += past - front_end;
    return;
  }
  const Duration computing = std::min(past, step_.computing + work_.added());
  time.computing += computing;
  time.link += past - computing;
}

GpuTime GpuGroup::time() const {
  GpuTime time = spent_;
  advance(time);
  time.add(account_, time.computing - accounted_);
  return time;
}

void GpuGroup::start_measuring() {
  measure_begin_ = env_.simulator.now();
  unmeasured_ = time();
  used_.reset(measure_begin_);
}

GpuTime GpuGroup::measured_time() const {
  GpuTime measured = time();
  return measured -= unmeasured_;
}

void GpuGroup::trace_step(const std::string& name, std::size_t requests) const {
  env_.trace->slice(track_, name, step_begin_, env_.simulator.now(), engine::TraceSink::no_owner,
                    static_cast<double>(requests));
}

void GpuGroup::trace_running(std::int64_t requests) const {
  if (env_.trace) env_.trace->counter(running_counter_, env_.simulator.now(), static_cast<double>(requests));
}

}  // namespace kvsim::machine
