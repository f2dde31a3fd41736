#include "sim/instance/assembly.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/serving/step_parts.h"

namespace kvsim::serving {

using engine::Callback;

void Assembly::begin(Request& r) {
  if (!r.prefill.assembling) r.prefill.assembling = std::make_unique<AssemblyProgress>();
  AssemblyProgress& p = *r.prefill.assembling;
  p.underway_ = true;
  p.apart_done_ = 0;
  p.scored_ = 0;
  p.admitted_ = p.loaded_ = p.selected_ = env_.simulator.now();
  p.load_pending_ = r.prefix->tokens > 0;
  p.selection_pending_ = r.prefill.assembly->selects;
  p.selection_event_ = r.prefill.assembly->selects && r.prefill.assembly->scored_here == 0;
  if (p.selection_event_) env_.prompts.select_elsewhere(r, selected(r));
}

void Assembly::loaded(Request& r) {
  r.prefill.assembling->load_pending_ = false;
  r.prefill.assembling->loaded_ = env_.simulator.now();
  try_end(r);
}

void Assembly::abandon(Request& r) {
  AssemblyProgress& p = *r.prefill.assembling;
  if (p.load_pending_) ++r.moving.stale_loads;  // others may wait for the same load
  if (p.selection_event_) p.stale_selections_ += 1;
  p.underway_ = p.load_pending_ = p.selection_pending_ = p.selection_event_ = false;
  r.prefill.assembly.reset();
}

Callback Assembly::selected(Request& r) {
  return Callback::to<&Assembly::on_selected>(this, r.id);
}

void Assembly::on_selected(std::uint64_t request) {
  Request& r = env_.requests[request];
  AssemblyProgress& p = *r.prefill.assembling;
  if (p.stale_selections_ > 0) {
    p.stale_selections_ -= 1;
    env_.requests.release_if_over(r);
    return;
  }
  p.selection_event_ = p.selection_pending_ = false;
  p.selected_ = env_.simulator.now();
  if (try_end(r)) gpus_.wake();
}

void Assembly::batch(std::span<Request* const> loading, models::StepWork& work) {
  if (!reuses_chunks(env_.config.prefill)) return;
  auto budget = env_.config.schedule.max_batched_tokens - static_cast<std::int64_t>(work.tokens());
  std::int64_t scoring_budget = env_.config.schedule.max_batched_tokens;
  scoring_.clear();
  for (Request* r : loading) {
    if (!r->being_assembled()) continue;
    const std::int64_t apart = batch_apart(*r, budget, work);
    const std::int64_t done = r->prefill.assembling->scored_;
    const std::int64_t scored = std::min(scoring_budget, r->prefill.assembly->scored_here - done);
    if (scored > 0) scoring_.push_back({static_cast<double>(scored), static_cast<double>(done)});
    if (apart > 0 || scored > 0) step_.push_back({r, r->admission, apart, scored});
    budget -= apart;
    scoring_budget -= scored;
  }
  if (scoring_.empty()) return;
  const double scoring_s = env_.prompts.scoring_s(scoring_);
  work.extra_gpu_s += scoring_s;
  work.extra_arithmetic_s += scoring_s;
}

std::int64_t Assembly::batch_apart(const Request& r, std::int64_t budget, models::StepWork& work) const {
  const PromptAssembly& a = *r.prefill.assembly;
  const std::int64_t done = r.prefill.assembling->apart_done_;
  const std::int64_t end = std::min(a.apart, done + std::max<std::int64_t>(budget, 0));
  add_chunks_alone(work, env_.geometry, a.apart_unit, done, end);
  return end - done;
}

void Assembly::clear() {
  step_.clear();
}

bool Assembly::computes() const {
  return std::any_of(step_.begin(), step_.end(), [](const Entry& e) { return e.apart > 0; });
}

void Assembly::apply() {
  for (const Entry& e : step_) {
    Request& r = *e.request;
    AssemblyProgress& p = *r.prefill.assembling;
    if (r.admission != e.admission || !p.underway_) continue;
    p.apart_done_ += e.apart;
    p.scored_ += e.scored;
    if (e.scored > 0 && p.scored_ == r.prefill.assembly->scored_here) {
      p.selection_event_ = true;
      env_.simulator.schedule_in(engine::from_seconds(r.prefill.assembly->align_s), selected(r));
    }
    try_end(r);
  }
}

bool Assembly::try_end(Request& r) {
  AssemblyProgress& p = *r.prefill.assembling;
  if (p.load_pending_ || p.selection_pending_ || p.apart_done_ < r.prefill.assembly->apart) return false;
  p.underway_ = false;
  p.assembled_ = env_.simulator.now();
  env_.prompts.computed(r);
  listener_.on_assembled(r);
  return true;
}

void Assembly::batch_rows(Request& r, std::int64_t rows, bool last, models::StepWork& work) const {
  PromptAssembly& a = *r.prefill.assembly;
  const std::int64_t done = r.prefill.done - (r.prefill.target - a.rows);
  add_rows(work, env_.geometry, rows, a.before + static_cast<double>(done), r.prefill.target - r.prefix->dropped, last);
  work.extra_gpu_s += std::exchange(a.recover_s, 0.0);
  work.extra_gpu_s += a.first_layer_s * static_cast<double>(rows) / static_cast<double>(a.rows);
}

void Assembly::note(const Request& r) const {
  if (r.full_kv.had_prompt) return;  // it was preempted, and has been put together before
  const AssemblyProgress& p = *r.prefill.assembling;
  const PromptAssembly& a = *r.prefill.assembly;
  const std::int64_t chunks = a.apart + r.prefix->tokens;
  const std::int64_t other = r.prompt - chunks;
  ReuseMeasurement& m = env_.measured.reuse;
  m.prompts += 1;
  m.chunk_tokens += chunks;
  m.loaded_tokens += r.prefix->tokens;
  m.apart_tokens += a.apart;
  m.recomputed_tokens += a.rows - other;
  m.other_tokens += other;
  m.queue_s += (p.admitted_ - r.arrival).seconds();
  m.load_s += (p.loaded_ - p.admitted_).seconds();
  m.select_s += (p.selected_ - p.admitted_).seconds();
  m.assemble_s += (p.assembled_ - p.admitted_).seconds();
  m.prefill_s += (env_.simulator.now() - p.assembled_).seconds();
  m.selections_longer += p.selected_ > p.loaded_ ? 1 : 0;
}

}  // namespace kvsim::serving
