// The way of a prompt to its first step: what is stored of it is loaded, the rest prefilled; and contexts whose quality
// fell short are profiled again beside the batch.
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

void Replica::on_first_load(std::uint64_t id) {
  Request& r = request(id);
  if (r.stale_loads > 0) {  // of an admission that is over
    on_stale_load(r);
    return;
  }
  note_memory();
  loading_bytes_ -= r.loading_bytes;
  r.loading_bytes = 0;
  r.transfer = {};
  if (r.assembling) {
    r.load_pending = false;
    r.loaded = env_.simulator.now();
    rows_can_begin(r);
    gpus_.wake();  // even if it waits for something else: nobody waits for the link any more
    return;
  }
  std::erase(loading_, &r);
  // An offloaded request has all but its last token in host memory, and drafting starts from that one.
  r.prefill_done =
      offloads(r) ? r.prefill_target : std::min(std::max(r.in_host_tokens, r.prefix.tokens), r.prefill_target);
  outstanding_tokens_ -= r.prefill_done;
  if (r.prefill_done >= r.prefill_target) {
    become_ready(r);
    begin_round(r);
  } else {
    enter_prefilling(r);
  }
  gpus_.wake();
}

void Replica::enter_prefilling(Request& r) {
  r.phase = Phase::prefilling;
  const auto later = [&r](const Request* other) { return other->admission > r.admission; };
  prefilling_.insert(std::find_if(prefilling_.begin(), prefilling_.end(), later), &r);
}

void Replica::become_ready(Request& r) {
  r.phase = Phase::decoding;
  const auto later = [&r](const Request* other) { return other->admission > r.admission; };
  decoding_.insert(std::find_if(decoding_.begin(), decoding_.end(), later), &r);
  env_.measured.prompt_tokens += r.had_prompt ? 0 : r.prompt;
  r.had_prompt = true;
  r.unseen = 1;  // the prompt was read, or its KV loaded, with the drafter's
}

void Replica::settle_after_prefill(Request& r) {
  if (!holds_part(r)) return;
  r.settling = r.writebacks > 0;  // the full KV leaves GPU memory when all of it is in host memory
  if (!r.settling) KVSIM_ALWAYS(resize_held(r, decoding_reservation(r)), "compressing a prompt needed more memory");
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

// Drafts on prompts as they were loaded or put together, verified against whole ones: what placement stores compressed
// is fetched whole from the tiers for every verification; a prompt put together from chunks is computed whole once,
// beside the drafts on it, and replaces them.

using engine::SimTime;

/// What was found of its prompt decides whether there is anything to verify.
void Replica::choose_drafts(Request& r) {
  const bool whole = r.prefix.missing == 0 && r.prefix.quality >= 1 && r.prefix.step_kl == 0;
  r.direct = r.resident = whole;
  r.tail = whole_ == WholeKv::tiers && !whole ? r.prefill_target - r.prefix.tokens : 0;
  if (config_.decode.acceptance.kind == models::AcceptanceKind::compressor) {
    r.acceptance.agreement = r.prefix.agreement;
  }
}

/// Its memory is reserved.
void Replica::bring_whole(Request& r) {
  r.recomputed = 0;
  if (whole_ == WholeKv::tiers) env_.prompts->load_missing(r, Callback::to<&Replica::on_reload>(this, r.id));
}

/// As soon as there is room, in order of admission: until its first verification nothing of a request is final. Later
/// rounds ask when their drafts are complete, as the schedule says.
void Replica::begin_bringing() {
  if (!drafts_as_loaded_) return;
  for (Request* r : decoding_) {
    const bool first = whole_ == WholeKv::recomputed || r->generated == 0;
    if (!r->direct && first && r->reload == Reload::none && !start_reload(*r, false)) return;
  }
}

/// With what decoding and prompts that are put together leave of the step's tokens.
void Replica::batch_recomputing(models::StepWork& work, std::int64_t& budget) {
  if (!drafts_as_loaded_ || whole_ != WholeKv::recomputed) return;
  for (Request* r : decoding_) {
    if (r->direct || r->reload != Reload::in_flight || budget <= 0) continue;
    const std::int64_t tokens = std::min(budget, r->prefill_target - r->recomputed);
    add_chunk(work, geometry_, r->recomputed, tokens, r->recomputed + tokens == r->prefill_target);
    recompute_step_.push_back({r, r->admission, Action::stall, tokens, 0});
    budget -= tokens;
  }
}

void Replica::apply_recomputing() {
  for (const StepEntry& e : recompute_step_) {
    Request& r = *e.request;
    if (r.admission != e.admission || r.phase != Phase::decoding || r.reload != Reload::in_flight) continue;
    r.recomputed += e.tokens;
    env_.measured.reuse.verified_tokens += e.tokens;
    if (r.recomputed == r.prefill_target) on_whole_prompt(r);
  }
}

/// Nothing is gained by drafting on.
void Replica::on_whole_prompt(Request& r) {
  r.reload = Reload::arrived;
  r.draft_target = std::min(r.draft_target, r.drafted);
}

/// A prompt that was computed whole replaces what it was put together from. What came from tiers stays if nobody waits
/// for the memory.
bool Replica::keeps_what_came(const Request& r) const {
  return drafts_as_loaded_ && (whole_ == WholeKv::recomputed || (queue_.empty() && r.staged > 0));
}

void Replica::keep_what_came(Request& r) {
  r.direct = true;
  if (whole_ == WholeKv::recomputed) {
    release_staged(r);
    return;
  }
  r.held += r.staged;
  held_total_ += r.staged;
  set_staged(r, 0);
  r.prefix.dropped = r.prefix.missing = 0;
}

/// By a prompt that was loaded compressed or put together: no more than a draft.
void Replica::draft_first_token(Request& r) {
  begin_round(r);
  r.drafted = 1;
  if (r.first_draft == SimTime{}) {
    r.first_draft = env_.simulator.now();
    env_.measured.reuse.first_draft_s += (r.first_draft - r.arrival).seconds();
    env_.measured.reuse.first_drafts += 1;
  }
}

}  // namespace kvsim::serving
