// Explanations: the sums add up, the resource that binds by construction is the one that is named, and margins are where
// the plan changes.
#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>

#include "planner/explain/explain.h"
#include "tests/support/small_scenario.h"
#include "tools/results/explain_page.h"

namespace kvsim::planner {
namespace {

TEST(Scratch, Headline) {
  const scenario::Scenario s =
      scenario::load_scenario(testing::source_path("scenarios/long_context/headline.yaml"));
  const auto t0 = std::chrono::steady_clock::now();
  const ScenarioPlan p = plan(s, {});
  const auto t1 = std::chrono::steady_clock::now();
  ExplainOptions options;
  options.jobs = 2;
  const Explanation e = explain(s, p, options);
  const auto t2 = std::chrono::steady_clock::now();
  std::puts(results::to_text(results::explain_page(e)).c_str());
  std::printf("plan %.2f explain %.2f\n", std::chrono::duration<double>(t1 - t0).count(),
              std::chrono::duration<double>(t2 - t1).count());
}

}  // namespace
}  // namespace kvsim::planner
