// Latencies as distributions.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/run_page.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;

TEST(LatencyDistribution, HasTheQuantilesOfTheMergedSample) {
  serving::Measurements a, b;
  for (int i = 0; i <= 500; ++i) a.ttft_s.add(i);
  for (int i = 501; i <= 1000; ++i) b.ttft_s.add(i);
  serving::merge(a, b);
  const Json d = result_document(outcome_of(small_scenario(), a), false)["details"]["latency_distribution_s"];
  ASSERT_EQ(d["fractions"].size(), 103U);
  ASSERT_EQ(d["ttft"].size(), 103U);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(d["fractions"][i], static_cast<double>(i) / 100);
    EXPECT_NEAR(d["ttft"][i].get<double>(), 10.0 * static_cast<double>(i), 1e-9);  // 0 to 1,000, evenly
  }
  EXPECT_EQ(d["fractions"][100], 0.995);
  EXPECT_NEAR(d["ttft"][100].get<double>(), 995, 1e-9);
  EXPECT_EQ(d["fractions"][101], 0.999);
  EXPECT_NEAR(d["ttft"][101].get<double>(), 999, 1e-9);
  EXPECT_EQ(d["fractions"][102], 1.0);
  EXPECT_EQ(d["ttft"][102], 1000.0);
}

TEST(LatencyDistribution, AgreesWithTheFixedPercentiles) {
  const scenario::Scenario s = small_scenario();
  const Json doc = results::result_document({s, planner::run_experiment(s), ""}, false);
  const Json& d = doc["details"]["latency_distribution_s"];
  for (const auto& [metric, figures] : doc["latency_s"].items()) {
    EXPECT_EQ(d[metric][50], figures["p50"]) << metric;
    EXPECT_EQ(d[metric][99], figures["p99"]) << metric;
    EXPECT_EQ(d[metric][102], figures["max"]) << metric;
  }
}

TEST(LatencyDistribution, ResultsSayWhichPercentilesAreOfMoreValuesThanAreKept) {
  serving::Measurements m;
  m.ttft_s.add(1, engine::Sample::kExact);
  results::Outcome outcome = outcome_of(small_scenario(), m);
  const auto said = [&outcome](const results::Outcome& other) {
    const Json doc = result_document(outcome, false);
    const Json& definitions = doc["details"]["definitions"];
    std::vector<std::string> all;
    for (const results::List& list : results::caveats({outcome, other})) {
      if (list.title == "Percentiles") all = list.items;
    }
    return std::pair{definitions.value("percentiles.sketched", ""), all};
  };
  const results::Outcome nothing = outcome_of(small_scenario(), {});
  EXPECT_EQ(said(nothing).first, "");
  EXPECT_TRUE(said(nothing).second.empty());
  outcome.result.measured.ttft_s.add(1);
  outcome.result.measured.itl_s.add(1, engine::Sample::kExact + 1);
  const std::string sentence =
      "times to the first token, gaps between tokens: of more than 10,000 values, from a sketch within 0.1 %";
  EXPECT_EQ(said(nothing).first, sentence);
  EXPECT_EQ(said(nothing).second, std::vector<std::string>{sentence});  // whichever of the results has it
  EXPECT_EQ(said(outcome).second, std::vector<std::string>{sentence});  // once
}

TEST(LatencyDistribution, FiguresCountTheValuesOfSketchedPercentilesAndPagesOfSeveralNameThePolicy) {
  serving::Measurements m;
  m.ttft_s.add(1, engine::Sample::kExact);
  results::Outcome exact = outcome_of(small_scenario(), m), sketched = exact;
  sketched.result.measured.itl_s.add(1, engine::Sample::kExact + 1);
  exact.policy = "full_kv";
  sketched.policy = "lossy";
  EXPECT_EQ(figures_document(exact)["percentiles"].dump(), R"({"sketched":{}})");
  EXPECT_EQ(figures_document(sketched)["percentiles"].dump(), R"({"sketched":{"latency_s.itl":10001}})");
  const std::string sentence = "lossy: gaps between tokens: of more than 10,000 values, from a sketch within 0.1 %";
  EXPECT_EQ(results::caveats({exact, sketched}).back().items, std::vector<std::string>{sentence});
}

TEST(LatencyDistribution, IsNullForAReasonWhereNothingWasMeasured) {
  const Json doc = result_document(outcome_of(small_scenario(), {}), false);
  for (const char* metric : {"ttft", "tpot", "itl", "e2e"}) {
    EXPECT_TRUE(doc["details"]["latency_distribution_s"][metric].is_null());
    const std::string path = std::string("details.latency_distribution_s.") + metric;
    EXPECT_EQ(doc["details"]["reasons"][path], doc["details"]["reasons"][std::string("latency_s.") + metric + ".mean"]);
  }
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
