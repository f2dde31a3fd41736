#include "sim/machine/gpu_group.h"

#include "sim/engine/invariant.h"

namespace kvsim::machine {

using engine::Callback;
using engine::Duration;

GpuGroup::GpuGroup(const Environment& environment, StepListener& listener, const std::string& name)
    : env_(environment),
      listener_(listener),
      work_(environment.simulator),
      spent_(environment.simulator, work_, environment.front_end),
      iteration_estimate_s_(environment.shortest_s) {
  if (!env_.trace) return;
  track_ = env_.trace->add_track(name, engine::kGpuRow);
  running_counter_ = env_.trace->add_counter(name, "running requests");
}

void GpuGroup::wake() {
  woken_ = true;
  if (spent_.computing() || wake_pending_) return;
  wake_pending_ = true;  // one step for everything that happens at this instant
  env_.simulator.schedule_in({}, Callback::to<&GpuGroup::begin>(this));
}

void GpuGroup::begin() {
  wake_pending_ = false;
  woken_ = false;
  listener_.begin_step();
  if (spent_.computing()) return;
  idle_ = true;
  looked_ = env_.simulator.now();
}

void GpuGroup::start(const Step& step) {
  KVSIM_ALWAYS(!spent_.computing(), "a step begins while another is under way");
  spent_.begin_step(step.account, step.computing);
  idle_ = false;
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
  KVSIM_ALWAYS(!spent_.computing(), "a step begins while another is under way");
  idle_ = false;
  step_ = step;
  step_begin_ = env_.simulator.now();
  spent_.pass(step.account, step.computing, length);
  note_end();
}

void GpuGroup::end() {
  spent_.end_step();
  step_.computing += work_.added();
  note_end();
  listener_.end_step();
  if (!wake_pending_) begin();
}

void GpuGroup::note_end() {
  length_ = env_.simulator.now() - step_begin_;
  env_.iteration_s.add(length_.seconds());
  env_.extrapolated_iterations += step_.within_domain ? 0 : 1;
  env_.launched_iterations += spent_.account().launched_for_size ? 1 : 0;
  if (step_.decodes) {
    constexpr double kPast = 0.8;
    iteration_estimate_s_ = kPast * iteration_estimate_s_ + (1 - kPast) * length_.seconds();
  }
}

void GpuGroup::start_measuring() {
  spent_.start_measuring();
  used_.reset(env_.simulator.now());
}

void GpuGroup::trace_step(const std::string& name, std::size_t requests) const {
  env_.trace->slice(track_, name, step_begin_, env_.simulator.now(), engine::TraceSink::no_owner,
                    static_cast<double>(requests));
}

void GpuGroup::trace_running(std::int64_t requests) const {
  if (env_.trace) env_.trace->counter(running_counter_, env_.simulator.now(), static_cast<double>(requests));
}

}  // namespace kvsim::machine
