// Memory, time and latencies of a run: shares and parts that add up to all of it, quantiles as the result has them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/report/documents.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

/// With a timeline, its memory and its latencies.
Json drafting() {
  return one_of_each()[0];
}

TEST(Memory, PartsOfTheWaterfallAddUpToAllOfTheMemory) {
  const Plot p = plot_of(memory(inputs_of({drafting()})), "memory-of-run");
  const auto& bars = std::get<plot::Bars>(p.drawing).bars;
  ASSERT_EQ(bars.size(), 8);
  ASSERT_EQ(p.data.rows.size(), 7);
  ASSERT_EQ(bars[0].parts.size(), 1);
  EXPECT_EQ(bars[0].label, "all of it");
  EXPECT_EQ(bars[0].parts[0].from, 0);
  EXPECT_DOUBLE_EQ(bars[0].parts[0].to, 100);
  double end = 100;
  for (std::size_t i = 1; i < bars.size(); ++i) {
    ASSERT_EQ(bars[i].parts.size(), 1);
    const plot::BarPart& part = bars[i].parts[0];
    EXPECT_NEAR(part.to, end, 1e-9) << bars[i].label;  // begins where the one before ended
    EXPECT_NEAR((part.to - part.from) * 1e9, p.data.rows[i - 1][1].value.value(), 1) << bars[i].label;
    end = part.from;
  }
  EXPECT_NEAR(end, 0, 1e-9);
  double bytes = 0, shares = 0;
  for (const auto& row : p.data.rows) {
    bytes += row[1].value.value();
    shares += row[2].value.value();
  }
  EXPECT_DOUBLE_EQ(bytes, 100e9);
  EXPECT_DOUBLE_EQ(shares, 1);
}

TEST(Memory, AWorkspaceTooThinToBeSeenIsInTheTableAlone) {
  const auto with = [](double bytes) {
    Json run = drafting();
    run["details"]["memory"]["other_bytes"] = bytes;
    run["details"]["memory"]["kv"]["unused_mean_bytes"] = 16e9 - bytes;
    return plot_of(memory(inputs_of({run})), "memory-of-run");
  };
  const Plot thin = with(0.1e9), seen = with(0.2e9);  // 0.2 % of 100 GB
  const auto &few = std::get<plot::Bars>(thin.drawing).bars, &all = std::get<plot::Bars>(seen.drawing).bars;
  EXPECT_EQ(all.size(), 8);
  ASSERT_EQ(few.size(), 7);
  EXPECT_EQ(thin.data.rows.size(), 7);
  EXPECT_EQ(few[4].label, "KV that stays");
  EXPECT_NEAR(few[4].parts.at(0).to, 45.9, 1e-9);  // 100 - 10 - 40 - 4, and what is not seen
}

TEST(Memory, OfPoliciesThePartsAreStacked) {
  const Json other = [] {
    Json run = drafting();
    run["details"]["policies"]["asked"] = "another";
    run["details"]["memory"]["activations_bytes"] = 0;
    run["details"]["memory"]["kv"]["unused_mean_bytes"] = 19e9;
    return run;
  }();
  const Plot p =
      plot_of(memory(inputs_of({compare_document({drafting(), other, run_document()})})), "memory-by-policy");
  const auto& bars = std::get<plot::Bars>(p.drawing).bars;
  ASSERT_EQ(bars.size(), 2);  // the third says nothing about its memory
  EXPECT_EQ(bars[0].parts.size(), 7);
  EXPECT_EQ(bars[1].parts.size(), 6);  // nothing has no part
  for (const plot::Bar& bar : bars) {
    double end = 0;
    for (const plot::BarPart& part : bar.parts) {
      EXPECT_NEAR(part.from, end, 1e-9);
      end = part.to;
    }
    EXPECT_NEAR(end, 100, 1e-9);
  }
  EXPECT_EQ(bars[1].parts.back().series, 6);  // colours are those of the parts, whichever are there
}

TEST(OverTime, SharesOfTheGpusTimeAreStackedToOne) {
  const Plot p = plot_of(over_time(inputs_of({drafting()})), "gpu-over-time");
  const auto& chart = std::get<plot::Chart>(p.drawing);
  EXPECT_EQ(chart.shape, plot::Shape::stacked_areas);
  EXPECT_EQ(chart.y_most, 1.0);
  ASSERT_EQ(chart.series.size(), 4);
  for (std::size_t i = 0; i < 2; ++i) {
    double sum = 0;
    for (const plot::Series& s : chart.series) sum += s.points.at(i).y;
    EXPECT_NEAR(sum, 1, 1e-9);
  }
  EXPECT_EQ(p.legend.size(), 4);
  ASSERT_EQ(chart.rules.size(), 1);
  EXPECT_EQ(chart.rules[0].at, 1);  // the end of the warm-up
  EXPECT_EQ(chart.hovers.size(), 2);
}

TEST(OverTime, KvThatStaysAndKvThatStreamsStandOnEachOtherBelowTheCapacity) {
  const auto chart = std::get<plot::Chart>(plot_of(over_time(inputs_of({drafting()})), "memory-over-time").drawing);
  EXPECT_EQ(chart.shape, plot::Shape::stacked_areas);
  ASSERT_EQ(chart.series.size(), 2);
  EXPECT_DOUBLE_EQ(chart.series[0].points[1].y, 30);  // GB
  EXPECT_DOUBLE_EQ(chart.series[1].points[1].y, 20);
  const bool capacity = std::any_of(chart.rules.begin(), chart.rules.end(),
                                    [](const plot::Rule& r) { return !r.vertical && r.at == 60; });
  EXPECT_TRUE(capacity);
}

TEST(OverTime, WithoutPartsTheReservedKvIsOneArea) {
  Json run = drafting();
  run["timeline"].erase("kv_parts_bytes");
  const auto chart = std::get<plot::Chart>(plot_of(over_time(inputs_of({run})), "memory-over-time").drawing);
  ASSERT_EQ(chart.series.size(), 1);
  EXPECT_DOUBLE_EQ(chart.series[0].points[1].y, 50);
}

TEST(OverTime, LinksAndTheQueueAreDrawn) {
  const Section s = over_time(inputs_of({drafting()}));
  const auto links = std::get<plot::Chart>(plot_of(s, "links-over-time").drawing);
  ASSERT_EQ(links.series.size(), 1);
  EXPECT_EQ(links.series[0].label, "host_to_gpu");
  EXPECT_EQ(links.series[0].points[1].y, 0.75);
  const auto queue = std::get<plot::Chart>(plot_of(s, "requests-over-time").drawing);
  EXPECT_EQ(queue.series.at(1).points[1].y, 7);
}

TEST(OverTime, LongTimelinesAreThinnedToMeans) {
  const auto of_samples = [](std::size_t count) {
    Json run = drafting();
    Json &t = run["timeline"], counts = Json::array();
    for (std::size_t i = 0; i < count; ++i) counts.push_back(i);
    t["time_s"] = t["running"] = counts;
    return plot_of(over_time(inputs_of({run})), "requests-over-time");
  };
  const Plot whole = of_samples(300);
  EXPECT_EQ(std::get<plot::Chart>(whole.drawing).series.at(0).points.size(), 300);
  EXPECT_EQ(whole.caption.find("Means of"), std::string::npos);

  const Plot p = of_samples(601);  // three each: 200, and one of the last sample alone
  const auto& points = std::get<plot::Chart>(p.drawing).series.at(0).points;
  ASSERT_EQ(points.size(), 201);
  EXPECT_DOUBLE_EQ(points[1].y, 4);  // of 3, 4 and 5
  EXPECT_DOUBLE_EQ(points[1].x, 5);  // the end of its last period
  EXPECT_DOUBLE_EQ(points[200].y, 600);
  EXPECT_EQ(p.data.rows.size(), 201);
  EXPECT_NE(p.caption.find("Means of 3 samples each."), std::string::npos) << p.caption;
}

TEST(OverTime, OfAComparisonTheChosenPolicyIsShown) {
  const Section s = over_time(inputs_of({compare_document({run_document(), drafting()})}));
  EXPECT_NE(plot_of(s, "gpu-over-time").title.find("(draft_verify)"), std::string::npos);
}

TEST(OverTime, ATimelineOfUnequalListsIsDrawnAsFarAsItGoes) {
  Json run = drafting();
  run["timeline"]["running"] = {3};
  const Plot p = plot_of(over_time(inputs_of({run})), "requests-over-time");
  EXPECT_EQ(std::get<plot::Chart>(p.drawing).series.at(0).points.size(), 1);
  EXPECT_EQ(p.data.rows[1][1].text, "-");
}

TEST(Distributions, ALineAPolicyFromTheQuantilesOfItsResult) {
  const Plot p = plot_of(distributions(inputs_of({drafting()})), "ttft-distribution");
  const auto& chart = std::get<plot::Chart>(p.drawing);
  EXPECT_EQ(chart.x_scale, plot::ScaleKind::logarithmic);
  ASSERT_EQ(chart.series.size(), 1);
  ASSERT_EQ(chart.series[0].points.size(), 3);
  EXPECT_EQ(chart.series[0].points[1].x, 1.0);
  EXPECT_EQ(chart.series[0].points[1].y, 0.99);
  EXPECT_EQ(p.data.rows[1][0].text, "99 %");
  EXPECT_EQ(chart.series[0].tips[1], "draft_verify: 99 % within 1.00 s");
}

TEST(Distributions, GapsOfZeroAreInTheTableAndNotOnALogarithmicAxis) {
  Json run = drafting();
  run["details"]["latency_distribution_s"]["itl"] = {0, 0.1, 0.2};
  const Plot p = plot_of(distributions(inputs_of({run})), "itl-distribution");
  EXPECT_EQ(std::get<plot::Chart>(p.drawing).series.at(0).points.size(), 2);
  EXPECT_EQ(p.data.rows.at(0)[1].value, 0.0);
}

TEST(Distributions, WhereMostGapsAreZeroWhatLiesBelowTheAxisIsNotDrawnAlongIt) {
  Json steady = drafting(), bursts = drafting();
  for (Json* run : {&steady, &bursts}) (*run)["details"]["latency_distribution_s"]["fractions"] = {0.2, 0.6, 0.95, 1};
  steady["details"]["latency_distribution_s"]["itl"] = {0.03, 0.03, 0.03, 0.04};
  bursts["details"]["latency_distribution_s"]["itl"] = {0, 0, 0.5, 1};
  const Plot p = plot_of(distributions(inputs_of({steady, bursts})), "itl-distribution");
  const auto& chart = std::get<plot::Chart>(p.drawing);
  EXPECT_EQ(chart.y_least, 0.9);
  EXPECT_EQ(chart.series.at(0).points.size(), 2);
  EXPECT_EQ(chart.series[0].tips.size(), 2);
  EXPECT_EQ(chart.series.at(1).points.size(), 2);
  EXPECT_EQ(p.data.rows.size(), 4);
}

TEST(Distributions, QuantilesThatDoNotFitTheirSharesAreLeftOut) {
  Json run = drafting();
  run["details"]["latency_distribution_s"]["ttft"] = {1, 2};
  EXPECT_TRUE(distributions(inputs_of({run})).blocks.empty());
}

TEST(Distributions, AShareThatIsNoNumberIsNeitherDrawnNorWritten) {
  Json run = drafting();
  run["details"]["latency_distribution_s"]["fractions"] = {0.5, nullptr, 1.0};
  const Plot p = plot_of(distributions(inputs_of({run})), "ttft-distribution");
  EXPECT_EQ(std::get<plot::Chart>(p.drawing).series.at(0).points.size(), 2);
  EXPECT_EQ(p.data.rows.at(1)[0].text, "-");
  EXPECT_EQ(p.data.rows[1][0].value, std::nullopt);
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
