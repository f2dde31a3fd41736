// Which figures a sweep ranks by, and how.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tests/support/small_scenario.h"
#include "tools/results/metrics.h"
#include "tools/results/sweep.h"

namespace kvsim::results::KVSIM_FILE {
namespace {

std::string refusal(const std::string& metric) {
  try {
    checked_metric(metric);
  } catch (const schema::InputError& error) {
    return error.what();
  }
  return "accepted";
}

planner::sweep::PointResult point(std::size_t number, const std::string& tokens, const std::string& more = "") {
  return {number, "",
          fmt::format(R"({{"seed":1,"throughput":{{"output_tokens_per_s":{}}},"latency_s":{{"ttft":{{"p99":{}}}}}{},)"
                      R"("confidence":{{"throughput.output_tokens_per_s":{{"half_width_95":2.5,"replications":3}}}}}})",
                      tokens, number + 1, more)};
}

Sweep sweep_of(std::vector<planner::sweep::PointResult> points, std::size_t values) {
  Sweep sweep;
  sweep.plan.scenario = "s";
  sweep.plan.design = planner::sweep::Design::grid({planner::sweep::parse_axis(fmt::format("a.b=1:{}:1", values))});
  sweep.points = std::move(points);
  return sweep;
}

TEST(SweepMetric, IsAPathOfTheResult) {
  EXPECT_EQ(refusal("slo.attainment"), "accepted");
  EXPECT_EQ(refusal("gpu.bound_by.link"), "accepted");
  EXPECT_EQ(refusal("links.host_to_gpu.mean_wait_s"), "accepted");
  EXPECT_EQ(refusal("latency_s.ttft.p98"),
            "--metric: no point of a sweep has a figure \"latency_s.ttft.p98\"; did you mean \"latency_s.ttft.p90\"?");
  EXPECT_EQ(refusal("attainment"),
            "--metric: no point of a sweep has a figure \"attainment\"; did you mean \"slo.attainment\" or "
            "\"classes.*.attainment\"?");
  EXPECT_EQ(refusal("zebra"),
            "--metric: no point of a sweep has a figure \"zebra\"; expected a path such as latency_s.ttft.p99 "
            "or slo.attainment");
}

TEST(SweepMetric, IsCalledAsInDocumentsOrAsInSweeps) {
  const std::string in_sweeps = "throughput.output_tokens_per_s.half_width_95";
  EXPECT_EQ(checked_metric("confidence." + in_sweeps), in_sweeps);
  EXPECT_EQ(checked_metric(in_sweeps), in_sweeps);
}

TEST(SweepMetric, NearNamesAreThoseThatEndWithItOrHaveItInThem) {
  EXPECT_EQ(refusal("links.host_to_gpu.mean_wait"),
            "--metric: no point of a sweep has a figure \"links.host_to_gpu.mean_wait\"; did you mean "
            "\"links.host_to_gpu.mean_wait_s\"?");
  EXPECT_EQ(refusal("hbm_peak"),
            "--metric: no point of a sweep has a figure \"hbm_peak\"; did you mean \"gpu.hbm_peak_bytes\"?");
}

TEST(SweepMetric, WhatPointsDoNotKeepIsSaidToBeInOtherResults) {
  EXPECT_EQ(
      refusal("details.round_gap_s.p99"),
      "--metric: points of a sweep do not keep \"details.round_gap_s.p99\", which results of kvsim run and compare "
      "have; expected a figure outside details and timeline");
}

TEST(SweepMetric, OfNoPointIsRefusedWhereOnlyJournalsAreThere) {
  Sweep sweep = sweep_of({point(0, "1")}, 1);
  sweep.metric = "latency_s.ttft.p99";
  EXPECT_NO_THROW(refuse_metric_of_no_point(sweep));
  sweep.metric = "fetch.hidden";
  EXPECT_THROW(refuse_metric_of_no_point(sweep), schema::InputError);
  EXPECT_NO_THROW(refuse_metric_of_no_point(sweep_of({}, 1)));
}

/// With a mean TTFT, its half width, and the share of requests that met the objectives.
planner::sweep::PointResult asked(std::size_t number, double ttft, double half_width, const std::string& attained) {
  return {number, "",
          fmt::format(R"({{"throughput":{{"output_tokens_per_s":{}}},"latency_s":{{"ttft":{{"mean":{}}}}},)"
                      R"("slo":{{"attainment":{}}},"confidence":{{"latency_s.ttft.mean":{{"half_width_95":{}}}}}}})",
                      number, ttft, attained, half_width)};
}

Ranking ranked(const std::vector<planner::sweep::PointResult>& points, const char* workload = "arrivals: {rate: 1/s}",
               const char* more = "slo: {ttft: 2 s}") {
  Sweep sweep = sweep_of(points, points.size());
  sweep.plan.resolved = fmt::format("workload:\n  {}\n{}\n", workload, more);
  const Sweep asked = ranked_as_asked(std::move(sweep.plan), std::move(sweep.points));
  return ranking_of(asked, FigureTable(asked));
}

using Rows = std::vector<std::size_t>;

TEST(SweepRanking, WhatMeetsTheObjectivesComesFirstThenTheMeanTtftOfAnOpenLoop) {
  const Ranking r = ranked({asked(0, 3, 0.1, "1"), asked(1, 1, 0.1, "0.98"), asked(2, 2, 0.1, "0.99"),
                            asked(3, 1, 0.1, "0.5"), asked(4, 2.1, 0.1, "0.995"), asked(5, 2.2, 0.05, "1")});
  EXPECT_EQ(r.order, (Rows{2, 4, 5, 0, 1, 3}));
  EXPECT_EQ(r.meeting, 4U);
  EXPECT_EQ(r.best.even, Rows{4});  // 0.1 apart, of intervals of 0.1 each; the next is 0.2 apart, more than 0.11
  EXPECT_TRUE(r.marked(2) && r.marked(4));
  EXPECT_FALSE(r.marked(5) || r.marked(1));
}

TEST(SweepRanking, WhereNoneMeetsThemTheNearestComesFirst) {
  const Ranking r = ranked({asked(0, 1, 9, "0.5"), asked(1, 3, 9, "0.7")});
  EXPECT_EQ(r.order, (Rows{1, 0}));
  EXPECT_EQ(r.meeting, 0U);
  EXPECT_EQ(r.best.even, Rows{});  // they are told apart by their objectives
}

TEST(SweepRanking, WithoutObjectivesTheFigureAloneCountsAndAllMayBeEven) {
  const Ranking r = ranked({asked(0, 2, 1, "1"), asked(1, 1.5, 1, "1")}, "arrivals: {rate: 1/s}", "");
  EXPECT_EQ(r.order, (Rows{0, 1}));  // of what is even the first
  EXPECT_EQ(r.meeting, std::nullopt);
  EXPECT_TRUE(r.all_even());
  EXPECT_FALSE(r.marked(0) || r.marked(1));  // chance may have chosen
}

TEST(SweepRanking, AScenarioWithoutObjectivesHasNoneToMeet) {
  const Ranking r = ranked({asked(0, 2, 0.1, "1"), asked(1, 1, 0.1, "1")}, "arrivals: {rate: 1/s}", "");
  EXPECT_EQ(r.meeting, std::nullopt);
  EXPECT_TRUE(r.marked(1));
}

// cost.usd_per_1m_output_tokens of equal machines is as uncertain as their tokens/s.
TEST(SweepRanking, WhatIsDividedByTokensIsAsUncertainAsThey) {
  const auto costs = [](std::size_t number, double usd, double half_width) {
    return planner::sweep::PointResult{
        number, "",
        fmt::format(R"({{"throughput":{{"output_tokens_per_s":100}},"cost":{{"usd_per_1m_output_tokens":{}}},)"
                    R"("confidence":{{"throughput.output_tokens_per_s":{{"half_width_95":{}}}}}}})",
                    usd, half_width)};
  };
  const auto by_cost = [](const std::vector<planner::sweep::PointResult>& points) {
    Sweep sweep = sweep_of(points, points.size());
    sweep.metric = "cost.usd_per_1m_output_tokens";
    return ranking_of(sweep, FigureTable(sweep));
  };
  const Ranking r = by_cost({costs(0, 0.30, 2), costs(1, 0.305, 2), costs(2, 0.32, 2)});
  EXPECT_EQ(r.best.even, std::vector<std::size_t>{1});  // 0.6 and 0.61 cents together make 0.86
  EXPECT_TRUE(r.best.with_interval);
  EXPECT_FALSE(r.marked(2));
}

TEST(SweepRanking, WhatPrintsAlikeIsEvenAndAFigureWithoutIntervalSaysSo) {
  const auto shares = [](std::size_t number, double share) {
    return planner::sweep::PointResult{number, "",
                                       fmt::format(R"({{"slo":{{"attainment":{}}},"confidence":{{}}}})", share)};
  };
  Sweep sweep = sweep_of({shares(0, 1), shares(1, 0.99999999), shares(2, 0.9)}, 3);
  sweep.metric = "slo.attainment";
  const Ranking r = ranking_of(sweep, FigureTable(sweep));
  EXPECT_EQ(r.best.even, std::vector<std::size_t>{1});
  EXPECT_FALSE(r.best.with_interval);
  EXPECT_EQ(sweep_page(sweep).subtitle.back(), "of this figure no interval is known: a small lead may be chance");
}

TEST(SweepRanking, OfTheTrafficNoPointIsTheBest) {
  Sweep sweep = sweep_of({asked(0, 1, 0.1, "1"), asked(1, 2, 0.1, "1")}, 2);
  sweep.plan.design = planner::sweep::Design::grid({planner::sweep::parse_axis("workload.arrivals.rate=1/s,2/s")});
  sweep.plan.resolved = "workload: {arrivals: {rate: 1/s}}\n";
  sweep = ranked_as_asked(std::move(sweep.plan), std::move(sweep.points));
  EXPECT_FALSE(ranking_of(sweep, FigureTable(sweep)).marked(0));
  EXPECT_EQ(sweep_page(sweep).subtitle.back(),
            "no point is best: workload.arrivals.rate is the traffic, of which less is always easier");
}

bool has(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&words](const std::string& line) { return line.find(words) != std::string::npos; });
}

// Draft lengths over a slow link and a fast one: two are even at the slow one, another is best at the fast one, and the
// fast link is no choice.
TEST(SweepRanking, OfAPropertyOfTheMachineNoPointIsTheBestAndEachValueHasItsOwn) {
  Sweep sweep = sweep_of({asked(0, 4, 0.1, "1"), asked(1, 1, 0.1, "1"), asked(2, 3, 0.1, "1"), asked(3, 2, 0.1, "1"),
                          asked(4, 3.05, 0.1, "1"), asked(5, 9, 0.1, "1")},
                         6);
  sweep.plan.design =
      planner::sweep::Design::grid({planner::sweep::parse_axis("decode.draft_length=5,9,15"),
                                    planner::sweep::parse_axis("cluster.host.link.read=64 GB/s,128 GB/s")});
  sweep.plan.resolved = "workload: {arrivals: {rate: 1/s}}\n";
  sweep = ranked_as_asked(std::move(sweep.plan), std::move(sweep.points));
  const Ranking ranking = ranking_of(sweep, FigureTable(sweep));
  EXPECT_EQ(ranking.given, std::vector<std::string>{"cluster.host.link.read"});
  EXPECT_FALSE(ranking.marked(1));
  ASSERT_EQ(ranking.at_given.size(), 2U);
  EXPECT_EQ(ranking.at_given[0].first, "read = 64 GB/s");
  EXPECT_EQ(ranking.at_given[0].second.chosen, 2U);
  EXPECT_EQ(ranking.at_given[0].second.even, Rows{4});
  EXPECT_EQ(ranking.at_given[1].second.chosen, 1U);
  EXPECT_EQ(ranking.at_given[1].second.even, Rows{});
  const std::vector<std::string> words = sweep_page(sweep).subtitle;
  EXPECT_TRUE(has(words, "no point is best: cluster.host.link.read is a property of the machine, and no choice"));
  EXPECT_TRUE(has(words, "at read = 64 GB/s: point 2 (decode.draft_length=9, cluster.host.link.read=64 GB/s) with"));
  EXPECT_TRUE(has(words, "; even with it, within the 95 % intervals: point 4"));
}

TEST(SweepRanking, PropertiesOfTheMachineAreToldFromWhatIsBought) {
  for (const char* path :
       {"cluster.host.link", "cluster.host.link.write", "cluster.gpu.peer_link", "cluster.gpu.profile",
        "cluster.gpu.type.memory_bandwidth", "cluster.node.link", "cluster.storage.0.read"}) {
    EXPECT_TRUE(is_machine_property(path)) << path;
    EXPECT_TRUE(is_given(path, false)) << path;
  }
  for (const char* path : {"cluster.gpu.type", "cluster.gpu.tensor_parallel", "cluster.replicas", "cluster.host.memory",
                           "cluster.storage.0.capacity", "cluster.router", "decode.link", "model"}) {
    EXPECT_FALSE(is_machine_property(path)) << path;
  }
  EXPECT_EQ(given_words({"cluster.host.link", "slo"}), "cluster.host.link, slo are what is given, and no choice");
}

planner::sweep::PointResult unsteady(planner::sweep::PointResult point, const std::string& why = "the queue grows") {
  point.result.insert(1, fmt::format(R"("requests":{{"unsteady_state":"{}"}},)", why));
  return point;
}

TEST(SweepRanking, WhatIsInNoSteadyStateIsBehindAndIsNotMarked) {
  const std::vector<planner::sweep::PointResult> points{unsteady(asked(0, 1, 0.1, "1")), asked(1, 3, 0.1, "1"),
                                                        unsteady(asked(2, 0.5, 9, "0.9")),
                                                        unsteady(asked(3, 2, 0.1, "0.9"), "")};
  const Ranking r = ranked(points);
  EXPECT_EQ(r.order, (Rows{1, 3, 0, 2}));
  EXPECT_EQ(r.meeting, 1U);
  EXPECT_EQ(r.best.even, Rows{});
  EXPECT_TRUE(r.marked(1));
  EXPECT_FALSE(r.marked(0) || r.marked(2) || r.marked(3));
  const Ranking none = ranked({points[0], points[2]});
  EXPECT_EQ(none.order, (Rows{0, 1}));
  EXPECT_EQ(none.meeting, 0U);
  EXPECT_FALSE(none.marked(0) || none.marked(1));
  EXPECT_TRUE(ranked({unsteady(asked(5, 1, 0.1, "1")), points[1]}, "closed: {concurrency: 3}").marked(0))
      << "no more wait than there are clients";
  const Ranking without = ranked({unsteady(asked(0, 1, 0.1, "null")), asked(1, 3, 0.1, "null")});
  EXPECT_EQ(without.order, (Rows{1, 0}));
}

TEST(SweepRanking, WhoIsBehindForWantOfASteadyStateIsSaid) {
  const auto said = [](const std::vector<planner::sweep::PointResult>& points, bool by_metric = false) {
    Sweep sweep = sweep_of(points, points.size());
    sweep.plan.resolved = "workload: {arrivals: {rate: 1/s}}\nslo: {ttft: 2 s}\n";
    if (by_metric) {
      sweep.metric = kMeanTtft;
    } else {
      sweep = ranked_as_asked(std::move(sweep.plan), std::move(sweep.points));
    }
    std::vector<std::string> lines = sweep_page(sweep).subtitle;
    lines.erase(lines.begin());  // the design
    return lines;
  };
  using Lines = std::vector<std::string>;
  const auto steady = asked(0, 3, 0.1, "1"), missing = asked(0, 3, 0.1, "0.5");
  const auto grows = unsteady(asked(1, 1, 0.1, "1"));
  EXPECT_EQ(said({steady, grows}),
            (Lines{"best, by the lowest latency_s.ttft.mean, of 1 that meets the objectives for 99.0 % of requests: "
                   "point 0 (a.b=1) with 3.00 s",
                   "in no steady state, and therefore behind all others: point 1; of point 1: the queue grows"}));
  EXPECT_EQ(said({missing, grows}).front(),
            "no point in a steady state meets the objectives for 99.0 % of requests; the nearest, for 50.0 %: point 0 "
            "(a.b=1) with 3.00 s");
  EXPECT_EQ(said({grows}), (Lines{"no point is in a steady state, and none is the best; first, by the lowest "
                                  "latency_s.ttft.mean: point 1 (a.b=1) with 1.00 s",
                                  "point 1 is in no steady state: the queue grows"}));
  EXPECT_EQ(said({steady, grows}, true).back(), "point 1 is in no steady state: the queue grows");
}

TEST(SweepRanking, AClosedLoopIsRankedByItsTokens) {
  const Ranking r = ranked({asked(0, 1, 0, "1"), asked(1, 2, 0, "1")}, "closed: {concurrency: 3}");
  EXPECT_EQ(r.order, (Rows{1, 0}));
  EXPECT_EQ(r.best.even, Rows{});  // no interval is known of it
}

TEST(SweepMetric, NeedsADirection) {
  EXPECT_EQ(refusal("requests.arrived"),
            "--metric: \"requests.arrived\" cannot rank points: neither more nor less of it is better (requests that "
            "arrived in the "
            "whole run); kvsim list metrics tells which have a direction");
  EXPECT_EQ(
      refusal("engine.wall_s"),
      "--metric: \"engine.wall_s\" cannot rank points: it is a figure of the wall clock, which differs between equal "
      "runs");
  EXPECT_EQ(refusal("latency_s.ttft.mean.half_width_95"), "accepted");
  EXPECT_EQ(refusal("fetch.hiden"),
            "--metric: no point of a sweep has a figure \"fetch.hiden\"; did you mean \"fetch.hidden\"?");
  EXPECT_TRUE(refusal("details.preemptions").starts_with("--metric: points of a sweep do not keep"));
}

TEST(SweepMetric, BelongsToScenariosThatCanHaveIt) {
  const scenario::Scenario s = testing::small_scenario();
  EXPECT_TRUE(may_have(s, "latency_s.ttft.p99"));
  EXPECT_TRUE(may_have(s, "links.host_to_gpu.mean_wait_s"));
  EXPECT_TRUE(may_have(s, "throughput.output_tokens_per_s.half_width_95"));
  EXPECT_FALSE(may_have(s, "links.ssd_read.mean_wait_s"));
  EXPECT_FALSE(may_have(s, "fetch.hidden"));
  EXPECT_FALSE(may_have(s, "throughput.requests_per_s.half_width_95"));  // of one replication
  EXPECT_TRUE(may_have(testing::small_scenario({"run.replications=2"}), "throughput.requests_per_s.half_width_95"));
  const auto why = [&s](const std::string& metric) -> std::string {
    try {
      refuse_metric_of_others(s, metric);
    } catch (const schema::InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(why("fetch.hidden"),
            "--metric: no point has a figure \"fetch.hidden\": it is there where KV is fetched from host memory or a "
            "storage node");
  EXPECT_EQ(why("links.host_to_gpus.mean_wait_s"),
            "--metric: no point has a figure \"links.host_to_gpus.mean_wait_s\", its link is one of host_to_gpu, "
            "gpu_to_host; did you mean \"links.host_to_gpu.mean_wait_s\"?");
}

TEST(SweepMetric, KnowsWhatIsBetter) {
  for (const char* name :
       {"latency_s.ttft.p99", "gpu.hbm_peak_bytes", "requests.refused", "iterations.mean_s",
        "links.host_to_gpu.mean_wait_s", "quality.expected_kl_nats", "gpu.bound_by.idle", "fetch.waiting_steps",
        "prefix.prefilled_tokens", "speculation.draft_length.regret", "links.x.bytes"}) {
    EXPECT_TRUE(less_is_better(name)) << name;
  }
  for (const char* name : {"throughput.output_tokens_per_s", "slo.attainment", "slo.goodput_requests_per_s",
                           "speculation.acceptance_rate", "tiers.host.hit_rate", "gpu.busy_fraction"}) {
    EXPECT_FALSE(less_is_better(name)) << name;
  }
}

TEST(SweepFigures, RankEqualOnesByNumberAndLeaveMissingOnesOut) {
  const FigureTable figures(sweep_of({point(0, "5"),
                                      point(1, "null"),
                                      {2, "does not fit", ""},
                                      point(3, "7"),
                                      point(4, "7", R"(,"links":{"x":{"bytes":3}})")},
                                     5));
  EXPECT_EQ(figures.ranked(kThroughput), (std::vector<std::size_t>{3, 4, 0}));
  EXPECT_EQ(figures.ranked("latency_s.ttft.p99"), (std::vector<std::size_t>{0, 1, 3, 4}));
  EXPECT_EQ(figures.ranked("links.x.bytes"), std::vector<std::size_t>{4});
  EXPECT_EQ(figures.at(0, "throughput.output_tokens_per_s.half_width_95"), 2.5);
}

TEST(SweepFigures, CsvHasARowAPointAndQuotesWhatNeedsIt) {
  EXPECT_EQ(sweep_csv(sweep_of({point(0, "0.1"), {1, "too large, alas", ""}, point(2, "null")}, 3)),
            "index,a.b,status,reason,throughput.output_tokens_per_s,latency_s.ttft.p99,"
            "throughput.output_tokens_per_s.half_width_95\n"
            "0,1,done,,0.1,1,2.5\n"
            "1,2,infeasible,\"too large, alas\",,,\n"
            "2,3,done,,,3,2.5\n");
}

TEST(SweepFigures, CaveatsOfSomePointsNameTheirValues) {
  using planner::sweep::parse_axis;
  Sweep sweep;
  sweep.plan.design = planner::sweep::Design::grid({parse_axis("gpu=h100,l40s"), parse_axis("n=1,2,3")});
  for (std::size_t i = 0; i < 6; ++i) sweep.points.push_back(point(i, "1"));
  sweep.points[1] = {1, "does not fit", ""};
  for (const std::size_t i : {0U, 2U, 3U, 4U, 5U}) sweep.points[i].fallbacks = {"everywhere"};
  for (const std::size_t i : {3U, 4U, 5U}) sweep.points[i].fallbacks.emplace_back("unfitted");
  sweep.points[5].fallbacks.emplace_back("both");
  sweep.points[0].fallbacks.emplace_back("odd");
  sweep.points[5].fallbacks.emplace_back("odd");
  sweep.points[0].assumptions = {"n alone"};
  sweep.points[3].assumptions = {"n alone"};
  sweep.points[0].how_sure = sweep.points[5].how_sure = {"well"};
  EXPECT_EQ(how_sure_of(sweep), (std::vector<std::string>{"points 0, 5: well"}));
  EXPECT_EQ(fallbacks_of(sweep),
            (std::vector<std::string>{"everywhere", "points 0, 5: odd", "gpu=l40s: unfitted", "gpu=l40s, n=3: both"}));
  EXPECT_EQ(assumptions_of(sweep), std::vector<std::string>{"n=1: n alone"});
}

TEST(SweepFigures, CaveatsOfManyPointsNameFiveAndCountTheOthers) {
  using planner::sweep::parse_axis;
  Sweep sweep;
  sweep.plan.design = planner::sweep::Design::grid({parse_axis("a=1,2,3,4"), parse_axis("b=1,2")});
  for (std::size_t i = 0; i < 8; ++i) sweep.points.push_back(point(i, "1"));
  for (const std::size_t i : {0U, 1U, 2U, 4U, 5U, 7U}) sweep.points[i].fallbacks = {"odd"};
  EXPECT_EQ(fallbacks_of(sweep), (std::vector<std::string>{"points 0, 1, 2, 4, 5 and 1 other: odd"}));
  sweep.points[3].fallbacks = {"odd"};
  EXPECT_EQ(fallbacks_of(sweep), (std::vector<std::string>{"points 0, 1, 2, 3, 4 and 2 others: odd"}));
}

TEST(SweepFigures, SayWhichPointsHaveSketchedPercentiles) {
  const std::string sketched = R"(,"percentiles":{"sketched":{"iterations":12000,"latency_s.itl":20000}})";
  const Sweep sweep = sweep_of({point(0, "1"), point(1, "2", sketched), point(2, "3")}, 3);
  EXPECT_EQ(sketched_percentiles_of(sweep),
            std::vector<std::string>{"a.b=2: gaps between tokens, lengths of iterations: of more than 10,000 values, "
                                     "from a sketch within 0.1 %"});
  const std::string csv = sweep_csv(sweep);
  EXPECT_NE(csv.find("percentiles.sketched.iterations,percentiles.sketched.latency_s.itl"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",12000,20000"), std::string::npos) << csv;
  EXPECT_TRUE(sketched_percentiles_of(sweep_of({point(0, "1")}, 1)).empty());
}

TEST(SweepFigures, LongTablesShowTheBestAndSaySo) {
  std::vector<planner::sweep::PointResult> points;
  for (std::size_t i = 0; i < 41; ++i) points.push_back(point(i, std::to_string(i)));
  const Page page = sweep_page(sweep_of(points, 41));
  EXPECT_EQ(page.tables.front().title,
            "The first 20 of 41 points, the chosen one first, then by the highest throughput.output_tokens_per_s");
  ASSERT_EQ(page.tables.front().rows.size(), 20U);
  EXPECT_EQ(page.tables.front().rows.front()[0], "*");
  EXPECT_EQ(page.tables.front().rows[0][1], "37");  // even with 40, and before it
  EXPECT_EQ(page.tables.front().rows[1][1], "40");
  for (std::size_t i = 0; i < 41; ++i) points[i].fallbacks = {fmt::format("{} iterations", i)};
  const std::vector<List> lists = sweep_page(sweep_of(points, 41)).lists;
  EXPECT_EQ(lists[2].items.front(), "a.b=1: 0 iterations");
  EXPECT_EQ(lists[2].items.back(), "1 more, all in sweep.json (--json, --out)");
  points.pop_back();
  EXPECT_EQ(sweep_page(sweep_of(points, 40)).tables.front().rows.size(), 40U);
}

std::string quality(const std::string& lossless, const std::string& score, const std::string& nats = "null") {
  return fmt::format(R"(,"quality":{{"mean_score":{},"expected_kl_nats":{},"lossless":{}}})", score, nats, lossless);
}

TEST(SweepQuality, OfTheBestIsSaidAndTheFirstLosslessPointIsNamed) {
  const std::string lossless = quality("true", "1.0", "0.0");
  Sweep sweep = sweep_of({point(0, "10", lossless), point(1, "40", quality("false", "0.985", "25.8")),
                          point(2, "30", quality("false", "null", "25.8")), point(3, "20", lossless),
                          point(4, "5", quality("false", "null"))},
                         5);
  Page page = sweep_page(sweep);
  const std::size_t column = page.tables.front().header.size() - 2;
  EXPECT_EQ(page.tables.front().header[column], "quality");
  const std::vector<std::string> expected{"lossless", "0.985", "KL 25.80", "lossless", "lossy"};
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(page.tables.front().rows[row][column].text, expected[row]);
    EXPECT_EQ(page.tables.front().rows[row][column + 1].text, expected[row] == "lossless" ? "lossless" : "not known");
  }
  const std::string differs = "its output differs from that of full-KV decoding: ";
  EXPECT_TRUE(has(page.subtitle, "point 1 (a.b=2) with 40.00; " + differs +
                                     "task score 0.985 of the full KV's; functional "
                                     "correctness not known: see findings"));
  EXPECT_TRUE(has(page.subtitle, "the first whose output is that of full-KV decoding: point 3 (a.b=4) with 20.00"));
  EXPECT_EQ(Json::parse(sweep_json(sweep))["best"]["lossless_index"], 3);

  sweep.points[1] = point(1, "1", lossless);
  page = sweep_page(sweep);
  EXPECT_TRUE(has(page.subtitle, "point 2 (a.b=3) with 30.00; " + differs + "25.80 nats a request"));
  sweep.points[2] = point(2, "1", lossless);
  page = sweep_page(sweep);
  EXPECT_FALSE(has(page.subtitle, "differs") || has(page.subtitle, "full-KV decoding"));
  EXPECT_FALSE(Json::parse(sweep_json(sweep))["best"].contains("lossless_index"));
  sweep.points[4] = point(4, "5", lossless);
  EXPECT_EQ(sweep_page(sweep).tables.front().header.size(), column);
}

Sweep asked_for(const std::vector<planner::sweep::PointResult>& points, const std::string& axis = "a.b=1,2,3,4",
                const char* workload = "closed: {concurrency: 1}") {
  Sweep sweep = sweep_of(points, points.size());
  sweep.plan.resolved = fmt::format("workload:\n  {}\nslo: {{ttft_p99: 2 s}}\n", workload);
  sweep.plan.design = planner::sweep::Design::grid({planner::sweep::parse_axis(axis)});
  return ranked_as_asked(std::move(sweep.plan), std::move(sweep.points));
}

// The best lossless point is the best, what is faster is named beside it; by a metric that was asked for it is not.
TEST(SweepQuality, ComesFirstUnlessAMetricIsAskedFor) {
  const std::string lossless = quality("true", "1.0", "0.0");
  Sweep sweep = sweep_of({point(0, "10", lossless), point(1, "40", quality("false", "0.985")),
                          point(2, "30", quality("false", "0.995")), point(3, "20", lossless)},
                         4);
  sweep.quality_first = true;
  EXPECT_EQ(ranking_of(sweep, FigureTable(sweep)).order, (Rows{3, 1, 2, 0}));
  const Page page = sweep_page(sweep);
  EXPECT_TRUE(has(page.subtitle, "best with lossless output, by the highest throughput.output_tokens_per_s: point 3"));
  EXPECT_TRUE(has(page.subtitle, "at a task score of 0.99 or more: point 2 (a.b=3) with 30.00; its output differs"));
  EXPECT_TRUE(has(page.subtitle, "whatever the quality: point 1 (a.b=2) with 40.00; its output differs"));
  const Json best = Json::parse(sweep_json(sweep))["best"];
  EXPECT_EQ(best["index"], 3);
  EXPECT_EQ(best["any_quality_index"], 1);
  EXPECT_FALSE(best.contains("lossless_index"));
  sweep.points[1].result.insert(1, R"("slo":{"below_quality_floor":0.0},)");
  EXPECT_EQ(ranking_of(sweep, FigureTable(sweep)).order.front(), 1) << "it reaches the floor, which is enough";
  sweep.quality_first = false;
  EXPECT_EQ(ranking_of(sweep, FigureTable(sweep)).order.front(), 1);
}

// Two memories: the dearer one's share and latency are better in digits that are not printed.
TEST(SweepRanking, OfWhatMissesTheObjectivesAlikeTheCheaperIsTheBest) {
  const auto at = [](std::size_t number, const char* met, const char* ttft, const char* usd) {
    return planner::sweep::PointResult{
        number, "",
        fmt::format(R"({{"slo":{{"attainment":{}}},"latency_s":{{"ttft":{{"mean":{}}}}},)"
                    R"("cost":{{"usd_per_hour":{}}},"confidence":{{}}}})",
                    met, ttft, usd)};
  };
  Sweep sweep = asked_for(
      {at(0, "0.9581", "0.89130", "12.19"), at(1, "0.9583", "0.89112", "20.14"), at(2, "0.9601", "0.9", "30")},
      "cluster.host.memory=256GB,1TB,2TB", "arrivals: {rate: 1/s}");
  sweep.points.pop_back();
  const Ranking r = ranking_of(sweep, FigureTable(sweep));
  EXPECT_EQ(r.order, (Rows{0, 1}));
  EXPECT_EQ(r.best.even, Rows{1});
  EXPECT_EQ(r.best.by, TieBreak::cheaper);
  sweep.points.push_back(at(2, "0.9601", "0.9", "30"));
  EXPECT_EQ(ranking_of(sweep, FigureTable(sweep)).order, (Rows{2, 1, 0})) << "96.0 % is more than 95.8 %";
  sweep.points[2] = at(2, "0.9579", "0.8914", "5");
  const std::vector<std::string> said = sweep_page(sweep).subtitle;
  EXPECT_TRUE(has(said, "even with it, as printed: points 0, 1; of these it is the cheapest"));
  sweep.points = {at(0, "0.9981", "0.89130", "12.19"), at(1, "0.9983", "2", "20"), at(2, "0.9979", "0.8914", "5")};
  EXPECT_TRUE(
      sweep_page(sweep).subtitle.at(1).starts_with("the cheapest of 2 even ones, by the lowest latency_s.ttft.mean, "))
      << sweep_page(sweep).subtitle.at(1);
}

TEST(SweepPage, WithoutObjectivesNothingIsInSlo) {
  const auto headings = [](const char* met) {
    const Sweep sweep = sweep_of({point(0, "10", fmt::format(R"(,"slo":{{"attainment":{}}})", met))}, 1);
    return sweep_page(sweep).tables.front().header;
  };
  EXPECT_TRUE(has(headings("0.5"), "in SLO"));
  EXPECT_FALSE(has(headings("null"), "in SLO"));
}

/// The shortfall of a score with a floor of quality, by how much it is below that, and a share of requests that met the
/// objectives.
std::string scored(const std::string& score, const std::string& below, const std::string& met = "1") {
  return quality("false", score) + fmt::format(R"(,"slo":{{"attainment":{},"below_quality_floor":{}}})", met, below);
}

Rows order_of(const Sweep& sweep) {
  return ranking_of(sweep, FigureTable(sweep)).order;
}

TEST(SweepQuality, BelowTheFloorMeetsNoObjective) {
  const std::vector<planner::sweep::PointResult> points{
      point(0, "40", scored("0.7", "0.2")), point(1, "30", scored("0.8", "0.1")), point(2, "20", scored("0.95", "0")),
      point(3, "10", scored("null", "null"))};
  const Sweep sweep = asked_for(points);
  EXPECT_EQ(order_of(sweep), (Rows{2, 1, 0, 3}));  // the nearest of those below; of the last nobody knows
  const Page page = sweep_page(sweep);
  EXPECT_TRUE(has(page.subtitle, "of 1 that meets the objectives for 99.0 % of requests and slo.quality_floor in the"));
  EXPECT_TRUE(has(page.subtitle, "below slo.quality_floor, and therefore behind those that reach it: points 0, 1"));
  EXPECT_TRUE(
      has(page.subtitle, "not known to reach slo.quality_floor, and therefore behind those that reach it: poi"));

  Sweep worst = sweep;
  worst.points = {points[0]};
  EXPECT_TRUE(has(sweep_page(worst).subtitle, "task score 0.700 of the full KV's, 0.2 below slo.quality_floor"));
  worst.points = {points[3]};
  EXPECT_TRUE(has(sweep_page(worst).subtitle, ", of which nobody knows whether it reaches slo.quality_floor"));
  worst.objectives_first = false;  // a metric was asked for: said, and not ranked by
  worst.points = points;
  EXPECT_EQ(order_of(worst), (Rows{0, 1, 2, 3}));
  EXPECT_TRUE(has(sweep_page(worst).subtitle, "task score 0.700 of the full KV's, 0.2 below slo.quality_floor"));
}

TEST(SweepRanking, WhereNothingFinishedNothingIsMet) {
  const auto at = [](std::size_t number, const char* tokens, const char* met) {
    return point(number, tokens, fmt::format(R"(,"slo":{{"attainment":{}}})", met));
  };
  Sweep sweep = asked_for({at(0, "10", "0.0"), at(1, "40", "null"), at(2, "20", "0.0")}, "a.b=1,2,3");
  EXPECT_EQ(order_of(sweep), (Rows{2, 0, 1}));
  EXPECT_TRUE(has(sweep_page(sweep).subtitle,
                  "no point meets the objectives for 99.0 % of requests; the nearest, for "
                  "0.0 %: point 2"));
  sweep.points = {at(1, "40", "null")};
  EXPECT_TRUE(has(sweep_page(sweep).subtitle, "; the nearest, where no request finished: point 1"));
}

TEST(SweepRanking, OfWhatIsAskedForNoValueIsAChoice) {
  const std::vector<planner::sweep::PointResult> points{point(0, "10", scored("0.9", "0", "0.5")),
                                                        point(1, "10", scored("0.9", "0", "1"))};
  for (const std::string path : {"slo", "slo.ttft_p99", "slo.quality_floor", "workload.classes[].slo"}) {
    const Sweep sweep = asked_for(points, path + "=1,2");
    const Ranking ranking = ranking_of(sweep, FigureTable(sweep));
    EXPECT_EQ(ranking.given, std::vector<std::string>{path});
    EXPECT_FALSE(ranking.marked(1)) << path;
    const std::string why = "no point is best: " + path + " is what is asked for, and no choice";
    EXPECT_TRUE(has(sweep_page(sweep).subtitle, why));
    const Page none = sweep_page(asked_for({points[0]}, path + "=1,2"));
    EXPECT_TRUE(has(none.subtitle, why));
    EXPECT_TRUE(has(none.subtitle,
                    "no point meets the objectives for 99.0 % of requests and slo.quality_floor in the "
                    "mean; first, for 50.0 %: point 0"));
  }
  EXPECT_EQ(given_words({"a.rate", "slo"}), "a.rate, slo are what is given, and no choice");
  EXPECT_EQ(given_words({"slo.a", "slo.b"}), "slo.a, slo.b are what is asked for, and no choice");
  const Sweep one = asked_for({points[1]}, "slo.ttft_p99=1");
  EXPECT_TRUE(ranking_of(one, FigureTable(one)).given.empty());
}

TEST(SweepRanking, ClassesWithoutObjectivesAskForNone) {
  const auto asked = [](const char* of_class) {
    Sweep sweep = sweep_of({point(0, "1")}, 1);
    sweep.plan.resolved =
        fmt::format("workload:\n  closed: {{concurrency: 1}}\n  classes: [{{name: a{}}}]\n", of_class);
    return ranked_as_asked(std::move(sweep.plan), std::move(sweep.points)).objectives_first;
  };
  EXPECT_FALSE(asked(""));
  EXPECT_TRUE(asked(", slo: {ttft_p99: 1 s}"));
}

// 94 % within the limits of p95 and 99 % within those of p99: a hundredth behind; 92 % met all of them, which counts
// not.
TEST(Shortfall, IsOfThePercentileThatIsFurthestFromItsShare) {
  const auto missed = [](const char* percentiles) {
    const Json run = Json::parse(fmt::format(R"({{"slo":{{"attainment":0.92,"percentiles":{}}}}})", percentiles));
    return shortfall_of(run, {.objectives = true}).missed;
  };
  EXPECT_NEAR(missed(R"({"p95":0.94,"p99":0.99})"), 0.01, 1e-12);
  EXPECT_NEAR(missed(R"({"p95":0.94,"p99":0.97})"), 0.02, 1e-12);
  EXPECT_EQ(missed(R"({"p50":0.6,"p99":0.995})"), 0);
  EXPECT_EQ(needed_words(std::vector<std::string>{"p95", "p99"}), "95.0 % (p95) and 99.0 % (p99)");
  EXPECT_EQ(needed_words(std::vector<std::string>{"p90"}), "90.0 %");
}

TEST(Shortfall, UnsteadyComesBeforeTheFloorAndThatBeforeTheObjectives) {
  static constexpr Asked all{.steady = true, .objectives = true};
  const auto of = [](const char* unsteady, const char* below, const char* met) {
    return shortfall_of(Json::parse(fmt::format(R"({{"requests":{{"unsteady_state":{}}},)"
                                                R"("slo":{{"below_quality_floor":{},"attainment":{}}}}})",
                                                unsteady, below, met)),
                        all);
  };
  EXPECT_TRUE(of("\"\"", "0.0", "0.99").nothing());
  EXPECT_TRUE(shortfall_of(Json::object(), all).nothing());
  EXPECT_TRUE(shortfall_of(Json(), all).nothing());
  EXPECT_LT(of("null", "0.0", "0.5"), of("null", "0.0", "0.4"));
  EXPECT_LT(of("null", "0.0", "0.0"), of("null", "0.0", "null"));
  EXPECT_LT(of("null", "0.0", "null"), of("null", "0.01", "1"));
  EXPECT_EQ(shortfall_of(Json::parse(R"({"slo":{"attainment":null}})"), {}).missed, 1);  // nothing finished
  EXPECT_LT(of("null", "5", "1"), of("null", "null", "1"));
  EXPECT_EQ(of("null", "0.0", "0.9581"), of("null", "0.0", "0.9583")) << "95.8 % both";
  EXPECT_EQ(of("null", "0.0131", "1"), of("null", "0.0132", "1"));
  EXPECT_FALSE(of("null", "0.0", "0.98999").nothing()) << "prints as 99.0 %, and is less";
  const Json unasked = Json::parse(R"({"slo":{"attainment":null},"latency_s":{"e2e":{"mean":1.5}}})");
  EXPECT_TRUE(shortfall_of(unasked, all).nothing()) << "requests finished, and nothing is asked of them";
  EXPECT_LT(of("null", "null", "null"), of("\"the queue grows\"", "0.0", "1"));
}

TEST(SweepQuality, TheFirstLosslessPointIsNamedWithHowItMisses) {
  const std::string lossless = quality("true", "1.0", "0.0");
  Sweep sweep = sweep_of({point(0, "40", quality("false", "0.9")),
                          point(1, "30", lossless + R"(,"slo":{"attainment":0.25})"), point(2, "20", lossless)},
                         3);
  EXPECT_TRUE(has(sweep_page(sweep).subtitle,
                  "the first whose output is that of full-KV decoding: point 1 (a.b=2) with 30.00, 25.0 % of whose "
                  "requests meet the objectives"));
}

}  // namespace
}  // namespace kvsim::results::KVSIM_FILE
