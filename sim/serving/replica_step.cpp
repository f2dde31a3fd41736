// The iteration loop of a replica: plan, batch, time, apply.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/serving/replica.h"

namespace kvsim::serving {

using engine::Callback;

void Replica::begin_step() {
  if (offloads_lag()) {
    gpus_.wait_for_link(true);
    return;
  }
  plan_iteration();
  models::StepWork& work = work_;
  work.clear();
  fetching_.clear();
  drafting_.clear();
  step_.clear();
  assembly_.clear();
  batch_decoding(work);
  profiling_.batch(work);
  batch_prefill(work);
  if (!has_work(work) && decided_ahead_) {  // there was nothing to decide ahead: decide now
    decided_ahead_ = false;
    batch_prefill(work);
  }
  memory_short_.set(admission_lacks_memory_ || reload_lacks_memory_ ? 1.0 : 0.0, env_.simulator.now());
  decided_ahead_ = false;
  finished_since_decided_ = 0;
  known_requests_ = env_.requests.size();
  if (!has_work(work)) {
    go_idle();
    return;
  }
  layers_ ? run_layers() : run_step();
}

void Replica::run_step() {
  work_.extra_gpu_s += fetching_.quantising_s() + draft_first();
  step_time_ = env_.timer.time(work_);
  draft_lengths_.timed(work_, step_time_, std::count_if(step_.begin(), step_.end(), [](const StepEntry& e) {
                         return e.work == Work::verify;
                       }));
  const engine::Duration computing = std::max(engine::from_seconds(step_time_.total_s), engine::Duration{1});
  gpus_.start(step_of(computing), std::max(computing, reload_tail()));
}

machine::Step Replica::step_of(engine::Duration computing) const {
  // Decoding requests come first.
  return {computing, step_time_.hbm_bound_s >= step_time_.compute_bound_s + assembly_.scoring_s(),
          steady_.size() > 0 || (!step_.empty() && step_.front().work != Work::prefill), step_time_.within_domain};
}

/// GPU time of the auxiliary drafter before the step.
double Replica::draft_first() {
  const double s = drafting_.seconds();
  env_.measured.drafter.gpu_s += s;
  step_drafting_s_ = s;
  return s;
}

/// New tokens' KV stays on the GPU until it is in host memory: there is room for the residual window.
bool Replica::offloads_lag() const {
  return static_cast<std::int64_t>(offloading_.size()) >
         std::max<std::int64_t>(config_.decode.compressor.residual_tokens, 1);
}

void Replica::run_layers() {
  count_offloads();
  work_.extra_gpu_s += fetching_.quantising_s() + draft_first();
  step_time_ = env_.timer.time(work_);
  LayerStep step = fetching_.step(step_time_, work_);
  if (step.offload_bytes > 0) {
    step.on_offloaded = Callback::to<&Replica::on_offloaded>(this);
  } else {
    offloading_.pop_back();
  }
  gpus_.start(step_of(step.computing(config_.model.layers)));
  if (step.fetch_bytes > 0) {
    FetchMeasurement& m = env_.measured.fetch;
    const std::int64_t bytes = step.fetch_bytes * config_.model.layers;
    m.steps += 1;
    m.bytes += bytes;
    m.fetch_s += static_cast<double>(bytes) * step.fetch_slowdown / h2d_->bandwidth();
  }
  layers_->start(step, gpus_.ended());
}

engine::Duration Replica::reload_tail() const {
  engine::Duration tail;
  const double layer_s = step_time_.total_s / static_cast<double>(config_.model.layers);
  for (const StepEntry& e : step_) {
    if (e.work != Work::verify || e.request->reload != Reload::in_flight) continue;
    // The last layer runs when its KV, the last of the transfer, is there.
    const auto left = h2d_->time_left(e.request->transfer);
    KVSIM_ALWAYS(left.has_value(), "a verification began whose KV is not on its way");
    tail = std::max(tail, *left + std::max(engine::from_seconds(layer_s), engine::Duration{1}));
  }
  return tail;
}

/// Layer j of L starts j V/L into a forward pass of length V and needs the share (j + 1)/L of the transfer. With `left`
/// of a transfer of length D to go, that holds for every layer if it holds for the first and the last: left <= D (L -
/// 1)/L and left <= V (L - 1)/L.
void Replica::mark_arriving() {
  if (!full_kv_->comes_by_layers()) return;
  const double layers = static_cast<double>(config_.model.layers);
  const double share = (layers - 1) / layers;
  for (Request* r : roster_.decoding()) {
    r->arriving = false;
    if (r->reload != Reload::in_flight) continue;
    const auto left = h2d_->time_left(r->transfer);
    if (!left) continue;
    const double transfer_s =
        static_cast<double>(geometry_.reload_transfer(r->prompt, r->generated)) / h2d_->bandwidth();
    r->arriving = left->seconds() <= share * std::min(transfer_s, gpus_.iteration_s());
  }
}

void Replica::plan_iteration() {
  if (!decode_.verifies) return;  // everybody decodes
  const std::vector<Request*>& decoding = roster_.decoding();
  plan_.actions.assign(decoding.size(), Action::stall);
  plan_.reloads.clear();
  plan_.late.clear();
  const std::int64_t windows =
      gpus_.idle() ? static_cast<std::int64_t>(gpus_.idle_for().seconds() / gpus_.iteration_s()) : 1;
  mark_arriving();
  bring_at_once();
  schedule_->plan(view(), windows, plan_);
  for (std::size_t i = 0; i < decoding.size(); ++i) {
    if (decoding[i]->direct) plan_.actions[i] = Action::draft;
  }
  for (const std::size_t i : plan_.late) decoding[i]->late = true;
  start_reloads();
}

/// Those in step with each other take part together, and whoever is not yet in step with them by itself. False and no
/// change where there is no memory for that: then somebody has to go, and all are looked at one by one.
bool Replica::batch_steadily(models::StepWork& work) {
  const std::vector<Request*>& decoding = roster_.decoding();
  std::int64_t growth = steady_.growth();
  joining_.clear();
  if (steady_.size() < static_cast<std::int64_t>(decoding.size())) {
    std::copy_if(decoding.begin(), decoding.end(), std::back_inserter(joining_),
                 [](const Request* r) { return !SteadyBatch::has(*r); });
  }
  for (const Request* r : joining_) growth += std::max<std::int64_t>(demand_.decoding(*r) - r->kv.held(), 0);
  if (growth > memory_.available()) {
    for (Request* r : decoding) steady_.leave(*r);
    return false;
  }
  steady_.begin_step(work);
  for (Request* r : joining_) {
    KVSIM_ALWAYS(memory_.resize(r->kv, demand_.decoding(*r)), "memory that was available could not be reserved");
    add(*r, {Work::decode, 1}, work);
  }
  env_.measured.drafting_request_iterations += decoding.size();
  return true;
}

void Replica::batch_decoding(models::StepWork& work) {
  if (steady_.possible() && batch_steadily(work)) return;
  const std::vector<Request*>& decoding = roster_.decoding();
  std::int64_t budget = config_.schedule.max_batched_tokens;
  draft_lengths_.begin_step(decoding);
  for (std::size_t i = 0; i < decoding.size(); ++i) {
    Request& r = *decoding[i];
    // Requests that became ready after the plan was made start with the next one.
    Action action = Action::draft;
    if (decode_.verifies) action = i < plan_.actions.size() ? plan_.actions[i] : Action::stall;
    if (layers_ && r.settling) action = Action::stall;  // nothing can be fetched before its KV is in host memory
    KVSIM_ALWAYS(!layers_ || action == Action::stall || r.writebacks == 0, "KV is fetched that is not in host memory");
    const StepPart part = part_of(r, action, budget);
    if (part.work == Work::verify && part.tokens > budget && !step_.empty()) action = Action::stall;
    if (action == Action::stall) {
      env_.measured.stalled_request_iterations += decode_.verifies ? 1 : 0;
      env_.measured.late_request_iterations += decode_.verifies && r.late ? 1 : 0;
      continue;
    }
    if (part.work == Work::decode && !resize_held(r, demand_.decoding(r))) continue;  // preempted for lack of memory
    budget -= part.tokens;
    add(r, part, work);
    drafting_.add_request(static_cast<double>(r.attended() + r.drafted), static_cast<double>(r.unseen), part.proposed);
    (part.work == Work::verify ? env_.measured.verifying_request_iterations
                               : env_.measured.drafting_request_iterations) += 1;
    if (decode_.low_bit_copy || layers_) {
      env_.measured.fetch.request_steps += 1;
      env_.measured.fetch.context_tokens += static_cast<double>(r.context());
    }
  }
}

/// What the auxiliary drafter proposes for its coming step: no more than the step, the round and the request have room
/// for beside the step's own token.
std::int64_t Replica::proposals(const Request& r, std::int64_t budget) const {
  if (drafting_.most() == 0) return 0;
  std::int64_t room = r.remaining();
  const std::int64_t possible = drafting_.most(r.context() + r.drafted);
  const std::int64_t most = decode_.proposes() ? std::min(r.draft.chosen, possible) : possible;
  if (!demand_.decodes_directly(r)) {
    const std::int64_t round = draft_complete(r) ? draft_limit_ : r.draft_target;
    room = std::min(round, r.remaining()) - r.drafted;
  } else if (decode_.fetch == Fetch::speculative && !r.pairs_asked) {
    return 0;  // its first pairs are chosen, and nothing is decoded
  }
  return std::clamp<std::int64_t>(std::min(room, budget) - 1, 0, most);
}

void Replica::note_proposals() {
  if (!decode_.proposes()) return;
  std::int64_t proposed = 0;
  for (const StepEntry& e : step_) proposed += e.proposed;
  draft_lengths_.stepped(
      {work_, step_time_, step_drafting_s_, gpus_.waited().seconds(), fetching_.longer_with_one_more_s(), proposed},
      roster_.decoding());
}

StepPart Replica::part_of(const Request& r, Action action, std::int64_t budget) const {
  if (action == Action::verify) return {Work::verify, verified_tokens(r)};
  if (action == Action::stall) return {};
  const std::int64_t proposed = proposals(r, budget);
  return {demand_.decodes_directly(r) ? Work::decode : Work::draft, fetching_.query_tokens(r, proposed), proposed};
}

void Replica::add(Request& r, const StepPart& part, models::StepWork& work) {
  step_.push_back({part, &r, r.admission});
  if (decode_.low_bit_copy || decode_.fetch != Fetch::none) {
    fetching_.add_decode(r, part.proposed, work);
  } else {
    parts_.add(r, part, work);
  }
}

void Replica::batch_prefill(models::StepWork& work) {
  auto budget = config_.schedule.max_batched_tokens - static_cast<std::int64_t>(work.tokens());
  for (Request* r : roster_.prefilling()) {
    if (budget <= 0) break;
    budget -= batch_chunk(*r, budget, work);
  }
  full_kv_->batch(roster_.decoding(), budget, work);
  admit_waiting(budget, work);
  assembly_.batch(roster_.loading(), work);
}

std::int64_t Replica::batch_chunk(Request& r, std::int64_t budget, models::StepWork& work) {
  const std::int64_t tokens = std::min(budget, r.prefill_target - r.prefill_done);
  const StepPart part{Work::prefill, tokens};
  const bool last = r.prefill_done + tokens == r.prefill_target;
  if (r.assembly) {
    assembly_.batch_rows(r, tokens, last, work);
  } else {
    parts_.add(r, part, work);
  }
  drafting_.add_chunk(static_cast<double>(r.prefill_done - r.prefix.dropped), static_cast<double>(tokens));
  work.extra_gpu_s += std::exchange(r.prefix.unpack_s, 0.0);
  if (last && demand_.holds_part(r) && decode_.reads_compressed) {
    parts_.add_compression(r.context(), work);
  }
  step_.push_back({part, &r, r.admission});
  return tokens;
}

void Replica::end_step() {
  if (layers_) note_fetch_wait();
  note_memory();
  trace_step();
  note_proposals();
  profiling_.apply();
  assembly_.apply();
  apply_draft_results();
  full_kv_->apply();
  apply_prefill_results();
  decided_ahead_ = config_.schedule.asynchronous;
}

/// As if one after the other in order of admission, which samples of gaps between tokens keep.
void Replica::apply_steadily() {
  const engine::Duration gap = steady_.gap(env_.simulator.now());
  over_.clear();
  std::int64_t together = steady_.size();
  if (!step_.empty() && step_.front().work != Work::prefill) {  // somebody is not in step yet
    together = 0;
    auto alone = step_.begin();
    for (Request* r : roster_.decoding()) {
      together += SteadyBatch::has(*r) ? 1 : 0;
      if (alone == step_.end() || alone->request != r) continue;  // a member, or ready since the step began
      log_.emitted_together(std::exchange(together, 0), gap);
      emit_directly(*r);
      if (r->remaining() == 0) over_.push_back(r);
      ++alone;
    }
  }
  log_.emitted_together(together, gap);
  outstanding_tokens_ -= steady_.size();
  steady_.end_step(env_.simulator.now(), over_);
  for (const StepEntry& e : step_) {
    if (e.work != Work::prefill && e.request->remaining() > 0) steady_.join(*e.request, env_.simulator.now());
  }
  std::sort(over_.begin(), over_.end(), [](const Request* a, const Request* b) { return a->admission < b->admission; });
  for (Request* r : over_) finish(*r);
}

void Replica::apply_draft_results() {
  if (steady_.possible()) {
    apply_steadily();
    return;
  }
  bool grew = false;
  for (const StepEntry& e : step_) {
    Request& r = *e.request;
    if (e.work == Work::prefill || r.admission != e.admission || r.phase != Phase::decoding) continue;
    if (e.work == Work::decode) {
      apply_decoding(r, e.proposed);
    } else if (e.work == Work::draft) {
      const std::int64_t gained = 1 + accept_proposals(r, e.proposed);
      note_unseen(r, e.proposed, gained);
      DraftLengths::drafted(r, gained, env_.simulator.now());
    } else {
      apply_verification(r);
      grew = true;
    }
  }
  if (!grew) return;
  for (const StepEntry& e : step_) {
    Request& r = *e.request;
    if (e.work != Work::verify || r.admission != e.admission || r.phase != Phase::decoding) continue;
    if (!resize_held(r, std::max(demand_.decoding(r), r.settling ? r.kv.held() : 0))) continue;
    schedule_->verified(r, view());
  }
  secure_reload_room();
}

void Replica::apply_prefill_results() {
  for (const StepEntry& e : step_) {
    Request& r = *e.request;
    if (e.work != Work::prefill || r.admission != e.admission || r.phase != Phase::prefilling) continue;
    r.prefill_done += e.tokens;
    outstanding_tokens_ -= e.tokens;
    if (layers_) {
      r.in_host_tokens += e.tokens;
    } else if (demand_.offloads(r)) {
      write_back(r, e.tokens);
    }
    if (r.prefill_done < r.prefill_target) continue;
    if (r.assembly) {
      assembly_.note(r);
    } else if (env_.prompts) {
      env_.prompts->computed(r);
    }
    // The last prompt position's logits give the next token, by the full KV.
    become_ready(r);
    if (decode_.as_found && !r.direct) {
      draft_first_token(r);
      continue;
    }
    emit_directly(r);
    if (r.remaining() == 0) {
      finish(r);
      continue;
    }
    begin_round(r);
    settle_after_prefill(r);
    steady_.join(r, env_.simulator.now());
  }
}

void Replica::go_idle() {
  const auto reloads = [](const Request* r) { return r->reload == Reload::in_flight; };
  const auto crosses_link = [](const Request* r) { return Assembly::waits_for_link(*r); };
  const std::vector<Request*>&decoding = roster_.decoding(), &loading = roster_.loading();
  const bool reloading = std::any_of(decoding.begin(), decoding.end(), reloads);
  const bool waiting = reloading || !loading.empty();  // for something that comes by itself
  gpus_.wait_for_link(reloading || std::any_of(loading.begin(), loading.end(), crosses_link));
  const bool anything = roster_.anybody_waits() || !decoding.empty() || !roster_.prefilling().empty();
  if (!anything || waiting || d2h_->in_flight_or_queued() > 0) return;
  // Nothing runs and nothing is on its way: give the memory of the newest request to the others.
  KVSIM_ALWAYS(decoding.size() > 1, "a request cannot make progress: nothing runs and nothing is on its way");
  preempt(*decoding.back());
  gpus_.wake();
}

}  // namespace kvsim::serving
