// Machines that the error of the model asks for, by hand.
#include "planner/capacity/fleet.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/planner/capacity_scenario.h"

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

/// Requests take from half to twice as long as predicted, uniformly in the logarithm.
StatedErrors half_to_twice() {
  StatedErrors errors;
  std::vector<double> ratios;
  for (const double share : kErrorShares) ratios.push_back(std::exp2(2 * share - 1));
  errors.groups = {{"m", "g", "vllm", ModelKind::dense, false, 30, {ratios, ratios, ratios}}};
  errors.widening = {{1}, {1}, {1}};
  return errors;
}

TEST(ModelMargin, BuysSoManyTimesTheMachinesAsRequestsMayTakeLonger) {
  const scenario::Scenario s = testing::quick_chat();
  Fleet fleet;
  fleet.needed = fleet.replicas = 3;
  fleet.headroom = 0.2;  // one replica: 0.4 of the required rate
  const auto replicas = [&](double confidence) {
    return model_margin(half_to_twice(), models::PriceTable::built_in(), s, &fleet, confidence).replicas;
  };
  // Three quarters of requests take at most 2^0.5 as long: 1.414 / 0.4 = 3.54.
  EXPECT_NEAR(model_margin(half_to_twice(), models::PriceTable::built_in(), s, &fleet, 0.75).slower, std::sqrt(2.0),
              1e-6);
  EXPECT_EQ(replicas(0.75), 4);
  EXPECT_EQ(replicas(0.999), 5);  // 2 / 0.4
  EXPECT_EQ(replicas(0.51), 3);   // 1.014 / 0.4 = 2.5: as many as are needed without
  fleet.n_minus_1 = true;
  fleet.replicas = 4;
  fleet.headroom = 0.6;
  EXPECT_EQ(replicas(0.999), 6);
  EXPECT_EQ(model_margin(half_to_twice(), models::PriceTable::built_in(), s, nullptr, 0.9).replicas, 0);
  fleet.found = false;
  EXPECT_EQ(replicas(0.9), 0);
}

TEST(ModelMargin, BuysNoFewerWhereEnginesAreFaster) {
  StatedErrors errors = half_to_twice();
  for (double& ratio : errors.groups.front().ratios.e2e) ratio /= 4;
  Fleet fleet;
  fleet.needed = fleet.replicas = 3;
  fleet.headroom = 0.2;
  const ModelMargin margin = model_margin(errors, models::PriceTable::built_in(), testing::quick_chat(), &fleet, 0.9);
  EXPECT_EQ(margin.slower, 1);
  EXPECT_EQ(margin.replicas, 3);
  fleet.replicas = 1;  // and its memory for three
  fleet.dram_gb = 100;
  const auto cost = [&](std::int64_t replicas, double dram_gb) {
    const auto cluster = testing::quick_chat().serving.cluster;
    return hourly_cost(models::PriceTable::built_in(), cluster, replicas, dram_gb, 0).total();
  };
  EXPECT_EQ(model_margin(errors, models::PriceTable::built_in(), testing::quick_chat(), &fleet, 0.9).usd_per_hour,
            cost(3, 300));
  EXPECT_GT(cost(3, 300), cost(3, 100));
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
