// Sessions: requests of one user, or one agent, each of which waits for the one before it to be answered and begins
// with all that was said before.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/workload/distributions.h"
#include "models/workload/request_spec.h"

namespace kvsim::models {

/// Sessions that a turn of another one begins when it is over, and which that one's next turn waits for.
struct SubAgentSpec {
  double share = 1;    ///< of the turns that are followed by another one, in [0, 1]: they begin some
  LengthSpec count;    ///< how many at once (its `tokens` are sub-agents), kMostSubAgents at most
  LengthSpec turns;    ///< requests of each
  LengthSpec context;  ///< tokens of its first prompt, which shares nothing with any other session's
};

/// That one turn begins.
inline constexpr std::int64_t kMostSubAgents = 10'000;

struct SessionSpec {
  LengthSpec turns;     ///< requests of a session (its `tokens` are turns)
  LengthSpec growth;    ///< new tokens of a prompt after the first, behind all that was said before
  TimeSpec think_time;  ///< from the end of a turn to the next one: reading and writing, or an agent's tool
  std::optional<SubAgentSpec> sub_agents{};  ///< with the session's laws of growth, outputs and think times
};

/// Problem with the specification and what was expected; empty: none.
std::string problem_with(const SessionSpec& spec);

/// Requests of a session, those of the sub-agents that it begins among them, in the mean of their laws.
double mean_requests(const SessionSpec& spec);

/// The sessions that are under way: what is known of each is kept until it is over, and nothing else.
class Sessions {
 public:
  /// A new stream, by what is drawn and for whom.
  using Streams = std::function<std::unique_ptr<RandomSource>(const std::string& what, std::uint64_t index)>;

  /// `output`: of turns after the first. Throws schema::InputError with problem_with(spec).
  Sessions(const SessionSpec& spec, LengthSampler output, Streams streams);

  /// The next session begins with this request, which gets its number. What a session draws depends on its number and
  /// the turn alone, so that it is the same one however fast it is served.
  void begin(RequestSpec& first);

  /// The first turns of the sub-agents that the session's latest turn begins, with their sessions' numbers: that turn
  /// is over, and turn_over() has not been told. None of a sub-agent, nor of a last turn. Throws schema::InputError
  /// beyond kMostSubAgents.
  [[nodiscard]] std::vector<RequestSpec> begin_sub_agents(std::int64_t session);

  /// The session's latest turn is over. How long after that the next one comes, in ns; nothing: that was the last one,
  /// and the session is forgotten. Precondition: the session is under way.
  std::optional<std::int64_t> turn_over(std::int64_t session);

  /// The turn that turn_over() announced, without its number, arrival and blocks: its prompt is the prompt before it,
  /// the answer to that, and new tokens; at most max_request_tokens.
  [[nodiscard]] RequestSpec next_turn(std::int64_t session);

  /// No further turn comes of it.
  void forget(std::int64_t session) { live_.erase(session); }

  [[nodiscard]] std::size_t under_way() const { return live_.size(); }

  /// Identity on which the session's draws and blocks depend: its number, or of a sub-agent the turn that began it. It
  /// is the same whenever the session begins.
  [[nodiscard]] std::uint64_t identity(std::int64_t session) const { return live_.at(session).identity; }

 private:
  struct Live {
    std::int64_t turn = 0;  // the latest, from 0
    std::int64_t turns = 1;
    std::int64_t said_tokens = 0;  // prompt and answer of the latest turn
    std::int64_t context = -1;
    std::int64_t context_tokens = 0;
    std::uint64_t identity = 0;
    std::int32_t parent = -1;  // of a sub-agent
  };
  struct SubAgents {
    double share;
    LengthSampler count, turns, context;
  };

  std::unique_ptr<RandomSource> stream(const char* what, const Live& live, std::int64_t turn) const;
  RequestSpec begin_sub_agent(const Live& parent, std::int32_t parent_number, std::int64_t which);

  LengthSampler turns_, growth_, output_;
  std::optional<SubAgents> sub_agents_;
  TimeSampler think_time_;
  Streams streams_;
  std::unordered_map<std::int64_t, Live> live_;
  std::int64_t next_ = 0;
  std::int64_t next_sub_agent_ = std::numeric_limits<std::int32_t>::max();  // downwards
};

/// Chained hashes of the whole blocks of a session's prompt, none of which any other session has: the first blocks of a
/// turn are those of the turn before it.
std::vector<std::uint64_t> session_blocks(std::uint64_t identity, std::int64_t prompt_tokens,
                                          std::int64_t block_tokens);

}  // namespace kvsim::models
