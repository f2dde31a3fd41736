// Prompts put together from chunks: stored ones are loaded, missing ones computed alone, and a small model chooses
// tokens, all side by side. Then the chosen tokens and what follows the chunks are computed over the whole prompt.
#include <algorithm>
#include <utility>

#include "sim/serving/replica.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

using engine::Callback;

void Replica::begin_assembly(Request& r) {
  const engine::SimTime now = env_.simulator.now();
  r.assembling = true;
  r.apart_done = 0;
  r.scored = 0;
  r.admitted = r.loaded = r.selected = now;
  r.load_pending = r.prefix.tokens > 0;
  r.selection_pending = r.assembly->selects;
  r.selection_event = r.assembly->selects && r.assembly->scored_here == 0;
  if (r.selection_event) env_.prompts->select_elsewhere(r, Callback::to<&Replica::on_selected>(this, r.id));
  if (r.load_pending) {
    load_prefix(r);
  } else {
    r.phase = Phase::loading;
    loading_.push_back(&r);
  }
  // Whatever is left to be done is done in iterations; a prompt of which nothing is left has its rows in this one.
  rows_can_begin(r);
}

/// It was pushed out: what still comes for it is for nobody.
void Replica::abandon_assembly(Request& r) {
  if (r.load_pending) r.stale_loads += 1;  // others may wait for the same load
  if (r.selection_event) r.stale_selections += 1;
  r.assembling = r.load_pending = r.selection_pending = r.selection_event = false;
  r.assembly.reset();
}

void Replica::on_selected(std::uint64_t id) {
  Request& r = request(id);
  if (r.stale_selections > 0) {
    r.stale_selections -= 1;
    release_if_over(r);
    return;
  }
  r.selection_event = r.selection_pending = false;
  r.selected = env_.simulator.now();
  if (rows_can_begin(r)) wake();
}

/// With what the rest leaves of the step's tokens missing chunks are computed, in order of admission. The small model
/// reads as many tokens a step as the large one may.
void Replica::batch_assembly(models::StepWork& work) {
  if (!reuses_chunks(config_.prefill)) return;
  auto budget = config_.schedule.max_batched_tokens - static_cast<std::int64_t>(work.tokens());
  std::int64_t scoring_budget = config_.schedule.max_batched_tokens;
  scoring_.clear();
  for (Request* r : loading_) {
    if (!r->assembling) continue;
    const std::int64_t apart = batch_apart(*r, budget, work);
    const std::int64_t scored = std::min(scoring_budget, r->assembly->scored_here - r->scored);
    if (scored > 0) scoring_.push_back({static_cast<double>(scored), static_cast<double>(r->scored)});
    if (apart > 0 || scored > 0) assembly_step_.push_back({r, r->admission, apart, scored});
    budget -= apart;
    scoring_budget -= scored;
  }
  if (scoring_.empty()) return;
  step_scoring_s_ = env_.prompts->scoring_s(scoring_);
  work.extra_gpu_s += step_scoring_s_;
}

std::int64_t Replica::batch_apart(Request& r, std::int64_t budget, models::StepWork& work) {
  const PromptAssembly& a = *r.assembly;
  const std::int64_t end = std::min(a.apart, r.apart_done + std::max<std::int64_t>(budget, 0));
  add_chunks_alone(work, geometry_, a.apart_unit, r.apart_done, end);
  return end - r.apart_done;
}

void Replica::apply_assembly() {
  for (const AssemblyEntry& e : assembly_step_) {
    Request& r = *e.request;
    if (r.admission != e.admission || !r.assembling) continue;
    r.apart_done += e.apart;
    r.scored += e.scored;
    if (e.scored > 0 && r.scored == r.assembly->scored_here) {
      r.selection_event = true;
      env_.simulator.schedule_in(engine::from_seconds(r.assembly->align_s),
                                 Callback::to<&Replica::on_selected>(this, r.id));
    }
    rows_can_begin(r);
  }
}

/// All chunks' KV is there, and the tokens are chosen: it joins the prompts that are prefilled.
bool Replica::rows_can_begin(Request& r) {
  if (r.load_pending || r.selection_pending || r.apart_done < r.assembly->apart) return false;
  r.assembling = false;
  r.assembled = env_.simulator.now();
  env_.prompts->computed(r);
  std::erase(loading_, &r);
  hbm_.release(r.assembly->scoring_bytes);
  held_total_ -= r.assembly->scoring_bytes;
  r.held -= r.assembly->scoring_bytes;
  r.prefill_done = r.prefill_target - r.assembly->rows;
  outstanding_tokens_ -= r.prefill_done;
  enter_prefilling(r);
  return true;
}

void Replica::batch_rows(Request& r, std::int64_t rows, bool last, models::StepWork& work) {
  PromptAssembly& a = *r.assembly;
  const std::int64_t done = r.prefill_done - (r.prefill_target - a.rows);
  add_rows(work, geometry_, rows, a.before + static_cast<double>(done), r.prefill_target - r.prefix.dropped, last);
  work.extra_gpu_s += std::exchange(a.recover_s, 0.0);
  work.extra_gpu_s += a.first_layer_s * static_cast<double>(rows) / static_cast<double>(a.rows);
}

/// Its first token is about to be out.
void Replica::note_assembly(const Request& r) {
  if (r.had_prompt) return;  // it was pushed out, and has been put together before
  const engine::SimTime now = env_.simulator.now();
  const PromptAssembly& a = *r.assembly;
  const std::int64_t chunks = a.apart + r.prefix.tokens;
  const std::int64_t other = r.prompt - chunks;
  ReuseMeasurement& m = env_.measured.reuse;
  m.prompts += 1;
  m.chunk_tokens += chunks;
  m.loaded_tokens += r.prefix.tokens;
  m.apart_tokens += a.apart;
  m.recomputed_tokens += a.rows - other;
  m.other_tokens += other;
  m.queue_s += (r.admitted - r.arrival).seconds();
  m.load_s += (r.loaded - r.admitted).seconds();
  m.select_s += (r.selected - r.admitted).seconds();
  m.assemble_s += (r.assembled - r.admitted).seconds();
  m.prefill_s += (now - r.assembled).seconds();
  m.selections_longer += r.selected > r.loaded ? 1 : 0;
}

}  // namespace kvsim::serving
