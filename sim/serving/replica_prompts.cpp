// The way of a prompt to its first step: what is stored of it is loaded, the rest prefilled.
#include <algorithm>

#include "sim/engine/invariant.h"
#include "sim/serving/replica.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

using engine::Callback;

void Replica::load_prefix(Request& r) {
  roster_.move(r, Phase::loading);
  r.loading_bytes = geometry_.full_transfer(r.prefix.tokens - r.prefix.dropped);
  loading_bytes_ += r.loading_bytes;
  env_.prompts->load(r, Callback::to<&Replica::on_first_load>(this, r.id));
}

void Replica::on_first_load(std::uint64_t id) {
  Request& r = request(id);
  if (r.stale_loads > 0) {  // of an admission that is over
    r.stale_loads -= 1;
    release_if_over(r);
    return;
  }
  note_memory();
  loading_bytes_ -= r.loading_bytes;
  r.loading_bytes = 0;
  r.transfer = {};
  if (r.assembling.underway()) {
    assembly_.loaded(r);
    gpus_.wake();  // even if it waits for something else: nobody waits for the link any more
    return;
  }
  // An offloaded request has all but its last token in host memory, and drafting starts from that one.
  r.prefill_done =
      demand_.offloads(r) ? r.prefill_target : std::min(std::max(r.in_host_tokens, r.prefix.tokens), r.prefill_target);
  outstanding_tokens_ -= r.prefill_done;
  if (r.prefill_done >= r.prefill_target) {
    become_ready(r);
    begin_round(r);
  } else {
    roster_.move(r, Phase::prefilling);
  }
  gpus_.wake();
}

void Replica::become_ready(Request& r) {
  roster_.move(r, Phase::decoding);
  env_.measured.prompt_tokens += r.had_prompt ? 0 : r.prompt;
  r.had_prompt = true;
  r.unseen = 1;  // the prompt was read, or its KV loaded, with the drafter's
}

void Replica::settle_after_prefill(Request& r) {
  if (!demand_.holds_part(r)) return;
  r.settling = r.writebacks > 0;  // the full KV leaves GPU memory when all of it is in host memory
  if (!r.settling) KVSIM_ALWAYS(resize_held(r, demand_.decoding(r)), "compressing a prompt needed more memory");
}

void Replica::begin_assembly(Request& r) {
  assembly_.begin(r);
  if (r.prefix.tokens > 0) {
    load_prefix(r);
  } else {
    roster_.move(r, Phase::loading);
  }
  assembly_.try_end(r);
}

void Replica::on_assembled(Request& r) {
  KVSIM_ALWAYS(memory_.resize(r.kv, r.kv.held() - r.assembly->scoring_bytes), "memory could not be given back");
  r.prefill_done = r.prefill_target - r.assembly->rows;
  outstanding_tokens_ -= r.prefill_done;
  roster_.move(r, Phase::prefilling);
}

/// In order of admission; later rounds ask when their drafts are complete, as the schedule says.
void Replica::bring_at_once() {
  for (Request* r : roster_.decoding()) {
    const bool first = !r->direct && full_kv_->brings_at_once(*r);
    if (first && r->reload == Reload::none && !start_reload(*r, false)) return;
  }
}

/// By a prompt that was loaded compressed or put together: no more than a draft.
void Replica::draft_first_token(Request& r) {
  begin_round(r);
  r.drafted = 1;
  if (r.first_draft == engine::SimTime{}) {
    r.first_draft = env_.simulator.now();
    env_.measured.reuse.first_draft_s += (r.first_draft - r.arrival).seconds();
    env_.measured.reuse.first_drafts += 1;
  }
}

}  // namespace kvsim::serving
