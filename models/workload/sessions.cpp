#include "models/workload/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/schema/error.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {

std::string problem_with(const SessionSpec& spec) {
  // Lengths are of tokens elsewhere.
  if (const std::string problem = problem_with(spec.turns); !problem.empty()) return "turns: " + problem;
  if (const std::string problem = problem_with(spec.growth); !problem.empty()) return "growth: " + problem;
  if (const std::string problem = problem_with(spec.think_time); !problem.empty()) return "think_time: " + problem;
  if (!spec.sub_agents) return {};
  const SubAgentSpec& agents = *spec.sub_agents;
  if (!(agents.share >= 0 && agents.share <= 1)) {
    return fmt::format("sub_agents: share is {}, expected 0 to 1", agents.share);
  }
  for (const auto& [name, law] :
       {std::pair{"count", &agents.count}, std::pair{"turns", &agents.turns}, std::pair{"context", &agents.context}}) {
    const std::string problem = problem_with(*law);
    if (!problem.empty()) return fmt::format("sub_agents: {}: {}", name, problem);
  }
  return {};
}

double mean_requests(const SessionSpec& spec) {
  const double turns = LengthSampler(spec.turns).mean();
  if (!spec.sub_agents) return turns;
  const SubAgentSpec& sub = *spec.sub_agents;
  const double agents = std::max(turns - 1, 0.0) * sub.share * LengthSampler(sub.count).mean();
  return turns + agents * LengthSampler(sub.turns).mean();
}

Sessions::Sessions(const SessionSpec& spec, LengthSampler output, Streams streams)
    : turns_(spec.turns),
      growth_(spec.growth),
      output_(std::move(output)),
      think_time_(spec.think_time),
      streams_(std::move(streams)) {
  if (!spec.sub_agents) return;
  const SubAgentSpec& agents = *spec.sub_agents;
  sub_agents_ = {agents.share, LengthSampler(agents.count), LengthSampler(agents.turns), LengthSampler(agents.context)};
}

std::unique_ptr<RandomSource> Sessions::stream(const char* what, const Live& live, std::int64_t turn) const {
  constexpr std::uint64_t kMostTurns = std::uint64_t{1} << 24U;
  static_assert(max_request_tokens < kMostTurns, "every turn of every session has a stream of its own");
  if (live.parent >= 0) {
    return streams_(std::string(what) + " of sub-agents", mixed_hash(live.identity + static_cast<std::uint64_t>(turn)));
  }
  return streams_(what, live.identity * kMostTurns + static_cast<std::uint64_t>(turn));
}

void Sessions::begin(RequestSpec& first) {
  if (next_ > next_sub_agent_) {
    throw schema::InputError("there are more than 2,147,483,648 sessions, expected a shorter run");
  }
  first.session = static_cast<std::int32_t>(next_++);
  first.turn = 1;
  Live live;
  live.identity = static_cast<std::uint64_t>(first.session);
  live.turns = turns_.sample(*stream("session turns", live, 0));
  live.said_tokens = first.prompt_tokens + first.output_tokens;
  live.context = first.context;
  live.context_tokens = first.context_tokens;
  live_.emplace(first.session, live);
}

std::vector<RequestSpec> Sessions::begin_sub_agents(std::int64_t session) {
  std::vector<RequestSpec> first;
  if (!sub_agents_) return first;
  const Live parent = live_.at(session);
  if (parent.parent >= 0 || parent.turn + 1 >= parent.turns) return first;
  const auto random = stream("sub-agents", parent, parent.turn);
  if (random->uniform() >= sub_agents_->share) return first;
  const std::int64_t count = sub_agents_->count.sample(*random);
  if (count > kMostSubAgents) {
    throw schema::InputError(
        fmt::format("workload.sessions.sub_agents.count: a turn begins {} at once, expected {} or fewer: give max",
                    count, kMostSubAgents));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    first.push_back(begin_sub_agent(parent, static_cast<std::int32_t>(session), i));
  }
  return first;
}

RequestSpec Sessions::begin_sub_agent(const Live& parent, std::int32_t parent_number, std::int64_t which) {
  if (next_ > next_sub_agent_) {
    throw schema::InputError("there are more than 2,147,483,648 sessions, expected a shorter run");
  }
  Live live;
  live.parent = parent_number;
  live.identity = mixed_hash(mixed_hash(parent.identity) + static_cast<std::uint64_t>(parent.turn));
  live.identity = mixed_hash(live.identity + static_cast<std::uint64_t>(which));
  live.turns = sub_agents_->turns.sample(*stream("session turns", live, 0));
  RequestSpec first;
  first.session = static_cast<std::int32_t>(next_sub_agent_--);
  first.turn = 1;
  first.parent = parent_number;
  first.think_ns = 0;
  first.prompt_tokens = sub_agents_->context.sample(*stream("session prompts", live, 0));
  first.output_tokens = output_.sample(*stream("session outputs", live, 0));
  live.said_tokens = first.prompt_tokens + first.output_tokens;
  live_.emplace(first.session, live);
  return first;
}

std::optional<std::int64_t> Sessions::turn_over(std::int64_t session) {
  Live& live = live_.at(session);
  if (++live.turn == live.turns) {
    live_.erase(session);
    return std::nullopt;
  }
  return think_time_.sample_ns(*stream("session think times", live, live.turn));
}

RequestSpec Sessions::next_turn(std::int64_t session) {
  Live& live = live_.at(session);
  RequestSpec request;
  request.session = static_cast<std::int32_t>(session);
  request.turn = static_cast<std::int32_t>(live.turn + 1);
  request.parent = live.parent;
  request.prompt_tokens =
      std::min(live.said_tokens + growth_.sample(*stream("session growth", live, live.turn)), max_request_tokens);
  request.output_tokens = output_.sample(*stream("session outputs", live, live.turn));
  request.context = live.context;
  request.context_tokens = live.context_tokens;
  live.said_tokens = request.prompt_tokens + request.output_tokens;
  return request;
}

std::vector<std::uint64_t> session_blocks(std::uint64_t identity, std::int64_t prompt_tokens,
                                          std::int64_t block_tokens) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(prompt_tokens / block_tokens));
  std::uint64_t hash = mixed_hash(~identity);
  for (std::uint64_t& block : hashes) block = hash = mixed_hash(hash);
  return hashes;
}

}  // namespace kvsim::models
