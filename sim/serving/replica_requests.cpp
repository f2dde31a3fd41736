// Progress of requests through a replica: what is stored of a prompt is loaded, the rest prefilled; rounds begun and
// verified; the end; and what is measured of its steps.
#include <algorithm>
#include <cmath>

#include "sim/engine/invariant.h"
#include "sim/serving/replica.h"

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

void Replica::begin_round(Request& r) {
  r.drafted = 0;
  r.reload = Reload::none;
  r.arriving = false;
  r.late = false;
  draft_lengths_.begin_round(r, roster_.decoding(), demand_.offloads(r));
}

RoundEnd Replica::round_end(const Request& r) const {
  const double reload_s =
      demand_.offloads(r) ? static_cast<double>(geometry_.reload_transfer(r.prompt, r.generated)) / h2d_->bandwidth()
                          : 0.0;
  return {gpus_.step_begin() + gpus_.waited(), reload_s, gpus_.iteration_s()};
}

void Replica::apply_verification(Request& r) {
  KVSIM_ALWAYS(r.resident || r.reload == Reload::arrived, "a request was verified without its full KV");
  const std::int64_t drafted = r.drafted;
  const std::int64_t accepted = env_.acceptance.accepted(drafted, r.accept_stream.uniform(), r.acceptance);
  draft_lengths_.verified(r, drafted, accepted, round_end(r));
  full_kv_->verified(r, !roster_.anybody_waits());
  r.tail = 0;
  r.unseen = 1;  // what follows the last token that the drafter saw accepted
  const std::int64_t emitted = log_.verified(r, drafted, accepted);
  outstanding_tokens_ -= emitted;
  if (r.remaining() == 0) {
    finish(r);
    return;
  }
  if (demand_.offloads(r)) write_back(r, emitted);
  begin_round(r);
}

std::int64_t Replica::accept_proposals(Request& r, std::int64_t proposed) {
  if (proposed == 0) return 0;
  const std::int64_t accepted = drafting_.accepted(r, proposed);
  DrafterMeasurement& m = env_.measured.drafter;
  m.steps += 1;
  m.proposed_tokens += proposed;
  m.accepted_tokens += accepted;
  return accepted;
}

/// It gained tokens; the drafter has read all before them if it proposed any.
void Replica::note_unseen(Request& r, std::int64_t proposed, std::int64_t gained) {
  r.unseen = proposed > 0 ? gained : r.unseen + gained;
}

void Replica::apply_decoding(Request& r, std::int64_t proposed) {
  const bool choosing = decode_.fetch == Fetch::speculative && !r.pairs_asked;
  if (decode_.fetch == Fetch::speculative) r.pairs_asked = true;
  if (choosing) {  // a pre-decode step: nothing is decoded, the speculative token chooses the first pairs
    env_.measured.fetch.first_choices += 1;
    return;
  }
  const std::int64_t context = r.context();
  const std::int64_t accepted = accept_proposals(r, proposed);
  draft_lengths_.proposed(r, proposed, accepted);
  if (proposed > 0) {
    outstanding_tokens_ -= log_.verified(r, proposed, accepted);
  } else {
    emit_directly(r);
  }
  note_unseen(r, proposed, accepted + 1);
  if (layers_) r.in_host_tokens += accepted + 1;
  if (r.remaining() > 0) return;
  // What was asked for beside its last token is for nobody.
  if (decode_.fetch == Fetch::speculative) {
    env_.measured.fetch.unused_bytes += std::llround(fetching_.request_bytes(r, context));
  }
  finish(r);
}

void Replica::note_fetch_wait() {
  const engine::Duration waited = gpus_.waited();
  if (waited <= engine::Duration{}) return;
  env_.measured.fetch.wait_s += waited.seconds();
  env_.measured.fetch.waiting_steps += 1;
}

void Replica::emit_directly(Request& r) {
  outstanding_tokens_ -= 1;
  log_.emitted_directly(r);
}

void Replica::finish(Request& r) {
  log_.finished(r, fidelity(r));
  schedule_->removed(r);
  roster_.leave(r);
  memory_.leave_gpu(r.kv);
  memory_.leave_host(r.kv);
  finished_since_decided_ += 1;
  notify(env_.on_finished, r);
  profiling_.finished(r, roster_.running(), roster_.anybody_waits());
  release_if_over(r);
}

void Replica::release_if_over(const Request& r) {
  if (r.phase == Phase::finished && !r.referred_to()) notify(env_.on_released, r);
}

OutputFidelity Replica::fidelity(const Request& r) const {
  if (decode_.as_found) return {};
  if (r.prefix.quality < 1 || r.prefix.step_kl != 0) return {false, r.prefix.step_kl, r.prefix.quality};
  return decoding_fidelity(config_, decode_, geometry_, r.context());
}

void Replica::notify(engine::Callback callback, const Request& r) {
  callback.word = r.id;
  callback();
}

void Replica::note_memory() {
  // Reserved bytes still on the link are not there yet.
  const std::int64_t coming = layers_ || env_.prompts ? loading_bytes_ : h2d_->backlog_bytes();
  const std::int64_t used = memory_.reserved() - std::min(memory_.reserved(), coming);
  gpus_.use_memory(used);
  if (!env_.trace) return;
  env_.trace->counter(queue_counter_, env_.simulator.now(), static_cast<double>(roster_.waiting()));
  gpus_.trace_running(roster_.running());
}

void Replica::trace_step() {
  if (!gpus_.traced()) return;
  bool draft = false, verify = false, prefill = false;
  for (const StepEntry& e : step_) {
    prefill = prefill || e.work == Work::prefill;
    draft = draft || e.work == Work::decode || e.work == Work::draft;
    verify = verify || e.work == Work::verify;
  }
  static constexpr const char* kNames[2][8] = {
      {"", "decode", "", "", "prefill", "decode+prefill", "", ""},
      {"", "draft", "verify", "draft+verify", "prefill", "draft+prefill", "verify+prefill", "draft+verify+prefill"}};
  prefill = prefill || assembly_.computes();
  const int kind = (draft ? 1 : 0) + (verify ? 2 : 0) + (prefill ? 4 : 0);
  const char* name = kind == 0 ? "score" : kNames[decode_.verifies ? 1 : 0][kind];
  gpus_.trace_step(name, step_.size());
}

}  // namespace kvsim::serving
