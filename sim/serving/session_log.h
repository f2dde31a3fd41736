// Sessions that are under way in a run: which request is whose turn, and what sessions came to.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "sim/engine/time.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// Writes Measurements::sessions. It keeps what it knows of a session until that is over, and of a turn while it runs.
/// Requests of no session are counted, and nothing else.
class SessionLog {
 public:
  /// Outlives the log.
  explicit SessionLog(Measurements& measured) : measured_(measured) {}

  /// The request is a session's next turn, its first one if the session is not known.
  void arrived(std::uint64_t request, const models::RequestSpec& spec, engine::SimTime now);
  /// It can never run: its session, if it has one, ends here.
  void refused(std::uint64_t request);
  /// It has its last token. Returns whose turn it was; -1: nobody's.
  std::int64_t finished(const Request& r, engine::SimTime now);
  /// The user thinks for so long, from now on, before the next turn.
  void thinks(std::int64_t session, double time_s, engine::SimTime now);
  /// That was its last turn. Returns the session whose sub-agent it was; -1: nobody's.
  std::int64_t over(std::int64_t session, engine::SimTime now);

  /// The session goes on when so many sub-agents have ended: its user thinks for so long before the next turn; none:
  /// there is no other.
  void waits(std::int64_t session, std::size_t sub_agents, std::optional<std::int64_t> think_ns);
  /// One of them has. True where it was the last: think_ns() says how the session goes on.
  bool sub_agent_ended(std::int64_t session) { return --sessions_.at(session).awaited == 0; }
  [[nodiscard]] std::optional<std::int64_t> think_ns(std::int64_t session) const {
    return sessions_.at(session).think_ns;
  }

  /// Sessions and sub-agents.
  [[nodiscard]] std::size_t under_way() const { return sessions_.size(); }
  [[nodiscard]] std::size_t sub_agents_under_way() const { return sub_agents_; }

 private:
  struct Session {
    engine::SimTime begin, turn_ended;
    std::int64_t turns = 0;
    std::int64_t parent = -1;
    std::size_t awaited = 0;               // sub-agents
    std::optional<std::int64_t> think_ns;  // after them
  };
  Measurements& measured_;
  std::unordered_map<std::uint64_t, std::int64_t> turns_;  // session by request
  std::unordered_map<std::int64_t, Session> sessions_;
  std::size_t sub_agents_ = 0;  // of them
};

}  // namespace kvsim::serving
