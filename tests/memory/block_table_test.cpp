#include "sim/memory/block_table.h"

#include <gtest/gtest.h>

#include "sim/engine/invariant.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using memory::BlockTable;
using memory::KvForm;

TEST(BlockTable, WhatNobodyRefersToGoesInOrderOfUse) {
  BlockTable table;
  const auto a = table.add(1, KvForm::full, 10), b = table.add(2, KvForm::full, 20), c = table.add(3, KvForm::full, 30);
  EXPECT_EQ(table.refer(b), 20);
  EXPECT_EQ(table.refer(b), 0);  // somebody else does already
  table.use(a);
  EXPECT_EQ(table.cached_bytes(), 40);
  EXPECT_EQ(table.referred_bytes(), 20);
  table.check_conservation("here");
  EXPECT_TRUE(table.evict_oldest());
  EXPECT_EQ(table.find(3), BlockTable::none);
  EXPECT_EQ(table.unrefer(b), 0);
  EXPECT_EQ(table.unrefer(b), 20);  // after a now
  EXPECT_TRUE(table.evict_oldest());
  EXPECT_EQ(table.find(1), BlockTable::none);
  EXPECT_EQ(table.find(2), b);
  EXPECT_EQ(table.add(4, KvForm::full, 5), a);  // slots come back, the last one first
  EXPECT_NE(c, a);
  EXPECT_EQ(table.blocks(), 2);
  EXPECT_EQ(table.evictions(), 2u);
  table.check_conservation("here");
}

TEST(BlockTable, TheFormsOfAHashAreTwoBlocks) {
  BlockTable table;
  table.add(1, KvForm::compressed, 10);
  EXPECT_EQ(table.find(1), BlockTable::none);
  EXPECT_NE(table.find(1, KvForm::compressed), BlockTable::none);
}

TEST(BlockTable, NothingIsEvictedThatSomebodyRefersTo) {
  BlockTable table;
  const auto slot = table.add(1, KvForm::full, 10);
  table.refer(slot);
  EXPECT_FALSE(table.evict_oldest());
  table.unrefer(slot);
  EXPECT_THROW(table.unrefer(slot), engine::InvariantViolation);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
