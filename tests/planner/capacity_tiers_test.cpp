// Sizing of memory and storage where prompts are stored in tiers.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "planner/capacity/capacity_plan.h"
#include "planner/infeasible.h"
#include "tests/planner/capacity_scenario.h"
#include "tests/support/pools_scenario.h"

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

constexpr std::int64_t kGb = 1'000'000'000;

/// Twenty documents of 4k tokens, 0.52 GB each, asked about again and again.
constexpr const char* kDocuments = R"(
name: documents
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, activations: 0 B}
  host: {memory: 3 GB}
workload:
  arrivals: {rate: 10/s}
  prefixes: {count: 20, popularity: 0.5, tokens: 4k tokens}
  context: 64 tokens
  output: 8 tokens
  requests: 1000
prefill: prefix_cache
placement: {policy: lru}
decode: {policy: full_kv}
slo: {ttft_p99: 500 ms}
run: {seed: 1}
)";

scenario::Scenario documents(const std::vector<std::string>& overrides = {}) {
  return scenario::load_scenario_text(kDocuments, "documents.yaml", overrides);
}

const std::string kThreeTiers =
    "cluster.storage=[{name: ssd, capacity: 400 GB, read: 7 GB/s}, {name: pool, capacity: 1 TB, read: 3 GB/s, shared: "
    "true}, {name: remote, read: 1 GB/s, shared: true}]";

CapacityRequest quick_request() {
  CapacityRequest request;
  request.probe = testing::quick_probe();
  request.probe.confirm_judged_s = 60;
  request.probe.confirm_warmup_s = 10;
  request.prices = models::PriceTable::built_in();
  return request;
}

std::string refusal(const scenario::Scenario& s, const std::vector<TierSizes>& sizes) {
  try {
    check_sizes(s, sizes);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "(accepted)";
}

// 2 GPUs at 2.5 are 5 USD/h. 730 GB at 3 USD are 2,190 USD in 730 h: 3 USD/h. 7,300 GB at 0.1 USD are 730 USD: 1 USD/h.
TEST(TierCost, GpusMemoryAndStorageByHand) {
  models::PriceTable prices = models::PriceTable::built_in();
  prices.change(schema::read_yaml("{gpus: {h100-sxm: 2.5 USD/h}, dram: 3 USD/GB-month, ssd: 0.1 USD/GB-month}", "p"));
  const HourlyCost cost = hourly_cost(prices, "h100-sxm", 2, 730, 7300);
  EXPECT_DOUBLE_EQ(cost.storage, 1);
  EXPECT_DOUBLE_EQ(*cost.total(), 9);
}

TEST(TierCost, TheStorageNodeOfPoolsIsHostMemory) {
  const std::vector<std::string> prefix_cache{"prefill=prefix_cache",
                                              "workload.prefixes={count: 4, tokens: 2k tokens}"};
  std::vector<std::string> sized = prefix_cache;
  sized.emplace_back("cluster.pools.storage={capacity: 730 GB}");
  EXPECT_DOUBLE_EQ(purchase_for(testing::pools_scenario(sized), 1).dram_gb, 730);
  EXPECT_DOUBLE_EQ(purchase_for(testing::pools_scenario(prefix_cache), 1).dram_gb, 0) << "without end, no price";
}

// Three replicas: 3 x 80 GB of host memory, 3 x 400 GB of SSD of their own, 1 TB of the pool that they share; what has
// no end is not counted.
TEST(TierCost, SharedTiersAreBoughtOnceAndThoseWithoutEndNot) {
  const auto s = documents({"cluster.replicas=3", "cluster.host.memory=80 GB", kThreeTiers});
  const Purchase p = purchase_for(s, 3);
  EXPECT_DOUBLE_EQ(p.dram_gb, 240) << "as configured, whatever was used";
  EXPECT_DOUBLE_EQ(p.storage_gb, 2200);
  EXPECT_DOUBLE_EQ(purchase_for(testing::quick_chat(), 3).storage_gb, 0);
}

TEST(TierSizesOption, EveryCombinationOnceTheFirstSlowest) {
  const auto choices = size_choices({{"host", {1, 2}}, {"ssd", {3, 4, 5}}});
  ASSERT_EQ(choices.size(), 6U);
  EXPECT_EQ(choices[0][0].bytes, 1);
  EXPECT_EQ(choices[2][1].bytes, 5);
  EXPECT_EQ(choices[5][0].bytes, 2);
  EXPECT_EQ(size_choices({}).size(), 1U);
  EXPECT_EQ(size_choices(documents(), {{"host", {1, 2}}}).size(), 2U);
  const auto of_none = size_choices(testing::quick_chat(), {{"host", {1, 2}}});
  ASSERT_EQ(of_none.size(), 1U) << "nothing is stored: there is nothing to buy";
  EXPECT_TRUE(of_none.front().empty());
}

TEST(TierSizesOption, EachTierGetsItsSizeAndNoOther) {
  const auto s = with_sizes(documents({kThreeTiers}), {{"host", 7 * kGb}, {"pool", 9 * kGb}});
  EXPECT_EQ(s.serving.cluster.groups.front().host_memory_bytes, 7 * kGb);
  EXPECT_EQ(*s.serving.cluster.storage[0].capacity_bytes, 400 * kGb);
  EXPECT_EQ(*s.serving.cluster.storage[1].capacity_bytes, 9 * kGb);
  EXPECT_FALSE(s.serving.cluster.storage[2].capacity_bytes.has_value());
}

TEST(TierSizesOption, WhatTheScenarioDoesNotHaveIsRefused) {
  EXPECT_NE(refusal(documents({kThreeTiers}), {{"sdd", {1}}}).find("no storage tier \"sdd\"; did you mean \"ssd\"?"),
            std::string::npos);
  EXPECT_NE(refusal(documents(), {{"ssd", {1}}}).find("cluster.storage is where tiers are described"),
            std::string::npos);
  EXPECT_NE(refusal(documents({kThreeTiers}), {{"ssd", {1}}, {"ssd", {2}}}).find("is there twice"), std::string::npos);
  EXPECT_NE(refusal(testing::quick_chat(), {{"host", {1}}}).find("give it prefill: prefix_cache and placement"),
            std::string::npos);
}

// A hundred prefixes, all alike: a request's is new after n others with probability 0.99^n <= 0.01 from n = 459 on
// (ln 0.01 / ln 0.99 = 458.2).
TEST(TierWarmUp, LastsUntilOneInAHundredIsNew) {
  const std::vector<std::string> alike{"workload.prefixes.count=100", "workload.prefixes.popularity=0"};
  EXPECT_EQ(warming_requests(documents(alike)), 459);
  ProbeOptions options = testing::quick_probe();
  EXPECT_GE(run_length(documents(alike), 0.5, options).warmup_s, 918) << "459 requests at 0.5/s";
  EXPECT_EQ(warming_requests(testing::quick_chat()), 0);
  std::vector<std::string> three = alike;
  three.emplace_back("cluster.replicas=3");
  EXPECT_EQ(warming_requests(documents(three)), 1377) << "each replica has tiers of its own";
  EXPECT_EQ(warming_requests(documents({"workload.prefixes.count=1000000"})), 20'000) << "a bound";
  const std::string rest = "arrivals: {rate: 10/s}, context: 64 tokens, output: 32 tokens, requests: 1000";
  EXPECT_EQ(
      warming_requests(documents({"workload={chunks: {count: 100, popularity: 0, per_request: 8}, " + rest + "}"})), 58)
      << "459 chunks";
  EXPECT_EQ(warming_requests(documents({"run.warmup=1000 s"})), 10'000) << "the scenario's own, at its own 10/s";
}

TEST(TierWarmUp, ATierThatIsStillFillingIsSaid) {
  const auto fills_of = [](const std::vector<std::string>& overrides) {
    const auto s = documents(overrides);
    return tier_fills(s, probe_rate(s, 1, testing::quick_probe()));
  };
  const auto warm = fills_of({});
  ASSERT_EQ(warm.size(), 1U);
  EXPECT_EQ(warm[0].tier, "host");
  EXPECT_EQ(*warm[0].capacity_bytes, 3 * kGb);
  EXPECT_FALSE(warm[0].filling()) << warm[0].after_warmup_bytes << " B, then " << warm[0].at_end_bytes;
  EXPECT_GT(warm[0].after_warmup_bytes, 2 * kGb);
  EXPECT_TRUE(warm[0].overflowed);
  EXPECT_FALSE((TierFill{"host", 10, 4, 8, true}.filling())) << "one object more or less in a tier that has been full";
  EXPECT_TRUE((TierFill{"host", 10, 4, 8, false}.filling()));
  const auto cold = fills_of({"workload.prefixes.count=1000000", "workload.prefixes.popularity=0",
                              "workload.prefixes.tokens=256 tokens", "cluster.host.memory=100 TB",
                              "run.duration=30000 s", "slo.ttft_p99=5 s"});
  EXPECT_TRUE(cold[0].filling()) << cold[0].after_warmup_bytes << " B, then " << cold[0].at_end_bytes;
  EXPECT_TRUE(tier_fills(testing::quick_chat(), Probe{}).empty());
}

// 0.52 GB a document: 2 GB hold three of twenty, 6 GB eleven, 12 GB all of them, which leaves nothing to prefill.
TEST(TierCapacity, MoreMemoryNeverLowersTheRateAndTheCheapestComesFirst) {
  CapacityRequest request = quick_request();
  request.sizes = {{"host", {2 * kGb, 6 * kGb, 12 * kGb}}};
  const CapacityPlan plan = plan_capacity(documents(), request);
  ASSERT_EQ(plan.configurations.size(), 3U);
  std::vector<const Configuration*> by_size;
  for (const Configuration& c : plan.configurations) {
    by_size.push_back(&c);
    EXPECT_EQ(c.scenario.serving.cluster.groups.front().host_memory_bytes, c.sizes.front().bytes);
    EXPECT_NEAR(c.dram_gb, static_cast<double>(c.sizes.front().bytes) / 1e9, 1e-12);
    EXPECT_NEAR(*c.cost.total(), 2.5 + 3 * c.dram_gb / 730, 1e-12);
    EXPECT_GE(*c.usd_per_million, *plan.configurations.front().usd_per_million);
  }
  std::sort(by_size.begin(), by_size.end(),
            [](const auto* a, const auto* b) { return a->sizes.front().bytes < b->sizes.front().bytes; });
  for (std::size_t i = 1; i < by_size.size(); ++i) {
    EXPECT_GE(by_size[i]->search.rate, (1 - request.probe.tolerance) * by_size[i - 1]->search.rate);
    EXPECT_GT(by_size[i]->sustained()->tiers.at("host").hit_rate(),
              by_size[i - 1]->sustained()->tiers.at("host").hit_rate());
  }
  EXPECT_GT(by_size[2]->search.rate, 1.5 * by_size[0]->search.rate);
  EXPECT_GT(by_size[2]->sustained()->tiers.at("host").hit_rate(), 0.99);
  EXPECT_EQ(plan.configurations.front().sizes.front().bytes, 12 * kGb) << "cents an hour for twice the tokens";
  const auto next = next_cheaper(plan);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->configuration->sizes.front().bytes, 6 * kGb);
  EXPECT_LT(next->rate, plan.configurations.front().rate_per_replica());
  EXPECT_NE(next->why.find("TTFT"), std::string::npos) << next->why;
}

// The rate that 12 GB sustain and 2 GB do not: one replica of the first, several of the second, of which one alone is
// the next cheaper and fails.
TEST(TierCapacity, ForARequiredRateTheCheapestFleetAndTheCheaperOneThatFails) {
  CapacityRequest request = quick_request();
  const double large = plan_capacity(documents({"cluster.host.memory=12 GB"}), request).configurations[0].search.rate;
  request.sizes = {{"host", {2 * kGb, 12 * kGb}}};
  request.rate = 0.9 * large;
  const CapacityPlan plan = plan_capacity(documents(), request);
  const Configuration& best = plan.configurations.front();
  EXPECT_EQ(best.sizes.front().bytes, 12 * kGb);
  ASSERT_TRUE(best.fleet.has_value());
  EXPECT_EQ(best.fleet->replicas, 1);
  EXPECT_NEAR(best.fleet->dram_gb, 12, 1e-12);
  EXPECT_NEAR(*best.fleet->cost.total(), 2.5 + 3 * 12.0 / 730, 1e-12);
  const auto next = next_cheaper(plan);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->configuration->sizes.front().bytes, 2 * kGb);
  EXPECT_EQ(next->replicas, 1);
  EXPECT_NEAR(next->usd_per_hour, 2.5 + 3 * 2.0 / 730, 1e-12);
  EXPECT_NE(next->why.find("TTFT"), std::string::npos) << next->why;
}

TEST(TierCapacity, WithoutSizesTheScenariosOwnTiersAreInThePrice) {
  CapacityRequest request = quick_request();
  const auto s = documents({"cluster.storage=[{name: ssd, capacity: 730 GB, read: 7 GB/s}]"});
  const CapacityPlan plan = plan_capacity(s, request);
  const Configuration& c = plan.configurations.front();
  EXPECT_DOUBLE_EQ(c.dram_gb, 3);
  EXPECT_DOUBLE_EQ(c.ssd_gb, 730);
  EXPECT_NEAR(c.cost.storage, 0.08, 1e-12) << "730 GB at 0.08 USD/GB-month of 730 h";
  EXPECT_NEAR(*c.cost.total(), 2.5 + 3 * 3.0 / 730 + 0.08, 1e-12);
}

// 300 requests/s of which most load half a gigabyte from what all replicas share at 1 GB/s: no number of replicas
// helps, and one replica's own rate must not be multiplied.
TEST(TierFleet, ThatSharesWhatBindsIsNone) {
  const auto fleet_of = [](const char* ssd) {
    const auto s = documents({"cluster.host.memory=600 MB", std::string("cluster.storage=[{name: ssd, ") + ssd + "}]"});
    FleetOptions fleet;
    fleet.required_rate = 300;
    fleet.replica_rate = fleet.required_rate / 1000;
    ProbeOptions options = quick_request().probe;
    options.stage = Stage::search;
    return size_fleet(s, fleet, options, models::PriceTable::built_in());
  };
  const Fleet shared = fleet_of("read: 1 GB/s, shared: true");
  EXPECT_FALSE(shared.found);
  ASSERT_TRUE(shared.fails);
  EXPECT_FALSE(shared.fails->passes);
  EXPECT_EQ(shared.needed, kMostSimulatedReplicas);
  const Fleet own = fleet_of("read: 10 GB/s");
  EXPECT_TRUE(own.found);
  EXPECT_EQ(own.needed, 1000);
  EXPECT_EQ(own.simulated, kSubsetReplicas);
}

// One replica sustains a rate: the answer does not say that none does.
TEST(TierFleet, ThatNoNumberOfReplicasMakesIsToldFromARateThatNoneSustains) {
  CapacityRequest request = quick_request();
  request.rate = 300;
  const auto s = documents({"cluster.host.memory=600 MB", "cluster.storage=[{name: ssd, read: 4 GB/s, shared: true}]"});
  try {
    plan_capacity(s, request);
    FAIL() << "a fleet for 300 requests/s";
  } catch (const Infeasible& e) {
    EXPECT_TRUE(std::string_view(e.what()).starts_with(
        "no fleet of up to 64 replicas meets the objectives at 300/s, though one replica sustains "))
        << e.what();
  }
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
