// Drafts on prompts as they were loaded or put together, verified against whole ones: what placement stores compressed
// is fetched whole from the tiers for every verification; a prompt put together from chunks is computed whole once,
// beside the drafts on it, and replaces them.
#include <algorithm>

#include "sim/serving/replica.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

using engine::Callback;
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
