// What the results of policies that fetch KV say, from measurements made by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/metrics.h"
#include "tools/results/provenance.h"
#include "tools/results/result_document.h"
#include "tools/results/run_page.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;
using results::Outcome;

scenario::Scenario fetching_scenario(const std::string& policy = "speculative_prefetch") {
  return small_scenario(
      {"decode={policy: " + policy + ", compressor: specache-2bit, prefetch: {copies: batched_copies}}",
       "schedule.policy=fcfs"});
}

serving::Measurements measured_by_hand() {
  serving::Measurements m;
  m.measured_s = m.capacity_s = 10;
  for (int i = 0; i < 5; ++i) m.iteration_s.add(2);
  m.fetch.steps = 5;
  m.fetch.bytes = 100'000;
  m.fetch.unused_bytes = 1'000;
  m.fetch.fetch_s = 8;
  m.fetch.wait_s = 2;
  m.fetch.waiting_steps = 3;
  m.fetch.request_steps = 20;
  m.fetch.context_tokens = 20 * 2048;
  m.fetch.first_choices = 4;
  return m;
}

Outcome measured_outcome(const scenario::Scenario& scenario) {
  return outcome_of(scenario, measured_by_hand());
}

Json fetch_of(const Outcome& outcome) {
  return result_document(outcome, false)["fetch"];
}

TEST(FetchDocument, SaysWhatWasFetchedAndWhatOfItWasHidden) {
  const Json f = fetch_of(measured_outcome(fetching_scenario()));
  EXPECT_EQ(f["mean_batch"], 4);
  EXPECT_EQ(f["mean_context"], 2048);
  EXPECT_DOUBLE_EQ(f["resident_fraction"].get<double>(), 2.0 / 16 + 2.0 / 64 + 128.0 / 2048);
  EXPECT_EQ(f["bytes_per_request_step"], 5000);
  EXPECT_EQ(f["hidden"], 0.75);
  EXPECT_EQ(f["copies"], "batched_copies");
  EXPECT_EQ(f["row_bytes"], 256);
  EXPECT_NEAR(f["row_bytes_per_s"].get<double>(), 256 / 0.63e-6, 1);
  EXPECT_DOUBLE_EQ(f["quality"]["share_of_keys"].get<double>(), 64.0 / 2048);
  EXPECT_EQ(f["quality"]["hit_rate"], 0.98);
  EXPECT_GT(f["two_token_batch"], 1);
  EXPECT_GE(f["two_token_cost"], 0);
}

TEST(FetchDocument, PoliciesSayWhatTheyDo) {
  const Json on_demand = fetch_of(measured_outcome(fetching_scenario("fetch_on_demand")));
  EXPECT_EQ(on_demand["quality"]["hit_rate"], 1);
  EXPECT_FALSE(on_demand.contains("two_token_cost"));
  const Json bare = fetch_of(measured_outcome(fetching_scenario("quantised_only")));
  EXPECT_DOUBLE_EQ(bare["resident_fraction"].get<double>(), 2.0 / 16 + 2.0 / 64 + 64.0 / 2048);
  EXPECT_FALSE(bare.contains("bytes"));
  const Json streamed = fetch_of(measured_outcome(fetching_scenario("full_offload")));
  EXPECT_DOUBLE_EQ(streamed["resident_fraction"].get<double>(), 2.0 / 32);
  EXPECT_FALSE(streamed.contains("quality"));
  EXPECT_FALSE(result_document(measured_outcome(small_scenario()), false).contains("fetch"));
}

TEST(FetchDocument, HasEveryKeyWhereNothingWasDecoded) {
  const Json some = fetch_of(measured_outcome(fetching_scenario()));
  const Json none = fetch_of(outcome_of(fetching_scenario(), {}));
  for (const auto& [key, value] : some.items()) EXPECT_TRUE(none.contains(key)) << key;
  for (const auto& [key, value] : some["quality"].items()) EXPECT_TRUE(none["quality"][key].is_null()) << key;
  EXPECT_TRUE(none["hidden"].is_null());
  EXPECT_TRUE(none["two_token_batch"].is_null());
}

TEST(FetchPage, IsOneTable) {
  const std::string text = to_text(run_page(measured_outcome(fetching_scenario()), false));
  EXPECT_NE(text.find("Fetching\n"), std::string::npos);
  EXPECT_NE(text.find("in 3 of 5 steps"), std::string::npos) << text;
  const std::string nothing = to_text(run_page(outcome_of(fetching_scenario(), {}), false));
  EXPECT_NE(nothing.find("nothing was decoded"), std::string::npos);
}

TEST(FetchFigures, AreMetricsOfSweeps) {
  EXPECT_NO_THROW(results::checked_metric("fetch.hidden"));
  EXPECT_TRUE(results::less_is_better("fetch.wait_s"));
  EXPECT_TRUE(results::less_is_better("fetch.two_token_cost"));
  EXPECT_FALSE(results::less_is_better("fetch.hidden"));
  EXPECT_FALSE(results::less_is_better("fetch.two_token_batch"));
  EXPECT_TRUE(results::less_is_better("fetch.waiting_steps"));
}

TEST(FetchProvenance, NamesCurvesAndCopies) {
  std::set<std::string> figures;
  for (const results::Provenance& p : results::provenance_of(fetching_scenario())) figures.insert(p.figure);
  for (const char* figure : {"host_link.gathers.batched_copies.per_row", "prefetch.attention.coverage",
                             "prefetch.attention.hit_rate", "prefetch.attention.recovery"}) {
    EXPECT_TRUE(figures.contains(figure)) << figure;
  }
}

TEST(FetchProvenance, LeavesOutWhatTheProfileReplaces) {
  const auto listed = [](const std::vector<std::string>& more) {
    std::vector<std::string> sets = {"decode={policy: quantised_only, compressor: specache-2bit}",
                                     "schedule.policy=fcfs"};
    sets.insert(sets.end(), more.begin(), more.end());
    const auto list = results::provenance_of(small_scenario(sets));
    return std::any_of(list.begin(), list.end(),
                       [](const results::Provenance& p) { return p.figure == "profile.quantised.layer"; });
  };
  EXPECT_TRUE(listed({}));
  EXPECT_FALSE(listed({"cluster.gpu.profile=a6000-pytorch-eager"}));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
