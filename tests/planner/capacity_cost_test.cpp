#include "planner/capacity/fleet.h"

#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "planner/capacity/machine_choice.h"
#include "tests/planner/capacity_scenario.h"

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

models::PriceTable table(const std::string& yaml) {
  models::PriceTable prices = models::PriceTable::built_in();
  prices.change(schema::read_yaml(yaml, "prices.yaml"));
  return prices;
}

std::string refusal(const std::string& yaml) {
  try {
    table(yaml);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "(read)";
}

// 4 GPUs at 2.5 USD/h are 10 USD/h; 5,000 tokens/s are 18M tokens/h; 10 / 18 = 0.5556 USD per 1M tokens.
TEST(Cost, PerMillionTokensByHand) {
  EXPECT_NEAR(*usd_per_million_tokens(10, 5000), 0.555556, 1e-6);
  EXPECT_FALSE(usd_per_million_tokens(10, 0).has_value());
}

// 4 x 2.5 = 10 USD/h for GPUs. 730 GB at 3 USD/GB-month are 2,190 USD a month of 730 h, 3 USD/h.
TEST(Cost, AnHourByHand) {
  const models::PriceTable prices = table("{gpus: {h100-sxm: 2.5 USD/h}, dram: 3 USD/GB-month}");
  const HourlyCost cost = hourly_cost(prices, "h100-sxm", 4, 730);
  EXPECT_DOUBLE_EQ(*cost.gpus, 10);
  EXPECT_DOUBLE_EQ(cost.host_memory, 3);
  EXPECT_DOUBLE_EQ(*cost.total(), 13);
}

TEST(Cost, ReplicasDoNotStraddleNodes) {
  serving::ClusterConfig cluster;
  cluster.node = serving::NodeConfig{8, 1'000'000, {}, {}};
  const auto nodes = [&](std::int64_t replicas, std::int64_t gpus) {
    cluster.groups.front().parallel.tensor = gpus;
    return serving::nodes_for(cluster, replicas);
  };
  EXPECT_EQ(nodes(1, 1), 1);
  EXPECT_EQ(nodes(8, 1), 1);
  EXPECT_EQ(nodes(9, 1), 2);
  EXPECT_EQ(nodes(3, 3), 2) << "two replicas of 3 GPUs a node, and two GPUs idle";
  serving::share_node_memory(cluster);
  EXPECT_EQ(cluster.groups.front().host_memory_bytes, 500'000) << "two share it";
  EXPECT_EQ(nodes(2, 8), 2);
  EXPECT_EQ(nodes(2, 12), 4) << "a replica of 12 GPUs has two nodes to itself";
  serving::share_node_memory(cluster);
  EXPECT_EQ(cluster.groups.front().host_memory_bytes, 2'000'000);
}

// Three replicas of 3 GPUs take two nodes of 8: 16 GPUs at 2.5 USD/h, or two nodes at 18 USD/h with their memory. One
// of two that share a node is half of it, of its two idle GPUs too.
TEST(Cost, ANodesOwnPriceStandsForItsParts) {
  const models::PriceTable prices = table("{gpus: {h100-sxm: 2.5 USD/h}, dram: 3 USD/GB-month, ssd: 0.1 USD/GB-month}");
  serving::ClusterConfig cluster;
  cluster.groups.front().gpu.name = "h100-sxm";
  cluster.groups.front().parallel.tensor = 3;
  EXPECT_DOUBLE_EQ(*hourly_cost(prices, cluster, 3, 730, 7300).total(), 9 * 2.5 + 3 + 1);
  cluster.node = serving::NodeConfig{};
  EXPECT_DOUBLE_EQ(*hourly_cost(prices, cluster, 3, 730, 7300).total(), 16 * 2.5 + 3 + 1);
  EXPECT_DOUBLE_EQ(*hourly_cost_of_one(prices, cluster, 730, 7300).total(), 8 * 2.5 / 2 + 3 + 1);
  cluster.node->usd_per_hour = 18;
  EXPECT_DOUBLE_EQ(*hourly_cost(prices, cluster, 3, 730, 7300).total(), 36 + 1);
  EXPECT_DOUBLE_EQ(*hourly_cost_of_one(prices, cluster, 730, 7300).total(), 9 + 1);
}

// A replica of 4 GPUs alone in a node of 7 pays for all of them, whether by 17.5 USD/h or by 7 x 2.5 USD/h.
TEST(Cost, AReplicaAloneInANodePaysForItsIdleGpus) {
  const models::PriceTable prices = table("gpus: {h100-sxm: 2.5 USD/h}");
  serving::ClusterConfig cluster;
  cluster.groups.front().gpu.name = "h100-sxm";
  cluster.groups.front().parallel.tensor = 4;
  cluster.node = serving::NodeConfig{7, {}, {}, {}};
  EXPECT_DOUBLE_EQ(*hourly_cost_of_one(prices, cluster, 0, 0).total(), 17.5);
  EXPECT_DOUBLE_EQ(*hourly_cost(prices, cluster, 1, 0, 0).total(), 17.5);
  cluster.node->usd_per_hour = 17.5;
  EXPECT_DOUBLE_EQ(*hourly_cost_of_one(prices, cluster, 0, 0).total(), 17.5);
}

// A node of 8 GPUs and 730 GB: with one replica in it or eight it costs 8 x 2.5 + 730 x 3 / 730 = 23 USD/h, and one of
// eight replicas an eighth of it.
TEST(Cost, ANodesMemoryIsPaidForWhole) {
  const models::PriceTable prices = table("{gpus: {h100-sxm: 2.5 USD/h}, dram: 3 USD/GB-month}");
  for (const bool placed : {false, true}) {
    scenario::Scenario s = testing::quick_chat();
    if (placed) s.serving.placement.emplace();
    serving::ClusterConfig& cluster = s.serving.cluster;
    cluster.node = serving::NodeConfig{8, 730'000'000'000, {}, {}};
    serving::share_node_memory(cluster);
    for (const std::int64_t replicas : {1, 8, 9}) {
      const Purchase all = purchase_for(s, replicas);
      EXPECT_DOUBLE_EQ(all.dram_gb, replicas > 8 ? 1460 : 730) << replicas;
      EXPECT_DOUBLE_EQ(*hourly_cost(prices, cluster, replicas, all.dram_gb, 0).total(), replicas > 8 ? 46 : 23);
    }
    const Purchase one = purchase_of_one(s);
    EXPECT_DOUBLE_EQ(one.dram_gb, 91.25) << placed;
    EXPECT_DOUBLE_EQ(*hourly_cost_of_one(prices, cluster, one.dram_gb, 0).total(), 23.0 / 8);
  }
}

TEST(Cost, WithoutAPriceThereIsNoTotal) {
  const HourlyCost cost = hourly_cost(models::PriceTable::built_in(), "h100-sxm (changed)", 4, 10);
  EXPECT_FALSE(cost.gpus.has_value());
  EXPECT_FALSE(cost.total().has_value());
}

TEST(Prices, EveryGpuOfTheCatalogueHasOneWithDateAndSource) {
  const models::PriceTable prices = models::PriceTable::built_in();
  const auto gpus = models::Catalogue::built_in().list(models::EntryKind::gpu);
  for (const auto& line : gpus) {
    const models::Price* price = prices.gpu(line.name);
    ASSERT_NE(price, nullptr) << line.name;
    EXPECT_GT(price->usd.value, 0) << line.name;
    EXPECT_FALSE(price->date.empty()) << line.name;
    EXPECT_FALSE(price->usd.source.reference.empty()) << line.name;
  }
  EXPECT_EQ(prices.gpus.size(), gpus.size()) << "a price for a GPU that is not there";
  EXPECT_GT(prices.dram.usd.value, 0);
  EXPECT_GT(prices.ssd.usd.value, 0);
}

TEST(Prices, AUsersFileChangesWhatItNames) {
  const models::PriceTable prices = table("{gpus: {a100: 1 USD/h, my-card: {price: 7 USD/h, date: 2026-01}}}");
  EXPECT_EQ(prices.gpu("a100")->usd.value, 1);
  EXPECT_EQ(prices.gpu("a100")->date, "") << "no old date beside a new price";
  EXPECT_EQ(prices.gpu("my-card")->date, "2026-01");
  EXPECT_EQ(prices.gpu("h100-sxm")->usd.value, models::PriceTable::built_in().gpu("h100-sxm")->usd.value);
}

TEST(Prices, AGpuThatNobodyKnowsIsRefusedWithTheNearest) {
  const std::vector<std::string> known{"a100", "h100-sxm", "my-card"};
  models::PriceTable prices = models::PriceTable::built_in();
  prices.change(schema::read_yaml("gpus: {my-card: 7 USD/h}", "prices.yaml"), known);
  EXPECT_EQ(prices.gpu("my-card")->usd.value, 7);
  try {
    prices.change(schema::read_yaml("gpus: {a100: 1 USD/h, h100-smx: 1 USD/h}", "prices.yaml"), known);
    FAIL() << "accepted";
  } catch (const schema::InputError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean \"h100-sxm\"?"), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find("prices.yaml:1:23"), 0U) << e.what();
  }
  EXPECT_NE(prices.gpu("a100")->usd.value, 1) << "the table is as before";
}

TEST(Prices, WhatIsNoPriceIsRefusedWithItsPlace) {
  EXPECT_EQ(refusal("{gpu: {a100: 1 USD/h}}"), "prices.yaml:1:2: unknown key \"gpu\"; did you mean \"gpus\"?");
  EXPECT_EQ(refusal("{gpus: {a100: 1}}"),
            "prices.yaml:1:15: gpus.a100: expected a price with its unit (USD/h), found the bare number \"1\"; write "
            "\"1 USD/h\"");
  EXPECT_EQ(refusal("{dram: 3 USD/h}"),
            "prices.yaml:1:8: dram: expected a price of memory such as \"3 USD/GB-month\", but \"3 USD/h\" is a price");
}

TEST(Machines, AListIsReadOrRefused) {
  const auto machines = parse_machines("h100-sxm,h100-nvl:2");
  ASSERT_EQ(machines.size(), 2U);
  EXPECT_EQ(machines[0].gpu, "h100-sxm");
  EXPECT_FALSE(machines[0].tensor_parallel.has_value());
  EXPECT_EQ(machines[1].tensor_parallel, 2);
  for (const char* bad : {"", "a,,b", "a:0", "a:x", "a:2,a:2", "a:1.5"}) {
    EXPECT_THROW(parse_machines(bad), schema::InputError) << bad;
  }
}

TEST(Machines, GpusPerReplicaAreAskedForTheScenariosOwnOrTheFewestThatFit) {
  const scenario::Scenario large = testing::quick_chat({"model=llama-3.1-70b", "cluster.gpu.tensor_parallel=4"});
  const auto gpus = [&](const MachineRequest& machine) {
    return place(large, machine).scenario.serving.cluster.groups.front().parallel.tensor;
  };
  EXPECT_EQ(gpus({"h100-sxm", 8}), 8);
  EXPECT_EQ(gpus({"h100-sxm", std::nullopt}), 4) << "as in the scenario";
  EXPECT_EQ(gpus({"a100", std::nullopt}), 2) << "141 GB of weights in 2 x 85.9 x 0.9 = 155 GB";
  EXPECT_EQ(gpus({"l40s", std::nullopt}), 4) << "in 4 x 48.3 x 0.9 = 174 GB";
  EXPECT_EQ(place(large, {"a100", 1}).problem.substr(0, 27), "llama-3.1-70b does not fit:");
}

// 141 GB of weights do not fit into one H100; into two of 85.9 x 0.9 GB they do.
TEST(Machines, TheScenariosOwnGpusArePassedOverWhereTheyCannotRunIt) {
  const auto file = scenario::ScenarioFile::from_text(testing::kQuickChat, "chat.yaml",
                                                      {"model=llama-3.1-70b", "cluster.gpu.tensor_parallel=1"});
  EXPECT_THROW((void)file.load(), scenario::UnworkableScenario);
  const PlacedScenario placed = place(file.for_other_machines().load(), {"h100-sxm", std::nullopt});
  EXPECT_EQ(placed.problem, "");
  EXPECT_EQ(placed.scenario.serving.cluster.groups.front().parallel.tensor, 2);
}

TEST(Machines, AnotherGpuBringsItsOwnProfileAndLinks) {
  const auto placed = place(testing::quick_chat(), {"a100", std::nullopt});
  EXPECT_EQ(placed.scenario.serving.cluster.groups.front().gpu.name, "a100");
  EXPECT_EQ(placed.scenario.serving.cluster.groups.front().profile.name, "a100-vllm");
  EXPECT_EQ(placed.scenario.serving.cluster.groups.front().host_link.name, "pcie4-x16");
  EXPECT_EQ(placed.placement, Placement::smallest);
}

// 730 GB at 3 USD/GB-month of 730 h are 3 USD/h, whether prompts are stored in them or KV is swapped to them.
TEST(Cost, HostMemoryIsPaidForAsConfigured) {
  const models::PriceTable prices = table("{gpus: {h100-sxm: 2.5 USD/h}, dram: 3 USD/GB-month}");
  for (const bool placed : {false, true}) {
    scenario::Scenario s = testing::quick_chat({"cluster.host.memory=730 GB"});
    if (placed) s.serving.placement.emplace();
    EXPECT_DOUBLE_EQ(purchase_for(s, 3).dram_gb, 2190);
    const Purchase one = purchase_of_one(s);
    EXPECT_DOUBLE_EQ(*hourly_cost_of_one(prices, s.serving.cluster, one.dram_gb, 0).total(), 5.5) << placed;
  }
  EXPECT_DOUBLE_EQ(purchase_for(testing::quick_chat(), 3).dram_gb, 0) << "none is configured";
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
