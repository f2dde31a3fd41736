// What is said of buying less, of plans made by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tests/planner/capacity_scenario.h"

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

/// Of a thousand requests so many miss the objective of TTFT; at least `lower` meet it.
Probe failing(double rate, std::uint64_t misses, double lower) {
  Probe probe;
  probe.rate = rate;
  probe.attainment = {1 - static_cast<double>(misses) / 1000, lower, 1000, misses, 4};
  probe.ttft_p99_s = probe.ttft_asked_s = 0.75;
  probe.demands = {{{std::nullopt, 0.9, serving::kAnyMiss}, probe.attainment}};
  if (misses > 0) probe.misses = {{serving::Miss::ttft, misses}};
  return probe;
}

/// One replica at so many USD/h that sustains `rate`, and of which somewhat more is too much.
void add(CapacityPlan& plan, double usd_per_hour, double rate) {
  Configuration c;
  c.scenario = testing::quick_chat();
  c.search.rate = rate;
  c.search.fails_at = 1.1 * rate;
  c.probes = {failing(1.1 * rate, 300, 0.65)};
  c.cost.gpus = usd_per_hour;
  plan.configurations.push_back(std::move(c));
}

CapacityPlan plan_for_nine_tenths() {
  CapacityPlan plan;
  plan.request.probe = testing::quick_probe();
  plan.request.prices = models::PriceTable::built_in();
  return plan;
}

std::ptrdiff_t place(const CapacityPlan& plan, const NextCheaper& next) {
  return next.configuration - plan.configurations.data();
}

TEST(NextCheaper, IsNotBeatenByOneThatIsAtMostAsDear) {
  CapacityPlan plan = plan_for_nine_tenths();
  add(plan, 2.87, 15);
  add(plan, 2.75, 10.5);
  add(plan, 2.71, 13);
  add(plan, 2.60, 9);
  auto next = next_cheaper(plan);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(place(plan, *next), 2) << "13/s for less than 10.5/s";
  EXPECT_DOUBLE_EQ(next->rate, 13);
  add(plan, 2.71, 13.5);
  EXPECT_EQ(place(plan, *next_cheaper(plan)), 4) << "as dear, and more";
  add(plan, 2.65, 13.5);
  EXPECT_EQ(place(plan, *next_cheaper(plan)), 5) << "as much for less";
}

TEST(NextCheaper, IsWhatSustainsNothingWhereNothingCheaperDoes) {
  CapacityPlan plan = plan_for_nine_tenths();
  add(plan, 2.87, 15);
  add(plan, 0, 0);  // at the price of a GPU, 2.5 USD/h
  auto next = next_cheaper(plan);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(place(plan, *next), 1);
  EXPECT_EQ(next->rate, 0);
  add(plan, 2.40, 5);
  EXPECT_EQ(place(plan, *next_cheaper(plan)), 2);
}

TEST(NextCheaper, SaysWhatTheConfidenceLeavesOpen) {
  CapacityPlan plan = plan_for_nine_tenths();
  add(plan, 3, 15);
  add(plan, 2, 10);
  Configuration& cheaper = plan.configurations.back();
  EXPECT_EQ(next_cheaper(plan)->why, "TTFT p99 750 ms > 500 ms, missed by 30.0 % of requests");
  cheaper.probes = {failing(cheaper.search.fails_at, 29, 0.79)};
  EXPECT_EQ(next_cheaper(plan)->why,
            "TTFT p99 750 ms > 500 ms, missed by 2.9 % of requests; attainment 97.10 %, at least 79.00 % with "
            "confidence 95 %, target 90 %");
}

TEST(NextCheaper, OfAFleetThatMayLoseAReplicaSaysWhatHappensThen) {
  CapacityPlan plan = plan_for_nine_tenths();
  plan.request.rate = 30;
  add(plan, 2.5, 12);
  Configuration& c = plan.configurations.front();
  Fleet fleet;
  fleet.needed = 3;
  fleet.replicas = 3;
  fleet.cost.gpus = 3 * 2.5;
  fleet.fails = failing(30, 985, 0.01);
  c.fleet = fleet;
  EXPECT_EQ(next_cheaper(plan)->replicas, 2);
  EXPECT_EQ(next_cheaper(plan)->why, "TTFT p99 750 ms > 500 ms, missed by 98.5 % of requests");
  c.fleet->n_minus_1 = true;
  c.fleet->replicas = 4;
  c.fleet->cost.gpus = 4 * 2.5;
  EXPECT_EQ(next_cheaper(plan)->replicas, 3) << "which serve the rate until one fails";
  EXPECT_EQ(next_cheaper(plan)->why, "with one replica less, TTFT p99 750 ms > 500 ms, missed by 98.5 % of requests");
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
