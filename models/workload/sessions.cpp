#include "models/workload/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "models/schema/error.h"
#include "models/workload/request_source.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {

std::string problem_with(const SessionSpec& spec) {
  // Lengths are of tokens elsewhere.
  if (const std::string problem = problem_with(spec.turns); !problem.empty()) return "turns: " + problem;
  if (const std::string problem = problem_with(spec.growth); !problem.empty()) return "growth: " + problem;
  const std::string problem = problem_with(spec.think_time);
  return problem.empty() ? problem : "think_time: " + problem;
}

Sessions::Sessions(const SessionSpec& spec, LengthSampler output, Streams streams)
    : turns_(spec.turns),
      growth_(spec.growth),
      output_(std::move(output)),
      think_time_(spec.think_time),
      streams_(std::move(streams)) {}

std::unique_ptr<RandomSource> Sessions::stream(const char* what, std::int64_t session, std::int64_t turn) const {
  constexpr std::uint64_t kMostTurns = std::uint64_t{1} << 24U;
  static_assert(max_request_tokens < kMostTurns, "every turn of every session has a stream of its own");
  return streams_(what, static_cast<std::uint64_t>(session) * kMostTurns + static_cast<std::uint64_t>(turn));
}

void Sessions::begin(RequestSpec& first) {
  if (next_ > std::numeric_limits<std::int32_t>::max()) {
    throw schema::InputError("there are more than 2,147,483,648 sessions, expected a shorter run");
  }
  first.session = static_cast<std::int32_t>(next_++);
  first.turn = 1;
  Live live;
  live.turns = turns_.sample(*stream("session turns", first.session, 0));
  live.said_tokens = first.prompt_tokens + first.output_tokens;
  live.context = first.context;
  live.context_tokens = first.context_tokens;
  live_.emplace(first.session, live);
}

std::optional<std::int64_t> Sessions::turn_over(std::int64_t session) {
  Live& live = live_.at(session);
  if (++live.turn == live.turns) {
    live_.erase(session);
    return std::nullopt;
  }
  return think_time_.sample_ns(*stream("session think times", session, live.turn));
}

RequestSpec Sessions::next_turn(std::int64_t session) {
  Live& live = live_.at(session);
  RequestSpec request;
  request.session = static_cast<std::int32_t>(session);
  request.turn = static_cast<std::int32_t>(live.turn + 1);
  request.prompt_tokens =
      std::min(live.said_tokens + growth_.sample(*stream("session growth", session, live.turn)), max_request_tokens);
  request.output_tokens = output_.sample(*stream("session outputs", session, live.turn));
  request.context = live.context;
  request.context_tokens = live.context_tokens;
  live.said_tokens = request.prompt_tokens + request.output_tokens;
  return request;
}

std::vector<std::uint64_t> session_blocks(std::int64_t session, std::int64_t prompt_tokens, std::int64_t block_tokens) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(prompt_tokens / block_tokens));
  std::uint64_t hash = mixed_hash(~static_cast<std::uint64_t>(session));
  for (std::uint64_t& block : hashes) block = hash = mixed_hash(hash);
  return hashes;
}

}  // namespace kvsim::models
