// Runs of two pools for tests: what a request list came to, and what a step or a transfer takes by itself.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/kernels/step_time.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"
#include "sim/systems/systems.h"
#include "tests/support/pools_scenario.h"

namespace kvsim::testing {

class BlockFeed final : public serving::RequestFeed {
 public:
  BlockFeed(std::vector<models::RequestSpec> requests, std::int64_t block_tokens)
      : requests_(std::move(requests)), block_tokens_(block_tokens) {}
  std::optional<models::RequestSpec> next() override {
    return at_ < requests_.size() ? std::optional(requests_[at_++]) : std::nullopt;
  }
  [[nodiscard]] std::int64_t prefix_block_tokens() const override { return block_tokens_; }

 private:
  std::vector<models::RequestSpec> requests_;
  std::int64_t block_tokens_;
  std::size_t at_ = 0;
};

inline serving::Measurements simulated(const scenario::Scenario& s) {
  const auto feed = make_feed(s, s.serving.run.seed);
  return systems::simulate(s.serving, *feed).measured;
}

inline serving::Measurements simulated(const scenario::Scenario& s, std::vector<models::RequestSpec> requests,
                                       std::int64_t block_tokens) {
  BlockFeed feed(std::move(requests), block_tokens);
  return systems::simulate(s.serving, feed).measured;
}

/// One request alone, on one path.
inline std::vector<std::string> alone_on(const std::string& path, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"workload.closed.concurrency=1", "workload.requests=1",
                             "dispatch={policy: online, paths: [" + path + "]}"});
  return more;
}

/// What the parts of a run take by themselves.
class Parts {
 public:
  explicit Parts(const scenario::Scenario& s)
      : config_(s.serving),
        geometry_(config_.model, config_.cluster.groups.front().parallel.tensor,
                  {config_.model, config_.decode.compressor, config_.decode.keep_ratio}, config_.schedule.block_tokens),
        timer_(config_.cluster.groups.front().gpu, config_.cluster.groups.front().peer_link,
               config_.cluster.groups.front().profile, config_.model, config_.cluster.groups.front().parallel.tensor) {}

  [[nodiscard]] const serving::KvGeometry& geometry() const { return geometry_; }

  /// What a node that has not decoded expects of a step.
  [[nodiscard]] double shortest_step_s() const { return timer_.one_token_s(); }
  [[nodiscard]] double decode_s(std::int64_t context) const {
    models::StepWork work;
    serving::add_decode(work, geometry_, context);
    return timer_.time(work).total_s;
  }
  [[nodiscard]] double compressed_decode_s(std::int64_t prompt, std::int64_t generated) const {
    models::StepWork work;
    serving::add_draft(
        work, geometry_, prompt, generated, 0,
        serving::attention_time_factor(config_, config_.cluster.groups.front(), config_.decode.compressor));
    return timer_.time(work).total_s;
  }
  /// Tokens from context `from` to before `to`, one a step.
  [[nodiscard]] double decodes_s(std::int64_t from, std::int64_t to) const {
    double s = 0;
    for (std::int64_t context = from; context < to; ++context) s += decode_s(context);
    return s;
  }
  [[nodiscard]] double verify_s(std::int64_t context, std::int64_t drafted) const {
    models::StepWork work;
    serving::add_verification(work, geometry_, context, drafted);
    return timer_.time(work).total_s;
  }
  [[nodiscard]] double decompress_s(std::int64_t prompt) const {
    return static_cast<double>(geometry_.full_transfer(prompt)) /
           config_.decode.compressor.decompress_bytes_per_s.value;
  }
  [[nodiscard]] double compression_s(std::int64_t prompt) const {
    return serving::compression_s(config_, config_.cluster.groups.front(), geometry_, timer_, prompt);
  }
  [[nodiscard]] static double transfer_s(const serving::GroupConfig& pool, std::int64_t bytes) {
    return static_cast<double>(bytes) / pool.storage_link.read_bytes_per_s.value + pool.storage_link.latency_s.value +
           pool.storage_link.setup_s.value;
  }
  [[nodiscard]] double fast_s(std::int64_t bytes) const { return transfer_s(config_.cluster.groups.front(), bytes); }
  [[nodiscard]] double slow_s(std::int64_t bytes) const { return transfer_s(config_.cluster.groups.back(), bytes); }
  [[nodiscard]] double message_s() const { return config_.cluster.pools->message_latency_s; }

 private:
  serving::ServingConfig config_;
  serving::KvGeometry geometry_;
  models::StepTimer timer_;
};

}  // namespace kvsim::testing
