// Plans and sweeps over draft length and keep ratio: which cell is where, and which is marked.
#include <gtest/gtest.h>

#include "tests/report/documents.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

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

TEST(Maps, AGridOfThreeAxesIsAMapAMachineWithItsBestFramed) {
  Json d = sweep_document(3, 2);
  const Json points = d["points"];
  d["axes"].push_back({{"path", "cluster.gpu.type"}, {"values", {"h100-sxm", "l40s"}}});
  d["points"] = Json::array();
  for (const char* machine : {"h100-sxm", "l40s"}) {
    for (Json point : points) {
      point["set"]["cluster.gpu.type"] = machine;
      if (std::string_view(machine) == "l40s") {
        // 200, 199, ... 195 tokens/s
        double& tokens = point["result"]["throughput"]["output_tokens_per_s"].get_ref<double&>();
        tokens = 300 - tokens;
      }
      d["points"].push_back(point);
    }
  }
  d["best"]["set"] = d["points"][6]["set"];
  const auto drawn = [&d](const char* id) { return plot_of(maps(inputs_of({d})), id); };
  const Plot h100 = drawn("sweep-map-of-1"), l40s = drawn("sweep-map-of-2");
  EXPECT_EQ(h100.title, "Sweep: output tokens/s, cluster.gpu.type = h100-sxm");
  EXPECT_EQ(
      h100.caption,
      "Every cell simulated. All maps of this sweep have the same shades. Framed: the best with cluster.gpu.type = "
      "h100-sxm, 105.0. Hatched: cannot be simulated, or was not.");
  const auto first = std::get<plot::HeatMap>(h100.drawing), second = std::get<plot::HeatMap>(l40s.drawing);
  EXPECT_EQ(first.best, (std::pair<std::size_t, std::size_t>{1, 2}));
  EXPECT_EQ(second.best, (std::pair<std::size_t, std::size_t>{0, 0}));
  EXPECT_EQ(second.rows[0][0].value, 200);
  for (const plot::HeatMap& map : {first, second}) {
    ASSERT_TRUE(map.shaded);
    EXPECT_EQ(map.shaded->first.text, "100.0");
    EXPECT_EQ(map.shaded->second.value, 200);
  }
  d["design"] = "latin hypercube";
  EXPECT_EQ(drawn("sweep-axis-1").data.header.size(), 3U);
}

// Of 3 x 2 cells a map for each of two machines, of the two seeds the better one's.
TEST(Maps, AGridOfFourAxesIsMappedWhereTheFourthIsBest) {
  Json d = sweep_document(3, 2);
  const Json points = d["points"];
  d["axes"].push_back({{"path", "run.seed"}, {"values", {1, 2}}});
  d["axes"].push_back({{"path", "cluster.gpu.type"}, {"values", {"h100-sxm", "l40s"}}});
  d["points"] = Json::array();
  double tokens = 0;
  for (const int seed : {1, 2}) {
    for (const char* machine : {"h100-sxm", "l40s"}) {
      for (Json point : points) {
        point["set"]["run.seed"] = seed;
        point["set"]["cluster.gpu.type"] = machine;
        point["result"]["throughput"]["output_tokens_per_s"] = ++tokens;
        d["points"].push_back(point);
      }
    }
  }
  d["best"]["set"] = d["points"].back()["set"];
  const Section s = maps(inputs_of({d}));
  const Plot l40s = plot_of(s, "sweep-map-of-2");
  EXPECT_EQ(l40s.title, "Sweep: output tokens/s, cluster.gpu.type = l40s, run.seed = 2");
  const auto map = std::get<plot::HeatMap>(l40s.drawing);
  EXPECT_EQ(map.rows[0][0].value, 19);
  EXPECT_EQ(map.rows[1][2].value, 24);
  EXPECT_EQ(map.best, (std::pair<std::size_t, std::size_t>{1, 2}));
  EXPECT_EQ(plot_of(s, "sweep-axis-3").data.header.front(), "run.seed") << "against each axis, too";
}

TEST(Maps, ASweepOfOneAxisIsALine) {
  Json d = sweep_document(3, 1);
  d["axes"].erase(1);
  for (Json& point : d["points"]) point["set"].erase("decode.keep_ratio");
  const auto chart = std::get<plot::Chart>(plot_of(maps(inputs_of({d})), "sweep-line").drawing);
  ASSERT_EQ(chart.series.at(0).points.size(), 3);
  EXPECT_EQ(chart.series[0].points[2].x, 3);
  EXPECT_EQ(chart.series[0].points[2].y, 102);
  EXPECT_EQ(chart.series[0].half_widths[2], 0.5);
}

TEST(Maps, TheLowestIsFirstWhereLessIsBetter) {
  Json d = sweep_document(3, 1);
  d["best"]["order"] = "lowest";
  const Table lowest = all<Table>(maps(inputs_of({d}))).at(0);
  EXPECT_EQ(lowest.rows[0][0].text, "1");
  EXPECT_TRUE(lowest.rows[0][0].strong);
  EXPECT_EQ(all<Table>(maps(inputs_of({sweep_document(3, 1)}))).at(0).rows[0][0].text, "3");
}

TEST(Maps, ThePlanThatWonBySimulationIsFramedBesideTheOptimum) {
  Json d = simulated_plan();
  d["simulated"]["best"]["x"] = 16;
  const Plot p = plot_of(maps(inputs_of({d})), "plan-map");
  const auto& map = std::get<plot::HeatMap>(p.drawing);
  EXPECT_EQ(map.best, (std::pair<std::size_t, std::size_t>{1, 1}));
  EXPECT_EQ(map.chosen, (std::pair<std::size_t, std::size_t>{1, 0}));  // x = 16, c = 0.2
  EXPECT_NE(p.caption.find("Dashed: what won by simulation, x = 16, c = 0.2, as many requests as fit."),
            std::string::npos)
      << p.caption;

  d["simulated"]["best"]["x"] = 32;
  EXPECT_EQ(plot_of(maps(inputs_of({d})), "plan-map").caption.find("Dashed"), std::string::npos);
}

TEST(Maps, WhereLessIsBetterTheMapIsReversed) {
  Json d = sweep_document(3, 2);
  EXPECT_FALSE(std::get<plot::HeatMap>(plot_of(maps(inputs_of({d})), "sweep-map").drawing).less_is_better);
  d["best"]["order"] = "lowest";
  EXPECT_TRUE(std::get<plot::HeatMap>(plot_of(maps(inputs_of({d})), "sweep-map").drawing).less_is_better);
}

TEST(Maps, WhatIsBehindByWhatWasAskedForIsBehindInTheTableAndUnmarked) {
  Json d = sweep_document(3, 1);  // 100, 101, 102 tokens/s
  d["best"]["objectives_first"] = d["best"]["steady_first"] = true;
  d["points"][2]["result"]["requests"]["unsteady_state"] = "the queue grows";
  d["points"][1]["result"]["slo"]["attainment"] = 0.9;
  d["best"]["set"] = d["points"][0]["set"];
  const auto first = [&d] { return all<Table>(maps(inputs_of({d}))).at(0).rows.at(0); };
  EXPECT_EQ(first().at(0).text, "1");
  EXPECT_TRUE(first().at(0).strong);
  EXPECT_EQ(all<Table>(maps(inputs_of({d}))).at(0).rows.at(1).at(0).text, "2");
  for (Json& point : d["points"]) point["result"]["requests"]["unsteady_state"] = "the queue grows";
  EXPECT_FALSE(first().at(0).strong);
}

TEST(Maps, WhatIsBelowTheFloorOfQualityIsBehindInTheTableWhichHasTheQuality) {
  Json d = sweep_document(3, 1);  // 100, 101, 102 tokens/s
  const auto points = [&d] { return all<Table>(maps(inputs_of({d}))).at(0); };
  const auto lacks_quality = [](const Table& t) {
    return std::find(t.header.begin(), t.header.end(), "quality") == t.header.end();
  };
  EXPECT_TRUE(lacks_quality(points()));
  for (std::size_t i = 0; i < 3; ++i) {
    d["points"][i]["result"]["quality"] = {{"mean_score", 0.9 - 0.1 * static_cast<double>(i)}, {"lossless", false}};
  }
  d["best"]["objectives_first"] = d["best"]["quality_first"] = false;  // a metric was asked for
  EXPECT_EQ(points().rows.at(0).at(0).text, "3");
  EXPECT_EQ(points().rows.at(0).at(points().header.size() - 2).text, "0.700");
  EXPECT_EQ(points().header.at(points().header.size() - 2), "quality");
  EXPECT_EQ(points().rows.at(0).back().text, "not known");
  EXPECT_EQ(points().header.back(), "functional");
  d["points"][2]["result"]["slo"]["below_quality_floor"] = 0.1;
  EXPECT_EQ(points().rows.at(0).at(0).text, "3");
  d["best"]["objectives_first"] = true;
  EXPECT_EQ(points().rows.at(0).at(0).text, "2");
  EXPECT_EQ(points().rows.at(2).at(0).text, "3");
  const std::string caption = plot_of(maps(inputs_of({d})), "sweep-map").caption;
  EXPECT_NE(caption.find("Framed: the best, "), std::string::npos) << caption;
  const std::string differs = "(its output differs from that of full-KV decoding: task score ";
  EXPECT_NE(caption.find(differs + "0.800 of the full KV's; functional correctness not known: see findings)"),
            std::string::npos)
      << caption;
  for (std::size_t i = 0; i < 2; ++i) d["points"][i]["result"]["slo"]["below_quality_floor"] = 0.2;
  const std::string nearest = plot_of(maps(inputs_of({d})), "sweep-map").caption;
  EXPECT_NE(nearest.find("Framed: the nearest to what is asked for, "), std::string::npos) << nearest;
  EXPECT_NE(nearest.find(differs + "0.700 of the full KV's, 0.1 below slo.quality_floor; functional correctness not "),
            std::string::npos)
      << nearest;
}

TEST(Maps, OfASweepInWhichNothingFinishedNoPointIsTheBest) {
  Json d = sweep_document(3, 1);
  d["axes"].erase(1);
  d["best"] = nullptr;
  const Section s = maps(inputs_of({d}));
  EXPECT_EQ(plot_of(s, "sweep-line").caption, "First: no point, for none has the figure. Bars: 95 % intervals.");
  const Table points = all<Table>(s).at(0);
  EXPECT_EQ(points.title, "3 points simulated");
  EXPECT_FALSE(points.rows.at(0).at(0).strong);
}

TEST(Maps, ASweepOfTheLoadOrOfWhatIsAskedForMarksNoBest) {
  for (const char* path : {"workload.arrivals.rate", "slo.ttft_p99"}) {
    Json d = sweep_document(3, 1);
    d["axes"] = Json::array({{{"path", path}, {"values", {"1/s", "2/s", "4/s"}}}});
    for (std::size_t i = 0; i < 3; ++i) d["points"][i]["set"] = {{path, d["axes"][0]["values"][i]}};
    d["best"]["set"] = d["points"][2]["set"];
    const Section s = maps(inputs_of({d}));
    EXPECT_EQ(plot_of(s, "sweep-line").caption, "Bars: 95 % intervals.");
    const Table points = all<Table>(s).at(0);
    for (const Cell& c : points.rows.at(0)) EXPECT_FALSE(c.strong) << c.text;
  }

  Json grid = sweep_document(3, 2);
  EXPECT_TRUE(std::get<plot::HeatMap>(plot_of(maps(inputs_of({grid})), "sweep-map").drawing).best);
  grid["axes"][0]["path"] = "workload.closed.concurrency";
  for (Json* set : {&grid["best"]["set"], &grid["points"][5]["set"]}) {
    *set = {{"workload.closed.concurrency", 3}, {"decode.keep_ratio", 0.2}};
  }
  const Plot of_load = plot_of(maps(inputs_of({grid})), "sweep-map");
  EXPECT_FALSE(std::get<plot::HeatMap>(of_load.drawing).best);
  EXPECT_EQ(of_load.caption, "Every cell simulated. Hatched: cannot be simulated, or was not.");

  const Section choice = maps(inputs_of({sweep_document(3, 1)}));
  EXPECT_TRUE(all<Table>(choice).at(0).rows.at(0)[0].strong);
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
