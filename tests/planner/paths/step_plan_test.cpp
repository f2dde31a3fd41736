// Plans over timed steps.
#include "planner/paths/path_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/planner/paths/problems.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

PathProblem only(Path path) {
  PathProblem p = testing::steps_by_hand();
  p.paths = {path};
  return p;
}

TEST(StepPlan, OfOneNodeFillsItsSlotsWithDecodingAndLoadingRequests) {
  // B decode, n x 0.11 s load, 10 in all; and n = B/(60 s(B)): B (1 + 0.11/(60 s)) = 10.
  const PathPlan plan = plan_paths(only(Path::B1));
  EXPECT_TRUE(plan.converged);
  EXPECT_NEAR(plan.occupancy.local, 10, 1e-5);
  EXPECT_NEAR(plan.batch.local + 0.11 * plan.requests_per_s, 10, 1e-5);
  EXPECT_NEAR(plan.requests_per_s, plan.batch.local / (60 * (0.02 + 0.001 * plan.batch.local)), 1e-6);
  EXPECT_NEAR(plan.tokens_per_s, 60 * plan.requests_per_s, 1e-9);
}

TEST(StepPlan, OfASlowLinkHoldsOnlyWhatItBrings) {
  // One request a second. B = 60 (0.02 + 0.001 B): 1.2/0.94 decode, 1.01 load.
  PathProblem p = only(Path::B1);
  p.steps->local_full = {2e9, 1, 0.01};
  const PathPlan plan = plan_paths(p);
  EXPECT_NEAR(plan.requests_per_s, 1, 1e-9);
  EXPECT_NEAR(plan.batch.local, 1.2 / 0.94, 1e-6);
  EXPECT_NEAR(plan.occupancy.local, 1.01 + 1.2 / 0.94, 1e-5);
}

TEST(StepPlan, WhatLinksShareCapsThem) {
  // Half a link for two nodes: half a request a second on B2.
  PathProblem p = only(Path::B2);
  p.steps->links.remote = 0.5;
  EXPECT_NEAR(plan_paths(p).requests_per_s, 0.5, 1e-9);
}

TEST(StepPlan, AStorageNodesLimitBinds) {
  PathProblem p = testing::steps_by_hand();
  p.paths = {Path::B1, Path::B2};
  p.steps->storage_bytes_per_s = 4e9;  // two requests a second
  EXPECT_NEAR(plan_paths(p).requests_per_s, 2, 1e-6);
}

TEST(StepPlan, RoomKeptForReloadsIsNotThereForWhoHoldsASlot) {
  // B1 alone fills ten slots. Beside stateless paths nine are held: what B1 and cached verification hold stays within.
  PathProblem p = testing::steps_by_hand();
  p.steps->held_slots = 9;
  p.steps->local_reread = {2.4e9, 0.005, 0};  // next to nothing
  p.paths = {Path::B1, Path::P1_stateless};
  const PathPlan plan = plan_paths(p);
  ASSERT_GT(plan.n[models::index_of(Path::P1_stateless)], 0);
  const auto held = static_cast<std::size_t>(Resource::local_held);
  EXPECT_LE(plan.use[held], 9 * static_cast<double>(p.pools.local) * (1 + 1e-6));
  EXPECT_NEAR(plan.use[held], plan.n[models::index_of(Path::B1)] * plan.lp.costs[models::index_of(Path::B1)][held],
              1e-9);
}

TEST(StepPlan, WhereTheRoomForReloadsCostsMoreThanTheyBringNobodyReloads) {
  // With room for next to nobody else, drafting would have to bring all that B1 brings by itself.
  PathProblem p = testing::steps_by_hand();
  p.paths = {Path::B1};
  const double held_alone = plan_paths(p).tokens_per_s;
  p.steps->held_slots = 1e-3;
  p.steps->local_reread.link_s = 100;
  p.paths = {Path::B1, Path::P1_stateless};
  const PathPlan plan = plan_paths(p);
  EXPECT_EQ(plan.n[models::index_of(Path::P1_stateless)], 0);
  EXPECT_NEAR(plan.tokens_per_s, held_alone, 1e-6 * held_alone);
}

std::vector<PathProblem> any_steps(std::size_t count) {
  if (KVSIM_SANITIZED) count = 2;
  std::mt19937_64 engine(3);
  const auto share = [&engine] { return static_cast<double>(engine() >> 11U) * 0x1p-53; };
  std::vector<PathProblem> problems(count, testing::steps_by_hand());
  for (PathProblem& p : problems) {
    StepCosts& c = *p.steps;
    p.pools.local = 1 + static_cast<std::int64_t>(3 * share());
    p.pools.remote = 1 + static_cast<std::int64_t>(6 * share());
    c.links = {static_cast<double>(p.pools.local), static_cast<double>(p.pools.remote)};
    c.slots.local = 1 + std::floor(40 * share());
    c.slots.remote = 1 + std::floor(40 * share());
    for (StepLine* line : {&c.local, &c.remote}) {
      line->base_s = 0.03 * share();
      line->token_s = 0.002 * share() + 1e-5;
    }
    c.draft_work = 0.1 + share();
    c.drafting_slots = 0.2 + share();
    c.verifying_slots = c.streaming_slots = 1;
    c.remote_full.link_s = 5 * share();
    c.remote_compressed.link_s = share();
    c.local_reread.link_s = 0.3 * share();
  }
  return problems;
}

TEST(StepPlan, NoBatchesAreBetter) {
  std::mt19937_64 engine(5);
  const auto share = [&engine] { return static_cast<double>(engine() >> 11U) * 0x1p-53; };
  for (PathProblem& p : any_steps(15)) {
    // P2 would gain by steps longer than the work in them.
    p.paths = {Path::B1, Path::B2, Path::P1_cached, Path::P1_stateless};
    const PathPlan plan = plan_paths(p);
    for (int i = 0; i < 200; ++i) {
      PerPool batch;
      batch.local = std::pow(3 * p.steps->slots.local, share());
      batch.remote = std::pow(3 * p.steps->slots.remote, share());
      EXPECT_LE(solve(path_lp(p, batch)).requests_per_s, plan.requests_per_s * (1 + 1e-6));
    }
  }
}

TEST(StepPlan, MeetsItsRowsAndItsOwnBatches) {
  for (const PathProblem& p : any_steps(15)) {
    const PathPlan plan = plan_paths(p);
    EXPECT_TRUE(plan.converged) << plan.residual;
    EXPECT_GT(plan.requests_per_s, 0);
    for (std::size_t r = 0; r < kResources; ++r) EXPECT_LE(plan.use[r], plan.lp.limits[r] * (1 + 1e-6));
  }
}

TEST(StepPlan, OnP2ALinkWithoutTimeForTheRestMakesItP1) {
  // 0.25 s of compressed KV against 1 s of all of it: P1 alone, at P2's slots.
  PathProblem p = only(Path::P1_cached);
  p.steps->drafting_slots = 1;
  p.steps->local = p.steps->remote = {0.001, 1e-5};
  const double drafting = plan_paths(p).tokens_per_s;
  p = only(Path::P2_cached);
  p.steps->local = p.steps->remote = {0.001, 1e-5};
  const PathPlan plan = plan_paths(p);
  EXPECT_GE(plan.tokens_per_s, drafting * (1 - 1e-6));
  EXPECT_NEAR(plan.n[models::index_of(Path::P2_cached)], plan.requests_per_s, 1e-9);
  EXPECT_EQ(plan.n[models::index_of(Path::P1_cached)], 0);
}

TEST(StepPlan, MorePathsAreNeverWorse) {
  for (PathProblem& p : any_steps(10)) {
    const double all = plan_paths(p).tokens_per_s;
    p.paths = {Path::B1, Path::B2};
    EXPECT_LE(plan_paths(p).tokens_per_s, all * (1 + 1e-6));
  }
}

TEST(BestBatches, FindsAPeakOnARidgeAcrossBothPools) {
  // min(x, y, 30/(x y)) peaks where all three agree, at the cube root of 30.
  const auto value = [](const std::array<double, 2>& b) { return std::min({b[0], b[1], 30 / (b[0] * b[1])}); };
  const std::array<double, 2> best = best_batches({{50, 20}, value});
  EXPECT_NEAR(value(best), std::cbrt(30), 1e-5);
}

TEST(BestBatches, StaysAtOneWhereThereIsNoRoom) {
  const std::array<double, 2> best = best_batches({{1, 9}, [](const auto& b) { return b[1]; }});
  EXPECT_DOUBLE_EQ(best[0], 1);
  EXPECT_NEAR(best[1], 9, 1e-9);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
