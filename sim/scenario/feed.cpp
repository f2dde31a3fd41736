// Requests of a scenario: from its trace, or generated from named random streams.
#include "models/workload/random_source.h"
#include "models/workload/request_source.h"
#include "sim/engine/random.h"
#include "sim/scenario/scenario.h"

namespace kvsim::scenario {
namespace {

class TraceFeed final : public serving::RequestFeed {
 public:
  explicit TraceFeed(std::shared_ptr<const std::vector<models::RequestSpec>> requests)
      : requests_(std::move(requests)) {}

  std::optional<models::RequestSpec> next() override {
    if (at_ == requests_->size()) return std::nullopt;
    const models::RequestSpec& r = (*requests_)[at_++];
    return models::RequestSpec{r.id, r.arrival_ns, r.prompt_tokens, r.output_tokens, {}};
  }

 private:
  std::shared_ptr<const std::vector<models::RequestSpec>> requests_;
  std::size_t at_ = 0;
};

class GeneratedFeed final : public serving::RequestFeed {
 public:
  GeneratedFeed(const WorkloadConfig& workload, std::uint64_t seed)
      : source_({*workload.context, *workload.output, workload.arrivals}, streams(seed)),
        left_(workload.requests > 0 ? workload.requests : -1),
        concurrency_(workload.closed ? workload.closed->concurrency : 0) {}

  std::optional<models::RequestSpec> next() override {
    if (left_ == 0) return std::nullopt;
    if (left_ > 0) --left_;
    return source_.next();
  }

  [[nodiscard]] std::int64_t concurrency() const override { return concurrency_; }

 private:
  static models::WorkloadStreams streams(std::uint64_t seed) {
    const auto named = [seed](const char* name) -> std::unique_ptr<models::RandomSource> {
      return std::make_unique<models::RandomSourceOf<engine::RandomStream>>(engine::RandomStream(seed, name));
    };
    return {named("arrivals"), named("prompts"), named("outputs")};
  }

  models::RequestSource source_;
  std::int64_t left_;
  std::int64_t concurrency_;
};

}  // namespace

std::unique_ptr<serving::RequestFeed> make_feed(const Scenario& scenario, std::uint64_t seed) {
  if (scenario.workload.trace) return std::make_unique<TraceFeed>(scenario.trace);
  return std::make_unique<GeneratedFeed>(scenario.workload, seed);
}

}  // namespace kvsim::scenario
