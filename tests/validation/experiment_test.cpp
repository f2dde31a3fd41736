// Experiments: what a verdict is, what a file may say, and that runs are shared and found again.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "tools/validation/experiment.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

JudgedPoint point(const std::string& series, const std::string& at, double published, double simulated,
                  double tolerance = 0.15) {
  JudgedPoint p{"", series, at, "", 0, published, published};
  p.simulated = simulated;
  p.tolerance = tolerance;
  return p;
}

Outcome outcome(const std::vector<JudgedPoint>& points, std::optional<double> level = {}) {
  return outcome_of(points, {}, {level});
}

TEST(Verdicts, ReproducedIsEveryPointWithinItsTolerance) {
  EXPECT_EQ(outcome({point("a", "1", 2, 2.29), point("a", "2", 3, 2.56)}), Outcome::reproduced);
  EXPECT_NE(outcome({point("a", "1", 2, 2.31), point("a", "2", 3, 2.56)}), Outcome::reproduced);
}

TEST(Verdicts, ShapeIsTheOrderOfWhatDiffersByMoreThanTheTolerance) {
  EXPECT_EQ(outcome({point("a", "1", 1, 2), point("a", "2", 3, 5)}), Outcome::shape);
  EXPECT_EQ(outcome({point("a", "1", 1, 5), point("a", "2", 3, 2)}), Outcome::off);
  // 2.0 and 2.2 are as good as equal: their order is not looked at, and nothing else is there to look at.
  EXPECT_EQ(outcome({point("a", "1", 2, 4), point("a", "2", 2.2, 3)}), Outcome::off);
  // Different series at different places are not compared.
  EXPECT_EQ(outcome({point("a", "1", 1, 5), point("b", "2", 3, 2)}), Outcome::off);
  EXPECT_EQ(in_order({point("a", "1", 1, 5), point("b", "2", 3, 2)}, {}), std::nullopt);
}

TEST(Verdicts, TheSideOfTheLevelIsPartOfTheOrder) {
  EXPECT_EQ(outcome({point("a", "1", 2, 1.3), point("a", "2", 4, 2)}, 1), Outcome::shape);
  EXPECT_EQ(outcome({point("a", "1", 2, 0.9), point("a", "2", 4, 2)}, 1), Outcome::off);
  EXPECT_EQ(outcome({point("a", "1", 2, 1.3)}, 1), Outcome::off);  // a side alone is no shape
  EXPECT_EQ(outcome({point("a", "1", 2, 1.3)}), Outcome::off);     // nothing to compare with
}

TEST(Verdicts, ClaimsThatHoldAreNoShapeOfPointsThatAreOff) {
  const JudgedClaim holds{"", "", true};
  EXPECT_EQ(outcome_of({point("a", "1", 11, 0.7)}, {holds}, {{}}), Outcome::off);
  EXPECT_EQ(outcome_of({point("a", "1", 1, 2), point("a", "2", 3, 5)}, {holds}, {{}}), Outcome::shape);
}

JudgedPoint of_range(double low, double high, double simulated, double tolerance = 0.15) {
  JudgedPoint p = point("a", std::to_string(simulated), low, simulated, tolerance);
  p.high = high;
  p.of_range = true;
  return p;
}

Outcome outcome_of_spread(std::vector<JudgedPoint> points) {
  set_spreads(points);
  return outcome(points);
}

TEST(Verdicts, ARangeIsJudgedBySpreadToo) {
  // Half of the width of 1.4 to 3.4 is 1.
  EXPECT_EQ(outcome_of_spread({of_range(1.4, 3.4, 1.5), of_range(1.4, 3.4, 2.5)}), Outcome::reproduced);
  EXPECT_EQ(outcome_of_spread({of_range(1.4, 3.4, 1.5), of_range(1.4, 3.4, 2.4)}), Outcome::off);
  EXPECT_EQ(outcome_of_spread({of_range(1.4, 3.4, 2.4)}), Outcome::off);  // one value is no range
  // 1.1 to 1.2 is within the tolerance of one figure.
  EXPECT_EQ(outcome_of_spread({of_range(1.1, 1.2, 1.15)}), Outcome::reproduced);
  // The spread is that of values of the same range of the same panel.
  std::vector<JudgedPoint> two{of_range(1.4, 3.4, 1.5), of_range(1.4, 3.4, 2.5)};
  two[1].panel_index = 1;
  set_spreads(two);
  EXPECT_TRUE(two[0].narrow());
  two[1].panel_index = 0;
  two[1].high = 3.5;
  set_spreads(two);
  EXPECT_TRUE(two[0].narrow());
  // Bounds of a single value are no range.
  JudgedPoint bounds = of_range(1.4, 3.4, 2.4);
  bounds.of_range = false;
  EXPECT_EQ(outcome_of_spread({bounds}), Outcome::reproduced);
}

TEST(Verdicts, CountAsPredictedWhereHalfOfThePointsAreNeitherInputsNorFitted) {
  const auto with = [](std::vector<Evidence> evidence) {
    std::vector<JudgedPoint> points;
    for (const Evidence e : evidence) {
      points.push_back(point("a", "1", 1, 1));
      points.back().evidence = e;
    }
    return points;
  };
  constexpr Evidence kPrediction = Evidence::prediction, kFitted = Evidence::fitted, kInput = Evidence::input;
  EXPECT_EQ(standing_of(Outcome::reproduced, with({kPrediction, kInput})), Standing::predicted);
  EXPECT_EQ(standing_of(Outcome::reproduced, with({kPrediction, kInput, kInput})), Standing::inputs);
  EXPECT_EQ(standing_of(Outcome::reproduced, with({kPrediction, kInput, kFitted})), Standing::fitted);
  EXPECT_EQ(standing_of(Outcome::reproduced, {}), Standing::order_only);  // claims alone
  EXPECT_EQ(standing_of(Outcome::shape, with({kPrediction})), Standing::order_only);
  EXPECT_EQ(standing_of(Outcome::off, with({kInput})), Standing::off);
  EXPECT_EQ(standing_of(Outcome::cannot, {}), Standing::cannot);
}

TEST(Verdicts, AClaimThatDoesNotHoldIsOff) {
  EXPECT_EQ(outcome_of({point("a", "1", 2, 2)}, {{"", "", true}}, {{}}), Outcome::reproduced);
  EXPECT_EQ(outcome_of({point("a", "1", 2, 2)}, {{"", "", false}}, {{}}), Outcome::off);
  EXPECT_EQ(outcome_of({}, {}, {{}}), Outcome::off);  // nothing was judged
}

TEST(Verdicts, WhatIsNoNumberIsNeitherWithinNorInOrder) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(outcome({point("a", "1", 1, none), point("a", "2", 3, 3)}), Outcome::off);
}

TEST(Verdicts, ErrorsOfARangeCountFromItsNearerEnd) {
  JudgedPoint p = point("a", "1", 1.4, 1.6);
  p.high = 1.9;
  EXPECT_EQ(p.error(), 0);
  p.simulated = 2.09;
  EXPECT_NEAR(p.error(), 0.1, 1e-12);
  p.simulated = 0.7;
  EXPECT_NEAR(p.error(), -0.5, 1e-12);
}

constexpr const char* kSmall =
    "place: Figure 1\n"
    "title: Speedup\n"
    "shares: assumptions.yaml\n"
    "panels:\n"
    "  - x: {title: draft length, over: {columns: x, rows: [\"8\", \"16\"]}}\n"
    "    y: {title: speedup}\n"
    "    tolerance: 0.5\n"
    "    series:\n"
    "      - {name: ours, simulated: \"gain({x})\", points: [{at: \"8\", is: 1}]}\n"
    "claims: [{what: x, holds: \"best.value >= 8\"}]\n";

constexpr const char* kShared =
    "paper: A paper\n"
    "criterion: none\n"
    "free: [{name: context, value: 2k tokens, what: context, alternatives: [4k tokens]}]\n"
    "runs:\n"
    "  - name: run(policy, x)\n"
    "    scenario: scenarios/long_context/headline.yaml\n"
    "    policy: \"{policy}\"\n"
    "    settings: [\"workload.context={context}\", run.duration=20 s, run.warmup=5 s, \"decode.draft_length={x}\"]\n"
    "choices:\n"
    "  - {name: best, varied: n, among: [8, 16], of: \"run(draft_verify, {n})\", most: \"gain({n})\"}\n"
    "terms:\n"
    "  - {name: gain(x), is: \"run(draft_verify, {x}).throughput.output_tokens_per_s / run(full_kv, "
    "8).throughput.output_tokens_per_s\"}\n";

std::shared_ptr<const SharedFile> shared() {
  return std::make_shared<SharedFile>(read_shared(schema::read_yaml(kShared, "assumptions.yaml")));
}

ExperimentFile small(const std::string& from = "", const std::string& to = "") {
  std::string text = kSmall;
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return read_experiment(schema::read_yaml(text, "fig.yaml"), "fig.yaml", shared());
}

std::string complaint(const std::string& from, const std::string& to) {
  Runs runs({});
  try {
    static_cast<void>(reproduce({small(from, to)}, runs, false));
  } catch (const schema::InputError& e) {
    EXPECT_EQ(runs.simulated(), 0U) << "something ran";
    return e.what();
  }
  return "(none)";
}

TEST(Experiments, SimulateEachRunOnceAndShareIt) {
  Runs runs({});
  const std::vector<Reproduced> all = reproduce({small(), small()}, runs, false);
  EXPECT_EQ(runs.simulated(), 3U);  // two draft lengths and full KV, however often they are asked for
  ASSERT_EQ(all.at(0).panels.at(0).at(0).values.size(), 2U);
  EXPECT_TRUE(std::isfinite(all[0].panels[0][0].values[1]));
  EXPECT_TRUE(all[0].claims.at(0).holds);
  EXPECT_EQ(all[0].points.at(0).simulated, all[1].points.at(0).simulated);
}

TEST(Experiments, MayAskForTheClosedFormsIdealSpeedup) {
  Runs runs({});
  const Reproduced r =
      reproduce({small("gain({x})", "run(draft_verify, 8).ideal_speedup({x}, 0.25, published)")}, runs, false).at(0);
  // Contexts of 2k tokens nearly all fit in full, so that there is little to gain, and never less than nothing.
  for (const double ideal : r.panels.at(0).at(0).values) {
    EXPECT_GE(ideal, 1 - 1e-9);
    EXPECT_LT(ideal, 4);
  }
}

double asked(const std::string& expression) {
  Runs runs({});
  return reproduce({small("gain({x})", expression)}, runs, false).at(0).panels.at(0).at(0).values.at(0);
}

TEST(Experiments, MayAskTheClosedFormWithADrafterOnTop) {
  constexpr const char* kRun =
      "place: x\ntitle: x\nruns:\n"
      "  - {name: run, scenario: scenarios/long_context/headline.yaml, policy: \"draft_verify+drafter:staggered\",\n"
      "     settings: [run.duration=20 s, run.warmup=5 s, \"decode.drafter={type: eagle3-llama-3.1-70b-long}\"]}\n"
      "panels:\n"
      "  - x: {title: x, named: true, over: {columns: what | value, rows: [\"alone | run.ideal_speedup(25, 0.25, "
      "published)\", \"unused | run.composed_speedup(25, 0.25, 1, published)\", \"both | run.composed_speedup(25, "
      "0.25, 2, published)\", \"by token | run.composed_speedup(25, 0.25, 2, per_token)\", \"drafter | "
      "run.composed_speedup(0, 1, 2, published)\"]}}\n"
      "    y: {title: speedup}\n    tolerance: 0.1\n"
      "    series: [{name: ideal, simulated: \"{value}\", points: [{at: alone, is: 3}]}]\n";
  Runs runs({});
  const std::vector<double> ideal =
      reproduce({read_experiment(schema::read_yaml(kRun, "fig.yaml"), "fig.yaml", nullptr)}, runs, false)
          .at(0)
          .panels.at(0)
          .at(0)
          .values;
  EXPECT_NEAR(ideal.at(1), ideal.at(0), 0.01 * ideal.at(0));  // one token a position: no drafter
  EXPECT_GT(ideal.at(2), ideal.at(3));                        // which counts the agreement of every token
  EXPECT_GT(ideal.at(3), ideal.at(1));
  EXPECT_GT(ideal.at(4), 1);  // 1.6 tokens a step, and hardly more bytes
  EXPECT_LT(ideal.at(4), 1.6);
}

/// The value that is chosen; nothing is simulated.
std::string chosen(const std::string& choice) {
  const std::string text = "place: x\ntitle: x\nchoices:\n  - {name: pick, varied: n, of: \"run({n})\", " + choice +
                           "}\npanels:\n  - x: {title: x, over: {columns: x, rows: [\"1\"]}}\n    y: {title: y}\n"
                           "    tolerance: 1\n    series: [{name: s, simulated: pick.value, points: [{at: \"1\", is: "
                           "1}]}]\n";
  Runs runs({});
  try {
    return std::to_string(
        reproduce({read_experiment(schema::read_yaml(text, "fig.yaml"), "fig.yaml", nullptr)}, runs, false)
            .at(0)
            .points.at(0)
            .simulated);
  } catch (const schema::InputError& e) {
    return e.what();
  }
}

TEST(Choices, CheckTheirConditionForEveryValue) {
  EXPECT_EQ(chosen("among: [8, 16, 32], most: \"0 - {n}\""), "8.000000");
  EXPECT_EQ(chosen("among: [8, 16, 32], most: \"0 - {n}\", where: \"{n} > 10\""), "16.000000");
  EXPECT_EQ(chosen("among: [8, 16, 32], most: \"0 - {n}\", where: \"{n} > 40\""),
            "fig.yaml:4:5: choices.0: pick(): no n of 8, 16, 32 will do, expected {n} > 40");
}

TEST(Choices, HalveTheDifferenceOrTheRatioFromAValueThatWillDo) {
  EXPECT_EQ(chosen("between: [0, 16], halvings: 3, where: \"{n} <= 5\""), "4.000000");
  EXPECT_EQ(chosen("between: [1, 10000], logarithmic: true, halvings: 2, where: \"{n} <= 50\""), "10.000000");
  EXPECT_EQ(chosen("between: [6, 16], halvings: 3, where: \"{n} <= 5\""),
            "fig.yaml:4:5: choices.0: pick(): no n from 6 on will do, expected {n} <= 5");
  EXPECT_NE(chosen("between: [0, 16], logarithmic: true, where: \"{n} <= 5\"").find("expected two positive numbers"),
            std::string::npos);
  EXPECT_NE(chosen("among: [8], where: \"{n} <= 5\"").find("expected least or most"), std::string::npos);
}

TEST(Experiments, MayAskTheCatalogueForScoresMassAndScatteredCopies) {
  EXPECT_DOUBLE_EQ(asked("attention_mass(specache-published, 0.005)"), 0.9);
  const double alone = asked("score(specache-1bit, 0.09375)");
  EXPECT_NEAR(alone, 0.6308, 1e-9);
  // 64 of 12,800 tokens are the 0.5 % with 90 % of the mass, and speculation finds 0.972 of it.
  EXPECT_NEAR(asked("prefetched_score(specache-1bit, 64, 64, 12800, on_demand)"), alone + (1 - alone) * 0.9, 1e-9);
  EXPECT_NEAR(asked("prefetched_score(specache-1bit, 64, 64, 12800, speculative)"), alone + (1 - alone) * 0.9 * 0.972,
              1e-9);
  // 1000 rows of 256 bytes at 5.02 GB/s.
  EXPECT_NEAR(asked("gather(pcie4-x16, framework_copies, 1000, 256)"), 256e3 / 5.02e9, 1e-12);
  EXPECT_NE(complaint("gain({x})", "gather(pcie4-x16, by_hand, 1000, 256)").find("has no copies \"by_hand\""),
            std::string::npos);
}

TEST(Experiments, AreJudgedAgainWithOtherFreeAssumptions) {
  Runs runs({});
  const std::vector<Reproduced> all = reproduce({small()}, runs, true);
  EXPECT_EQ(runs.simulated(), 6U);
  ASSERT_EQ(all.at(0).others.size(), 1U);
  EXPECT_EQ(all[0].others[0].value, "4k tokens");
  EXPECT_EQ(all[0].others[0].closeness.points, all[0].points.size());
  EXPECT_NE(all[0].others[0].closeness.mean(), closeness_of(all[0].points).mean());
}

TEST(Experiments, TheCriterionIsTheMeanOfTheLogarithmsOfRatios) {
  JudgedPoint range = point("a", "3", 0, 4);
  range.low = 1;
  range.high = 2;  // twice its upper end
  const std::vector<JudgedPoint> points{point("a", "1", 2, 1), point("a", "2", 3, 3), range};
  const Closeness close = closeness_of(points);
  EXPECT_NEAR(close.mean(), 2 * std::log(2.0) / 3, 1e-12);
  EXPECT_EQ(close.within, 1U);
  EXPECT_EQ(closeness_of({}).mean(), 0);
  EXPECT_TRUE(std::isinf(point("a", "1", 1, std::numeric_limits<double>::quiet_NaN()).distance()));
}

TEST(Experiments, GoOnWithResultsOfAnEarlierSitting) {
  std::map<std::string, std::string> kept;
  std::mutex lock;
  Runs::Options how;
  how.jobs = 2;
  how.find = [&](const std::string& f) { return kept.contains(f) ? std::optional(kept.at(f)) : std::nullopt; };
  how.keep = [&](const std::string& f, const std::string& text) {
    const std::scoped_lock guard(lock);
    kept[f] = text;
  };
  Runs first(how), again(how);
  const double simulated = reproduce({small()}, first, false).at(0).points.at(0).simulated;
  EXPECT_EQ(kept.size(), 3U);
  kept.begin()->second = "{torn";
  std::string& flipped = std::next(kept.begin())->second;
  char& digit = flipped[flipped.find("\"output_tokens_per_s\":") + 23];
  digit = digit == '9' ? '8' : '9';
  EXPECT_EQ(reproduce({small()}, again, false).at(0).points.at(0).simulated, simulated);
  EXPECT_EQ(again.simulated(), 2U);  // that which was torn, and that of which a digit is another one
}

TEST(Experiments, AreInterruptedBetweenRuns) {
  Runs::Options how;
  how.proceed = [] { return false; };
  Runs runs(how);
  static_cast<void>(reproduce({small()}, runs, false));
  EXPECT_TRUE(runs.interrupted());
  EXPECT_EQ(runs.simulated(), 0U);
}

TEST(Experiments, AreInterruptedBeforeItIsKnownWhatToRun) {
  Runs::Options how;
  how.proceed = [] { return false; };
  how.begin = [](std::size_t) { ADD_FAILURE() << "all runs were looked at first, which takes seconds for all papers"; };
  Runs runs(how);
  EXPECT_TRUE(reproduce({small()}, runs, false).empty());
  EXPECT_TRUE(runs.interrupted());
}

TEST(Experiments, ThatAreWrongAreRefusedBeforeAnythingRuns) {
  EXPECT_EQ(complaint("{at: \"8\", is: 1}", "{at: \"9\", is: 1}"),
            "fig.yaml:9:60: panels.0.series.0.points.0.at: point \"9\" of ours is outside the axis \"draft length\"; "
            "expected one of 8, 16");
  EXPECT_EQ(complaint("    tolerance: 0.5\n", ""),
            "fig.yaml:8:55: panels.0.series.0.points.0: no tolerance, expected one at the point or at its panel");
  EXPECT_EQ(
      complaint("gain({x})", "run(full_kv, 8).throughput.output_token_per_s"),
      "fig.yaml:9:33: panels.0.series.0.simulated: unknown metric \"throughput.output_token_per_s\"; did you mean "
      "\"throughput.output_tokens_per_s\"?");
  EXPECT_EQ(complaint("rows: [\"8\", \"16\"]", "rows: [\"8\", long]"),
            "fig.yaml:5:61: panels.0.x.over.rows.1: \"long\" is no number (named: true of names)");
  EXPECT_NE(complaint("gain({x})", "gian({x})").find("did you mean \"gain\"?"), std::string::npos);
  EXPECT_NE(complaint("{at: \"8\", is: 1}", "{at: \"8\", is: 1}, {at: \"8\", is: 2}")
                .find("ours has a point at \"8\" already"),
            std::string::npos);
  EXPECT_EQ(complaint("{at: \"8\", is: 1}", "{at: \"8\", is: 0}"),
            "fig.yaml:9:69: panels.0.series.0.points.0.is: 0 has no relative tolerance, expected another figure or a "
            "claim");
  EXPECT_EQ(complaint("rows: [\"8\", \"16\"]", "rows: [\"8\", \"8\"]"),
            "fig.yaml:5:61: panels.0.x.over.rows.1: \"8\" is there already");
  EXPECT_EQ(complaint("    series:\n", "    series:\n      - {name: ours, simulated: \"1\"}\n"),
            "fig.yaml:10:16: panels.0.series.1.name: there is a series \"ours\" already");
  EXPECT_EQ(complaint("gain({x})", "gain({x}) / (8 - 8)"),
            "fig.yaml:9:33: panels.0.series.0.simulated: division by 0 in \"gain(8) / (8 - 8)\"");
  EXPECT_EQ(complaint("over: {columns: x, rows: [\"8\",", "logarithmic: true, over: {columns: x, rows: [\"0\","),
            "fig.yaml:5:75: panels.0.x.over.rows.0: 0 has no place on a logarithmic axis");
}

TEST(Experiments, HaveAPointOrAClaim) {
  const std::string claims = "claims: [{what: x, holds: \"best.value >= 8\"}]\n";
  const std::string points = ", points: [{at: \"8\", is: 1}]";
  EXPECT_EQ(complaint(points, ""), "(none)");  // a claim is left
  EXPECT_EQ(complaint(claims, ""), "(none)");
  std::string neither = kSmall;
  neither.erase(neither.find(claims), claims.size()).erase(neither.find(points), points.size());
  try {
    static_cast<void>(read_experiment(schema::read_yaml(neither, "fig.yaml"), "fig.yaml", shared()));
    ADD_FAILURE() << "read";
  } catch (const schema::InputError& e) {
    EXPECT_STREQ(e.what(), "fig.yaml:5:3: panels: nothing to judge by, expected a point or a claim");
  }
}

TEST(Experiments, HaveEachNameOnce) {
  std::string text = kShared;
  const auto terms = text.find("terms:\n");
  ASSERT_NE(terms, std::string::npos);
  text.insert(terms + 7, "  - {name: gain(y), is: 1}\n");
  try {
    static_cast<void>(read_shared(schema::read_yaml(text, "assumptions.yaml")));
    ADD_FAILURE() << "read";
  } catch (const schema::InputError& e) {
    EXPECT_NE(std::string(e.what()).find("\"gain\" is the name of another entry"), std::string::npos) << e.what();
  }
}

TEST(Experiments, SayWhereASharedEntryIsWrong) {
  std::string text = kShared;
  text.replace(text.find("{policy}\""), 9, "{polcy}\"");
  const auto broken = std::make_shared<SharedFile>(read_shared(schema::read_yaml(text, "assumptions.yaml")));
  Runs runs({});
  try {
    static_cast<void>(
        reproduce({read_experiment(schema::read_yaml(kSmall, "fig.yaml"), "fig.yaml", broken)}, runs, false));
    FAIL();
  } catch (const schema::InputError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("assumptions.yaml:5:5: runs.0: unknown parameter {polcy}"))
        << e.what();
  }
}

TEST(Experiments, ThatShipAreAllReadAndNamedByPaper) {
  const std::vector<ExperimentFile> all = carried_experiments();
  ASSERT_FALSE(all.empty());
  for (const ExperimentFile& f : all) {
    EXPECT_NE(f.name.find('/'), std::string::npos) << f.name;
    EXPECT_TRUE(f.cannot.empty() || f.panels.empty()) << f.name;
  }
}

// As docs/reproduce.md says.
TEST(Experiments, OfTheTwoSpeculativeCachesHaveTheirVerdicts) {
  const std::map<std::string, Outcome> shown = {
      {"specache/appendix_c", Outcome::reproduced}, {"specache/fig2", Outcome::reproduced},
      {"specache/fig5", Outcome::reproduced},       {"specache/table1", Outcome::reproduced},
      {"specache/table2", Outcome::reproduced},     {"specache/table3", Outcome::reproduced},
      {"specache/table4", Outcome::reproduced},     {"speccache_rag/fig5", Outcome::off},
      {"speccache_rag/fig6", Outcome::off},         {"speccache_rag/fig7", Outcome::off},
      {"speccache_rag/fig9", Outcome::reproduced},  {"speccache_rag/table1", Outcome::reproduced},
  };
  std::vector<ExperimentFile> files;
  for (const ExperimentFile& f : carried_experiments()) {
    if (f.name.starts_with("specache/") || f.name.starts_with("speccache_rag/")) files.push_back(f);
  }
  EXPECT_EQ(files.size(), 23U);
  Runs runs({});
  for (const Reproduced& r : reproduce(files, runs, false)) {
    const auto found = shown.find(r.file->name);
    EXPECT_EQ(r.outcome, found == shown.end() ? Outcome::cannot : found->second) << r.file->name;
    EXPECT_EQ(r.outcome == Outcome::cannot, r.miss.empty() && r.points.empty() && r.claims.empty()) << r.file->name;
  }
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
