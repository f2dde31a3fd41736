#include "sim/serving/session_log.h"

namespace kvsim::serving {

void SessionLog::arrived(std::uint64_t request, std::int64_t session, engine::SimTime now) {
  turns_.emplace(request, session);
  const auto [known, first] = sessions_.try_emplace(session, Session{now, 0});
  measured_.sessions.begun += first ? 1 : 0;
  known->second.turns += 1;
}

void SessionLog::refused(std::uint64_t request) {
  measured_.sessions.cut += 1;
  sessions_.erase(turns_.extract(request).mapped());
}

std::int64_t SessionLog::finished(const Request& r) {
  const std::int64_t session = turns_.extract(r.id).mapped();
  const double ttft = (r.record.first_token - r.arrival).seconds();
  (sessions_.at(session).turns == 1 ? measured_.first_turn_ttft_s : measured_.later_turn_ttft_s).add(ttft);
  return session;
}

void SessionLog::over(std::int64_t session, engine::SimTime now) {
  const Session ended = sessions_.extract(session).mapped();
  measured_.sessions.finished += 1;
  measured_.sessions.turns += ended.turns;
  measured_.session_s.add((now - ended.begin).seconds());
}

}  // namespace kvsim::serving
