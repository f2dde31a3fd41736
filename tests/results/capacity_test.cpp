// What documents of capacity searches say of their figures.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "tests/planner/capacity_scenario.h"
#include "tools/results/capacity.h"
#include "tools/results/provenance.h"
#include "tools/results/result_document.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

TEST(CapacityDefinitions, SayWhenPercentilesOfAProbeAreOfMoreValuesThanAreKept) {
  results::CapacityOutcome outcome;
  outcome.plan.request.probe = quick_probe();
  for (int i = 0; i < 2; ++i) {
    planner::capacity::Configuration c;
    c.scenario = quick_chat();
    c.probes.resize(2);
    outcome.plan.configurations.push_back(std::move(c));
  }
  const auto definitions = [&outcome] {
    const auto list = results::capacity_definitions(outcome);
    return std::map<std::string, std::string>(list.begin(), list.end());
  };
  EXPECT_FALSE(definitions().contains("percentiles"));
  outcome.plan.configurations.back().probes.front().sketched = true;
  EXPECT_EQ(definitions().at("percentiles"), results::kSketched);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
