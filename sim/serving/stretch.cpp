#include "sim/serving/stretch.h"

#include <algorithm>
#include <vector>

namespace kvsim::serving {

void Stretch::begin(const ForwardPass& pass, bool alone) {
  under_way_ = alone && env_.config.run.stretches && steady_.size() > 0 && pass.entries.empty() &&
               pass.work.tokens() == static_cast<double>(steady_.size()) && pass.work.extra_gpu_s == 0 &&
               admission_.waits_for_event();
  if (under_way_) by_tokens_ = env_.timer.token_time(pass.work);
}

std::int64_t Stretch::run(ForwardPass& pass) {
  const engine::SimTime free_before = env_.simulator.free_before();
  models::StepTime& time = pass.time;
  for (std::int64_t emitted = 0;; emitted += next(pass)) {
    time = env_.timer.time(pass.work, by_tokens_);
    const engine::Duration length = std::max(engine::from_seconds(time.total_s), engine::Duration{1});
    if (env_.simulator.now() + length >= free_before || ends_with_step()) return emitted;
    gpus_.pass({length, time.hbm_bound_s >= time.compute_bound_s, true, time.within_domain}, length);
  }
}

std::int64_t Stretch::end_step(ForwardPass& pass) {
  under_way_ = under_way_ && !gpus_.woken() && !ends_with_step();
  return under_way_ ? next(pass) : 0;
}

/// A step has ended with which nobody finishes, and the next one begins.
std::int64_t Stretch::next(ForwardPass& pass) {
  use_.note();
  log_.emitted_together(steady_.size(), steady_.gap(env_.simulator.now()));
  steady_.end_step(env_.simulator.now());
  pass.work.decode = {};
  pass.work.logit_tokens = 0;
  steady_.begin_step(pass.work);
  env_.measured.drafting_request_iterations += static_cast<std::uint64_t>(steady_.size());
  admission_.look_again();
  use_.set_short(admission_.lacks_memory());
  return steady_.size();
}

}  // namespace kvsim::serving
