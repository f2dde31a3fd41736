#include "sim/instance/step_loop.h"

#include <algorithm>
#include <utility>

namespace kvsim::serving {

void StepLoop::begin_step() {
  if (fast_forward_.under_way()) return run_step();
  if (fetched_->lags()) return listener_.idle(true);
  if (!listener_.decide()) return;
  pass_.clear();
  fetched_->begin_step();
  if (proposals_.any()) proposals_.begin_step(listener_.decoding());
  const bool works = listener_.compose();
  fast_forward_.begin(pass_, listener_.only_uniform());
  works ? run_step() : listener_.idle(false);
}

void StepLoop::add(Request& r, const StepPart& part) {
  pass_.add(r, part);
  if (part.work == Work::decode && fetched_->possible()) {
    fetched_->add(r, part.proposed, pass_.work);
  } else {
    parts_.add(r, part, pass_.work);
  }
  if (part.proposed > 0) proposals_.add(r, part.proposed);
}

void StepLoop::add_chunk(Request& r, std::int64_t tokens, std::int64_t compressed) {
  const StepPart part{Work::prefill, tokens};
  if (!r.prefill.assembly) parts_.add(r, part, pass_.work);
  if (proposals_.any()) proposals_.add_chunk(r, tokens);
  fetched_->add_chunk(tokens);
  if (r.prefix->unpack_s > 0) pass_.work.extra_gpu_s += std::exchange(r.prefix.edit().unpack_s, 0.0);
  if (compressed > 0) parts_.add_compression(compressed, pass_.work);
  pass_.add(r, part);
}

void StepLoop::run_step() {
  if (fast_forward_.under_way()) {
    fast_forward_.run(pass_);
  } else {
    pass_.work.extra_gpu_s += fetched_->quantising_s() + proposals_.seconds();
    pass_.time = env_.step_times.time(pass_.work);
  }
  machine::Step step = pass_.step(env_.step_times);
  step.decodes = pass_.iterates;
  if (fetched_->by_layers()) {
    fetched_->start(step, pass_);
  } else {
    listener_.start(step);
  }
}

bool StepLoop::awaits_kv() const {
  return !awaited_.empty() && std::any_of(pass_.entries.begin(), pass_.entries.end(), [this](const StepEntry& entry) {
    return std::find(awaited_.begin(), awaited_.end(), entry.request) != awaited_.end();
  });
}

void StepLoop::start(const machine::Step& step) {
  awaits_kv_ = awaits_kv();
  if (!awaits_kv_) return gpus_.start(step, {});
  computed_ = false;
  gpus_.start(step);
  gpus_.work().run(step.computing, engine::Callback::to<&StepLoop::on_computed>(this), {});
}

void StepLoop::on_computed() {
  computed_ = true;
  end_if_complete();
}

void StepLoop::arrived(const Request& r) {
  if (std::erase(awaited_, &r) == 0 || !awaits_kv_ || awaits_kv()) return;
  awaits_kv_ = false;
  last_layer_ends_ = env_.simulator.now() + last_layer(pass_.time, env_.config.model.layers);
  end_if_complete();
}

void StepLoop::end_if_complete() {
  if (awaits_kv_ || !computed_) return;
  env_.simulator.schedule_at(std::max(env_.simulator.now(), last_layer_ends_), gpus_.ended());
}

void StepLoop::end_step() {
  if (fast_forward_.end_step(pass_)) return;
  fetched_->end_step();
  listener_.on_step_ended();
  if (gpus_.traced()) gpus_.trace_step(pass_.name(), pass_.entries.size());
  if (env_.decode.proposes() && !pass_.prefills_alone) {
    proposals_.step_ended(pass_.work, pass_.time, gpus_.waited(), fetched_->longer_with_one_more_s(),
                          listener_.decoding());
  }
  listener_.apply();
}

}  // namespace kvsim::serving
