// The iteration loop of an instance: plan, batch, time, apply.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/serving/instance.h"

namespace kvsim::serving {

bool Instance::decide() {
  const bool blocks = env_.config.schedule.blocking_loads;
  if (blocks && !loads_first()) return false;
  if (schedules_) {
    const std::span<Request* const> asked = scheduling_.begin_iteration();
    for (Request* r : asked) loop_.steady().update(*r);
    reloads_.begin_step(asked);
    reloads_.start(scheduling_.plan());
  }
  if (before_steps_) {
    composing_ = true;
    before_steps_();
    composing_ = false;
  }
  if (!blocks) admission_.begin_step(loop_.pass().computes_prompts());
  return true;
}

bool Instance::compose() {
  assembly_.clear();
  const bool prefill_first = env_.config.schedule.prefill_first();
  if (prefill_first) {
    batch_prefill();
    loop_.pass().prefills_alone = has_work();
  }
  if (!loop_.pass().prefills_alone) {
    batch_decoding();
    loop_.pass().iterates = loop_.steady().size() > 0 || !loop_.pass().entries.empty();
    batch_once();
    profiling_.batch(loop_.pass().work);
  }
  if (!prefill_first) batch_prefill();
  if (!has_work() && admission_.decide_now()) batch_prefill();
  loop_.pass().assembles = assembly_.computes();
  use_.set_short(admission_.lacks_memory() || reloads_.lacks_memory());
  admission_.step_begun();
  if (!has_work()) return false;
  interference_.steps_run(true);
  return true;
}

bool Instance::only_steady() const {
  return roster_.prefilling().empty() && once_.empty() && !every_step_ && !assembly_.works() &&
         admission_.waits_for_event();
}

/// With blocking loads. False: the step waits for KV of somebody who enters with it.
bool Instance::loads_first() {
  if (!std::exchange(entered_, true)) {
    admission_.begin_step(loop_.pass().computes_prompts());
    admit_before_step();
    if (roster_.running() == 0 && admission_.decide_now()) admit_before_step();
  }
  if (!roster_.loading().empty() || coming_ > 0) {
    interference_.steps_run(false);
    loop_.gpus().wait_for_link(true);
    return false;
  }
  entered_ = false;
  return true;
}

/// Whoever finds a place beside what the step has to do anyway.
void Instance::admit_before_step() {
  auto budget = env_.config.schedule.max_batched_tokens - static_cast<std::int64_t>(roster_.decoding().size());
  const auto has_work = [&budget](const Request& r) { budget -= r.prefill_target - r.prefill_done; };
  for (const Request* r : roster_.prefilling()) has_work(*r);
  while (const std::optional<Admitted> admitted = admission_.next(budget)) {
    enter(*admitted);
    if (admitted->request.phase == Phase::prefilling) has_work(admitted->request);
  }
}

void Instance::start(machine::Step step) {
  rounds_.timed(loop_.pass().work, loop_.pass().time, loop_.pass().verifications());
  for (const StepEntry& e : loop_.pass().entries) {
    if (schedules_ && e.work == Work::verify && e.request->round.reload == Reload::in_flight) loop_.await(*e.request);
  }
  loop_.start(step);
}

/// Those in step with each other take part together, and whoever is not yet in step with them by itself. False and no
/// change where there is no memory for that: then somebody has to go, and all are looked at one by one.
bool Instance::batch_steadily() {
  const std::vector<Request*>& decoding = roster_.decoding();
  const bool all = loop_.steady().size() == static_cast<std::int64_t>(decoding.size());
  const auto each_other = [&](const auto& visit) {
    if (all) return;
    for (Request* r : decoding) {
      if (!loop_.steady().has(*r)) visit(*r);
    }
  };
  std::int64_t growth = loop_.steady().growth();
  each_other(
      [&](const Request& r) { growth += grows(r) ? std::max<std::int64_t>(demand_.decoding(r) - r.kv.held(), 0) : 0; });
  if (growth > memory_.available()) {
    for (Request* r : decoding) loop_.steady().leave(*r);
    return false;
  }
  each_other([this](Request& r) { join_steady(r); });
  loop_.steady().begin_step(loop_.pass().work);
  each_other([this](Request& r) {
    const StepPart part = part_of(r, Action::draft, 0);
    KVSIM_ALWAYS(part.work == Work::draft || grow_held(r), "memory that was available could not be reserved");
    loop_.add(r, part);
  });
  env_.measured.drafting_request_iterations += decoding.size();
  return true;
}

/// With the step that has ended, or now, it may have fallen in step with the others.
void Instance::join_steady(Request& r) {
  const bool direct = demand_.decodes_directly(r);
  const std::int64_t left = direct ? r.remaining() : r.round.target - r.round.drafted;
  if (left > 0) loop_.steady().join(r, direct ? Work::decode : Work::draft, left, env_.simulator.now());
}

/// What the rest leaves of the step's tokens; work too large for any step has one for itself.
void Instance::batch_once() {
  std::int64_t budget = env_.config.schedule.max_batched_tokens - static_cast<std::int64_t>(loop_.pass().work.tokens());
  for (bool first = true; !once_.empty(); first = false) {
    StepEntry next = once_.front();
    const Request& r = *next.request;
    if (next.work == Work::verify) next.tokens = verified_tokens(r);
    if (next.work == Work::catch_up) next.tokens = r.generated + r.round.drafted + 1;
    if (next.tokens > budget && !first) return;
    budget -= next.tokens;
    loop_.add(*next.request, next);
    once_.pop_front();
  }
}

void Instance::batch_decoding() {
  if (steady_rounds_.possible()) {
    steady_rounds_.batch(loop_.pass());
    return;
  }
  if (decodes_steadily() && batch_steadily()) return;
  const std::vector<Request*>& decoding = roster_.decoding();
  Measurements& m = env_.measured;
  std::int64_t budget = env_.config.schedule.max_batched_tokens;
  for (std::size_t i = 0; i < decoding.size(); ++i) {  // some of whom may be pushed out meanwhile
    Request& r = *decoding[i];
    Action action = schedules_ ? scheduling_.action(r) : Action::draft;
    if (loop_.fetched().waits_for_offload(r)) action = Action::stall;
    const StepPart part = part_of(r, action, budget);
    if (part.work == Work::verify && part.tokens > budget && !loop_.pass().entries.empty()) action = Action::stall;
    if (action == Action::stall) {
      m.stalled_request_iterations += schedules_ ? 1 : 0;
      m.late_request_iterations += schedules_ && r.round.late ? 1 : 0;
      continue;
    }
    if (part.work == Work::decode && !grow_held(r)) continue;  // preempted for lack of memory
    budget -= part.tokens;
    loop_.add(r, part);
    count_iteration(part.work, m);
  }
}

StepPart Instance::part_of(const Request& r, Action action, std::int64_t budget) const {
  if (action == Action::verify) return {Work::verify, verified_tokens(r)};
  if (action == Action::stall) return {};
  const std::int64_t proposed = rounds_.proposals(r, budget);
  return {demand_.decodes_directly(r) ? Work::decode : Work::draft, loop_.fetched().query_tokens(r, proposed),
          proposed};
}

void Instance::batch_prefill() {
  auto budget = env_.config.schedule.max_batched_tokens - static_cast<std::int64_t>(loop_.pass().work.tokens());
  for (Request* r : roster_.prefilling()) {
    if (budget <= 0) break;
    budget -= batch_chunk(*r, budget);
  }
  reloads_.full_kv().batch(roster_.decoding(), budget, loop_.pass().work);
  if (env_.config.schedule.blocking_loads) return;  // who has a place is there already
  while (const std::optional<Admitted> admitted = admission_.next(budget)) {
    enter(*admitted);
    if (admitted->request.phase == Phase::prefilling) budget -= batch_chunk(admitted->request, budget);
  }
  assembly_.batch(roster_.loading(), loop_.pass().work);
}

/// A rank computes a chunk by itself, in its own part of the step's tokens.
std::int64_t Instance::longest_chunk() const {
  const std::int64_t ranks = env_.group.parallel.attention_data;
  return (env_.config.schedule.max_batched_tokens + ranks - 1) / ranks;
}

std::int64_t Instance::batch_chunk(Request& r, std::int64_t budget) {
  const std::int64_t tokens = std::min({budget, longest_chunk(), r.prefill_target - r.prefill_done});
  const bool last = r.prefill_done + tokens == r.prefill_target;
  if (r.assembly) assembly_.batch_rows(r, tokens, last, loop_.pass().work);
  loop_.add_chunk(r, tokens, last ? route_.compressed(r) : 0);
  return tokens;
}

void Instance::apply() {
  if (!loop_.pass().prefills_alone) profiling_.apply();
  assembly_.apply();
  if (!loop_.pass().prefills_alone) apply_step_of_decoding();
  reloads_.full_kv().apply();
  apply_prefill();
  admission_.decided_ahead();
}

void Instance::apply_step_of_decoding() {
  if (decodes_steadily()) {
    apply_steadily();
  } else {
    if (steady_rounds_.possible()) steady_rounds_.end_step();
    apply_decoding();
  }
  apply_once();
}

/// As if one after the other in order of admission, which samples of gaps between tokens keep.
void Instance::apply_steadily() {
  const engine::Duration gap = loop_.steady().gap(env_.simulator.now());
  over_.clear();
  std::int64_t together = loop_.steady().decoding();
  if (loop_.pass().decodes()) {  // somebody is not in step yet
    together = 0;
    auto alone = loop_.pass().entries.begin();
    const auto end = std::find_if(alone, loop_.pass().entries.end(), [](const StepEntry& e) { return !e.decodes(); });
    for (Request* r : roster_.decoding()) {
      together += loop_.steady().decodes(*r) ? 1 : 0;
      for (; alone != end && !alone->stands(); ++alone) count_for_nobody(*alone);
      if (alone == end || alone->request != r) continue;  // a member, or ready since the step began
      log_.emitted_together(std::exchange(together, 0), gap);
      apply_alone(*alone++);
    }
    for (; alone != end; ++alone) count_for_nobody(*alone);
  }
  log_.emitted_together(together, gap);
  outstanding_tokens_ -= loop_.steady().decoding();
  loop_.steady().end_step(env_.simulator.now(), over_);
  for (const StepEntry& e : loop_.pass().entries) {
    if (e.decodes() && e.stands()) join_steady(*e.request);
  }
  std::sort(over_.begin(), over_.end(), [](const Request* a, const Request* b) { return a->admission < b->admission; });
  for (Request* r : over_) end(*r);
}

/// A draft was computed all the same whose request went on without it meanwhile.
void Instance::count_for_nobody(const StepEntry& entry) {
  computed_.draft_tokens += entry.work == Work::draft ? 1 : 0;
}

/// A step of a request that is not in step with the others.
void Instance::apply_alone(const StepEntry& entry) {
  Request& r = *entry.request;
  if (entry.work == Work::decode) {
    emit_directly(r);
    computed_.decode_tokens += 1;
  } else {
    DraftLengths::drafted(r, 1, env_.simulator.now());
    computed_.draft_tokens += 1;
  }
  if (entry.work == Work::decode ? r.remaining() == 0 : all_drafted(r)) over_.push_back(&r);
}

/// It has its last token, or all that it set out to draft.
void Instance::end(Request& r) {
  if (!own_) stop(r);
  r.remaining() > 0 ? route_.on_drafted(*this, r) : route_.on_finished(*this, r);
}

void Instance::apply_once() {
  if (schedules_) return;
  for (const StepEntry& e : loop_.pass().entries) {
    if (e.decodes() || e.prefills()) continue;
    if (e.work != Work::decompress) {
      env_.measured.verifying_request_iterations += 1;
      computed_.verifications += 1;
      computed_.verified_tokens += e.tokens;
    }
    route_.on_done(*this, *e.request, e.work);
  }
}

void Instance::on_step_ended() {
  use_.note();
  computed_.iterations += 1;
  computed_.decode_tokens += loop_.steady().decoding();
  computed_.draft_tokens += loop_.steady().drafts();
}

void Instance::on_steady_step_ended() {
  on_step_ended();
  log_.emitted_together(loop_.steady().decoding(), loop_.steady().gap(env_.simulator.now()));
  outstanding_tokens_ -= loop_.steady().decoding();
  if (loop_.stretch().passed()) rounds_.timed(loop_.pass().work, loop_.pass().time, 0);
}

void Instance::on_steady_step_begins() {
  env_.measured.drafting_request_iterations += static_cast<std::uint64_t>(loop_.steady().size());
  if (steady_rounds_.possible()) steady_rounds_.pass();
  admission_.next_of_stretch();
  use_.set_short(admission_.lacks_memory() || reloads_.lacks_memory());
}

void Instance::apply_decoding() {
  bool grew = false;
  for (const StepEntry& e : loop_.pass().entries) {
    if (!e.stands()) count_for_nobody(e);
    if (e.prefills() || !e.stands()) continue;
    if (e.work == Work::decode) {
      apply_decoded(*e.request, e.proposed);
    } else if (e.work == Work::draft) {
      const std::int64_t before = e.request->round.drafted;
      rounds_.drafted(*e.request, e.proposed);
      computed_.draft_tokens += e.request->round.drafted - before;
      if (!schedules_ && all_drafted(*e.request)) end(*e.request);
    } else if (schedules_) {
      apply_verification(*e.request);
      grew = true;
    }
  }
  if (!grew) return;
  for (const StepEntry& e : loop_.pass().entries) {
    if (e.work != Work::verify || !e.stands()) continue;
    Request& r = *e.request;
    const bool stays = resize_held(r, std::max(demand_.decoding(r), r.settling ? r.kv.held() : 0));
    if (stays && !scheduling_.verified(r)) preempt(r);
  }
  secure_reload_room();
}

void Instance::apply_decoded(Request& r, std::int64_t proposed) {
  if (loop_.fetched().chose_first(r)) return;
  const std::int64_t context = r.context();
  const std::int64_t emitted = rounds_.decoded(r, proposed);
  computed_.decode_tokens += emitted;
  outstanding_tokens_ -= emitted;
  if (own_) offloading_.computed(r, emitted);
  if (r.remaining() > 0) return;
  loop_.fetched().abandon(r, context);
  end(r);
}

void Instance::apply_verification(Request& r) {
  KVSIM_ALWAYS(r.resident || r.round.reload == Reload::arrived, "a request was verified without its full KV");
  const std::int64_t emitted = rounds_.verified(r);
  reloads_.verified(r);
  outstanding_tokens_ -= emitted;
  if (r.remaining() == 0) return end(r);
  offloading_.computed(r, emitted);
  rounds_.begin(r);
}

void Instance::apply_prefill() {
  for (const StepEntry& e : loop_.pass().entries) {
    if (!e.prefills() || !e.stands()) continue;
    Request& r = *e.request;
    r.prefill_done += e.tokens;
    computed_.prefill_tokens += e.tokens;
    outstanding_tokens_ -= e.tokens;
    memory_.tell(r.kv, demand_.blocks_of(r.prefill_done));
    if (own_) offloading_.computed(r, e.tokens);
    if (r.prefill_done < r.prefill_target) continue;
    if (!own_) stop(r);
    route_.on_prefilled(*this, r);
  }
}

/// The last prompt position's logits give the next token, by the full KV.
void Instance::on_prefilled(Instance&, Request& r) {
  if (r.assembly) {
    assembly_.note(r);
  } else {
    env_.prompts.computed(r);
  }
  become_ready(r);
  if (env_.decode.as_found() && !r.direct) return rounds_.begin_with_draft(r);
  emit_directly(r);
  if (r.remaining() == 0) return end(r);
  rounds_.begin(r);
  if (demand_.holds_part(r)) {
    r.settling = r.moving.writebacks > 0;  // the full KV leaves GPU memory when all of it is in host memory
    if (!r.settling) KVSIM_ALWAYS(resize_held(r, demand_.decoding(r)), "compressing a prompt needed more memory");
  }
  if (decodes_steadily()) join_steady(r);
}

void Instance::on_done(Instance&, Request& r, Work) {
  KVSIM_ALWAYS(false, fmt::format("request {} was to do something once, and has no route", r.id));
}

void Instance::idle(bool lags) {
  if (!own_) return;  // its route knows what requests wait for
  interference_.steps_run(false);
  if (lags) return loop_.gpus().wait_for_link(true);
  const std::vector<Request*>&decoding = roster_.decoding(), &loading = roster_.loading();
  const bool reloading = reloads_.under_way();
  const bool waiting = reloading || !loading.empty();  // for something that comes by itself
  loop_.gpus().wait_for_link(reloading || std::any_of(loading.begin(), loading.end(),
                                                      [](const Request* r) { return Assembly::waits_for_link(*r); }));
  const bool anything = roster_.anybody_waits() || !decoding.empty() || !roster_.prefilling().empty();
  if (!anything || waiting || !offloading_.idle() || !loop_.fetched().idle()) return;
  // Nothing runs and nothing is on its way: give the memory of the newest request to the others.
  KVSIM_ALWAYS(decoding.size() > 1, "a request cannot make progress: nothing runs and nothing is on its way");
  preempt(*decoding.back());
  loop_.gpus().wake();
}

}  // namespace kvsim::serving
