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
class SessionLog {
 public:
  /// Outlives the log.
  explicit SessionLog(Measurements& measured) : measured_(measured) {}

  /// The request is a session's next turn, its first one if the session is not known.
  void arrived(std::uint64_t request, std::int64_t session, engine::SimTime now);
  /// It can never run: the session ends here.
  void refused(std::uint64_t request);
  /// It has its last token. Returns whose turn it was.
  std::int64_t finished(const Request& r);
  /// The user thinks for so long before the next turn.
  void thinks(double time_s) { measured_.session_think_s.add(time_s); }
  /// That was its last turn.
  void over(std::int64_t session, engine::SimTime now);

  [[nodiscard]] std::size_t under_way() const { return sessions_.size(); }

 private:
  struct Session {
    engine::SimTime begin;
    std::int64_t turns = 0;
  };
  Measurements& measured_;
  std::unordered_map<std::uint64_t, std::int64_t> turns_;  // session by request
  std::unordered_map<std::int64_t, Session> sessions_;
};

}  // namespace kvsim::serving
