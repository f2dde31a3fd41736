#include "sim/instance/composer.h"

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

Composer::Composer(const InstanceEnvironment& environment, const InstanceSpec& spec,
                   const SchedulePolicyEntry& schedule, Instance& of)
    : parts_(environment, spec, schedule, of, *this),
      whole_(parts_),
      results_(parts_),
      interference_(parts_.own ? parts_.env.group.profile.interference : models::Interference{}, parts_.env.fabric,
                    parts_.loop.gpus().work(), parts_.link.lanes) {
  if (parts_.own) parts_.route = &whole_;
}

void Composer::once(Request& r, Work work) {
  once_.push_back({{work}, &r, r.admission});
  wake();
}

void Composer::await_loads(std::int64_t change) {
  coming_ += change;
  if (coming_ == 0 && change < 0) parts_.loop.gpus().wake();
}

bool Composer::decide() {
  const bool blocks = schedule().blocking_loads;
  if (blocks && !loads_first()) return false;
  if (parts_.schedules()) {
    const std::span<Request* const> asked = parts_.scheduling.begin_iteration();
    for (Request* r : asked) parts_.loop.uniform_batch().update(*r);
    parts_.reloads.begin_step(asked);
    parts_.reloads.start(parts_.scheduling.plan());
  }
  if (before_steps_) {
    composing_ = true;
    before_steps_();
    composing_ = false;
  }
  if (!blocks) parts_.admission.begin_step(pass().computes_prompts());
  return true;
}

bool Composer::compose() {
  whole_.assembly().clear();
  const bool prefill_first = schedule().prefill_first();
  if (prefill_first) {
    batch_prefill();
    pass().prefills_alone = has_work();
  }
  if (!pass().prefills_alone) {
    batch_decoding();
    pass().iterates = parts_.loop.uniform_batch().size() > 0 || !pass().entries.empty();
    batch_once();
    whole_.profiling().batch(pass().work);
  }
  if (!prefill_first) batch_prefill();
  if (!has_work() && parts_.admission.decide_now()) batch_prefill();
  pass().assembles = whole_.assembly().computes();
  parts_.use.set_short(parts_.admission.lacks_memory() || parts_.reloads.lacks_memory());
  parts_.admission.step_begun();
  if (!has_work()) return false;
  interference_.steps_run(true);
  return true;
}

bool Composer::only_uniform() const {
  return parts_.queues.prefilling().empty() && once_.empty() && !every_step_ && !whole_.assembly().works() &&
         parts_.admission.waits_for_event();
}

/// With blocking loads. False: the step waits for KV of somebody who enters with it.
bool Composer::loads_first() {
  if (!std::exchange(entered_, true)) {
    parts_.admission.begin_step(pass().computes_prompts());
    admit_before_step();
    if (parts_.queues.running() == 0 && parts_.admission.decide_now()) admit_before_step();
  }
  if (!parts_.queues.loading().empty() || coming_ > 0) {
    interference_.steps_run(false);
    parts_.loop.gpus().wait_for_link(true);
    return false;
  }
  entered_ = false;
  return true;
}

/// Admits whoever finds a place beside the work that the step has anyway.
void Composer::admit_before_step() {
  auto budget = schedule().max_batched_tokens - static_cast<std::int64_t>(parts_.queues.decoding().size());
  const auto has_work = [&budget](const Request& r) { budget -= r.prefill.target - r.prefill.done; };
  for (const Request* r : parts_.queues.prefilling()) has_work(*r);
  while (const std::optional<Admitted> admitted = parts_.admission.next(budget)) {
    enter(*admitted);
    if (admitted->request.phase == Phase::prefilling) has_work(admitted->request);
  }
}

void Composer::enter(const Admitted& admitted) {
  if (parts_.own) return whole_.enter(admitted);
  composing_ = true;
  parts_.route->on_entered(parts_.instance, admitted.request);
  composing_ = false;
}

void Composer::start(machine::Step step) {
  parts_.rounds.timed(pass().work, pass().time, pass().verifications());
  for (const StepEntry& e : pass().entries) {
    if (parts_.schedules() && e.work == Work::verify && e.request->round.reload == Reload::in_flight)
      parts_.loop.await(*e.request);
  }
  parts_.loop.start(step);
}

/// Those in step with each other take part together, and whoever is not yet in step with them by itself. False and no
/// change where there is no memory for that: then somebody has to go, and all are looked at one by one.
bool Composer::batch_uniformly() {
  const std::vector<Request*>& decoding = parts_.queues.decoding();
  const bool all = parts_.loop.uniform_batch().size() == static_cast<std::int64_t>(decoding.size());
  const auto each_other = [&](const auto& visit) {
    if (all) return;
    for (Request* r : decoding) {
      if (!parts_.loop.uniform_batch().has(*r)) visit(*r);
    }
  };
  std::int64_t growth = parts_.loop.uniform_batch().growth();
  each_other([&](const Request& r) {
    growth += parts_.grows_with(r) ? std::max<std::int64_t>(parts_.demand.decoding(r) - r.kv.held(), 0) : 0;
  });
  if (growth > parts_.memory.available()) {
    for (Request* r : decoding) parts_.loop.uniform_batch().leave(*r);
    return false;
  }
  each_other([this](Request& r) { parts_.join_uniform(r); });
  parts_.loop.uniform_batch().begin_step(pass().work);
  each_other([this](Request& r) {
    const StepPart part = part_of(r, Action::draft, 0);
    KVSIM_ALWAYS(part.work == Work::draft || parts_.grow(r), "memory that was available could not be reserved");
    parts_.loop.add(r, part);
  });
  parts_.env.measured.drafting_request_iterations += decoding.size();
  return true;
}

/// Adds once-only work within the tokens that the rest leaves; work too large for any step has one for itself.
void Composer::batch_once() {
  std::int64_t budget = schedule().max_batched_tokens - static_cast<std::int64_t>(pass().work.tokens());
  for (bool first = true; !once_.empty(); first = false) {
    StepEntry next = once_.front();
    const Request& r = *next.request;
    if (next.work == Work::verify) next.tokens = verified_tokens(r);
    if (next.work == Work::catch_up) next.tokens = r.generated + r.round.drafted + 1;
    if (next.tokens > budget && !first) return;
    budget -= next.tokens;
    parts_.loop.add(*next.request, next);
    once_.pop_front();
  }
}

void Composer::batch_decoding() {
  if (parts_.uniform_rounds.possible()) {
    parts_.uniform_rounds.batch(pass());
    return;
  }
  if (parts_.decodes_uniformly() && batch_uniformly()) return;
  const std::vector<Request*>& decoding = parts_.queues.decoding();
  Measurements& m = parts_.env.measured;
  std::int64_t budget = schedule().max_batched_tokens;
  for (std::size_t i = 0; i < decoding.size(); ++i) {  // some requests may be preempted meanwhile
    Request& r = *decoding[i];
    Action action = parts_.schedules() ? parts_.scheduling.action(r) : Action::draft;
    if (parts_.loop.fetched().waits_for_offload(r)) action = Action::stall;
    const StepPart part = part_of(r, action, budget);
    if (part.work == Work::verify && part.tokens > budget && !pass().entries.empty()) action = Action::stall;
    if (action == Action::stall) {
      m.stalled_request_iterations += parts_.schedules() ? 1 : 0;
      m.late_request_iterations += parts_.schedules() && r.round.late ? 1 : 0;
      continue;
    }
    if (part.work == Work::decode && !parts_.grow(r)) continue;  // preempted for lack of memory
    budget -= part.tokens;
    parts_.loop.add(r, part);
    count_iteration(part.work, m);
  }
}

StepPart Composer::part_of(const Request& r, Action action, std::int64_t budget) const {
  if (action == Action::verify) return {Work::verify, verified_tokens(r)};
  if (action == Action::stall) return {};
  const std::int64_t proposed = parts_.rounds.proposals(r, budget);
  return {parts_.demand.decodes_directly(r) ? Work::decode : Work::draft,
          parts_.loop.fetched().query_tokens(r, proposed), proposed};
}

void Composer::batch_prefill() {
  auto budget = schedule().max_batched_tokens - static_cast<std::int64_t>(pass().work.tokens());
  for (Request* r : parts_.queues.prefilling()) {
    if (budget <= 0) break;
    budget -= batch_chunk(*r, budget);
  }
  parts_.reloads.full_kv().batch(parts_.queues.decoding(), budget, pass().work);
  if (schedule().blocking_loads) return;  // who has a place is there already
  while (const std::optional<Admitted> admitted = parts_.admission.next(budget)) {
    enter(*admitted);
    if (admitted->request.phase == Phase::prefilling) budget -= batch_chunk(admitted->request, budget);
  }
  whole_.assembly().batch(parts_.queues.loading(), pass().work);
}

std::int64_t Composer::batch_chunk(Request& r, std::int64_t budget) {
  const std::int64_t ranks = parts_.env.group.parallel.attention_data;
  // A rank computes a chunk by itself, in its own part of the step's tokens.
  const std::int64_t longest = (schedule().max_batched_tokens + ranks - 1) / ranks;
  const std::int64_t tokens = std::min({budget, longest, r.prefill.target - r.prefill.done});
  const bool last = r.prefill.done + tokens == r.prefill.target;
  if (r.prefill.assembly) whole_.assembly().batch_rows(r, tokens, last, pass().work);
  parts_.loop.add_chunk(r, tokens, last ? parts_.route->compressed(r) : 0);
  return tokens;
}

void Composer::apply() {
  if (!pass().prefills_alone) whole_.profiling().apply();
  whole_.assembly().apply();
  results_.apply();
}

void Composer::idle(bool lags) {
  if (!parts_.own) return;  // its route knows what requests wait for
  interference_.steps_run(false);
  whole_.idle(lags);
}

void Composer::on_step_ended() {
  parts_.use.note();
  parts_.computed.iterations += 1;
  parts_.computed.decode_tokens += parts_.loop.uniform_batch().decoding();
  parts_.computed.draft_tokens += parts_.loop.uniform_batch().drafts();
}

void Composer::on_uniform_step_ended() {
  on_step_ended();
  parts_.log.emitted_together(parts_.loop.uniform_batch().decoding(),
                              parts_.loop.uniform_batch().gap(parts_.env.simulator.now()));
  parts_.outstanding_tokens -= parts_.loop.uniform_batch().decoding();
  if (parts_.loop.stretch().passed()) parts_.rounds.timed(pass().work, pass().time, 0);
}

void Composer::on_uniform_step_begins() {
  parts_.env.measured.drafting_request_iterations += static_cast<std::uint64_t>(parts_.loop.uniform_batch().size());
  if (parts_.uniform_rounds.possible()) parts_.uniform_rounds.pass();
  parts_.admission.next_of_fast_forward();
  parts_.use.set_short(parts_.admission.lacks_memory() || parts_.reloads.lacks_memory());
}

}  // namespace kvsim::serving
