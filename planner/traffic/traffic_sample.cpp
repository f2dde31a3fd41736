#include "planner/traffic/traffic_sample.h"

#include <algorithm>
#include <cstddef>

namespace kvsim::planner::traffic {

void TrafficSample::add(const models::RequestSpec& r) {
  described_.add(r);
  arrival_ns_.push_back(r.arrival_ns);
  prompts_.push_back(static_cast<std::int32_t>(r.prompt_tokens));
  outputs_.push_back(static_cast<std::int32_t>(r.output_tokens));
  if (block_tokens_ > 0) {
    const auto whole =
        std::min<std::size_t>(r.prefix_blocks.size(), static_cast<std::size_t>(r.prompt_tokens / block_tokens_));
    for (std::size_t i = 0; i < whole; ++i) {
      blocks_.push_back(r.prefix_blocks[i]);
      ++users_[r.prefix_blocks[i]];
    }
    block_end_.push_back(blocks_.size());
  }
  if (r.session < 0) return;
  const auto number = static_cast<std::size_t>(r.session);
  if (number >= sessions_.size()) sessions_.resize(number + 1);
  Session& session = sessions_[number];
  if (session.turns++ == 0) {
    first_prompts_.push_back(r.prompt_tokens);
    first_arrivals_ns_.push_back(r.arrival_ns);
  } else {
    turn_gaps_ns_.push_back(r.arrival_ns - session.last_ns);
    growth_.push_back(r.prompt_tokens - session.last_tokens);
    if (r.think_ns >= 0) think_ns_.push_back(r.think_ns);
  }
  session.last_ns = r.arrival_ns;
  session.last_tokens = r.prompt_tokens + r.output_tokens;
}

std::vector<std::int64_t> TrafficSample::gaps_ns() const {
  std::vector<std::int64_t> gaps;
  gaps.reserve(arrival_ns_.size());
  for (std::size_t i = 1; i < arrival_ns_.size(); ++i) gaps.push_back(arrival_ns_[i] - arrival_ns_[i - 1]);
  return gaps;
}

std::vector<std::int64_t> TrafficSample::turns() const {
  std::vector<std::int64_t> turns;
  for (const Session& session : sessions_) {
    if (session.turns > 0) turns.push_back(session.turns);
  }
  return turns;
}

std::vector<TrafficSample::Beginning> TrafficSample::shared_beginnings() const {
  std::vector<Beginning> beginnings;
  if (blocks_.empty()) return beginnings;
  std::size_t begin = 0;
  for (const std::size_t end : block_end_) {
    Beginning& longest = beginnings.emplace_back();
    // Chained: whoever has a block has all those before it.
    for (std::size_t i = begin; i < end && users_.at(blocks_[i]) > 1; ++i) {
      longest = {blocks_[i], static_cast<std::int64_t>(i - begin + 1) * block_tokens_};
    }
    begin = end;
  }
  return beginnings;
}

TrafficSample read_sample(const models::TraceFormat& format, const std::string& path,
                          const models::TraceOptions& options) {
  TrafficSample sample(format.block_tokens);
  models::scan_trace(format, path, options, [&](models::RequestSpec&& r) { sample.add(r); });
  return sample;
}

}  // namespace kvsim::planner::traffic
