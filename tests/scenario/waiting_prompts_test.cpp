// A request that waits for memory is looked up again only when what is stored has changed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/cache/prompt_cache.h"
#include "sim/systems/fleet.h"
#include "sim/systems/systems.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

/// Contexts that are compressed in tiers, and verified, with these settings.
scenario::Scenario stored_prompts(const Sets& sets) {
  return scenario::load_scenario(source_path("scenarios/composition/utility_verified.yaml"), sets);
}

/// Says that something changed whenever it is asked.
class LookedUpInEveryStep final : public cache::PromptCache {
 public:
  using PromptCache::PromptCache;
  [[nodiscard]] std::uint64_t changes() const override { return ++times_; }

 private:
  mutable std::uint64_t times_ = 0;
};

/// What is measured as it is, and with that.
std::pair<std::string, std::string> both_ways(const scenario::Scenario& s) {
  const auto feed = make_feed(s, s.serving.run.seed), again = make_feed(s, s.serving.run.seed);
  const auto in_every_step = serving::run_system(s.serving, *again, {}, [](const serving::RunEnvironment& environment) {
    return systems::make_fleet(environment, std::make_unique<LookedUpInEveryStep>(
                                                environment.simulator, environment.fabric, environment.config,
                                                environment.prefix_block_tokens, nullptr));
  });
  return {summary(systems::simulate(s.serving, *feed).measured), summary(in_every_step.measured)};
}

RC_GTEST_PROP(WaitingPromptsProperty, LookedUpWhenSomethingChangedOrInEveryStepIsTheSame, ()) {
  const auto any = [](std::initializer_list<const char*> values) {
    return std::string(*rc::gen::elementOf(std::vector(values)));
  };
  const Sets sets = {
      "workload.requests=120",
      fmt::format("run={{seed: {}}}", *rc::gen::inRange(1, 1000)),
      fmt::format("workload.arrivals.rate={}/s", any({"2", "10", "100"})),
      fmt::format("cluster.gpu.memory_fraction={}", any({"0.28", "0.35", "0.6", "0.9"})),
      fmt::format("schedule.max_batched_tokens={}", any({"512", "2048", "16384"})),
      fmt::format("schedule.max_requests={}", any({"2", "8", "256"})),
      fmt::format("decode={{policy: {}}}",
                  any({"full_kv", "draft_verify, draft_length: 25, drafter: {type: eagle3-llama-3.1-8b}",
                       "drafter, drafter: {type: eagle3-llama-3.1-8b}"})),
      fmt::format("placement={{policy: {}}}", any({"utility", "lru, compressor: kvzip, keep_ratio: 0.3"}))};
  const auto [once, in_every_step] = both_ways(stored_prompts(sets));
  RC_ASSERT(once == in_every_step);
}

// Here some wait that nothing was found of yet when it was last worked out what they need.
TEST(WaitingPrompts, WhatIsNeededIsThatOfWhatIsFoundNow) {
  const auto [once, in_every_step] = both_ways(stored_prompts(
      {"run={seed: 904}", "workload.arrivals.rate=10/s", "workload.requests=1000", "cluster.gpu.memory_fraction=0.9"}));
  EXPECT_EQ(once, in_every_step);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
