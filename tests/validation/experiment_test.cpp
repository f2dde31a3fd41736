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
  EXPECT_EQ(outcome({point("a", "1", 2, 1.3)}, 1), Outcome::shape);
  EXPECT_EQ(outcome({point("a", "1", 2, 0.9)}, 1), Outcome::off);
  EXPECT_EQ(outcome({point("a", "1", 2, 1.3)}), Outcome::off);  // nothing to compare with
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
  try {
    Runs runs({});
    static_cast<void>(reproduce({small(from, to)}, runs, false));
    EXPECT_EQ(runs.simulated(), 0U) << "something ran";
  } catch (const schema::InputError& e) {
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
      reproduce({small("gain({x})", "run(draft_verify, 8).ideal_speedup({x}, 0.25)")}, runs, false).at(0);
  // Contexts of 2k tokens nearly all fit in full, so that there is little to gain, and never less than nothing.
  for (const double ideal : r.panels.at(0).at(0).values) {
    EXPECT_GE(ideal, 1 - 1e-9);
    EXPECT_LT(ideal, 4);
  }
}

TEST(Experiments, AreJudgedAgainWithOtherFreeAssumptions) {
  Runs runs({});
  const std::vector<Reproduced> all = reproduce({small()}, runs, true);
  EXPECT_EQ(runs.simulated(), 6U);
  ASSERT_EQ(all.at(0).others.size(), 1U);
  EXPECT_EQ(all[0].others[0].value, "4k tokens");
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

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
