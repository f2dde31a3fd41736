// Prompts that were computed before: what is stored of them is loaded, and contexts whose quality fell short are
// profiled again beside the batch.
#include <algorithm>

#include "sim/serving/replica.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

using engine::Callback;

void Replica::load_prefix(Request& r) {
  r.phase = Phase::loading;
  loading_.push_back(&r);
  r.loading_bytes = geometry_.full_transfer(r.prefix.tokens - r.prefix.dropped);
  loading_bytes_ += r.loading_bytes;
  env_.prompts->load(r, Callback::to<&Replica::on_first_load>(this, r.id));
}

void Replica::on_stale_load(Request& r) {
  r.stale_loads -= 1;
  release_if_over(r);
}

/// Only where the batch has room: neither a request nor its KV gives way.
void Replica::profile_if_asked(const Request& r) {
  if (!env_.prompts) return;
  std::optional<ProfilingWork> work = env_.prompts->finished(r);
  if (!work) return;
  const std::int64_t held = geometry_.full_reservation(work->held_tokens);
  std::int64_t sequences = running() + static_cast<std::int64_t>(work->contexts.size());
  for (const Profiling& p : profiling_) sequences += static_cast<std::int64_t>(p.work.contexts.size());
  if (!queue_.empty() || sequences > config_.schedule.max_requests || !hbm_.try_reserve(held)) return;
  profiling_held_ += held;
  profiling_.push_back({std::move(*work), 0, 0, 0, held, env_.prompts->profiling(r)});
}

/// With what decoding leaves of the step's tokens the context is computed; then it is decoded.
void Replica::batch_profiling(models::StepWork& work) {
  for (Profiling& p : profiling_) {
    const auto left = config_.schedule.max_batched_tokens - static_cast<std::int64_t>(work.tokens());
    p.chunk = std::clamp<std::int64_t>(left, 0, p.work.prefill_tokens - p.prefilled);
    if (p.chunk > 0) add_chunk(work, geometry_, p.prefilled, p.chunk, false);
    if (p.prefilled < p.work.prefill_tokens) continue;
    for (const std::int64_t context : p.work.contexts) serving::add_decode(work, geometry_, context + p.steps_done);
  }
}

void Replica::apply_profiling() {
  for (Profiling& p : profiling_) {
    if (p.prefilled < p.work.prefill_tokens) {
      p.prefilled += p.chunk;
      continue;
    }
    p.steps_done += 1;
    env_.measured.placement.profiled_tokens += static_cast<std::int64_t>(p.work.contexts.size());
    if (p.steps_done < p.work.steps) continue;
    hbm_.release(p.held);
    profiling_held_ -= p.held;
    env_.prompts->profiled(p.number);
  }
  std::erase_if(profiling_, [](const Profiling& p) { return p.steps_done >= p.work.steps; });
}

}  // namespace kvsim::serving
