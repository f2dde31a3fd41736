// Runs with requests as they are told, one by one.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/serving/request.h"
#include "sim/systems/systems.h"
#include "tests/reuse/chunk_scenario.h"

namespace kvsim::testing {

class ToldFeed final : public serving::RequestFeed {
 public:
  explicit ToldFeed(std::vector<models::RequestSpec> requests) : requests_(std::move(requests)) {}
  std::optional<models::RequestSpec> next() override {
    return next_ < requests_.size() ? std::optional(requests_[next_++]) : std::nullopt;
  }

 private:
  std::vector<models::RequestSpec> requests_;
  std::size_t next_ = 0;
};

/// A prompt of one chunk of 128 tokens, which has the request's number, and a query.
inline models::RequestSpec told_request(std::uint64_t id, double at_s, std::int64_t query, std::int64_t output) {
  models::RequestSpec r;
  r.id = id;
  r.arrival_ns = std::llround(at_s * 1e9);
  r.prompt_tokens = 128 + query;
  r.output_tokens = output;
  r.chunks = {id};
  r.chunk_tokens = 128;
  return r;
}

/// chunk_scenario for such requests.
inline scenario::Scenario told_scenario(const Sets& sets) {
  return chunk_scenario(Sets{"workload.chunks.per_request=1", "workload.chunks.tokens=128 tokens"} + sets);
}

/// The policy needs no future.
inline serving::SimulationOutcome run_told(const scenario::Scenario& scenario,
                                           const std::vector<models::RequestSpec>& requests) {
  ToldFeed feed(requests);
  return systems::simulate(scenario.serving, feed, {}, [] { return nullptr; });
}

/// Of the n-th request to finish.
inline double ttft_s(const serving::Measurements& m, std::size_t n) {
  return m.ttft_s.values()[n];
}

}  // namespace kvsim::testing
