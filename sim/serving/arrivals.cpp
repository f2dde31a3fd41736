#include "sim/serving/arrivals.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kvsim::serving {

using engine::Callback;

Arrivals::Arrivals(engine::Simulator& simulator, const ServingConfig& config, RequestFeed& feed, Measurements& measured,
                   ArrivalsListener& listener)
    : simulator_(simulator),
      feed_(feed),
      listener_(listener),
      tokenise_s_(config.schedule.engine ? config.schedule.engine->tokenise_s.value : 0),
      tokenisers_(simulator, static_cast<std::size_t>(instances(config.cluster))) {  // one a server
  if (feed.turns() != nullptr) sessions_.emplace(measured);
}

void Arrivals::start() {
  if (feed_.concurrency() == 0) {
    next_ = feed_.next();
    return schedule_next();
  }
  for (std::int64_t i = 0; i < feed_.concurrency() && !listener_.interrupted(); ++i) replace_in_closed_loop();
}

/// Open workloads: one arrival is pending at a time.
void Arrivals::schedule_next() {
  if (next_) simulator_.schedule_at({next_->arrival_ns}, Callback::to<&Arrivals::on_arrival>(this));
}

void Arrivals::on_arrival() {
  // All that arrive now before any instance begins a step.
  const std::int64_t now = next_->arrival_ns;
  for (; next_ && next_->arrival_ns == now && !listener_.interrupted(); next_ = feed_.next()) accept(*next_);
  schedule_next();
  if (next_) return;
  listener_.last_arrived();
  listener_.nothing_comes();
}

/// A session's next turn.
void Arrivals::on_turn(std::uint64_t session) {
  const models::RequestSpec spec = feed_.turns()->next_turn(static_cast<std::int64_t>(session));
  if (!accept(spec)) session_ended(spec.parent);
}

/// A sub-agent's first one.
void Arrivals::on_sub_agent(std::uint64_t slot) {
  const models::RequestSpec spec = std::move(sub_agents_[slot]);
  sub_agents_.release(slot);
  if (!accept(spec)) session_ended(spec.parent);
}

/// A user whose session is over begins the next one; where sessions arrive, that may have been the last. A session that
/// waits for sub-agents goes on when the last one is over.
void Arrivals::session_ended(std::int64_t parent) {
  if (parent >= 0) {
    if (sessions_->sub_agent_ended(parent)) go_on(parent, sessions_->think_ns(parent));
    return;
  }
  if (feed_.concurrency() > 0) {
    simulator_.schedule_in({}, Callback::to<&Arrivals::replace_in_closed_loop>(this));
  } else if (!next_) {
    listener_.nothing_comes();
  }
}

void Arrivals::replace_in_closed_loop() {
  while (auto spec = feed_.next()) {
    if (accept(*spec)) return;
    count_refusal();
  }
  listener_.nothing_comes();
}

/// Where the engine takes time to tokenise, the system sees a request when that is done. False: it was refused, now.
bool Arrivals::accept(const models::RequestSpec& spec) {
  const bool warming_up = listener_.comes();
  if (tokenise_s_ == 0) return enter({spec, simulator_.now(), warming_up});
  const auto slot = texts_.acquire();
  slot.value = {spec, simulator_.now(), warming_up};
  tokenisers_.submit(engine::from_seconds(tokenise_s_ * static_cast<double>(spec.prompt_tokens)),
                     Callback::to<&Arrivals::tokenised>(this, slot.id));
  return true;
}

void Arrivals::tokenised(std::uint64_t text) {
  const Come come = std::move(texts_[text]);
  texts_.release(text);
  if (enter(come)) return;
  count_refusal();
  session_ended(come.spec.parent);
}

std::vector<const Arrivals::Come*> Arrivals::come() const {
  std::vector<const Come*> all;
  texts_.for_each([&all](std::uint64_t /*id*/, const Come& come) { all.push_back(&come); });
  std::sort(all.begin(), all.end(),
            [](const Come* a, const Come* b) { return std::tie(a->at, a->spec.id) < std::tie(b->at, b->spec.id); });
  return all;
}

bool Arrivals::enter(const Come& come) {
  const bool entered = listener_.enter(come.spec, come.at, come.warming_up);
  if (entered) refused_in_a_row_ = 0;
  return entered;
}

void Arrivals::count_refusal() {
  constexpr std::uint64_t kRefusedInARow = 1000;
  if (++refused_in_a_row_ == kRefusedInARow) listener_.too_many_refused(kRefusedInARow);
}

void Arrivals::entered(std::uint64_t id, const models::RequestSpec& spec, engine::SimTime at) {
  if (sessions_) sessions_->arrived(id, spec, at);
}

void Arrivals::refused(std::uint64_t id, const models::RequestSpec& spec) {
  if (!sessions_) return;
  sessions_->refused(id);
  if (spec.session >= 0) feed_.turns()->forget(spec.session);
}

void Arrivals::finished(const Request& r) {
  if (!sessions_) return session_ended(-1);
  const std::int64_t session = sessions_->finished(r, simulator_.now());
  if (session < 0) return session_ended(-1);
  std::vector<models::RequestSpec> sub_agents = feed_.turns()->begin_sub_agents(session);
  const auto think_ns = feed_.turns()->turn_over(session);
  if (sub_agents.empty()) return go_on(session, think_ns);
  sessions_->waits(session, sub_agents.size(), think_ns);
  for (models::RequestSpec& first : sub_agents) {
    const engine::Duration after{first.think_ns};
    const auto slot = sub_agents_.acquire();
    slot.value = std::move(first);
    simulator_.schedule_in(after, Callback::to<&Arrivals::on_sub_agent>(this, slot.id));
  }
}

/// A turn is over, and the sub-agents that it began.
void Arrivals::go_on(std::int64_t session, std::optional<std::int64_t> think_ns) {
  if (!think_ns) return session_ended(sessions_->over(session, simulator_.now()));
  const engine::Duration think{*think_ns};
  sessions_->thinks(session, think.seconds(), simulator_.now());
  simulator_.schedule_in(think, Callback::to<&Arrivals::on_turn>(this, static_cast<std::uint64_t>(session)));
}

}  // namespace kvsim::serving
