// What sections show of documents: that parts add up, that figures are those of the document.
#include <gtest/gtest.h>

#include "tests/report/documents.h"

namespace kvsim::report {
namespace {

template <class Kind>
std::vector<Kind> all(const Section& s) {
  std::vector<Kind> found;
  for (const Block& b : s.blocks) {
    if (const auto* one = std::get_if<Kind>(&b)) found.push_back(*one);
  }
  return found;
}

std::size_t column(const DataTable& t, const std::string& header) {
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    if (t.columns[i].header == header) return i;
  }
  ADD_FAILURE() << "no column " << header;
  return 0;
}

TEST(Headline, ARowAPolicyWithIntervalsTheChosenOneStrong) {
  Json d = compare_document({run_document("full_kv", 100), run_document("staggered", 240)});
  d["speedup"] = {{"full_kv", 1.0}, {"staggered", 2.4}};
  d["left_out"] = Json::array({{{"policy", "drafter"}, {"reason", "no head"}}});
  const Section s = headline(inputs_of({d}));
  const auto tables = all<DataTable>(s);
  ASSERT_EQ(tables.size(), 1);
  ASSERT_EQ(tables[0].rows.size(), 2);
  EXPECT_EQ(tables[0].rows[1][0].text, "staggered");
  EXPECT_EQ(tables[0].rows[1][column(tables[0], "output tokens/s")].text, "240.0 ± 10");
  EXPECT_EQ(tables[0].rows[1][column(tables[0], "speed-up")].text, "2.40x");
  EXPECT_TRUE(tables[0].rows[1][0].strong);
  EXPECT_FALSE(tables[0].rows[0][0].strong);
  EXPECT_EQ(all<Bullets>(s).at(0).items.at(0), "drafter: no head");
}

TEST(Headline, AFigureThatNobodyHasHasNoColumn) {
  const auto tables = all<DataTable>(headline(inputs_of({run_document()})));
  for (const Column& c : tables.at(0).columns) EXPECT_NE(c.header, "accepted / round");
}

TEST(TradeOff, APolicyLiesAtTheSpeedOfItsUsersAndOfItsGpus) {
  const Section s = trade_off(inputs_of({compare_document({run_document("a", 100), run_document("b", 240)})}));
  const Plot p = plot_of(s, "policies");
  const auto& chart = std::get<plot::XyChart>(p.drawing);
  ASSERT_EQ(chart.series.size(), 2);
  EXPECT_DOUBLE_EQ(chart.series[1].points[0].x, 50);  // 1 / 20 ms
  EXPECT_DOUBLE_EQ(chart.series[1].points[0].y, 120);
  EXPECT_DOUBLE_EQ(p.data.rows.at(1)[1].value.value(), 50);
  EXPECT_DOUBLE_EQ(p.data.rows[1][2].value.value(), 120);
}

TEST(TradeOff, OnePolicyIsNoTradeOff) {
  EXPECT_TRUE(trade_off(inputs_of({compare_document({run_document()})})).blocks.empty());
}

TEST(Maps, APlansMapIsItsMatrixWithItsOptimumFramed) {
  const Plot p = plot_of(maps(inputs_of({plan_document()})), "plan-map");
  const auto& map = std::get<plot::HeatMap>(p.drawing);
  EXPECT_EQ(map.rows[1][1].value, 250);
  EXPECT_EQ(map.rows[0][1].value, std::nullopt);  // null: no batch fits
  EXPECT_EQ(map.best, (std::pair<std::size_t, std::size_t>{1, 1}));
  EXPECT_EQ(p.data.rows[0][2].text, "-");
  EXPECT_EQ(p.data.rows[1][0].text, "0.2");

  Json other = plan_document();
  other["optimum"]["x"] = 16;
  other["optimum"]["c"] = 0.1;
  const Plot q = plot_of(maps(inputs_of({other})), "plan-map");
  EXPECT_EQ(std::get<plot::HeatMap>(q.drawing).best, (std::pair<std::size_t, std::size_t>{0, 0}));
}

TEST(Maps, ASweptGridHasACellAPoint) {
  Json d = sweep_document(3, 2);
  d["points"][0]["result"] = nullptr;
  d["points"][0]["reason"] = "does not fit";
  const auto map = std::get<plot::HeatMap>(plot_of(maps(inputs_of({d})), "sweep-map").drawing);
  ASSERT_EQ(map.rows.size(), 2);
  ASSERT_EQ(map.rows[0].size(), 3);
  EXPECT_EQ(map.rows[0][0].value, std::nullopt);
  EXPECT_NE(map.rows[0][0].tip.find("does not fit"), std::string::npos);
  EXPECT_EQ(map.rows[1][2].value, 105);  // the last of six
  EXPECT_EQ(map.best, (std::pair<std::size_t, std::size_t>{1, 2}));
}

TEST(Maps, ASweepOfOneAxisIsALine) {
  Json d = sweep_document(3, 1);
  d["axes"].erase(1);
  for (Json& point : d["points"]) point["set"].erase("decode.keep_ratio");
  const auto chart = std::get<plot::XyChart>(plot_of(maps(inputs_of({d})), "sweep-line").drawing);
  ASSERT_EQ(chart.series.at(0).points.size(), 3);
  EXPECT_EQ(chart.series[0].points[2].x, 3);
  EXPECT_EQ(chart.series[0].points[2].y, 102);
  EXPECT_EQ(chart.series[0].half_widths[2], 10);
}

TEST(Maps, TheLowestIsFirstWhereLessIsBetter) {
  Json d = sweep_document(3, 1);
  d["best"]["order"] = "lowest";
  const DataTable lowest = all<DataTable>(maps(inputs_of({d}))).at(0);
  EXPECT_EQ(lowest.rows[0][0].text, "1");
  EXPECT_TRUE(lowest.rows[0][0].strong);
  EXPECT_EQ(all<DataTable>(maps(inputs_of({sweep_document(3, 1)}))).at(0).rows[0][0].text, "3");
}

TEST(Rates, ACapacitySearchIsDrawnWithItsObjectivesAndItsKnee) {
  const Section s = rates(inputs_of({capacity_document()}));
  const auto ttft = std::get<plot::XyChart>(plot_of(s, "ttft-by-rate").drawing);
  ASSERT_EQ(ttft.zones.size(), 1);
  EXPECT_EQ(ttft.zones[0].from, 0.5);
  EXPECT_TRUE(ttft.zones[0].above);
  ASSERT_EQ(ttft.rules.size(), 1);
  EXPECT_EQ(ttft.rules[0].at, 80);
  EXPECT_EQ(ttft.series.at(0).points.size(), 3);
  const auto share = std::get<plot::XyChart>(plot_of(s, "attainment-by-rate").drawing);
  EXPECT_FALSE(share.zones.at(0).above);
  EXPECT_EQ(share.zones[0].from, 0.99);
  EXPECT_EQ(share.y_most, 1.0);
  EXPECT_DOUBLE_EQ(share.y_least.value(), 0.375);  // 0.5 less a quarter of what is missing to 1
}

TEST(Rates, AProbeThatWasGivenUpIsShareAloneNoLatency) {
  Json d = capacity_document();
  d["configurations"][0]["probes"][2]["given_up"] = true;
  const Section s = rates(inputs_of({d}));
  EXPECT_EQ(std::get<plot::XyChart>(plot_of(s, "ttft-by-rate").drawing).series.at(0).points.size(), 2);
  EXPECT_EQ(std::get<plot::XyChart>(plot_of(s, "attainment-by-rate").drawing).series.at(0).points.size(), 3);
}

TEST(Rates, OfSeveralMachinesAConfirmationReplacesTheSearch) {
  Json d = capacity_document();
  d["configurations"].push_back(d["configurations"][0]);
  d["configurations"][1]["machine"] = "a100";
  d["configurations"][1]["probes"].push_back({{"stage", "confirmation"}, {"rate", 80.0}, {"ttft_p99_s", 0.45}});
  const auto chart = std::get<plot::XyChart>(plot_of(rates(inputs_of({d})), "ttft-by-rate").drawing);
  ASSERT_EQ(chart.series.size(), 2);
  EXPECT_EQ(chart.series[0].points[1].y, 0.4);
  EXPECT_EQ(chart.series[1].points[1].y, 0.45);
  EXPECT_TRUE(chart.rules.empty());  // whose knee would it be?
}

TEST(Rates, ASweepOverRatesHasItsKneeWhereItNoLongerKeepsUp) {
  Json d = sweep_document(3, 1);
  d["axes"] = Json::array({{{"path", "workload.arrivals.rate"}, {"values", {"1/s", "2/s", "4/s"}}}});
  const std::vector<const char*> rates_swept{"1/s", "2/s", "4/s"};
  const std::vector<double> completed{1.0, 1.95, 2.0};
  for (std::size_t i = 0; i < 3; ++i) {
    d["points"][i]["set"] = {{"workload.arrivals.rate", rates_swept[i]}};
    d["points"][i]["result"]["throughput"]["requests_per_s"] = completed[i];
  }
  auto chart = std::get<plot::XyChart>(plot_of(rates(inputs_of({d})), "swept-ttft").drawing);
  ASSERT_EQ(chart.rules.size(), 1);
  EXPECT_EQ(chart.rules[0].at, 2);  // 1.95 of 2 is above 95 %, 2 of 4 is not
  EXPECT_TRUE(chart.zones.empty());

  d["resolved_scenario"] = "slo: {ttft_p99: 500 ms}\n";
  d["points"][1]["result"]["slo"]["attainment"] = 0.98;
  chart = std::get<plot::XyChart>(plot_of(rates(inputs_of({d})), "swept-ttft").drawing);
  EXPECT_EQ(chart.rules.at(0).at, 1);  // 98 % is less than 99 %
  EXPECT_EQ(chart.zones.at(0).from, 0.5);
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
  const auto tables = all<DataTable>(costs(inputs_of({fleet_document()})));
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(tables[0].rows.at(0)[column(tables[0], "$ per hour")].text, "$10.00");
  EXPECT_EQ(tables[0].rows[0][column(tables[0], "GPUs")].value, 4);
  EXPECT_EQ(tables[1].rows.at(0)[column(tables[1], "requests/s")].text, "80.00");
}

TEST(Alternatives, CandidatesStandBesideEachOtherTheBestStrong) {
  const auto tables = all<DataTable>(alternatives(inputs_of({simulated_plan()})));
  ASSERT_EQ(tables.size(), 1);
  EXPECT_EQ(tables[0].rows.at(0)[0].text, "x = 27, c = 0.2, as many requests as fit");
  EXPECT_TRUE(tables[0].rows[0][0].strong);
}

TEST(Further, ADocumentWithoutSectionsOfItsOwnIsShownAsTables) {
  const auto tables = all<DataTable>(further(inputs_of({one_of_each().back()})));
  ASSERT_FALSE(tables.empty());
  EXPECT_EQ(tables.back().caption, "by hand: figures");
  EXPECT_EQ(tables.back().columns.size(), 2);
  EXPECT_EQ(tables.back().rows.at(0)[1].value, 1);
}

TEST(Further, ElementsWithDifferentKeysHaveTheColumnsOfAll) {
  const Json d = {{"schema_version", 1}, {"list", {{{"a", 1}}, {{"b", {{"c", "x"}}}}, {{"a", 2}, {"d", true}}}}};
  const DataTable t = all<DataTable>(further(inputs_of({d}))).back();
  ASSERT_EQ(t.columns.size(), 3);
  EXPECT_EQ(t.columns[1].header, "b.c");
  ASSERT_EQ(t.rows.size(), 3);
  for (const auto& row : t.rows) ASSERT_EQ(row.size(), 3);
  EXPECT_EQ(t.rows[0][1].text, "-");
  EXPECT_EQ(t.rows[1][1].text, "x");
  EXPECT_EQ(t.rows[2][2].text, "yes");
}

TEST(Provenance, AnAssumptionOfManyRunsIsListedOnce) {
  Json run = run_document();
  run["details"]["assumptions"] = {"contexts are alike"};
  const auto lists = all<Bullets>(provenance(inputs_of({run, run, compare_document({run, run})})));
  ASSERT_EQ(lists.size(), 1);
  EXPECT_EQ(lists[0].items, std::vector<std::string>{"contexts are alike"});
}

}  // namespace
}  // namespace kvsim::report
