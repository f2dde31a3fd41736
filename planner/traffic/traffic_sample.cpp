#include "planner/traffic/traffic_sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/workload/shared_prefixes.h"

namespace kvsim::planner::traffic {

bool ArrivalTimes::add(std::int64_t at_ns) {
  if (runs_.count() == 0) {
    first_ns_ = at_ns;
    bins_.resize(kBins);
    if (most_ < std::numeric_limits<std::size_t>::max()) kept_.reserve(most_);
  }
  last_ns_ = at_ns;
  auto bin = static_cast<std::size_t>(at_ns - first_ns_) >> static_cast<unsigned>(bin_bits_);
  for (; bin >= kBins; bin /= 2) {
    ++bin_bits_;
    for (std::size_t i = 0; i < kBins / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    std::fill(bins_.begin() + kBins / 2, bins_.end(), 0);
  }
  ++bins_[bin];
  const bool kept = runs_.next();
  if (kept) kept_.push_back(at_ns);
  return kept;
}

void ArrivalTimes::halve() {
  runs_.thin();
  Runs::halve(kept_);
}

std::vector<std::int64_t> ArrivalTimes::gaps_ns() const {
  std::vector<std::int64_t> gaps;
  gaps.reserve(kept_.size());
  for (std::size_t i = 1; i < kept_.size(); ++i) {
    if (follows(i)) gaps.push_back(kept_[i] - kept_[i - 1]);
  }
  return gaps;
}

std::vector<double> ArrivalTimes::counts(std::size_t windows) const {
  std::vector<double> counts(windows);
  const double width = static_cast<double>(last_ns_ - first_ns_) / static_cast<double>(windows);
  const auto window_of = [&](double ns) { return std::min(static_cast<std::size_t>(ns / width), windows - 1); };
  if (runs_.all()) {
    for (const std::int64_t at : kept_) ++counts[window_of(static_cast<double>(at - first_ns_))];
    return counts;
  }
  const double bin = std::ldexp(1.0, bin_bits_);
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i] > 0) counts[window_of((static_cast<double>(i) + 0.5) * bin)] += static_cast<double>(bins_[i]);
  }
  return counts;
}

TrafficSample::TrafficSample(std::int64_t block_tokens)
    : block_tokens_(block_tokens),
      described_(block_tokens),
      arrivals_(block_tokens > 0 ? std::numeric_limits<std::size_t>::max() : kMostRequests),
      session_starts_(kMostRequests) {
  if (block_tokens > 0) return;
  prompts_.reserve(kMostRequests);  // beside the tables that grow while a trace is read, vectors that do leave holes
  outputs_.reserve(kMostRequests);
  further_.reserve(kMostTurns);
}

void TrafficSample::add(const models::RequestSpec& r) {
  described_.add(r);
  if (arrivals_.add(r.arrival_ns)) {
    prompts_.push_back(static_cast<std::int32_t>(r.prompt_tokens));
    outputs_.push_back(static_cast<std::int32_t>(r.output_tokens));
    if (arrivals_.full()) {
      arrivals_.halve();
      Runs::halve(prompts_);
      Runs::halve(outputs_);
    }
  }
  if (block_tokens_ > 0) {
    const auto whole =
        std::min<std::size_t>(r.prefix_blocks.size(), static_cast<std::size_t>(r.prompt_tokens / block_tokens_));
    for (std::size_t i = 0; i < whole; ++i) {
      blocks_.push_back(r.prefix_blocks[i]);
      ++*users_.try_emplace(r.prefix_blocks[i]).first;
    }
    block_end_.push_back(blocks_.size());
    session_.push_back(r.session);
  }
  if (r.session >= 0) {
    add_turn(r);
  } else {
    ++alone_;
  }
}

void TrafficSample::add_turn(const models::RequestSpec& r) {
  const auto number = static_cast<std::size_t>(r.session);
  if (number >= begun_.size()) begun_.resize(number + 1);
  if (!begun_[number]) {
    begun_[number] = true;
    session_starts_.add(r.arrival_ns);
    if (r.parent >= 0) ++sub_agents_;
    if (session_starts_.full()) session_starts_.halve();
  }
  if (!followed(r.session)) return;
  Session& session = *sessions_.try_emplace(number).first;
  session.number = r.session;
  if (session.turns++ == 0) {
    session.first_prompt = r.prompt_tokens;
  } else {
    further_.push_back({r.arrival_ns - session.last_ns, r.think_ns,
                        static_cast<std::int32_t>(r.prompt_tokens - session.last_tokens), r.session});
  }
  session.last_ns = r.arrival_ns;
  session.last_tokens = r.prompt_tokens + r.output_tokens;
  while (further_.size() >= kMostTurns || sessions_.size() >= kMostTurns) follow_half();
}

bool TrafficSample::followed(std::int32_t session) const {
  const std::uint64_t rest = (std::uint64_t{1} << follow_bits_) - 1;
  return (models::mixed_hash(static_cast<std::uint64_t>(session)) & rest) == 0;
}

void TrafficSample::follow_half() {
  const std::vector<Session> before = followed_sessions();
  ++follow_bits_;
  sessions_ = {};
  for (const Session& session : before) {
    if (followed(session.number)) sessions_.try_emplace(static_cast<std::uint64_t>(session.number), session);
  }
  std::erase_if(further_, [this](const FurtherTurn& turn) { return !followed(turn.session); });
}

std::vector<TrafficSample::Session> TrafficSample::followed_sessions() const {
  std::vector<Session> sessions;
  sessions.reserve(sessions_.size());
  sessions_.for_each([&](const Session& session) { sessions.push_back(session); });
  std::sort(sessions.begin(), sessions.end(), [](const Session& a, const Session& b) { return a.number < b.number; });
  return sessions;
}

std::vector<std::int64_t> TrafficSample::turns() const {
  std::vector<std::int64_t> turns;
  for (const Session& session : followed_sessions()) turns.push_back(session.turns);
  return turns;
}

std::vector<std::int64_t> TrafficSample::first_prompts() const {
  std::vector<std::int64_t> tokens;
  for (const Session& session : followed_sessions()) tokens.push_back(session.first_prompt);
  return tokens;
}

std::vector<std::int64_t> TrafficSample::think_ns() const {
  std::vector<std::int64_t> pauses;
  for (const FurtherTurn& turn : further_) {
    if (turn.think_ns >= 0) pauses.push_back(turn.think_ns);
  }
  return pauses;
}

std::vector<std::int64_t> TrafficSample::turn_gaps_ns() const {
  std::vector<std::int64_t> gaps;
  for (const FurtherTurn& turn : further_) gaps.push_back(turn.gap_ns);
  return gaps;
}

std::vector<std::int64_t> TrafficSample::growth() const {
  std::vector<std::int64_t> growth;
  for (const FurtherTurn& turn : further_) growth.push_back(turn.growth);
  return growth;
}

std::size_t TrafficSample::latest_within(double ns) const {
  std::size_t sessions = 0;
  for (const Session& session : followed_sessions()) {
    sessions += static_cast<double>(arrivals_.last_ns() - session.last_ns) < ns ? 1U : 0U;
  }
  return sessions;
}

std::vector<TrafficSample::Beginning> TrafficSample::shared_beginnings() const {
  std::vector<Beginning> beginnings;
  if (blocks_.empty()) return beginnings;
  std::size_t begin = 0;
  for (const std::size_t end : block_end_) {
    Beginning& longest = beginnings.emplace_back();
    // Chained: whoever has a block has all those before it.
    for (std::size_t i = begin; i < end; ++i) {
      if (*users_.find(blocks_[i]) == 1) break;
      longest = {blocks_[i], static_cast<std::int64_t>(i - begin + 1) * block_tokens_};
    }
    begin = end;
  }
  return beginnings;
}

std::span<const std::uint64_t> TrafficSample::blocks_of(std::size_t request) const {
  const std::size_t begin = request == 0 ? 0 : block_end_[request - 1];
  return std::span(blocks_).subspan(begin, block_end_[request] - begin);
}

models::RequestSpec TrafficSample::request(std::size_t i) const {
  const std::span<const std::uint64_t> blocks = blocks_of(i);
  models::RequestSpec r;
  r.id = i;
  r.arrival_ns = arrivals_.kept()[i];
  r.prompt_tokens = prompts_[i];
  r.output_tokens = outputs_[i];
  r.prefix_blocks.assign(blocks.begin(), blocks.end());
  return r;
}

std::optional<TrafficSample> TrafficSample::conversations() const {
  constexpr std::size_t kPrefixShare = 50, kLeastUsers = 50;
  if (sessions() > 0 || blocks_.empty()) return std::nullopt;
  const std::size_t of_prefix = std::max(size() / kPrefixShare, kLeastUsers);
  TrafficSample turns(block_tokens_);
  models::FlatTable<std::uint32_t> latest;  // request that has the block
  std::vector<std::int32_t> session(size());
  std::int32_t sessions = 0;
  std::size_t alike = 0, further = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::span<const std::uint64_t> blocks = blocks_of(i);
    std::size_t shared = 0;
    std::uint32_t before = 0;
    for (; shared < blocks.size(); ++shared) {
      const std::uint32_t* const has = latest.find(blocks[shared]);
      if (has == nullptr) break;
      before = *has;
    }
    session[i] = -1;
    if (shared > 0 && *users_.find(blocks[shared - 1]) < of_prefix) {
      ++alike;
      further += shared + 1 >= blocks_of(before).size() && prompts_[i] > prompts_[before] + outputs_[before] ? 1U : 0U;
      session[i] = session[before];
    }
    if (session[i] < 0) session[i] = sessions++;
    turns.without_own_blocks_ += blocks.empty() || *users_.find(blocks.back()) >= of_prefix ? 1U : 0U;
    for (const std::uint64_t block : blocks) *latest.try_emplace(block).first = static_cast<std::uint32_t>(i);
    models::RequestSpec turn = request(i);
    turn.session = session[i];
    turns.add(turn);
  }
  if (further == 0 || 2 * further < alike) return std::nullopt;
  return turns;
}

TrafficSample TrafficSample::session_openings() const {
  TrafficSample openings(block_tokens_);
  std::vector<bool> begun;
  for (std::size_t i = 0; i < session_.size(); ++i) {
    if (session_[i] >= 0) {
      const auto session = static_cast<std::size_t>(session_[i]);
      if (session >= begun.size()) begun.resize(session + 1);
      if (begun[session]) continue;
      begun[session] = true;
    }
    openings.add(request(i));
  }
  return openings;
}

TrafficSample read_sample(const models::TraceFormat& format, const std::string& path,
                          const models::TraceOptions& options) {
  TrafficSample sample(format.block_tokens);
  models::scan_trace(format, path, options, [&](models::RequestSpec&& r) { sample.add(r); });
  return sample;
}

}  // namespace kvsim::planner::traffic
