#include "sim/instance/step_results.h"

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

void StepResults::apply() {
  if (!pass().prefills_alone) apply_step_of_decoding();
  parts_.reloads.full_kv().apply();
  apply_prefill();
  parts_.admission.decided_ahead();
}

void StepResults::apply_step_of_decoding() {
  if (parts_.decodes_uniformly()) {
    apply_uniformly();
  } else {
    if (parts_.uniform_rounds.possible()) parts_.uniform_rounds.end_step();
    apply_decoding();
  }
  apply_once();
}

/// As if one after the other in order of admission, which samples of gaps between tokens keep.
void StepResults::apply_uniformly() {
  const engine::Duration gap = parts_.loop.uniform_batch().gap(parts_.env.simulator.now());
  over_.clear();
  std::int64_t together = parts_.loop.uniform_batch().decoding();
  if (pass().decodes()) {  // somebody is not in step yet
    together = 0;
    auto alone = pass().entries.begin();
    const auto end = std::find_if(alone, pass().entries.end(), [](const StepEntry& e) { return !e.decodes(); });
    for (Request* r : parts_.queues.decoding()) {
      together += parts_.loop.uniform_batch().decodes(*r) ? 1 : 0;
      for (; alone != end && !alone->stands(); ++alone) count_for_nobody(*alone);
      if (alone == end || alone->request != r) continue;  // a member, or ready since the step began
      parts_.log.emitted_together(std::exchange(together, 0), gap);
      apply_alone(*alone++);
    }
    for (; alone != end; ++alone) count_for_nobody(*alone);
  }
  parts_.log.emitted_together(together, gap);
  parts_.outstanding_tokens -= parts_.loop.uniform_batch().decoding();
  parts_.loop.uniform_batch().end_step(parts_.env.simulator.now(), over_);
  for (const StepEntry& e : pass().entries) {
    if (e.decodes() && e.stands()) parts_.join_uniform(*e.request);
  }
  std::sort(over_.begin(), over_.end(), [](const Request* a, const Request* b) { return a->admission < b->admission; });
  for (Request* r : over_) parts_.end(*r);
}

/// A draft was computed all the same whose request went on without it meanwhile.
void StepResults::count_for_nobody(const StepEntry& entry) {
  parts_.computed.draft_tokens += entry.work == Work::draft ? 1 : 0;
}

/// A step of a request that is not in step with the others.
void StepResults::apply_alone(const StepEntry& entry) {
  Request& r = *entry.request;
  if (entry.work == Work::decode) {
    parts_.emit_directly(r);
    parts_.computed.decode_tokens += 1;
  } else {
    DraftLengths::drafted(r, 1, parts_.env.simulator.now());
    parts_.computed.draft_tokens += 1;
  }
  if (entry.work == Work::decode ? r.remaining() == 0 : all_drafted(r)) over_.push_back(&r);
}

void StepResults::apply_once() {
  if (parts_.schedules()) return;
  for (const StepEntry& e : pass().entries) {
    if (e.decodes() || e.prefills()) continue;
    if (e.work != Work::decompress) {
      parts_.env.measured.verifying_request_iterations += 1;
      parts_.computed.verifications += 1;
      parts_.computed.verified_tokens += e.tokens;
    }
    parts_.route->on_done(parts_.instance, *e.request, e.work);
  }
}

void StepResults::apply_decoding() {
  bool grew = false;
  for (const StepEntry& e : pass().entries) {
    if (!e.stands()) count_for_nobody(e);
    if (e.prefills() || !e.stands()) continue;
    if (e.work == Work::decode) {
      apply_decoded(*e.request, e.proposed);
    } else if (e.work == Work::draft) {
      const std::int64_t before = e.request->round.drafted;
      parts_.rounds.drafted(*e.request, e.proposed);
      parts_.computed.draft_tokens += e.request->round.drafted - before;
      if (!parts_.schedules() && all_drafted(*e.request)) parts_.end(*e.request);
    } else if (parts_.schedules()) {
      apply_verification(*e.request);
      grew = true;
    }
  }
  if (!grew) return;
  for (const StepEntry& e : pass().entries) {
    if (e.work != Work::verify || !e.stands()) continue;
    Request& r = *e.request;
    const bool stays =
        parts_.resize(r, std::max(parts_.demand.decoding(r), r.full_kv.offload_pending ? r.kv.held() : 0));
    if (stays && !parts_.scheduling.verified(r)) parts_.preempt(r);
  }
  parts_.secure_reload_room();
}

void StepResults::apply_decoded(Request& r, std::int64_t proposed) {
  if (parts_.loop.fetched().chose_first(r)) return;
  const std::int64_t context = r.context();
  const std::int64_t emitted = parts_.rounds.decoded(r, proposed);
  parts_.computed.decode_tokens += emitted;
  parts_.outstanding_tokens -= emitted;
  if (parts_.own) parts_.offloading.computed(r, emitted);
  if (r.remaining() > 0) return;
  parts_.loop.fetched().abandon(r, context);
  parts_.end(r);
}

void StepResults::apply_verification(Request& r) {
  KVSIM_ALWAYS(r.full_kv.resident || r.round.reload == Reload::arrived, "a request was verified without its full KV");
  const std::int64_t emitted = parts_.rounds.verified(r);
  parts_.reloads.verified(r);
  parts_.outstanding_tokens -= emitted;
  if (r.remaining() == 0) return parts_.end(r);
  parts_.offloading.computed(r, emitted);
  parts_.rounds.begin(r);
}

void StepResults::apply_prefill() {
  for (const StepEntry& e : pass().entries) {
    if (!e.prefills() || !e.stands()) continue;
    Request& r = *e.request;
    r.prefill.done += e.tokens;
    parts_.computed.prefill_tokens += e.tokens;
    parts_.outstanding_tokens -= e.tokens;
    parts_.memory.tell(r.kv, parts_.demand.blocks_of(r.prefill.done));
    if (parts_.own) parts_.offloading.computed(r, e.tokens);
    if (r.prefill.done < r.prefill.target) continue;
    if (!parts_.own) parts_.stop(r);
    parts_.route->on_prefilled(parts_.instance, r);
  }
}

}  // namespace kvsim::serving
