#include "sim/instance/profiling.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/serving/step_parts.h"

namespace kvsim::serving {

void Profiling::finished(const Request& r, std::int64_t running, bool waits) {
  std::optional<ProfilingWork> work = prompts_.finished(r);
  if (!work) return;
  const std::int64_t held = geometry_.full_reservation(work->held_tokens);
  std::int64_t sequences = running + static_cast<std::int64_t>(work->contexts.size());
  for (const Context& c : contexts_) sequences += static_cast<std::int64_t>(c.work.contexts.size());
  if (waits || sequences > schedule_.max_requests || !memory_.reserve_beside(held)) return;
  contexts_.push_back({std::move(*work), held, prompts_.profiling(r)});
}

void Profiling::batch(models::StepWork& work) {
  for (Context& c : contexts_) {
    const auto left = schedule_.max_batched_tokens - static_cast<std::int64_t>(work.tokens());
    c.chunk = std::clamp<std::int64_t>(left, 0, c.work.prefill_tokens - c.prefilled);
    if (c.chunk > 0) add_chunk(work, geometry_, c.prefilled, c.chunk, false);
    if (c.prefilled < c.work.prefill_tokens) continue;
    for (const std::int64_t context : c.work.contexts) add_decode(work, geometry_, context + c.steps_done);
  }
}

void Profiling::apply() {
  if (contexts_.empty()) return;
  for (Context& c : contexts_) {
    if (c.prefilled < c.work.prefill_tokens) {
      c.prefilled += c.chunk;
      continue;
    }
    c.steps_done += 1;
    measured_.placement.profiled_tokens += static_cast<std::int64_t>(c.work.contexts.size());
    if (c.steps_done < c.work.steps) continue;
    memory_.release_beside(c.held);
    prompts_.profiled(c.number);
  }
  std::erase_if(contexts_, [](const Context& c) { return c.steps_done >= c.work.steps; });
}

}  // namespace kvsim::serving
