// Which instance each router chooses, by hand.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sim/routing/router.h"

namespace kvsim::routing::KVSIM_FILE {
namespace {

/// Instances with so many tokens outstanding each.
std::vector<InstanceSnapshot> loads(std::initializer_list<std::int64_t> tokens) {
  std::vector<InstanceSnapshot> instances;
  for (const std::int64_t t : tokens) instances.push_back({.outstanding_tokens = t});
  return instances;
}

models::RequestSpec turn_of(std::int32_t session) {
  models::RequestSpec spec;
  spec.session = session;
  return spec;
}

std::vector<std::size_t> choices(Router& router, const std::vector<InstanceSnapshot>& instances, int requests) {
  std::vector<std::size_t> chosen;
  for (int i = 0; i < requests; ++i) chosen.push_back(router.choose(instances, turn_of(-1)));
  return chosen;
}

TEST(Routers, AreFoundByNameAndListedInOrder) {
  std::vector<std::string_view> names;
  for (const RouterEntry& entry : routers()) {
    names.push_back(entry.name);
    EXPECT_EQ(find_router(entry.name), &entry);
    EXPECT_FALSE(entry.description.empty()) << entry.name;
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{default_router, "round_robin", session_router}));
  EXPECT_EQ(find_router("by_chance"), nullptr);
}

TEST(Routers, RoundRobinIgnoresLoads) {
  const auto router = find_router("round_robin")->make({});
  EXPECT_EQ(choices(*router, loads({900, 0, 5}), 5), (std::vector<std::size_t>{0, 1, 2, 0, 1}));
}

TEST(Routers, LeastLoadedTakesTurnsAmongEquals) {
  const auto router = find_router("least_loaded")->make({});
  EXPECT_EQ(choices(*router, loads({7, 7, 7}), 4), (std::vector<std::size_t>{0, 1, 2, 0}));
  EXPECT_EQ(choices(*router, loads({7, 3, 7}), 2), (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(choices(*router, loads({3, 9, 3}), 3), (std::vector<std::size_t>{2, 0, 2})) << "1, 2, 0 after the last";
}

TEST(Routers, SessionStaysOnItsInstanceWhateverTheLoad) {
  const auto router = find_router("session")->make({});
  std::set<std::size_t> used;
  for (std::int32_t session = 0; session < 20; ++session) {
    const std::size_t first = router->choose(loads({0, 0, 0}), turn_of(session));
    std::vector<InstanceSnapshot> busy = loads({0, 0, 0});
    busy[first].outstanding_tokens = 1'000'000;
    EXPECT_EQ(router->choose(busy, turn_of(session)), first);
    used.insert(first);
  }
  EXPECT_EQ(used.size(), 3) << "sessions are spread over instances";
  EXPECT_EQ(choices(*router, loads({5, 1, 5}), 1), std::vector<std::size_t>{1}) << "others go by load";
}

}  // namespace
}  // namespace kvsim::routing::KVSIM_FILE
