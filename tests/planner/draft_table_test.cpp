// Draft lengths by batch and context: searched, written, read back, and worth it in simulation.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/draft_table/draft_table.h"
#include "planner/experiment.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

using testing::kSmallScenario;
using testing::small_scenario;

const std::vector<std::string> kConstant = {"decode.acceptance={model: constant, agreement: 0.9}",
                                            "schedule.policy=fcfs"};

TEST(DraftTable, CoversBatchesAndContextsAsFarAsMemoryAndTheScenarioGo) {
  const DraftTable table = draft_table(small_scenario(kConstant));
  EXPECT_EQ(table.contexts, (std::vector<std::int64_t>{1024, 2048, 4096, 8192, 16200}));
  EXPECT_EQ(table.batches, (std::vector<std::int64_t>{1, 2, 4, 8, 10}));  // ten requests at once
  EXPECT_EQ(table.entries.size(), 25U);
}

TEST(DraftTable, HasNoRowsForBatchesThatMemoryDoesNotHold) {
  // 0.25 x 80 GB leave 4 GB for KV: less than one reload and 64 compressed contexts of 16k tokens.
  const DraftTable table =
      draft_table(small_scenario({"workload.closed.concurrency=64", "cluster.gpu.memory_fraction=0.25"}));
  ASSERT_EQ(table.contexts.back(), 16200);
  std::int64_t most_short = 0, most_long = 0;
  for (const DraftTableEntry& e : table.entries) {
    if (e.row.context == 1024) most_short = e.row.batch;
    if (e.row.context == 16200) most_long = e.row.batch;
  }
  EXPECT_LT(most_long, most_short);
}

TEST(DraftTable, DraftsLongerWhereReloadsHaveToShareTheLink) {
  const DraftTable table = draft_table(small_scenario(kConstant));
  EXPECT_GT(table.entries.back().row.draft_length, 2 * table.entries.front().row.draft_length);
}

// The best length does not depend on the scenario's own, gains nothing over itself, and something over others.
TEST(DraftTable, NoFixedLengthIsBetter) {
  const DraftTable table = draft_table(small_scenario(kConstant));
  for (const std::int64_t length : {1, 3, 7, 15, 30, 64}) {
    std::vector<std::string> overrides = kConstant;
    overrides.push_back("decode.draft_length=" + std::to_string(length));
    const DraftTable other = draft_table(small_scenario(overrides));
    ASSERT_EQ(other.entries.size(), table.entries.size());
    for (std::size_t i = 0; i < table.entries.size(); ++i) {
      const DraftTableEntry& e = other.entries[i];
      EXPECT_EQ(e.row.draft_length, table.entries[i].row.draft_length);
      if (e.row.draft_length == length) {
        EXPECT_EQ(e.fixed_gain, 0);
      } else {
        EXPECT_GT(e.fixed_gain, 0) << length << " instead of " << e.row.draft_length;
      }
    }
  }
}

TEST(DraftTable, IsReadBackAsItWasWritten) {
  const DraftTable table = draft_table(small_scenario(kConstant));
  std::string text = kSmallScenario;
  const std::string decode = "decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20}\n";
  const auto at = text.find(decode);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, decode.size(),
               "decode:\n  policy: draft_verify\n  compressor: kvzip\n  keep_ratio: 0.25\n" + draft_table_yaml(table));
  const scenario::Scenario read = scenario::load_scenario_text(text, "pasted.yaml", {});
  EXPECT_EQ(read.serving.decode.draft_lengths.policy, "table");
  const auto& rows = read.serving.decode.draft_lengths.own.of<serving::DraftTableKeys>().rows;
  ASSERT_EQ(rows.size(), table.entries.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].batch, table.entries[i].row.batch);
    EXPECT_EQ(rows[i].context, table.entries[i].row.context);
    EXPECT_EQ(rows[i].draft_length, table.entries[i].row.draft_length);
  }
}

TEST(DraftTable, IsAtLeastAsGoodAsTheDefaultInSimulation) {
  for (const int concurrency : {2, 10}) {
    std::vector<std::string> sets = kConstant;
    sets.push_back(
        fmt::format("workload={{closed: {{concurrency: {}}}, context: 16k tokens, output: 400 tokens, "
                    "requests: 100000}}",
                    concurrency));
    sets.emplace_back("run={duration: 60 s, warmup: 10 s}");
    const scenario::Scenario fixed = small_scenario(sets);
    scenario::Scenario looked_up = fixed;
    looked_up.serving.decode.draft_lengths.policy = "table";
    for (const DraftTableEntry& e : draft_table(fixed).entries) {
      looked_up.serving.decode.draft_lengths.own.edit<serving::DraftTableKeys>().rows.push_back(e.row);
    }
    const auto by_table = static_cast<double>(run_experiment(looked_up).measured.output_tokens);
    const auto by_default = static_cast<double>(run_experiment(fixed).measured.output_tokens);
    // Ten requests are bound by the link at 20 drafts as at any length up to its limit: 2 % for the draws.
    EXPECT_GT(by_table, (concurrency == 2 ? 1.2 : 0.98) * by_default) << concurrency;
  }
}

TEST(DraftTable, OfPoliciesWithADrafterOrSparseDraftsIsWorthItInSimulation) {
  for (const char* policy : {"drafter", "lossy+drafter", "full_offload+drafter", "sparse_self", "sparse_self+drafter",
                             "draft_verify+drafter"}) {
    const std::string name = policy;
    std::vector<std::string> sets = kConstant;
    // With four requests the link binds two levels, and the default of 20 is as good as the best.
    const int requests = name == "draft_verify+drafter" ? 2 : 4;
    sets.insert(sets.end(), {"decode.policy=" + name, "cluster.gpu.memory_fraction=0.9",
                             fmt::format("workload={{closed: {{concurrency: {}}}, context: 16k tokens, output: 400 "
                                         "tokens, requests: 100000}}",
                                         requests),
                             "run={duration: 30 s, warmup: 10 s}"});
    if (name.find("drafter") != std::string::npos) {  // elsewhere three, as the catalogue has it, is near the best
      sets.push_back(fmt::format("decode.drafter={{type: eagle3-llama-3.1-8b, draft_length: {}}}",
                                 name == "full_offload+drafter" ? 3 : 8));
    }
    if (name.find("sparse") != std::string::npos) sets.emplace_back("decode.compressor=pillar-attention");
    const scenario::Scenario fixed = small_scenario(sets);
    scenario::Scenario looked_up = fixed;
    looked_up.serving.decode.draft_lengths.policy = "table";
    for (const DraftTableEntry& e : draft_table(fixed).entries) {
      looked_up.serving.decode.draft_lengths.own.edit<serving::DraftTableKeys>().rows.push_back(e.row);
    }
    const auto by_table = static_cast<double>(run_experiment(looked_up).measured.output_tokens);
    const auto by_default = static_cast<double>(run_experiment(fixed).measured.output_tokens);
    EXPECT_GT(by_table, 1.02 * by_default) << name;
  }
}

TEST(DraftTable, IsRefusedWhereDraftsEndByThemselves) {
  const scenario::Scenario s =
      scenario::load_scenario(std::string(KVSIM_SOURCE_DIR) + "/scenarios/composition/reuse_verified.yaml");
  EXPECT_THROW(static_cast<void>(draft_table(s)), schema::InputError);
  scenario::Scenario brief = s;
  brief.workload.requests = 60;
  brief.serving.run.warmup_s = 0;
  const serving::DraftLengthMeasurement lengths = run_experiment(brief).measured.draft_lengths;
  EXPECT_EQ(lengths.best_tokens, 0);  // nothing to regret
}

TEST(DraftTable, IsRefusedWhereNothingIsDrafted) {
  EXPECT_THROW(static_cast<void>(draft_table(small_scenario({"decode.policy=full_kv", "schedule.policy=fcfs"}))),
               schema::InputError);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
