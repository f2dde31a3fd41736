// Requests of a scenario: from its trace, or generated from named random streams.
#include <algorithm>

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
  return {named("arrivals"), named("prompts"),        named("outputs"),
          named("prefixes"), named("prefix lengths"), of_request};
}

models::RequestSource source(const WorkloadConfig& workload, bool with_blocks, std::uint64_t seed) {
  return {{*workload.context, *workload.output, workload.arrivals, workload.prefixes, with_blocks, workload.chunks},
          streams(seed)};
}

/// Whether requests are told what they share by blocks: nothing else does.
bool with_blocks(const Scenario& scenario) {
  const auto& placement = scenario.serving.placement;
  return scenario.serving.cluster.pools.has_value() ||
         (placement && placement->granularity == models::Granularity::blocks);
}

class TraceFeed final : public serving::RequestFeed {
 public:
  /// block_tokens: of RequestSpec::prefix_blocks; 0: leaves them out.
  TraceFeed(std::shared_ptr<const std::vector<models::RequestSpec>> requests, std::int64_t block_tokens)
      : requests_(std::move(requests)), block_tokens_(block_tokens) {}

  std::optional<models::RequestSpec> next() override {
    if (at_ == requests_->size()) return std::nullopt;
    const models::RequestSpec& r = (*requests_)[at_++];
    if (block_tokens_ > 0) return r;
    return models::RequestSpec{r.id,      r.arrival_ns,     r.prompt_tokens, r.output_tokens, {},
                               r.context, r.context_tokens, r.chunks,        r.chunk_tokens,  r.session,
                               r.turn,    r.think_ns};
  }

  [[nodiscard]] std::int64_t prefix_block_tokens() const override { return block_tokens_; }

 private:
  std::shared_ptr<const std::vector<models::RequestSpec>> requests_;
  std::int64_t block_tokens_ = 0;
  std::size_t at_ = 0;
};

class GeneratedFeed final : public serving::RequestFeed {
 public:
  GeneratedFeed(const WorkloadConfig& workload, bool with_blocks, std::uint64_t seed)
      : source_(source(workload, with_blocks, seed)),
        left_(workload.requests > 0 ? workload.requests : -1),
        concurrency_(workload.closed ? workload.closed->concurrency : 0) {}

  std::optional<models::RequestSpec> next() override {
    if (left_ == 0) return std::nullopt;
    if (left_ > 0) --left_;
    return source_.next();
  }

  [[nodiscard]] std::int64_t concurrency() const override { return concurrency_; }
  [[nodiscard]] std::int64_t prefix_block_tokens() const override { return source_.block_tokens(); }

 private:
  models::RequestSource source_;
  std::int64_t left_;
  std::int64_t concurrency_;
};

}  // namespace

std::unique_ptr<serving::RequestFeed> make_feed(const Scenario& scenario, std::uint64_t seed) {
  return make_feed(scenario, seed, with_blocks(scenario));
}

std::unique_ptr<serving::RequestFeed> make_feed(const Scenario& scenario, std::uint64_t seed, bool blocks) {
  const WorkloadConfig& workload = scenario.workload;
  if (!workload.trace) return std::make_unique<GeneratedFeed>(workload, blocks, seed);
  const std::int64_t block_tokens = workload.recorded_prompts()
                                        ? models::find_trace_format(workload.trace->format).block_tokens
                                        : source(workload, blocks, seed).block_tokens();
  return std::make_unique<TraceFeed>(scenario.trace, blocks ? block_tokens : 0);
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
  if (!scenario.workload.recorded_prompts()) return scenario.workload.prefixes || scenario.workload.chunks;
  return std::any_of(scenario.trace->begin(), scenario.trace->end(),
                     [](const models::RequestSpec& request) { return !request.prefix_blocks.empty(); });
}

}  // namespace kvsim::scenario
