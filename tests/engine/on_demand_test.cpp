#include "sim/engine/on_demand.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/engine/allocation_count.h"

namespace kvsim::engine::KVSIM_FILE {
namespace {

struct Part {
  std::int64_t tokens = 7;
  double share = 1;

  friend bool operator==(const Part&, const Part&) = default;
};

TEST(OnDemand, ReadsAsTheDefaultUntilItIsChanged) {
  OnDemand<Part> part;
  EXPECT_EQ(part->tokens, 7);
  part.edit().share = 0.5;
  EXPECT_EQ(*part, (Part{7, 0.5}));
  EXPECT_EQ(*OnDemand<Part>{}, Part{}) << "others read the default still";
}

TEST(OnDemand, TakesAPointerUntilItDiffersFromTheDefault) {
  EXPECT_EQ(sizeof(OnDemand<Part>), sizeof(void*));
  OnDemand<Part> part;
  const std::size_t before = allocation_count();
  part.set(Part{});
  EXPECT_EQ(allocation_count(), before);
  part.set({8, 1});
  EXPECT_EQ(allocation_count(), before + 1);
  part.set({9, 1});
  EXPECT_EQ(allocation_count(), before + 1);
  EXPECT_EQ(part->tokens, 9);
  part.set(Part{});
  EXPECT_EQ(part->tokens, 7);
}

}  // namespace
}  // namespace kvsim::engine::KVSIM_FILE
