// The best by branch and bound is the best by looking at all, whatever the bounds leave open.
#include "sim/engine/bound_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace kvsim::engine::KVSIM_FILE {
namespace {

struct Bounds {
  int room = 0;
  int wait = 0;

  static Bounds worst() { return {-1, std::numeric_limits<int>::max()}; }
  void take_better(const Bounds& other) {
    room = std::max(room, other.room);
    wait = std::min(wait, other.wait);
  }
  bool operator==(const Bounds&) const = default;
};

struct Candidate {
  int room = 0;
  int wait = 0;
};

/// Of those with room, the one that waits least, then the one with most room, then the first.
std::optional<std::size_t> by_looking_at_all(const std::vector<Candidate>& all, int room) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].room < room) continue;
    if (!best || std::pair(all[i].wait, -all[i].room) < std::pair(all[*best].wait, -all[*best].room)) best = i;
  }
  return best;
}

RC_GTEST_PROP(BoundTreeProperty, FindsWhatLookingAtAllFinds, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 40);
  BoundTree<Bounds> tree(count);
  std::vector<Candidate> all(count);
  const auto changes = *rc::gen::inRange(1, 100);
  for (int i = 0; i < changes; ++i) {
    const auto which = *rc::gen::inRange<std::size_t>(0, count);
    all[which] = {*rc::gen::inRange(0, 6), *rc::gen::inRange(0, 6)};
    // A bound may promise more than there is.
    const int slack = *rc::gen::inRange(0, 3);
    tree.set(which, {all[which].room + slack, all[which].wait - slack});
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (tree.of(i).room < 0) tree.set(i, {all[i].room, all[i].wait});
  }
  for (int room = 0; room < 7; ++room) {
    const auto found = tree.best(
        [room](const Bounds& b) { return b.room >= room; }, [](const Bounds& b) { return std::pair(b.wait, -b.room); },
        [&](std::size_t i) {
          return all[i].room < room ? std::nullopt : std::optional(std::pair(all[i].wait, -all[i].room));
        });
    RC_ASSERT(found == by_looking_at_all(all, room));
  }
}

// 1,000 candidates of which one has room: found after a look at one; where none has, after none.
TEST(BoundTree, LooksOnlyWhereTheBestMayBe) {
  BoundTree<Bounds> tree(1000);
  for (std::size_t i = 0; i < 1000; ++i) tree.set(i, {i == 700 ? 5 : 1, 0});
  int looks = 0;
  const auto find = [&](int room) {
    return tree.best([room](const Bounds& b) { return b.room >= room; }, [](const Bounds& b) { return b.wait; },
                     [&](std::size_t) {
                       ++looks;
                       return std::optional(0);
                     });
  };
  EXPECT_EQ(find(3), 700U);
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(find(6), std::nullopt);
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(find(0), 0U) << "all alike: the first, and no other is looked at";
  EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace kvsim::engine::KVSIM_FILE
