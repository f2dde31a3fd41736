// What results say of prompts made of chunks, from measurements made by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/comparison.h"
#include "tools/results/metrics.h"
#include "tools/results/run_page.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;
using results::Outcome;

scenario::Scenario chunks(const std::string& prefill, const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets = {"decode={policy: full_kv}", "schedule={}", "prefill={" + prefill + "}",
                                   "workload.chunks={count: 50, per_request: 4}", "placement={policy: lru}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return small_scenario(sets);
}

const std::vector<std::string> kScorers = {"prefill.speculative.gpus=2", "slo={quality_floor: 0.8, ttft_p99: 1 s}"};

/// Two prompts of four chunks of 512 tokens and 10 tokens behind them each, on one GPU and two that score.
serving::Measurements measured_by_hand() {
  serving::Measurements m;
  m.measured_s = m.capacity_s = 10;
  m.completed = m.completed_measured = 2;
  m.output_tokens = 60;
  m.good = m.within_slo = 1;
  m.ttft_s.add(0.25);
  m.ttft_s.add(0.75);
  m.placement.loaded_tokens = 3072;
  m.placement.computed_tokens = 1044;
  m.reuse = {2, 4096, 3072, 1024, 410, 20, 0.2, 0.4, 0.6, 0.8, 1.0, 5, 0, 0, 0, 1};
  m.answers = {2, 0.5, 0.625, 1};
  m.functional = models::functional_unknown();
  return m;
}

Json document(const scenario::Scenario& s, const serving::Measurements& m) {
  return result_document(outcome_of(s, m), false);
}

TEST(ReuseDocument, SaysHowPromptsWerePutTogether) {
  const Json r = document(chunks("policy: selective", kScorers), measured_by_hand())["reuse"];
  EXPECT_EQ(r["policy"], "selective");
  EXPECT_EQ(r["prompts"], 2);
  EXPECT_EQ(r["chunk_tokens"], 4096);
  EXPECT_EQ(r["loaded_tokens"], 3072);
  EXPECT_EQ(r["apart_tokens"], 1024);
  EXPECT_EQ(r["recomputed_tokens"], 410);
  EXPECT_EQ(r["other_tokens"], 20);
  EXPECT_DOUBLE_EQ(r["recomputed_share"].get<double>(), 410.0 / 4096);
  // Sums of two prompts.
  EXPECT_DOUBLE_EQ(r["mean_s"]["queue"].get<double>(), 0.1);
  EXPECT_DOUBLE_EQ(r["mean_s"]["load"].get<double>(), 0.2);
  EXPECT_DOUBLE_EQ(r["mean_s"]["select"].get<double>(), 0.3);
  EXPECT_DOUBLE_EQ(r["mean_s"]["assemble"].get<double>(), 0.4);
  EXPECT_DOUBLE_EQ(r["mean_s"]["prefill"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(r["selections_longer"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(r["scorer_busy_fraction"].get<double>(), 0.25);  // 5 of 2 x 10 s
}

TEST(ReuseDocument, SaysWhatAnswersScored) {
  const Json doc = document(chunks("policy: selective", kScorers), measured_by_hand());
  EXPECT_EQ(doc["answers"]["count"], 2);
  EXPECT_DOUBLE_EQ(doc["answers"]["mean_score"].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(doc["answers"]["full_score"].get<double>(), 0.3125);
  EXPECT_EQ(doc["answers"]["good"], 1);
  EXPECT_DOUBLE_EQ(doc["answers"]["good_share"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(doc["slo"]["goodput_requests_per_s"].get<double>(), 0.1);
  EXPECT_EQ(doc["quality"]["lossless"], false);
}

TEST(ReuseDocument, SpreadsTokensOverGpusThatOnlyScoreToo) {
  const Json doc = document(chunks("policy: selective", kScorers), measured_by_hand());
  EXPECT_DOUBLE_EQ(doc["throughput"]["output_tokens_per_s"].get<double>(), 6);
  EXPECT_DOUBLE_EQ(doc["throughput"]["output_tokens_per_s_per_gpu"].get<double>(), 2);
  const Json alone = document(chunks("policy: epic", kScorers), measured_by_hand());
  EXPECT_DOUBLE_EQ(alone["throughput"]["output_tokens_per_s_per_gpu"].get<double>(), 6);
}

TEST(ReuseDocument, GivesTheReasonOfEveryMissingFigure) {
  const Json doc = document(chunks("policy: epic"), {});
  const Json full = document(chunks("policy: epic"), measured_by_hand());
  std::vector<std::string> missing;
  for (const char* object : {"answers", "reuse"}) {
    for (const auto& [key, value] : full[object].items()) {
      EXPECT_TRUE(doc[object].contains(key)) << key;
      if (doc[object][key].is_null()) missing.push_back(std::string(object) + "." + key);
    }
  }
  for (const auto& [key, value] : doc["reuse"]["mean_s"].items()) {
    EXPECT_TRUE(value.is_null()) << key;
    missing.push_back("reuse.mean_s." + key);
  }
  EXPECT_EQ(missing.size(), 11U);  // three of answers, three of reuse, five times
  for (const std::string& key : missing) EXPECT_TRUE(doc["details"]["reasons"].contains(key)) << key;
  EXPECT_EQ(full["details"]["reasons"]["reuse.scorer_busy_fraction"], "no GPU only scores");
}

TEST(ReuseDocument, HasAnswersOfAllPromptsOfChunksAndReuseWhereTheyArePutTogether) {
  for (const char* policy : {"recompute", "prefix_cache"}) {
    const Json doc = document(chunks(std::string("policy: ") + policy), measured_by_hand());
    EXPECT_TRUE(doc.contains("answers")) << policy;
    EXPECT_FALSE(doc.contains("reuse")) << policy;
  }
  const Json other = document(small_scenario(), {});
  EXPECT_FALSE(other.contains("answers"));
  EXPECT_FALSE(other.contains("reuse"));
}

TEST(ReuseDocument, SaysWhatItsWordsMean) {
  const Json doc = document(chunks("policy: selective"), measured_by_hand());
  for (const char* word :
       {"answers", "reuse.chunk_tokens", "reuse.recomputed_share", "reuse.mean_s", "reuse.selections_longer",
        "reuse.scorer_busy_fraction", "reuse.verified_tokens", "reuse.time_to_first_draft_s"}) {
    EXPECT_TRUE(doc["details"]["definitions"].contains(word)) << word;
  }
  EXPECT_EQ(doc["details"]["definitions"]["reuse.recomputed_share"], "recomputed_tokens / chunk_tokens");
  EXPECT_EQ(document(small_scenario(), {})["details"].dump().find("scorer_busy_fraction"), std::string::npos);
}

TEST(ReuseDocument, ComparesTimesToTheFirstTokenWithABaselineThatStoresNothing) {
  Outcome all = outcome_of(chunks("policy: recompute"), measured_by_hand());
  Outcome epic = outcome_of(chunks("policy: epic"), {});
  all.policy = "full_recompute";
  epic.policy = "epic";
  epic.result.measured.ttft_s.add(0.125);
  const Json doc = results::compare_document({{all, epic}, {}}, false);
  EXPECT_EQ(doc["ttft_speedup"]["full_recompute"], 1);
  EXPECT_DOUBLE_EQ(doc["ttft_speedup"]["epic"].get<double>(), 4);
}

TEST(ReuseFigures, AreMetricsOfSweepsTheLessTimeTheBetter) {
  for (const char* metric : {"reuse.mean_s.load", "reuse.mean_s.queue", "reuse.mean_s.prefill", "reuse.apart_tokens",
                             "reuse.recomputed_tokens", "reuse.recomputed_share", "reuse.selections_longer"}) {
    EXPECT_NO_THROW(results::checked_metric(metric));
    EXPECT_TRUE(results::less_is_better(metric)) << metric;
  }
  for (const char* metric : {"answers.mean_score", "answers.good_share", "reuse.loaded_tokens"}) {
    EXPECT_NO_THROW(results::checked_metric(metric));
    EXPECT_FALSE(results::less_is_better(metric)) << metric;
  }
}

std::string page(const scenario::Scenario& s, const serving::Measurements& m) {
  return results::to_text(results::run_page(outcome_of(s, m), false));
}

TEST(ReusePage, SaysWhatIsChosenByWhom) {
  const std::string text = page(chunks("policy: selective, rho: 0.2", kScorers), measured_by_hand());
  EXPECT_NE(text.find("prefill selective, rho 0.2,"), std::string::npos) << text;
  EXPECT_NE(text.find("scored by llama-3.2-1b"), std::string::npos) << text;
  EXPECT_NE(text.find("choosing tokens"), std::string::npos);
  EXPECT_NE(text.find("scorers busy"), std::string::npos);
  const std::string epic = page(chunks("policy: epic, link_tokens: 16 tokens"), measured_by_hand());
  EXPECT_NE(epic.find("prefill epic, 16 tokens of every chunk"), std::string::npos) << epic;
  EXPECT_EQ(epic.find("choosing tokens"), std::string::npos);
  EXPECT_EQ(epic.find("scorers busy"), std::string::npos);
  EXPECT_NE(page(chunks("policy: full_recompute"), {}).find("prefill full_recompute"), std::string::npos);
}

TEST(ReusePage, HasNoNotANumberWhereNothingFinished) {
  for (const char* policy : {"selective", "cacheblend", "epic", "full_reuse", "recompute", "prefix_cache"}) {
    const std::string text = page(chunks(std::string("policy: ") + policy), {});
    EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  }
}

TEST(ReuseComparison, HasOneRowAPolicyAndFitsInAHundredColumns) {
  std::vector<Outcome> outcomes;
  for (const char* policy : {"full_recompute", "prefix_cache", "full_reuse", "cacheblend", "selective"}) {
    Outcome o = outcome_of(chunks(std::string("policy: ") + policy, kScorers), measured_by_hand());
    o.policy = policy;
    outcomes.push_back(o);
  }
  const results::Comparison comparison{outcomes, {}};
  const results::Table t = results::compare_page(comparison, false, results::Labels::full).tables.front();
  ASSERT_EQ(t.rows.size(), 5U);
  for (const auto& row : t.rows) EXPECT_EQ(row.size(), t.header.size());
  // Nothing is loaded and all computed without tiers; what is loaded and computed again counts in both.
  const auto cell = [&](std::size_t row, const char* column) {
    const auto at = std::find(t.header.begin(), t.header.end(), column);
    return t.rows[row][static_cast<std::size_t>(at - t.header.begin())].text;
  };
  EXPECT_EQ(cell(0, "loaded\n%"), "0");
  EXPECT_EQ(cell(0, "computed\n%"), "100");
  EXPECT_EQ(cell(1, "loaded\n%"), "75");  // 3072 of 4116
  EXPECT_EQ(cell(1, "computed\n%"), "25");
  EXPECT_EQ(cell(4, "computed\n%"), "35");  // 1024 + 410 + 20 of 4116
  EXPECT_EQ(cell(4, "score"), "0.8000/?");  // 0.5 of 0.625; no functional figure of reused chunks is published
  EXPECT_EQ(cell(4, "good\n%"), "50");
  EXPECT_EQ(cell(0, "GPUs"), "1");
  EXPECT_EQ(cell(4, "GPUs"), "3");
  EXPECT_EQ(cell(4, "speed\nup"), cell(0, "speed\nup"));
  const std::string text = results::to_text(results::compare_page(comparison, false, results::Labels::full));
  const std::string table = text.substr(text.find("speed"), text.find("Columns") - text.find("speed"));
  std::size_t width = 0, begin = 0;
  for (std::size_t end = table.find('\n'); end != std::string::npos; end = table.find('\n', begin)) {
    width = std::max(width, end - begin);
    begin = end + 1;
  }
  EXPECT_LE(width, 100U) << table;
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
