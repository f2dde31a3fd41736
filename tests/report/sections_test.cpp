// What sections show of documents: that parts add up, that figures are those of the document.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/policy_words.h"
#include "tests/report/documents.h"
#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/comparison.h"
#include "tools/results/rivals.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

std::size_t column(const Table& t, const std::string& header) {
  for (std::size_t i = 0; i < t.header.size(); ++i) {
    if (t.header[i] == header) return i;
  }
  ADD_FAILURE() << "no column " << header;
  return 0;
}

TEST(Headline, ARowAPolicyWithIntervalsTheChosenOneStrong) {
  Json d = compare_document({run_document("full_kv", 100), run_document("staggered", 240)});
  d["speedup"] = {{"full_kv", 1.0}, {"staggered", 2.4}};
  d["left_out"] = Json::array({{{"policy", "drafter"}, {"reason", "no head"}}});
  const Section s = headline(inputs_of({d}));
  const auto tables = all<Table>(s);
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(tables[1].rows[1][column(tables[1], "TTFT mean")].text, "500 ms");
  ASSERT_EQ(tables[0].rows.size(), 2);
  EXPECT_EQ(tables[0].rows[1][0].text, "staggered");
  EXPECT_EQ(tables[0].rows[1][column(tables[0], "output tokens/s")].text, "240.0 ± 10");
  EXPECT_EQ(tables[0].rows[1][column(tables[0], "speed-up")].text, "2.40x");
  EXPECT_TRUE(tables[0].rows[1][0].strong);
  EXPECT_FALSE(tables[0].rows[0][0].strong);
  EXPECT_EQ(all<List>(s).at(0).items.at(0), "drafter: no head");
}

TEST(Headline, AFigureThatNobodyHasHasNoColumn) {
  const auto tables = all<Table>(headline(inputs_of({run_document()})));
  for (const Table& t : tables) {
    for (const std::string& header : t.header) EXPECT_NE(header, "accepted / round");
  }
}

TEST(TradeOff, APolicyLiesAtTheSpeedOfItsUsersAndOfItsGpus) {
  const Section s = trade_off(inputs_of({compare_document({run_document("a", 100), run_document("b", 240)})}));
  const Plot p = plot_of(s, "policies");
  const auto& chart = std::get<plot::Chart>(p.drawing);
  ASSERT_EQ(chart.series.size(), 2);
  EXPECT_DOUBLE_EQ(chart.series[1].points[0].x, 50);  // 1 / 20 ms
  EXPECT_DOUBLE_EQ(chart.series[1].points[0].y, 120);
  EXPECT_DOUBLE_EQ(p.data.rows.at(1)[1].value.value(), 50);
  EXPECT_DOUBLE_EQ(p.data.rows[1][2].value.value(), 120);
}

// As on the terminal: idle time binds nothing, and what never rests beside the iterations binds whatever they did.
TEST(Costs, OfACapacitySayWhatBindsAsTheTerminalDoes) {
  Json d = capacity_document();
  Json& c = d["configurations"][0];
  c["bound_by"] = {{"hbm_bandwidth", 0.3}, {"compute", 0.1}, {"idle", 0.6}};
  c["twice"] = {{"hbm_bandwidth", 0.27}, {"link", nullptr}};
  const auto bound = [&d] {
    for (const Table& t : all<Table>(costs(inputs_of({d})))) {
      if (t.title.starts_with("One replica")) return t.rows.at(0)[column(t, "bound by, twice it")].text;
    }
    return std::string();
  };
  EXPECT_EQ(bound(), "HBM 30 % +27 %");
  c["link_in_use"] = 0.97;
  EXPECT_EQ(bound(), "link 97 %");
  for (const char* figure : {"bound_by", "link_in_use"}) c.erase(figure);
  EXPECT_EQ(bound(), "-") << "no rate was sustained";
}

TEST(TradeOff, OnePolicyIsNoTradeOff) {
  EXPECT_TRUE(trade_off(inputs_of({compare_document({run_document()})})).blocks.empty());
}

TEST(Binding, GainsAreBarsMostFirst) {
  Json d = plan_document();
  d["explanation"] = explanation({{"compute", -0.01, 0.02}, {"hbm_capacity", 0.08, 0.01}});
  const auto bars = std::get<plot::Bars>(plot_of(binding(inputs_of({d})), "elasticities").drawing).bars;
  ASSERT_EQ(bars.size(), 2);
  EXPECT_EQ(bars[0].label, "GPU memory (HBM capacity)");
  EXPECT_DOUBLE_EQ(bars[0].parts.at(0).to, 8);
  EXPECT_EQ(bars[1].text, "-1.0 % ± 2.0 %");
}

TEST(Binding, CausesOfARunAreStacked) {
  const auto bars =
      std::get<plot::Bars>(plot_of(binding(inputs_of({run_document()})), "bound-by-of-runs").drawing).bars;
  ASSERT_EQ(bars.at(0).parts.size(), 4);
  EXPECT_DOUBLE_EQ(bars[0].parts[0].to, 60);
  EXPECT_DOUBLE_EQ(bars[0].parts[1].from, 60);
  EXPECT_NEAR(bars[0].parts[3].to, 100, 1e-9);
}

TEST(Costs, FleetsAreListedWithWhatTheyCost) {
  const auto tables = all<Table>(costs(inputs_of({fleet_document()})));
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(tables[0].rows.at(0)[column(tables[0], "$ per hour")].text, "$10.00");
  EXPECT_EQ(tables[0].rows[0][column(tables[0], "GPUs")].value, 4);
  EXPECT_EQ(tables[1].rows.at(0)[column(tables[1], "requests/s")].text, "80.00");
}

TEST(Costs, SizesOfTiersNameTheRowsAndTheirCostsAddUp) {
  Json d = fleet_document();
  Json& c = d["configurations"][0];
  c.update({{"lossless", false}, {"mean_quality", 0.98}, {"ssd_gb", 400}});
  c["sizes_bytes"] = {{"host", 40e9}, {"ssd", 400e9}};
  c["fleet"].update({{"usd_per_hour_gpus", 9.0}, {"usd_per_hour_dram", 0.75}, {"usd_per_hour_ssd", 0.25}});
  const auto tables = all<Table>(costs(inputs_of({d})));
  ASSERT_EQ(tables.size(), 2);
  for (const Table& t : tables) EXPECT_EQ(t.rows.at(0)[0].text, "h100-sxm x 2, 40.0 GB DRAM, ssd 400 GB");
  EXPECT_EQ(tables[0].rows[0][column(tables[0], "of it storage")].text, "$0.25");
  EXPECT_EQ(std::find(tables[0].header.begin(), tables[0].header.end(), "host memory for KV"), tables[0].header.end());
  EXPECT_EQ(tables[1].rows[0][column(tables[1], "output")].text,
            "0.9800; functional correctness not known: see findings");
}

TEST(Alternatives, CandidatesStandBesideEachOtherTheBestStrong) {
  const auto tables = all<Table>(alternatives(inputs_of({simulated_plan()})));
  ASSERT_EQ(tables.size(), 1);
  EXPECT_EQ(tables[0].rows.at(0)[0].text, "x = 27, c = 0.2, as many requests as fit");
  EXPECT_TRUE(tables[0].rows[0][0].strong);
}

TEST(Further, ADocumentWithoutSectionsOfItsOwnIsShownAsTables) {
  const auto tables = all<Table>(further(inputs_of({one_of_each().back()})));
  ASSERT_FALSE(tables.empty());
  EXPECT_EQ(tables.back().title, "by hand: figures");
  EXPECT_EQ(tables.back().header.size(), 2);
  EXPECT_EQ(tables.back().rows.at(0)[1].value, 1);
}

TEST(Further, ElementsWithDifferentKeysHaveTheColumnsOfAll) {
  const Json d = {{"schema_version", 1}, {"list", {{{"a", 1}}, {{"b", {{"c", "x"}}}}, {{"a", 2}, {"d", true}}}}};
  const Table t = all<Table>(further(inputs_of({d}))).back();
  ASSERT_EQ(t.header.size(), 3);
  EXPECT_EQ(t.header[1], "b.c");
  ASSERT_EQ(t.rows.size(), 3);
  for (const auto& row : t.rows) ASSERT_EQ(row.size(), 3);
  EXPECT_EQ(t.rows[0][1].text, "-");
  EXPECT_EQ(t.rows[1][1].text, "x");
  EXPECT_EQ(t.rows[2][2].text, "yes");
}

TEST(Provenance, AnAssumptionOfManyRunsIsListedOnce) {
  Json run = run_document();
  run["details"]["assumptions"] = {"contexts are alike"};
  const auto lists = all<List>(provenance(inputs_of({run, run, compare_document({run, run})})));
  ASSERT_EQ(lists.size(), 1);
  EXPECT_EQ(lists[0].items, std::vector<std::string>{"contexts are alike"});
}

/// A comparison of three policies; of the second 14 of 38 requests finished, though with a short time to first token.
results::Comparison partly_finished() {
  results::Comparison c;
  for (const char* policy : {"full_kv", "lossy", "draft_verify:staggered"}) {
    const bool few = c.outcomes.size() == 1;
    serving::Measurements m;
    m.measured_s = m.capacity_s = 100;
    m.output_tokens = 1000 + static_cast<std::int64_t>(c.outcomes.size());
    m.arrived = m.arrived_measured = 38;
    m.completed = few ? 14 : 36;
    m.completed_measured = static_cast<std::size_t>(m.completed);
    m.running = m.arrived - m.completed;
    m.quality = static_cast<double>(m.completed);
    m.ttft_s.add(few ? 1 : 1.1);
    m.tpot_s.add(0.02);
    c.outcomes.push_back(testing::outcome_of(planner::with_policy(testing::small_file(), policy), m));
    c.outcomes.back().policy = policy;
  }
  return c;
}

TEST(Headline, WhichLatenciesAreNotComparedAndWhatIsEvenIsSaidAsTheTerminalSaysIt) {
  const results::Comparison c = partly_finished();
  Json d = results::compare_document(c, false);
  const std::string note = results::latency_note(results::rivals_of(c.outcomes), false);
  EXPECT_NE(note.find("latencies not compared: lossy (14 of 38 requests finished)"), std::string::npos) << note;
  const Section s = headline(inputs_of({d}));
  const auto prose = all<Prose>(s);
  EXPECT_TRUE(std::any_of(prose.begin(), prose.end(), [&note](const Prose& p) { return p.text == note + "."; }))
      << note;
  const Fact sure = only({d}, "How sure is this?");
  int even = 0;
  for (const std::string& sentence : results::how_sure(c.outcomes)) {
    if (!sentence.starts_with("Even in ")) continue;
    ++even;
    EXPECT_TRUE(says(sure, "\n" + sentence + ".")) << sentence << "\n" << sure.detail;
    const bool of_first_token = sentence.find("first token") != std::string::npos;
    EXPECT_FALSE(of_first_token && sentence.find("lossy") != std::string::npos) << sentence;
  }
  EXPECT_GT(even, 1);
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
