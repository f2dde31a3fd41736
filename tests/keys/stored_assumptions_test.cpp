// Results of stored prompts state whether they are lossless, and their assumptions.
#include <gtest/gtest.h>

#include <string>

#include "tests/scenario/key_rows.h"
#include "tests/support/small_scenario.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

scenario::Scenario stored(const std::string& placement, Sets more = {}) {
  more.insert(more.begin(), "placement={" + placement + "}");
  return small_scenario(placed(more));
}

TEST(Lossless, IsWhatStoresPromptsWholeOrNotAtAll) {
  for (const char* whole :
       {"policy: none", "policy: lru", "policy: belady", "policy: lru, compressor: keydiff, keep_ratio: 1"}) {
    EXPECT_TRUE(results::lossless(stored(whole))) << whole;
  }
  for (const char* less : {"policy: utility", "policy: importance_chunks", "policy: lru, compressor: kivi-4bit",
                           "policy: lru, compressor: keydiff, keep_ratio: 0.9"}) {
    EXPECT_FALSE(results::lossless(stored(less))) << less;
  }
  EXPECT_TRUE(results::lossless(small_scenario()));
  EXPECT_FALSE(results::lossless(small_scenario({"decode.policy=lossy", "schedule.policy=fcfs"})));
}

bool says(const scenario::Scenario& s, const std::string& part) {
  for (const std::string& sentence : results::assumptions_of(s)) {
    if (sentence.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(PlacementAssumptions, AreSaidWhereTheyAreUsed) {
  const std::string curves = "Quality curves are generated", blocks = "share 64 generated quality curves";
  EXPECT_FALSE(says(stored("policy: lru"), curves));
  EXPECT_TRUE(says(stored("policy: utility"), curves));
  EXPECT_FALSE(says(stored("policy: utility"), blocks));
  EXPECT_TRUE(says(stored("policy: utility, granularity: blocks"), blocks));
  EXPECT_FALSE(says(stored("policy: lru, granularity: blocks"), blocks));
  EXPECT_FALSE(says(stored("policy: utility"), "Drift of queries is generated"));
  EXPECT_TRUE(says(stored("policy: utility, drift: {every: 1 s}"), "Drift of queries is generated"));
  EXPECT_TRUE(
      says(stored("policy: importance_chunks"), "To choose important chunks, a CPU worker reads 0.188 of the KV"));
  EXPECT_TRUE(says(stored("policy: utility"), "Contexts come from no named dataset"));
  const Sets qasper = {"workload.prefixes={count: 4, datasets: [qasper]}"};
  EXPECT_TRUE(says(stored("policy: utility", qasper), "Losses within qasper spread"));
  EXPECT_FALSE(says(stored("policy: utility", qasper), "Contexts come from no named dataset"));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
