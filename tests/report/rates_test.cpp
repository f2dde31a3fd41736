// Latency and attainment against the rate: what was searched, what was confirmed, where the knee is.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/report/documents.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

TEST(Rates, ACapacitySearchIsDrawnWithItsObjectivesAndItsKnee) {
  const Section s = rates(inputs_of({capacity_document()}));
  const auto ttft = std::get<plot::Chart>(plot_of(s, "ttft-by-rate").drawing);
  ASSERT_EQ(ttft.zones.size(), 1);
  EXPECT_EQ(ttft.zones[0].from, 0.5);
  EXPECT_TRUE(ttft.zones[0].above);
  ASSERT_EQ(ttft.rules.size(), 1);
  EXPECT_EQ(ttft.rules[0].at, 80);
  EXPECT_EQ(ttft.series.at(0).points.size(), 3);
  const auto share = std::get<plot::Chart>(plot_of(s, "attainment-by-rate").drawing);
  EXPECT_FALSE(share.zones.at(0).above);
  EXPECT_EQ(share.zones[0].from, 0.99);
  EXPECT_EQ(share.y_most, 1.0);
  EXPECT_DOUBLE_EQ(share.y_least.value(), 0.325);  // 0.46 less a quarter of what is missing to 1
}

TEST(Rates, WhatRatesWereJudgedByNamesTheQueueWhereItWasJudged) {
  const auto names_it = [](const Json& slo) {
    Json d = capacity_document();
    d["slo"] = slo;
    return plot_of(rates(inputs_of({d})), "attainment-by-rate").caption.find("the queue grows") != std::string::npos;
  };
  EXPECT_TRUE(names_it({{"tpot_p99_s", 0.05}}));
  EXPECT_TRUE(names_it({{"ttft_p99_s", nullptr}, {"itl_p99_s", 0.05}}));
  EXPECT_FALSE(names_it({{"ttft_p99_s", 0.5}, {"tpot_p99_s", 0.05}}));
  EXPECT_FALSE(names_it({{"e2e_p99_s", 3}}));
}

TEST(Rates, AttainmentIsShownByItsLowerBoundWhichARateIsJudgedBy) {
  const auto chart =
      std::get<plot::Chart>(plot_of(rates(inputs_of({capacity_document()})), "attainment-by-rate").drawing);
  EXPECT_EQ(chart.series.at(0).points.at(0).y, 0.995);
  EXPECT_EQ(chart.series[0].points.at(2).y, 0.46);
}

TEST(Rates, AProbeThatWasGivenUpIsShareAloneNoLatency) {
  Json d = capacity_document();
  d["configurations"][0]["probes"][2]["given_up"] = true;
  const Section s = rates(inputs_of({d}));
  EXPECT_EQ(std::get<plot::Chart>(plot_of(s, "ttft-by-rate").drawing).series.at(0).points.size(), 2);
  EXPECT_EQ(std::get<plot::Chart>(plot_of(s, "attainment-by-rate").drawing).series.at(0).points.size(), 3);
}

TEST(Rates, OfSeveralMachinesAConfirmationReplacesTheSearch) {
  Json d = capacity_document();
  d["configurations"].push_back(d["configurations"][0]);
  d["configurations"][1]["machine"] = "a100";
  d["configurations"][1]["probes"].push_back({{"stage", "confirmation"}, {"rate", 80.0}, {"ttft_p99_s", 0.45}});
  const auto chart = std::get<plot::Chart>(plot_of(rates(inputs_of({d})), "ttft-by-rate").drawing);
  ASSERT_EQ(chart.series.size(), 2);
  EXPECT_EQ(chart.series[0].points[1].y, 0.4);
  EXPECT_EQ(chart.series[1].points[1].y, 0.45);
}

TEST(Rates, OfSeveralMachinesConfirmedRatesReplaceSearchedOnesBetweenThem) {
  Json d = capacity_document();
  d["configurations"].push_back(d["configurations"][0]);
  Json& probes = d["configurations"][1]["probes"];  // searched at 40, 80 and 160
  for (const double rate : {20.0, 50.0, 120.0}) {
    probes.push_back({{"stage", "confirmation"}, {"rate", rate}, {"ttft_p99_s", 0.3}});
  }
  const auto chart = std::get<plot::Chart>(plot_of(rates(inputs_of({d})), "ttft-by-rate").drawing);
  std::vector<double> shown;
  for (const plot::Point& p : chart.series.at(1).points) shown.push_back(p.x);
  EXPECT_EQ(shown, (std::vector<double>{20, 50, 120, 160}));
  EXPECT_EQ(chart.series[0].points.size(), 3);
}

TEST(Rates, TheKneesOfAFewMachinesAreNamedInTheCaption) {
  Json d = capacity_document();
  d["configurations"].push_back(d["configurations"][0]);
  d["configurations"][1]["machine"] = "a100";
  d["configurations"][1]["rate_per_replica"] = 40.0;
  const Plot p = plot_of(rates(inputs_of({d})), "ttft-by-rate");
  const auto& chart = std::get<plot::Chart>(p.drawing);
  ASSERT_EQ(chart.rules.size(), 2);
  EXPECT_EQ(chart.rules[1].at, 40);
  EXPECT_EQ(chart.rules[0].label + chart.rules[1].label, "");  // whose knee it is has no room beside it
  EXPECT_NE(p.caption.find("Dotted: h100-sxm:2 full_kv at 80.00/s, a100:2 full_kv at 40.00/s."), std::string::npos)
      << p.caption;

  for (int i = 0; i < 2; ++i) d["configurations"].push_back(d["configurations"][0]);
  const Plot many = plot_of(rates(inputs_of({d})), "ttft-by-rate");
  EXPECT_TRUE(std::get<plot::Chart>(many.drawing).rules.empty());
  EXPECT_EQ(many.caption.find("Dotted"), std::string::npos) << many.caption;
}

TEST(Rates, CurvesOfSeveralSizesOfMemoryAreToldApart) {
  Json d = capacity_document();
  d["configurations"].push_back(d["configurations"][0]);
  d["configurations"][0]["sizes_bytes"] = {{"host", 40e9}};
  d["configurations"][1]["sizes_bytes"] = {{"host", 80e9}};
  const auto chart = std::get<plot::Chart>(plot_of(rates(inputs_of({d})), "ttft-by-rate").drawing);
  ASSERT_EQ(chart.series.size(), 2);
  EXPECT_EQ(chart.series[0].label, "h100-sxm:2 full_kv, 40.0 GB DRAM");
  EXPECT_EQ(chart.series[1].label, "h100-sxm:2 full_kv, 80.0 GB DRAM");
}

TEST(Rates, KneesAndAxesAreOfTheLoadOfTheSearch) {
  Json d = capacity_document();
  for (const auto& [load, knee] : {std::pair{"users", "80 users"}, std::pair{"sessions/s", "80.00 sessions/s"}}) {
    d["load"] = load;
    const Plot p = plot_of(rates(inputs_of({d})), "ttft-by-rate");
    const auto& chart = std::get<plot::Chart>(p.drawing);
    EXPECT_EQ(chart.x_title, std::string(load) + " on one replica");
    ASSERT_EQ(chart.rules.size(), 1);
    EXPECT_EQ(chart.rules[0].label, std::string("knee: ") + knee);
  }
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
  auto chart = std::get<plot::Chart>(plot_of(rates(inputs_of({d})), "swept-ttft").drawing);
  ASSERT_EQ(chart.rules.size(), 1);
  EXPECT_EQ(chart.rules[0].at, 2);  // 1.95 of 2 is above 95 %, 2 of 4 is not
  EXPECT_TRUE(chart.zones.empty());

  d["resolved_scenario"] = "slo: {ttft_p99: 500 ms}\n";
  d["points"][1]["result"]["slo"]["attainment"] = 0.98;
  chart = std::get<plot::Chart>(plot_of(rates(inputs_of({d})), "swept-ttft").drawing);
  EXPECT_EQ(chart.rules.at(0).at, 1);  // 98 % is less than 99 %
  EXPECT_EQ(chart.zones.at(0).from, 0.5);

  d["resolved_scenario"] = "slo: {e2e_p99: 3 s}\n";  // of another time than this plot's
  const Plot p = plot_of(rates(inputs_of({d})), "swept-ttft");
  chart = std::get<plot::Chart>(p.drawing);
  EXPECT_EQ(chart.rules.at(0).at, 1);
  EXPECT_TRUE(chart.zones.empty());
  EXPECT_EQ(p.caption,
            "Knee: the highest rate swept up to which 99 % of the requests meet all objectives, and no queue grows "
            "to the end.");

  d["resolved_scenario"] = "slo: {e2e_p99: 3 s}\n";
  d["points"][1]["result"]["slo"]["attainment"] = 1;
  d["points"][2]["result"]["slo"]["attainment"] = 1;
  const auto knee = [&d] {
    return std::get<plot::Chart>(plot_of(rates(inputs_of({d})), "swept-ttft").drawing).rules.at(0).at;
  };
  EXPECT_EQ(knee(), 4);
  d["points"][1]["result"]["requests"]["unsteady_state"] = "the queue grows";
  EXPECT_EQ(knee(), 1);
}

// As the terminal's table does: of a limit of p90, the 99th says nothing.
TEST(Rates, WhatObjectivesLimitIsWhatTablesAndPlotsShow) {
  Json d = capacity_document();
  d["slo"] = {{"ttft_p90_s", 0.5}, {"tpot_p90_s", 0.05}, {"itl_p95_s", 0.2}};
  d["attainment_target"] = nullptr;
  Json& c = d["configurations"][0];
  const Json measured = {{"ttft_p90", 0.3}, {"tpot_p90", 0.03}, {"itl_p95", 0.1}};
  c["measured_s"] = measured;
  for (Json& probe : c["probes"]) probe["measured_s"] = measured;
  const Table table = all<Table>(costs(inputs_of({d}))).at(0);
  const auto cell_of = [&table](const std::string& header) {
    const auto at = std::find(table.header.begin(), table.header.end(), header);
    return at == table.header.end() ? "none"
                                    : table.rows.at(0).at(static_cast<std::size_t>(at - table.header.begin())).text;
  };
  EXPECT_EQ(cell_of("TTFT p90"), "300 ms");
  EXPECT_EQ(cell_of("TPOT p90"), "30.0 ms");
  EXPECT_EQ(cell_of("ITL p95"), "100 ms");
  EXPECT_EQ(cell_of("TTFT p99"), "none");
  std::vector<std::string> ids;
  const Section s = rates(inputs_of({d}));
  for (const Plot& p : all<Plot>(s)) ids.push_back(p.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"attainment-by-rate", "ttft-by-rate", "tpot-by-rate", "itl-by-rate"}));
  const Plot ttft = plot_of(s, "ttft-by-rate");
  EXPECT_EQ(ttft.title, "Time to first token, 90th percentile, against the rate");
  EXPECT_NE(ttft.caption.find("Shaded: missed by more than 10 % of the requests."), std::string::npos) << ttft.caption;
  const auto& chart = std::get<plot::Chart>(ttft.drawing);
  EXPECT_EQ(chart.series.at(0).points.at(0).y, 0.3);
  EXPECT_EQ(chart.zones.at(0).from, 0.5);
}

TEST(Rates, ASweepOverRatesShowsThePercentileThatIsLimited) {
  Json d = sweep_document(3, 1);
  d["axes"] = Json::array({{{"path", "workload.arrivals.rate"}, {"values", {"1/s", "2/s", "4/s"}}}});
  d["resolved_scenario"] = "slo: {ttft_p90: 2 s}\n";
  for (std::size_t i = 0; i < 3; ++i) {
    d["points"][i]["set"] = {{"workload.arrivals.rate", d["axes"][0]["values"][i]}};
    d["points"][i]["result"]["slo"]["measured_s"] = {{"ttft_p90", 0.7}};
  }
  const Plot p = plot_of(rates(inputs_of({d})), "swept-ttft");
  const auto& chart = std::get<plot::Chart>(p.drawing);
  EXPECT_EQ(chart.y_title, "TTFT p90 in s");
  EXPECT_EQ(chart.series.at(0).points.at(0).y, 0.7);
  EXPECT_EQ(chart.zones.at(0).from, 2);
  const Table points = all<Table>(maps(inputs_of({d}))).back();
  EXPECT_NE(std::find(points.header.begin(), points.header.end(), "TTFT p90"), points.header.end());
  EXPECT_EQ(std::find(points.header.begin(), points.header.end(), "TTFT p99"), points.header.end());
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
