#include "sim/machine/gpu_group.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::machine {

using engine::Callback;
using engine::Duration;
using engine::SimTime;

GpuTime& GpuTime::operator+=(const GpuTime& other) {
  hbm_bandwidth += other.hbm_bandwidth;
  compute += other.compute;
  link += other.link;
  idle += other.idle;
  return *this;
}

GpuTime& GpuTime::operator-=(const GpuTime& other) {
  return *this += GpuTime{{-other.hbm_bandwidth.ns}, {-other.compute.ns}, {-other.link.ns}, {-other.idle.ns}};
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
  step_begin_ = env_.simulator.now();
  env_.simulator.advance(step_begin_ + length);
  spent_until_ = env_.simulator.now();
  (step.memory_bound ? spent_.hbm_bandwidth : spent_.compute) += step.computing;
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

void GpuGroup::note_time() {
  if (spent_until_ == env_.simulator.now()) return;
  spent_ = time();
  spent_until_ = env_.simulator.now();
}

GpuTime GpuGroup::time() const {
  GpuTime time = spent_;
  const Duration past = env_.simulator.now() - spent_until_;
  if (!computing_) {
    (waits_for_link_ ? time.link : time.idle) += past;
    return time;
  }
  const Duration computing = std::min(past, step_.computing + work_.added());
  (step_.memory_bound ? time.hbm_bandwidth : time.compute) += computing;
  time.link += past - computing;
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
