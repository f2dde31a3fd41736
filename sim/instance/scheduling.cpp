#include "sim/instance/scheduling.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/instance/full_kv_source.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::serving {

namespace {

/// The configured keys, where what does not come by layers comes whole.
ScheduleConfig schedule_of(const InstanceEnvironment& environment) {
  ScheduleConfig schedule = environment.config.schedule;
  if (!full_kv_comes_by_layers(environment.config, environment.decode)) schedule.arrival = ReloadArrival::whole;
  return schedule;
}

}  // namespace

Scheduling::Scheduling(const InstanceEnvironment& environment, const SchedulePolicyEntry& policy,
                       const std::vector<Request*>& decoding, const machine::GpuGroup& gpus, const KvHoldings& memory,
                       double tokens_per_draft, Asked asked)
    : env_(environment),
      decoding_(decoding),
      gpus_(gpus),
      memory_(memory),
      clock_(environment.simulator, gpus, asked == Asked::by_time),
      when_due_(asked != Asked::in_every_step),
      kv_comes_by_layers_(full_kv_comes_by_layers(environment.config, environment.decode)),
      loads_first_at_once_(policy.loads_first_at_once),
      policy_(policy.make(schedule_of(environment))),
      together_(policy_->decides_together()) {
  view_.kv_capacity = memory.gpu().capacity();
  view_.draft_limit = draft_limit(environment.config.decode);
  view_.tokens_per_draft = tokens_per_draft;
}

bool Scheduling::admit(const Request& r, std::int64_t first_load_bytes) {
  tell_passed();
  return policy_->admit(r, first_load_bytes, view());
}

void Scheduling::ask(Request& r) {
  if (std::exchange(r.scheduled.asked_, true)) return;
  asking_.push_back(&r);
  all_ = all_ || together_;
}

void Scheduling::reload_found_no_memory(Request& r, std::int64_t bytes, bool wished_until_it_starts) {
  if (!wished_until_it_starts || together_ || !when_due_) return ask(r);
  awaiting_memory_.push_back({&r, bytes});
}

void Scheduling::kv_arrived(Request& r) {
  if (!r.scheduled.whatever_comes_) ask(r);
}

bool Scheduling::drafted(Request& r) {
  if (r.scheduled.whatever_comes_ && r.round.drafted < most_drafts(r, view_.draft_limit)) return false;
  ask(r);
  return true;
}

bool Scheduling::verified(Request& r) {
  tell_passed();
  if (!policy_->verified(r, view())) return false;
  ask(r);
  return true;
}

void Scheduling::removed(Request& r) {
  tell_passed();
  policy_->removed(r);
  forget(r);
  if (r.scheduled.asked_) {
    std::erase(asking_, &r);
    std::erase(asked_, &r);
  }
  std::erase_if(awaiting_memory_, [&r](const AwaitingMemory& a) { return a.request == &r; });
  r.scheduled = {};
  all_ = all_ || together_;
}

/// The decision about the request stands no longer.
void Scheduling::forget(Request& r) {
  ScheduledPlace& place = r.scheduled;
  if (place.decided_) decided_.count(place, -1);
  place.decided_ = false;
  ends_.cancel(std::exchange(place.ends_, 0));
}

std::int64_t IterationClock::passed() {
  if (!by_time_) {
    return gpus_.idle() ? static_cast<std::int64_t>(gpus_.idle_for().seconds() / gpus_.iteration_s()) : 1;
  }
  const double since = part_ + (simulator_.now() - begun_).seconds() / iteration_s_;
  auto whole = static_cast<std::int64_t>(since);
  if (end_of(whole + 1) <= simulator_.now()) whole += 1;  // to the nanosecond
  part_ = std::max(since - static_cast<double>(whole), 0.0);
  begun_ = simulator_.now();
  iteration_s_ = gpus_.iteration_s();
  return whole;
}

bool Scheduling::anybody_due() {
  return asks_next() || (!ends_.empty() && clock_.end_of(ends_.top_key() - clock_.now()) <= env_.simulator.now()) ||
         std::any_of(awaiting_memory_.begin(), awaiting_memory_.end(),
                     [this](const AwaitingMemory& a) { return a.bytes <= memory_.available(); });
}

void Scheduling::tell_passed() {
  if (const std::int64_t passed = clock_.now() - std::exchange(told_, clock_.now()); passed > 0) policy_->pass(passed);
}

std::span<Request* const> Scheduling::begin_iteration() {
  if (clock_.by_time() && !anybody_due()) return {};
  clock_.begin_iteration();
  while (!ends_.empty() && ends_.top_key() <= clock_.now()) {
    Request& r = *ends_.pop().value;
    r.scheduled.ends_ = 0;
    ask(r);
  }
  for (const AwaitingMemory& a : awaiting_memory_) {
    if (a.bytes <= memory_.available()) ask(*a.request);
  }
  asked_.clear();
  if (all_ || !when_due_) {
    asked_.assign(decoding_.begin(), decoding_.end());
    asking_.clear();
    for (Request* r : asked_) forget(*r);
    awaiting_memory_.clear();
  } else {
    for (Request* r : asking_) forget(*r);
    if (decided_.drafting == 0) {
      for (const AwaitingMemory& a : awaiting_memory_) {
        forget(*a.request);
        ask(*a.request);
      }
    }
    std::erase_if(awaiting_memory_, [](const AwaitingMemory& a) { return a.request->scheduled.asked_; });
    asked_.swap(asking_);
    std::sort(asked_.begin(), asked_.end(),
              [](const Request* a, const Request* b) { return a->admission < b->admission; });
  }
  all_ = false;
  return asked_;
}

const IterationPlan& Scheduling::plan() {
  plan_.decisions.assign(asked_.size(), {});
  plan_.reloads.clear();
  if (!asked_.empty() || (decided_.drafting == 0 && !together_)) {
    tell_passed();
    policy_->plan(view(), plan_);
  }
  for (std::size_t i = 0; i < asked_.size(); ++i) decide(*asked_[i], plan_.decisions[i]);
  return plan_;
}

void Scheduling::decide(Request& r, const Decision& decision) {
  r.round.late = r.round.late || decision.late;
  ScheduledPlace& place = r.scheduled;
  place.action_ = r.full_kv.direct ? Action::draft : decision.action;
  place.decided_ = true;
  place.late_ = r.round.late;
  place.asked_ = false;
  place.whatever_comes_ = decision.whatever_comes;
  decided_.count(place, 1);
  if (decision.stands <= 1 || place.action_ == Action::verify || asked_while_kv_comes(r)) {
    ask(r);
  } else if (decision.stands != Decision::kUntilItChanges) {
    place.ends_ = ends_.push(clock_.now() + decision.stands, &r);
  }
}

std::int64_t Scheduling::iterations_left() {
  if (all_ || !when_due_ || !asking_.empty()) return 0;
  return ends_.empty() ? std::numeric_limits<std::int64_t>::max() : ends_.top_key() - clock_.now() - 1;
}

std::optional<engine::SimTime> Scheduling::asks_at() {
  const std::int64_t left = iterations_left();
  if (left == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return std::max(clock_.end_of(left + 1), env_.simulator.now());
}

ReplicaView Scheduling::view() const {
  ReplicaView v = view_;
  v.now = env_.simulator.now();
  v.decoding = decoding_;
  v.asked = asked_;
  v.drafting = decided_.drafting;
  v.iteration_s = gpus_.iteration_s();
  v.loads_each = v.full_kv->loads_each(v.iteration_s, static_cast<std::int64_t>(v.decoding.size()));
  v.held_bytes = memory_.held();
  return v;
}

}  // namespace kvsim::serving
