// What sweeps answer: by their axes, among the points that meet the objectives, and how sure the best one is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <regex>

#include <fmt/format.h>

#include "tests/report/documents.h"
#include "tools/report/answers.h"
#include "tools/results/metrics.h"
#include "tools/results/sweep.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

/// Three draft lengths: 100, 101 and 102 tokens/s with intervals of so many to both sides.
Json draft_lengths(double half_width) {
  Json d = sweep_document(3, 1);
  for (Json& point : d["points"]) {
    point["result"]["confidence"]["throughput.output_tokens_per_s"]["half_width_95"] = half_width;
  }
  return d;
}

/// Three policies at one rate, the third the best.
Json policies() {
  Json d = draft_lengths(0.1);
  d["axes"] = Json::array({{{"path", "decode.policy"}, {"values", {"full_kv", "lossy", "draft_verify"}}},
                           {{"path", "workload.arrivals.rate"}, {"values", Json::array({"1/s"})}}});
  for (std::size_t i = 0; i < 3; ++i) {
    d["points"][i]["set"] = {{"decode.policy", d["axes"][0]["values"][i]}, {"workload.arrivals.rate", "1/s"}};
  }
  d["best"]["set"] = d["points"][2]["set"];
  return d;
}

TEST(Swept, DraftLengthsAndKeepRatiosAnswerForAPlan) {
  const Fact f = only({sweep_document()}, kWhichPlan);
  EXPECT_EQ(f.answer, "draft_length = 3, keep_ratio = 0.2");
  EXPECT_TRUE(says(f, "The best of 6 points simulated: output tokens/s 105.0; its output is that of full-KV decoding."))
      << f.detail;
  EXPECT_EQ(only({sweep_document(), plan_document()}, kWhichPlan).answer.substr(0, 6), "x = 32");
}

TEST(Swept, OtherAxesAnswerNeitherQuestion) {
  Json d = sweep_document(3, 1);
  d["axes"] = Json::array({{{"path", "workload.arrivals.rate"}, {"values", {"1/s", "2/s", "4/s"}}}});
  EXPECT_EQ(only({d}, kWhichPlan).answer, "");
  EXPECT_EQ(only({d}, kWhichPolicy).answer, "");
}

TEST(Swept, PoliciesAnswerWhichOneWithoutTheOtherAxes) {
  EXPECT_EQ(only({policies()}, kWhichPolicy).answer, "policy = draft_verify");
  EXPECT_EQ(only({policies()}, kWhichPlan).answer, "");
}

TEST(Swept, TheBestPointIsOfThoseThatMeetTheObjectives) {
  Json d = draft_lengths(0.1);
  d["resolved_scenario"] = "slo: {tpot_p99: 50 ms}\n";
  d["points"][2]["result"]["slo"]["attainment"] = 0.9;  // the others: 0.99
  const Fact f = only({d}, kWhichPlan);
  EXPECT_EQ(f.answer, "draft_length = 2, keep_ratio = 0.1");
  EXPECT_TRUE(says(f, "The best of 3 points simulated that meets the objectives: output tokens/s 101.0; ")) << f.detail;
  EXPECT_TRUE(says(f, "99.0 % of its requests met the objectives (TPOT p99 50.0 ms).")) << f.detail;
}

TEST(Swept, OfAServiceTheBestPointIsOfThoseInASteadyState) {
  Json d = draft_lengths(0.1);
  d["points"][2]["result"]["requests"]["unsteady_state"] = "the queue grows";
  const auto answer = [&d](const char* scenario) {
    d["resolved_scenario"] = scenario;
    return only({d}, kWhichPlan);
  };
  const Fact f = answer("workload:\n  arrivals: {rate: 1/s}\n");
  EXPECT_EQ(f.answer, "draft_length = 2, keep_ratio = 0.1");
  EXPECT_TRUE(says(f, "The best of 3 points simulated in a steady state: output tokens/s 101.0; ")) << f.detail;
  EXPECT_EQ(answer("workload:\n  closed: {concurrency: 8}\n").answer, "draft_length = 3, keep_ratio = 0.1");
  d["points"][1]["result"]["slo"]["attainment"] = 0.9;  // the others: 0.99
  const Fact both = answer("slo: {tpot_p99: 50 ms}\nworkload:\n  arrivals: {rate: 1/s}\n");
  EXPECT_EQ(both.answer, "draft_length = 1, keep_ratio = 0.1");
  EXPECT_TRUE(says(both, "simulated that meets the objectives in a steady state: ")) << both.detail;
  d["points"][0]["result"]["slo"]["attainment"] = 0.8;
  EXPECT_EQ(answer("slo: {tpot_p99: 50 ms}\nworkload:\n  arrivals: {rate: 1/s}\n").answer,
            "draft_length = 2, keep_ratio = 0.1")
      << "none meets them: the best that keeps up";
}

TEST(Swept, WhereNoPointMeetsTheObjectivesTheBestOfAllIsNamedWithItsShare) {
  Json d = draft_lengths(0.1);
  d["resolved_scenario"] = "slo: {tpot_p99: 50 ms}\n";
  for (Json& point : d["points"]) point["result"]["slo"]["attainment"] = 0.9;
  const Fact f = only({d}, kWhichPlan);
  EXPECT_EQ(f.answer, "draft_length = 3, keep_ratio = 0.1");
  EXPECT_TRUE(says(f, "90.0 % of its requests met the objectives")) << f.detail;
  EXPECT_FALSE(says(f, "that meets")) << f.detail;
}

TEST(Swept, WhereLessIsBetterTheLowestIsTheAnswer) {
  Json d = draft_lengths(0.1);
  d["best"]["order"] = "lowest";
  EXPECT_EQ(only({d}, kWhichPlan).answer, "draft_length = 1, keep_ratio = 0.1");
}

TEST(Swept, PointsThatIntervalsDoNotTellFromTheBestAreNamed) {
  // Two intervals of 0.71 make 1.004.
  const auto said = [](double half_width) { return only({draft_lengths(half_width)}, kWhichPlan).detail; };
  const std::string even = "\nEven with it, within the 95 % intervals: ";
  EXPECT_NE(said(0.71).find(even + "point 2; of these it is the first."), std::string::npos) << said(0.71);
  EXPECT_NE(said(1.42).find(even + "points 1, 2; of these it is the first.\nNo point is the best"), std::string::npos);
  EXPECT_EQ(said(0.7).find("Even"), std::string::npos);
}

/// A sweep as kvsim makes it, of points that are alike in many ways.
results::Sweep random_sweep(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto any = [&random](std::initializer_list<double> values) {
    return *(values.begin() + random() % values.size());
  };
  results::Sweep sweep;
  sweep.plan.scenario = "random";
  sweep.plan.resolved = random() % 2 == 0 ? "workload:\n  arrivals: {rate: 1/s}\nslo: {ttft_p99: 1 s}\n"
                                          : "workload:\n  closed: {concurrency: 4}\n";
  sweep.plan.design =
      planner::sweep::Design::grid({planner::sweep::parse_axis("decode.policy=full_kv,lossy,draft_verify"),
                                    planner::sweep::parse_axis("decode.draft_length=5,10,20")});
  for (std::size_t i = 0; i < 9; ++i) {
    Json result;
    result["throughput"]["output_tokens_per_s"] = any({100, 103, 110});
    result["latency_s"] = {{"ttft", {{"mean", any({1, 1.1, 2})}}}, {"e2e", {{"mean", 3}}}};
    result["slo"]["attainment"] = any({1, 0.9581, 0.9583});
    result["requests"]["unsteady_state"] = random() % 4 == 0 ? "the queue grows" : "";
    const bool lossless = i / 3 != 1;
    result["quality"] = {{"lossless", lossless}, {"mean_score", lossless ? 1 : any({0.9, 0.995})}};
    result["cost"]["usd_per_hour"] = any({2, 2.01, 3});
    result["complexity"] = {{"mechanisms", i / 3}, {"tiers", 0}, {"memory_bytes", 80e9}};
    for (const char* of : {"throughput.output_tokens_per_s", "latency_s.ttft.mean"}) {
      result["confidence"][of]["half_width_95"] = any({0.01, 4});
    }
    sweep.points.push_back({i, "", result.dump()});
  }
  results::Sweep asked = results::ranked_as_asked(std::move(sweep.plan), std::move(sweep.points));
  if (random() % 4 != 0) return asked;
  asked.metric = results::kThroughput;
  asked.objectives_first = asked.steady_first = asked.quality_first = false;
  return asked;
}

// Report, page and document choose the same point of every sweep, and call the same points even with it.
TEST(Swept, TheReportChoosesAsTheTerminalDoes) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const results::Sweep sweep = random_sweep(seed);
    Json d = Json::parse(results::sweep_json(sweep));
    d["schema_version"] = 1;
    const Json set = d["best"]["set"];
    const std::string chosen = fmt::format("policy = {}", set["decode.policy"].get<std::string>());
    const Fact f = only({d}, kWhichPolicy);
    EXPECT_EQ(f.answer, chosen) << seed;
    EXPECT_EQ(only({d}, kWhichPlan).answer, fmt::format("draft_length = {}", set["decode.draft_length"].dump()))
        << seed;
    const std::vector<std::string> page = results::sweep_page(sweep).subtitle;
    const auto even =
        std::find_if(page.begin(), page.end(), [](const auto& line) { return line.starts_with("even "); });
    if (even != page.end()) {
      EXPECT_TRUE(says(f, "\nE" + even->substr(1) + ".")) << *even << "\n" << f.detail;
    }
  }
}

/// A point of a random sweep, as its sentence has to be judged by.
struct Judged {
  double value, usd_per_hour;
  planner::Complexity complexity;
};

Judged judged(const results::Sweep& sweep, std::size_t point) {
  const results::Candidate c = results::FigureTable(sweep).candidates()[point];
  return {c.value, c.usd_per_hour, c.complexity};
}

/// Fails where the rule that the page's sentence names does not choose the point that it names.
void expect_named_rule(const results::Sweep& sweep, const std::string& sentence, const std::string& even_line) {
  static const std::regex form(
      R"(^(?:no point.*; )?(best|the nearest|first)?(?:, as )?(?:the (.*) of (\d+) even ones)?[ ,].*: point (\d+) \(.*)");
  std::smatch parts;
  ASSERT_TRUE(std::regex_search(sentence, parts, form)) << sentence;
  const std::string rule = parts[2];
  const std::size_t chosen = std::stoul(parts[4]);
  std::vector<std::size_t> even{chosen};
  static const std::regex number(R"(\d+)");
  const std::string listed = even_line.substr(std::min(even_line.find("point"), even_line.size()));
  for (std::sregex_iterator it(listed.begin(), listed.end(), number), end; it != end; ++it) {
    even.push_back(std::stoul(it->str()));
  }
  const Judged own = judged(sweep, chosen);
  const auto beats = [&](double a, double b) { return results::less_is_better(sweep.metric) ? a < b : a > b; };
  const bool top =
      std::none_of(even.begin(), even.end(), [&](std::size_t i) { return beats(judged(sweep, i).value, own.value); });
  EXPECT_TRUE(top || !rule.empty()) << sentence;
  if (rule.empty()) return;
  EXPECT_EQ(std::to_string(even.size()), parts[3]) << sentence << "\n" << even_line;
  double cheapest = own.usd_per_hour;
  for (const std::size_t i : even) cheapest = std::min(cheapest, judged(sweep, i).usd_per_hour);
  EXPECT_LE(own.usd_per_hour, 1.01 * cheapest) << sentence;
  bool better_is_dearer = false, better_is_less_simple = false;
  for (const std::size_t i : even) {
    const Judged other = judged(sweep, i);
    const bool dear = other.usd_per_hour > 1.01 * cheapest;
    if (i != chosen && !beats(own.value, other.value)) {
      better_is_dearer = better_is_dearer || dear;
      better_is_less_simple = better_is_less_simple || (!dear && own.complexity < other.complexity);
    }
    if (dear) continue;
    EXPECT_LE(own.complexity, other.complexity) << sentence;
    EXPECT_FALSE(rule.starts_with("first") && own.complexity == other.complexity && i < chosen) << sentence;
  }
  EXPECT_TRUE(rule != "cheapest" || better_is_dearer) << sentence;
  EXPECT_TRUE(rule != "simplest" || better_is_less_simple) << sentence;
}

// A page does not say "by the highest" of a point that was chosen among even ones as the cheaper or the simpler.
TEST(Swept, TheRuleThatTheTerminalNamesChoosesItsPoint) {
  std::map<std::string, int> rules;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    results::Sweep sweep = random_sweep(seed);
    if (seed % 3 == 0) {  // of a machine's property no point is the best
      sweep.plan.design = planner::sweep::Design::grid({planner::sweep::parse_axis("cluster.host.link=a,b,c"),
                                                        planner::sweep::parse_axis("decode.draft_length=5,10,20")});
    }
    const results::Ranking ranking = ranking_of(sweep, results::FigureTable(sweep));
    const std::vector<std::string> page = results::sweep_page(sweep).subtitle;
    std::vector<std::size_t> even;
    for (const std::size_t row : ranking.best.even) even.push_back(row);
    expect_named_rule(sweep, page.at(1), even.empty() ? "" : results::point_numbers(even));
    ++rules[results::rule_words(ranking.best).substr(0, 5)];
    for (const auto& [at, best] : ranking.at_given) {
      EXPECT_TRUE(std::any_of(page.begin(), page.end(), [&at = at, &best = best](const std::string& line) {
        return line.starts_with(fmt::format("at {}: point {} ", at, best.chosen)) &&
               line.find(results::even_words(best, results::point_numbers(best.even))) != std::string::npos;
      })) << at;
    }
  }
  for (const char* rule : {"best", "cheap", "simpl", "first"}) EXPECT_GT(rules[rule], 5) << rule;
}

TEST(Swept, ATableSaysByWhatItIsOrdered) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const results::Sweep sweep = random_sweep(seed);
    Json d = Json::parse(results::sweep_json(sweep));
    d["schema_version"] = 1;
    const std::vector<Table> tables = all<Table>(maps(inputs_of({d})));
    const auto listed = std::find_if(tables.begin(), tables.end(),
                                     [](const Table& t) { return t.title.find("simulated") != std::string::npos; });
    ASSERT_NE(listed, tables.end());
    const bool rotated = listed->title.find(", the chosen one first, then by the ") != std::string::npos;
    EXPECT_NE(listed->title.find(results::less_is_better(sweep.metric) ? "by the lowest " : "by the highest "),
              std::string::npos)
        << listed->title;
    const results::FigureTable figures(sweep);
    const results::Ranking ranking = ranking_of(sweep, figures);
    const std::vector<std::size_t> sorted = by_figure(figures.candidates(), point_order(sweep));
    EXPECT_EQ(rotated, sorted.front() != ranking.order.front()) << listed->title;
  }
}

TEST(Swept, WhereAllAreEvenTheCheapestIsTheChoiceAndIsMarked) {
  Json d = draft_lengths(9);
  for (std::size_t i = 0; i < 3; ++i) d["points"][i]["result"]["cost"]["usd_per_hour"] = 3.0 - static_cast<double>(i);
  const Fact f = only({d}, kWhichPlan);
  EXPECT_EQ(f.answer, "draft_length = 3, keep_ratio = 0.1");
  EXPECT_TRUE(says(f, "; of these it is the cheapest.")) << f.detail;
  EXPECT_FALSE(says(f, "No point is the best")) << f.detail;
}

TEST(Swept, PointsThatCannotBeSimulatedAreCounted) {
  Json d = draft_lengths(0.1);
  d["points"][0]["result"] = nullptr;
  Fact f = only({d}, kWhichPlan);
  EXPECT_TRUE(says(f, "The best of 2 points simulated") && says(f, "\n1 other cannot be simulated.")) << f.detail;
  d["points"][1]["result"] = nullptr;
  f = only({d}, kWhichPlan);
  EXPECT_TRUE(says(f, "\n2 others cannot be simulated.")) << f.detail;
  d["points"][2]["result"] = nullptr;
  EXPECT_EQ(only({d}, kWhichPlan).answer, "no point of the sweep can be simulated");
}

TEST(Swept, OfPoliciesALosslessOneGoesBeforeAFasterLossyOneWhichIsNamedBeside) {
  Json d = policies();
  Json& lossy = d["points"][1]["result"];
  lossy["throughput"]["output_tokens_per_s"] = 300;
  lossy["quality"] = {{"mean_score", 0.9}, {"lossless", false}};
  const Fact f = only({d}, kWhichPolicy);
  EXPECT_EQ(f.answer, "policy = draft_verify");
  EXPECT_TRUE(
      says(f,
           "The best of 3 points simulated with lossless output: output tokens/s 102.0; its output is that of "
           "full-KV decoding.\nWhatever the quality: policy = lossy: output tokens/s 300.0; its output differs "
           "from that of full-KV decoding: task score 0.900 of the full KV's; functional correctness not known: see "
           "findings."))
      << f.detail;
}

TEST(Swept, AnOutputBelowTheFloorOfQualityIsSaid) {
  Json d = policies();
  for (Json& point : d["points"]) point["result"]["quality"] = {{"mean_score", 0.9}, {"lossless", false}};
  EXPECT_FALSE(says(only({d}, kWhichPolicy), "quality_floor"));
  for (Json& point : d["points"]) point["result"]["slo"]["below_quality_floor"] = 0.05;
  EXPECT_TRUE(
      says(only({d}, kWhichPolicy), ": task score 0.900 of the full KV's, 0.05 below slo.quality_floor; functi"));
  for (Json& point : d["points"]) {
    point["result"]["quality"]["mean_score"] = nullptr;
    point["result"]["slo"]["below_quality_floor"] = nullptr;
  }
  EXPECT_TRUE(
      says(only({d}, kWhichPolicy), ": by how much is not known, of which nobody knows whether it reaches slo.qual"));
}

// What reaches the floor is chosen though what is below it is faster, and lossy enough for the rule of quality; where
// none meets the objectives, too.
TEST(Swept, WhatReachesTheFloorIsChosenAndSaysWhy) {
  for (const double met : {1.0, 0.5}) {
    Json d = draft_lengths(0.1);
    for (std::size_t i = 0; i < 3; ++i) {
      Json& result = d["points"][i]["result"];
      result["quality"] = {{"mean_score", i == 0 ? 0.999 : 0.995}, {"lossless", false}};
      result["slo"] = {{"attainment", met}, {"below_quality_floor", i == 0 ? 0.0 : 0.003}};
    }
    const Fact f = only({d}, kWhichPlan);
    EXPECT_EQ(f.answer, "draft_length = 1, keep_ratio = 0.1");
    EXPECT_TRUE(says(f, fmt::format("The {} of 3 points simulated that reaches slo.quality_floor: output tokens/s",
                                    met == 1 ? "best" : "nearest to what is asked for")))
        << f.detail;
  }
}

TEST(Swept, WhereNothingFinishedIsNoAnswer) {
  Json d = draft_lengths(0.1);
  d["points"][2]["result"]["slo"]["attainment"] = nullptr;  // of 102 tokens/s
  d["points"][2]["result"]["latency_s"]["e2e"]["mean"] = nullptr;
  const Fact f = only({d}, kWhichPlan);
  EXPECT_TRUE(says(f, "The best of 3 points simulated at which requests finished: output tokens/s 101.0")) << f.detail;
  d["points"][2]["result"] = {{"throughput", {{"output_tokens_per_s", nullptr}}}};
  EXPECT_TRUE(says(only({d}, kWhichPlan), "\n1 other came to no such figure.")) << f.detail;
}

TEST(Swept, WhereNoneMeetsTheObjectivesTheNearestIsTheAnswer) {
  Json d = draft_lengths(0.1);
  d["resolved_scenario"] = "slo: {tpot_p99: 1 ms}\n";
  for (std::size_t i = 0; i < 3; ++i) d["points"][i]["result"]["slo"]["attainment"] = i == 0 ? 0.3 : 0.2;
  const Fact f = only({d}, kWhichPlan);
  EXPECT_TRUE(says(f, "The nearest to what is asked for of 3 points simulated: output tokens/s 100.0")) << f.detail;
  EXPECT_TRUE(says(f, "30.0 % of its requests met the objectives (TPOT p99 1.00 ms).")) << f.detail;
}

TEST(Swept, OverWhatIsAskedForThereIsAnAnswerForEachOfItsValues) {
  Json d = policies();
  d["axes"].push_back({{"path", "slo.quality_floor"}, {"values", {0.8, 0.9}}});
  for (std::size_t i = 0; i < 3; ++i) d["points"][i]["set"]["slo.quality_floor"] = i == 0 ? 0.8 : 0.9;
  const Fact f = only({d}, kWhichPolicy);
  EXPECT_TRUE(says(f,
                   "No point is best: slo.quality_floor is what is asked for, and no choice. At "
                   "each:\nquality_floor = 0.8: policy = "))
      << f.detail;
}

// A link is a machine's: it is no part of what is recommended.
TEST(Swept, OverAPropertyOfTheMachineTheAnswerHoldsAtEachOfItsValues) {
  Json d = policies();
  d["axes"].push_back({{"path", "cluster.host.link.read"}, {"values", {"64 GB/s", "128 GB/s"}}});
  for (std::size_t i = 0; i < 3; ++i) d["points"][i]["set"]["cluster.host.link.read"] = i == 0 ? "64 GB/s" : "128 GB/s";
  const Fact f = only({d}, kWhichPolicy);
  EXPECT_EQ(f.answer.find("128"), std::string::npos) << f.answer;
  EXPECT_TRUE(says(f,
                   "No point is best: cluster.host.link.read is a property of the machine, and no choice. At "
                   "each:\nread = 64 GB/s: policy = "))
      << f.detail;
}

TEST(Swept, PointsWithoutTheFigureWereSimulatedAllTheSame) {
  Json d = draft_lengths(0.1);
  for (Json& point : d["points"]) point["result"] = {{"throughput", {{"output_tokens_per_s", nullptr}}}};
  EXPECT_EQ(only({d}, kWhichPlan).answer, "no point of the sweep has a figure to rank by");
}

/// Two policies at two rates of arrivals: 100 and 102 tokens/s at the lower one, 101 and 103 at the higher.
Json policies_at_rates() {
  Json d = sweep_document(2, 2);
  const Json names = {"full_kv", "draft_verify"}, rates = {"1/s", "2/s"};
  d["axes"] = Json::array(
      {{{"path", "decode.policy"}, {"values", names}}, {{"path", "workload.arrivals.rate"}, {"values", rates}}});
  for (std::size_t i = 0; i < 4; ++i) {
    d["points"][i]["set"] = {{"decode.policy", names[i / 2]}, {"workload.arrivals.rate", rates[i % 2]}};
  }
  d["best"]["set"] = d["points"][3]["set"];
  d["resolved_scenario"] = "workload:\n  arrivals: {rate: 1/s}\n";
  return d;
}

TEST(Swept, OverTheTrafficNoPointIsBestAndEachOfItsValuesHasAnAnswer) {
  Json d = policies_at_rates();
  const Fact same = only({d}, kWhichPolicy);
  EXPECT_EQ(same.answer, "policy = draft_verify, at every workload.arrivals.rate swept");
  EXPECT_TRUE(same.detail.starts_with("No point is best: workload.arrivals.rate is the traffic")) << same.detail;
  EXPECT_TRUE(says(same,
                   "\nrate = 1/s: policy = draft_verify: output tokens/s 102.0; its output is that of full-KV "
                   "decoding.\nrate = 2/s: policy = draft_verify: output tokens/s 103.0; "))
      << same.detail;
  d["points"][1]["result"]["throughput"]["output_tokens_per_s"] = 200;
  const Fact other = only({d}, kWhichPolicy);
  EXPECT_EQ(other.answer, "it depends on workload.arrivals.rate");
  EXPECT_TRUE(says(other, "\nrate = 2/s: policy = full_kv: output tokens/s 200.0; ")) << other.detail;
  EXPECT_TRUE(says(only({d}, "How sure is this?"), "\nThe best points swept: output tokens/s within ± 0.5 % at most"))
      << only({d}, "How sure is this?").detail;
  d["resolved_scenario"] = "workload:\n  closed: {concurrency: 8}\n";  // nothing arrives on its own
  EXPECT_EQ(only({d}, kWhichPolicy).answer, "policy = full_kv");
}

TEST(Swept, OfSeveralScenariosEachSweepAnswersForItsOwn) {
  Json other = policies();
  other["scenario"] = "another";
  const std::vector<Fact> facts = facts_of({policies(), other}, kWhichPolicy);
  ASSERT_EQ(facts.size(), 2);
  EXPECT_EQ(facts[0].scenario, "by hand");
  EXPECT_EQ(facts[1].scenario, "another");
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
