// Two pools of nodes around a storage node, as the run loop sees them: requests come in, and measurements go out.
// Between the two, the requests' route decides about them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/pools/pool_route.h"
#include "sim/serving/simulation.h"

namespace kvsim::pools {

class TwoPools final : public serving::ServingSystem {
 public:
  /// `prompts`: those of a placement; else null.
  explicit TwoPools(const serving::RunEnvironment& environment, std::unique_ptr<serving::PromptStore> prompts = nullptr)
      : route_(environment, std::move(prompts)), parts_(route_.parts()) {}

  [[nodiscard]] std::string submit(serving::Request& request, const models::RequestSpec& spec) override;
  [[nodiscard]] std::string_view path_of(const serving::Request& request) const override;
  void start_measuring() override;
  void finish_measuring() override;
  void update_requests() override;
  void check_conservation() const override;
  [[nodiscard]] serving::LoadSample load() override;
  [[nodiscard]] std::int64_t kv_capacity() const override;
  [[nodiscard]] std::vector<std::string> fallbacks() const override;

 private:
  /// Puts it into its queue; else says why it could never run here.
  [[nodiscard]] std::string take(PoolRequest& r, const models::RequestSpec& spec);

  PoolRoute route_;
  PoolParts& parts_;
};

}  // namespace kvsim::pools
