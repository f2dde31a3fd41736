// Every policy against its naive twin on random operations, and what all of them promise.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/engine/random.h"
#include "tests/cache/naive_policies.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

class EvictionPolicies : public ::testing::TestWithParam<EvictionPolicyEntry> {};

INSTANTIATE_TEST_SUITE_P(All, EvictionPolicies,
                         ::testing::ValuesIn(eviction_policies().begin(), eviction_policies().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

/// A next use that any policy may be told: fixed for an object and the use at hand.
NextUse scattered(const std::int64_t& now) {
  return [&now](ObjectId id) { return (static_cast<std::uint64_t>(now) * 2'654'435'761U + id * 40'503U) % 1'000'003; };
}

/// Plays the same random operations on a policy and its twin: uses of objects of many sizes, some pinned, some removed
/// and coming back; room made one object or several at a time. Everything they return must agree.
void compare_with_twin(const EvictionPolicyEntry& entry, std::uint64_t seed, std::int64_t capacity,
                       std::int64_t largest, bool with_pins) {
  engine::RandomStream random(seed, "operations");
  constexpr std::uint64_t objects = 60;
  std::int64_t now = 0;
  const EvictionContext context{capacity, scattered(now)};
  const auto policy = entry.make(context);
  const auto twin = naive::make(entry.name, context);
  ASSERT_NE(twin, nullptr);
  std::vector<std::int64_t> bytes(objects);
  for (std::int64_t& b : bytes) b = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(largest)));
  std::vector<std::uint32_t> counts(objects / 2, 0);  // objects beyond are never pinned
  const Pins pins(counts);
  std::set<ObjectId> present;
  std::int64_t used = 0;
  const auto leave = [&](ObjectId id) {
    ASSERT_EQ(present.erase(id), 1U) << id << " at operation " << now << ": a victim must be in the tier";
    used -= bytes[id];
  };
  for (now = 0; now < 4'000; ++now) {
    if (with_pins) counts[random.below(counts.size())] = random.below(4) == 0 ? 1 : 0;
    const auto id = static_cast<ObjectId>(std::min(random.below(objects), random.below(objects)));
    const std::uint64_t what = random.below(20);
    if (present.contains(id)) {
      if (what == 0) {
        policy->remove(id);
        twin->remove(id);
        leave(id);
      } else {
        policy->hit(id);
        twin->hit(id);
      }
    } else if (bytes[id] <= capacity) {
      bool room = true;
      while (used + bytes[id] > capacity && room) {
        const ObjectId incoming = what == 1 ? kNoObject : id;
        const ObjectId victim = policy->evict(pins, incoming);
        ASSERT_EQ(victim, twin->evict(pins, incoming)) << "at operation " << now;
        room = victim != kNoObject && victim != id;  // none, or the object stays outside
        if (!room) continue;
        ASSERT_FALSE(pins(victim));
        leave(victim);
      }
      if (!room) continue;
      policy->insert(id, bytes[id]);
      twin->insert(id, bytes[id]);
      present.insert(id);
      used += bytes[id];
    }
    ASSERT_LE(used, capacity);
    ASSERT_EQ(policy->size(), present.size());
  }
  // What is left comes out object by object, each once.
  while (!present.empty()) {
    const ObjectId victim = policy->evict(Pins(), kNoObject);
    ASSERT_EQ(victim, twin->evict(Pins(), kNoObject));
    leave(victim);
  }
  EXPECT_EQ(policy->evict(Pins(), kNoObject), kNoObject);
  EXPECT_EQ(policy->size(), 0U);
}

TEST_P(EvictionPolicies, AgreesWithItsNaiveTwinOnObjectsOfOneSize) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    compare_with_twin(GetParam(), seed, 5 + 3 * static_cast<int>(seed), 1, false);
}

TEST_P(EvictionPolicies, AgreesWithItsNaiveTwinOnObjectsOfManySizes) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) compare_with_twin(GetParam(), seed, 300, 100, false);
}

TEST_P(EvictionPolicies, AgreesWithItsNaiveTwinWhereObjectsArePinned) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) compare_with_twin(GetParam(), seed, 20, 1, true);
  for (std::uint64_t seed = 0; seed < 10; ++seed) compare_with_twin(GetParam(), seed, 400, 100, true);
}

// Two copies of a cache of five, all used; one is asked for a victim while all are pinned, which must change nothing:
// from then on both give the same victims.
TEST_P(EvictionPolicies, WithEverythingPinnedNothingLeavesAndNothingChanges) {
  std::int64_t now = 0;
  const EvictionContext context{5, scattered(now)};
  const auto asked = GetParam().make(context);
  const auto left_alone = GetParam().make(context);
  const std::vector<std::uint32_t> counts(10, 1);
  for (EvictionPolicy* policy : {asked.get(), left_alone.get()}) {
    now = 0;
    for (ObjectId id = 0; id < 5; ++id) policy->insert(id, 1);
    EXPECT_NE(policy->evict(Pins(), kNoObject), kNoObject);
    policy->insert(7, 1);
  }
  for (ObjectId id = 0; id < 3; ++id) EXPECT_EQ(asked->evict(Pins(counts), id), kNoObject);
  EXPECT_EQ(asked->size(), 5U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(asked->evict(Pins(), kNoObject), left_alone->evict(Pins(), kNoObject));
}

// S3-FIFO had none where the main queue was empty and all of the small one moved to it.
TEST_P(EvictionPolicies, AnObjectThatIsNotPinnedIsAVictimHoweverMuchItIsUsed) {
  std::int64_t now = 0;
  const auto policy = GetParam().make({100, scattered(now)});
  policy->insert(3, 1);
  for (now = 0; now < 5; ++now) policy->hit(3);
  EXPECT_EQ(policy->evict(Pins(), kNoObject), 3U);
}

TEST_P(EvictionPolicies, AnEmptyTierHasNoVictim) {
  std::int64_t now = 0;
  const auto policy = GetParam().make({10, scattered(now)});
  EXPECT_EQ(policy->evict(Pins(), 3), kNoObject);
  policy->insert(3, 4);
  policy->remove(3);
  EXPECT_EQ(policy->size(), 0U);
  EXPECT_EQ(policy->evict(Pins(), kNoObject), kNoObject);
}

// 0 to 4 are used next at 10, 20, ..., 50. 5, at 45, takes the place of 4; 6, also at 45, stays outside, as does 7,
// whose next use is farther than all.
TEST(Belady, AnIncomingObjectStaysOutsideUnlessItIsUsedBeforeAnother) {
  const auto policy = find_eviction_policy("belady")->make({5, [](ObjectId id) {
                                                              return id < 5 ? 10 * (id + 1) : id == 7 ? 90 : 45;
                                                            }});
  for (ObjectId id = 0; id < 5; ++id) policy->insert(id, 1);
  EXPECT_EQ(policy->evict(Pins(), 5), 4U);
  policy->insert(5, 1);
  EXPECT_EQ(policy->evict(Pins(), 6), 6U);
  EXPECT_EQ(policy->evict(Pins(), 7), 7U);
  EXPECT_EQ(policy->size(), 5U);
}

TEST(EvictionPolicyTable, FindsEachByItsNameAndNothingElse) {
  std::set<std::string_view> names;
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.description.empty());
    EXPECT_EQ(find_eviction_policy(entry.name), &entry);
  }
  EXPECT_EQ(find_eviction_policy("fifo"), nullptr);
}

TEST(EvictionPolicyTable, BeladyWithoutTheFutureIsRefused) {
  EXPECT_THROW(find_eviction_policy("belady")->make({10, nullptr}), std::invalid_argument);
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
