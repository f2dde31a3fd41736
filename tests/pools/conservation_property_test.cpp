// Random pools: whatever the paths and however short memories and links are, every request finishes, every token is
// accounted for, and nothing is over-committed. Runs check the conservation laws of memory and links themselves.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "tests/pools/pools_runs.h"
#include "tests/support/random_pools.h"
#include "tests/support/time_parts.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

RC_GTEST_PROP(PoolsProperty, EveryRequestFinishesAndNothingIsLost, ()) {
  const auto s = pools_scenario(random_pools());
  const serving::Measurements m = simulated(s);
  RC_ASSERT(m.arrived == 30U);
  RC_ASSERT(m.completed + m.refused == 30U);
  RC_ASSERT(m.accepted_tokens + m.corrections + m.direct_tokens == m.output_tokens);
  RC_ASSERT(m.drafted_tokens == m.accepted_tokens + m.rejected_tokens);
  std::uint64_t on_paths = 0;
  std::int64_t tokens = 0;
  for (const auto& path : m.paths) {
    on_paths += path.completed;
    tokens += path.output_tokens;
  }
  RC_ASSERT(on_paths == m.completed);
  RC_ASSERT(tokens == m.output_tokens);
  const double parts = m.busy_s + m.link_bound_s + m.front_end_s + m.idle_s;
  RC_ASSERT(std::abs(parts - m.capacity_s) < 1e-6 * (1 + m.capacity_s));
  RC_ASSERT(m.capacity_s == 0 || std::abs(testing::sum_of_shares(serving::bottleneck(m)) - 1) < 1e-6);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
