// The topology of a cluster: where its instances are, what keeps prompts beside them, and who chooses.
#include <gtest/gtest.h>

#include "sim/serving/config.h"
#include "tests/support/pools_scenario.h"
#include "tests/support/small_scenario.h"

namespace kvsim::serving::KVSIM_FILE {
namespace {

using kvsim::testing::pools_scenario;
using kvsim::testing::small_scenario;

std::vector<std::string> figures_of(const ServingConfig& config) {
  std::vector<std::string> names;
  for (const NamedLink& link : kv_links(config)) names.emplace_back(link.figure);
  return names;
}

TEST(Topology, ReplicasStandAloneBesideTheMemoryOfTheirHosts) {
  const scenario::Scenario s = small_scenario({"cluster.replicas=3", "cluster.host.memory=8 GB"});
  const Topology t = s.serving.cluster.topology();
  EXPECT_TRUE(t.independent());
  EXPECT_EQ(t.instance, "replica");
  ASSERT_EQ(t.instances.size(), 1U);
  EXPECT_EQ(t.instances.front().group.count, 3);
  EXPECT_EQ(t.memory.name, "host");
  EXPECT_EQ(t.memory.capacity_bytes, 8'000'000'000);
  EXPECT_FALSE(t.memory.shared);
  EXPECT_EQ(instances(s.serving.cluster), 3);
  EXPECT_EQ(figures_of(s.serving), std::vector<std::string>{"host_link"});
}

TEST(Topology, NodesOfPoolsShareAStorageNodeAndADispatcherChooses) {
  const scenario::Scenario s = pools_scenario({"cluster.pools.local.nodes=0", "cluster.pools.remote.nodes=3"});
  const Topology t = s.serving.cluster.topology();
  EXPECT_FALSE(t.independent());
  EXPECT_EQ(t.instance, "node");
  ASSERT_EQ(t.instances.size(), 2U);
  EXPECT_EQ(t.instances.front().group.name, "local");
  EXPECT_EQ(t.instances.back().group.count, 3);
  EXPECT_EQ(t.memory.name, "storage");
  EXPECT_TRUE(t.memory.shared);
  EXPECT_FALSE(t.drafts_while_waiting);
  EXPECT_EQ(instances(s.serving.cluster), 3);
  EXPECT_EQ(figures_of(s.serving), std::vector<std::string>{"remote_link"}) << "empty pools have no links";
}

}  // namespace
}  // namespace kvsim::serving::KVSIM_FILE
