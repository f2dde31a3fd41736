#include "sim/serving/session_log.h"

namespace kvsim::serving {

void SessionLog::arrived(std::uint64_t request, const models::RequestSpec& spec, engine::SimTime now) {
  if (spec.session < 0) {
    ++measured_.sessions.alone;
    return;
  }
  turns_.emplace(request, spec.session);
  const auto [known, first] = sessions_.try_emplace(spec.session, Session{now, now, 0, spec.parent, 0, {}});
  if (first && spec.parent >= 0) ++sub_agents_;
  if (first) (spec.parent < 0 ? measured_.sessions.begun : measured_.sessions.sub_agents_begun) += 1;
  known->second.turns += 1;
}

void SessionLog::refused(std::uint64_t request) {
  const auto turn = turns_.extract(request);
  if (turn.empty()) return;
  const Session cut = sessions_.extract(turn.mapped()).mapped();
  (cut.parent < 0 ? measured_.sessions.cut : measured_.sessions.sub_agents_cut) += 1;
  if (cut.parent >= 0) --sub_agents_;
}

std::int64_t SessionLog::finished(const Request& r, engine::SimTime now) {
  const auto turn = turns_.extract(r.id);
  if (turn.empty()) return -1;
  const std::int64_t session = turn.mapped();
  const double ttft = (r.record->first_token - r.arrival).seconds();
  Session& of = sessions_.at(session);
  of.turn_ended = now;
  (of.turns == 1 ? measured_.first_turn_ttft_s : measured_.later_turn_ttft_s).add(ttft);
  return session;
}

void SessionLog::thinks(std::int64_t session, double time_s, engine::SimTime now) {
  const Session& of = sessions_.at(session);
  if (of.parent < 0) measured_.session_think_s.add((now - of.turn_ended).seconds() + time_s);
}

void SessionLog::waits(std::int64_t session, std::size_t sub_agents, std::optional<std::int64_t> think_ns) {
  Session& waiting = sessions_.at(session);
  waiting.awaited = sub_agents;
  waiting.think_ns = think_ns;
}

std::int64_t SessionLog::over(std::int64_t session, engine::SimTime now) {
  const Session ended = sessions_.extract(session).mapped();
  if (ended.parent >= 0) {
    --sub_agents_;
    measured_.sub_agent_s.add((now - ended.begin).seconds());
    return ended.parent;
  }
  measured_.sessions.finished += 1;
  measured_.sessions.turns += ended.turns;
  measured_.session_s.add((now - ended.begin).seconds());
  return -1;
}

}  // namespace kvsim::serving
