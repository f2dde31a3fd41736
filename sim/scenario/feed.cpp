// Requests of a scenario: from its trace, or generated from named random streams.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "models/workload/distributions.h"
#include "models/workload/request_source.h"
#include "models/workload/trace_reader.h"
#include "sim/engine/random.h"
#include "sim/scenario/scenario.h"

namespace kvsim::scenario {
namespace {

models::WorkloadStreams streams(std::uint64_t seed) {
  const auto named = [seed](const char* name) -> std::unique_ptr<models::RandomSource> {
    return std::make_unique<models::RandomSourceOf<engine::RandomStream>>(engine::RandomStream(seed, name));
  };
  const auto of_request = [seed](std::uint64_t request) -> std::unique_ptr<models::RandomSource> {
    return std::make_unique<models::RandomSourceOf<engine::RandomStream>>(
        engine::RandomStream(seed, "chunks", request));
  };
  const auto by_name = [seed](const std::string& what, std::uint64_t index) -> std::unique_ptr<models::RandomSource> {
    return std::make_unique<models::RandomSourceOf<engine::RandomStream>>(engine::RandomStream(seed, what, index));
  };
  return {named("arrivals"),       named("prompts"), named("outputs"), named("prefixes"),
          named("prefix lengths"), of_request,       by_name};
}

models::RequestSource source(const WorkloadConfig& workload, bool with_blocks, std::uint64_t seed,
                             bool with_answers = false) {
  models::GeneratedWorkload generated{workload.context.value_or(models::LengthSpec{}),
                                      workload.output.value_or(models::LengthSpec{}),
                                      workload.arrivals,
                                      workload.prefixes,
                                      with_blocks,
                                      workload.chunks};
  generated.with_answers = with_answers;
  if (workload.sessions) generated.sessions = workload.sessions->spec;
  for (const ClassInput& of : workload.classes) generated.classes.push_back(of.requests);
  return {generated, streams(seed)};
}

/// Whether requests are told what they share by blocks: nothing else does.
bool with_blocks(const Scenario& scenario) {
  const auto& placement = scenario.serving.placement;
  return scenario.serving.cluster.topology().memory.keeps_blocks || scenario.serving.schedule.prefix_caching ||
         (placement && placement->granularity == models::Granularity::blocks);
}

class TraceFeed final : public serving::RequestFeed, private serving::TurnFeed {
 public:
  /// block_tokens: of RequestSpec::prefix_blocks; 0: leaves them out.
  TraceFeed(std::shared_ptr<const std::vector<models::RequestSpec>> requests, std::int64_t block_tokens,
            const TraceInput& input)
      : requests_(std::move(requests)), block_tokens_(block_tokens), time_scale_(input.time_scale) {
    if (input.sessions) follow_sessions();
  }

  std::optional<models::RequestSpec> next() override {
    while (at_ < follows_.size() && follows_[at_]) ++at_;
    if (at_ == requests_->size()) return std::nullopt;
    models::RequestSpec r = copy(at_++);
    if (follows_.empty()) return r;
    r.parent = -1;  // cut off from it
    if (r.session >= 0) under_way_.emplace(r.session, UnderWay{at_ - 1, -1});
    return r;
  }

  [[nodiscard]] serving::TurnFeed* turns() override { return follows_.empty() ? nullptr : this; }
  [[nodiscard]] std::int64_t prefix_block_tokens() const override { return block_tokens_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  [[nodiscard]] models::RequestSpec copy(std::size_t i) const {
    const models::RequestSpec& r = (*requests_)[i];
    if (block_tokens_ > 0) return r;
    return models::RequestSpec{r.id,      r.arrival_ns,     r.prompt_tokens, r.output_tokens, {},
                               r.context, r.context_tokens, r.chunks,        r.chunk_tokens,  r.session,
                               r.turn,    r.think_ns,       r.kind,          r.parent};
  }

  /// A turn of a session, and the first one of a sub-agent that it begins.
  struct Begun {
    std::uint32_t by = 0;
    std::uint32_t first = 0;
  };
  struct UnderWay {
    std::size_t turn = 0;      // the latest
    std::int32_t parent = -1;  // of a sub-agent
  };
  /// Latest turn of a session, while they are read.
  struct Latest {
    std::uint32_t turn = 0;
    std::uint32_t of_all = 0;  // of it and its sub-agents
    std::int32_t parent = -1;
  };

  /// Which turn comes after which, and which sub-agents a turn begins.
  void follow_sessions() {
    std::unordered_map<std::int32_t, Latest> latest;
    follows_.resize(requests_->size(), false);
    next_turn_.resize(requests_->size(), kNone);
    for (std::uint32_t i = 0; i < requests_->size(); ++i) {
      const std::int32_t session = (*requests_)[i].session;
      if (session < 0) continue;
      const auto [own, first] = latest.try_emplace(session, Latest{i, i, -1});
      const auto parent = first ? latest.find((*requests_)[i].parent) : latest.end();
      if (parent != latest.end()) {
        follows_[i] = true;
        begun_.push_back({parent->second.turn, i});
        pauses_.emplace(i, pause_ns(parent->second.turn, i));
        own->second.parent = parent->first;
      } else if (!first) {
        follows_[i] = true;
        next_turn_[own->second.turn] = i;
        if (own->second.of_all != own->second.turn) pauses_.emplace(i, pause_ns(own->second.of_all, i));
        own->second.turn = i;
      }
      for (auto of = own; of != latest.end(); of = latest.find(of->second.parent)) of->second.of_all = i;
    }
    std::stable_sort(begun_.begin(), begun_.end(), [](const Begun& a, const Begun& b) { return a.by < b.by; });
  }

  /// Between what was before a turn and its arrival. The rate of sessions is scaled, not how fast users are.
  [[nodiscard]] std::int64_t pause_ns(std::size_t before, std::size_t turn) const {
    const models::RequestSpec& after = (*requests_)[turn];
    if (after.think_ns >= 0) return after.think_ns;
    return std::llround(static_cast<double>(after.arrival_ns - (*requests_)[before].arrival_ns) / time_scale_);
  }

  std::vector<models::RequestSpec> begin_sub_agents(std::int64_t session) override {
    std::vector<models::RequestSpec> first;
    const auto by = static_cast<std::uint32_t>(under_way_.at(session).turn);
    auto begun = std::lower_bound(begun_.begin(), begun_.end(), by,
                                  [](const Begun& b, std::uint32_t turn) { return b.by < turn; });
    for (; begun != begun_.end() && begun->by == by; ++begun) {
      models::RequestSpec& r = first.emplace_back(copy(begun->first));
      r.think_ns = pauses_.at(begun->first);
      under_way_.emplace(r.session, UnderWay{begun->first, r.parent});
    }
    return first;
  }

  std::optional<std::int64_t> turn_over(std::int64_t session) override {
    const auto turn = under_way_.find(session);
    const std::size_t before = turn->second.turn;
    const std::uint32_t next = next_turn_[before];
    if (next == kNone) {
      under_way_.erase(turn);
      return std::nullopt;
    }
    turn->second.turn = next;
    const auto after_sub_agents = pauses_.find(next);
    return after_sub_agents != pauses_.end() ? after_sub_agents->second : pause_ns(before, next);
  }
  models::RequestSpec next_turn(std::int64_t session) override {
    const UnderWay& latest = under_way_.at(session);
    models::RequestSpec r = copy(latest.turn);
    r.parent = latest.parent;
    return r;
  }
  void forget(std::int64_t session) override { under_way_.erase(session); }

  std::shared_ptr<const std::vector<models::RequestSpec>> requests_;
  std::int64_t block_tokens_ = 0;
  double time_scale_ = 1;
  std::size_t at_ = 0;
  // Where turns wait for each other:
  std::vector<bool> follows_;                               // on another turn; by request
  std::vector<std::uint32_t> next_turn_;                    // of the same session; by request
  std::vector<Begun> begun_;                                // by the turn that begins them
  std::unordered_map<std::uint32_t, std::int64_t> pauses_;  // before turns that follow on more than a turn; ns
  std::unordered_map<std::int64_t, UnderWay> under_way_;    // by session
};

class GeneratedFeed final : public serving::RequestFeed, private serving::TurnFeed {
 public:
  GeneratedFeed(const WorkloadConfig& workload, bool with_blocks, std::uint64_t seed, bool with_answers)
      : source_(source(workload, with_blocks, seed, with_answers)),
        left_(workload.endless()  ? -1
              : workload.sessions ? workload.sessions->count
                                  : workload.requests),
        concurrency_(workload.closed ? workload.closed->concurrency : 0) {}

  std::optional<models::RequestSpec> next() override {
    if (left_ == 0) return std::nullopt;
    if (left_ > 0) --left_;
    return source_.next();
  }

  [[nodiscard]] serving::TurnFeed* turns() override { return source_.has_sessions() ? this : nullptr; }
  [[nodiscard]] std::int64_t concurrency() const override { return concurrency_; }
  [[nodiscard]] std::int64_t prefix_block_tokens() const override { return source_.block_tokens(); }

 private:
  std::vector<models::RequestSpec> begin_sub_agents(std::int64_t session) override {
    return source_.begin_sub_agents(session);
  }
  std::optional<std::int64_t> turn_over(std::int64_t session) override { return source_.turn_over(session); }
  models::RequestSpec next_turn(std::int64_t session) override { return source_.next_turn(session); }
  void forget(std::int64_t session) override { source_.forget(session); }

  models::RequestSource source_;
  std::int64_t left_;
  std::int64_t concurrency_;
};

}  // namespace

std::int64_t TraceInput::block_tokens() const {
  std::int64_t tokens =
      columns && columns->block_tokens > 0 ? columns->block_tokens : models::find_trace_format(format).block_tokens;
  for (const TraceInput& other : overlay) tokens = std::max(tokens, other.block_tokens());
  return tokens;
}

std::unique_ptr<serving::RequestFeed> make_feed(const Scenario& scenario, std::uint64_t seed) {
  return make_feed(scenario, seed, with_blocks(scenario));
}

std::unique_ptr<serving::RequestFeed> make_feed(const Scenario& scenario, std::uint64_t seed, bool blocks) {
  const WorkloadConfig& workload = scenario.workload;
  if (!workload.trace) {
    return std::make_unique<GeneratedFeed>(workload, blocks, seed, scenario.serving.schedule.prefix_caching);
  }
  const std::int64_t block_tokens =
      workload.recorded_prompts() ? workload.trace->block_tokens() : source(workload, blocks, seed).block_tokens();
  return std::make_unique<TraceFeed>(scenario.trace, blocks ? block_tokens : 0, *workload.trace);
}

std::shared_ptr<const std::vector<models::RequestSpec>> with_generated_prompts(const Scenario& scenario) {
  models::RequestSource prompts = source(scenario.workload, with_blocks(scenario), scenario.serving.run.seed);
  std::vector<models::RequestSpec> requests;
  requests.reserve(scenario.trace->size());
  for (const models::RequestSpec& recorded : *scenario.trace) {
    requests.push_back(prompts.next());
    requests.back().id = recorded.id;
    requests.back().arrival_ns = recorded.arrival_ns;
  }
  return std::make_shared<const std::vector<models::RequestSpec>>(std::move(requests));
}

bool has_prefix_blocks(const Scenario& scenario) {
  const WorkloadConfig& w = scenario.workload;
  if (!w.recorded_prompts()) {
    return w.prefixes || w.chunks || w.sessions ||
           std::any_of(w.classes.begin(), w.classes.end(), [](const ClassInput& c) { return c.requests.prefixes; });
  }
  return std::any_of(scenario.trace->begin(), scenario.trace->end(),
                     [](const models::RequestSpec& request) { return !request.prefix_blocks.empty(); });
}

}  // namespace kvsim::scenario
