// Figures as data: the vocabulary of a file, what is simulated for it, and what wrong ones are told.
#include <gtest/gtest.h>

#include <cmath>

#include "models/schema/error.h"
#include "tools/validation/expression.h"
#include "tools/validation/group.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

std::vector<Figure> figures_in(const std::string& text, const Inputs& inputs = {}) {
  return figures_of(text, "paper.yaml", inputs);
}

std::string complaint_about(const std::string& text) {
  try {
    static_cast<void>(figures_in(text));
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "(none)";
}

/// A file with one figure, which is short to simulate.
std::string file_with(const std::string& figure, const std::string& before = "") {
  return "description: A paper\n" + before +
         "runs:\n"
         "  - {name: \"run(policy)\", scenario: scenarios/long_context/worked_example.yaml, policy: \"{policy}\"}\n"
         "sections:\n"
         "  - source: a paper\n"
         "    figures:\n"
         "      - {" +
         figure + "}\n";
}

double value_of(const std::string& expression) {
  return evaluate(expression, [](const Reference& r) -> double {
    if (r.name == "a") return 2;
    return static_cast<double>(r.arguments.size()) + (r.path == "x.y" ? 10 : 0);
  });
}

TEST(Expressions, AreArithmetic) {
  EXPECT_EQ(value_of("1 + 2 * 3 - 8 / 4"), 5);
  EXPECT_EQ(value_of("-(1 + 2) * 1e-1"), -3 * 1e-1);
  EXPECT_EQ(value_of("min(3, a, 7) + max(1, 4) + floor(2.9) + sqrt(9)"), 11);
  EXPECT_EQ(value_of("if(a >= 2 and a < 3, 5, 6)"), 5);
  EXPECT_EQ(value_of("if(a == 3, 5, 6)"), 6);
}

TEST(Expressions, ReferToRunsWithArgumentsAndPaths) {
  EXPECT_EQ(value_of("f(1, g(2, 3)) * 100 + f.x.y"), 210);
  const Reference r = parse_reference("run(draft_verify:staggered, [1, 2]).mean_slice_s(/GPU, draft)");
  EXPECT_EQ(r.arguments, (std::vector<std::string>{"draft_verify:staggered", "[1, 2]"}));
  EXPECT_EQ(r.path, "mean_slice_s");
  EXPECT_EQ(r.path_arguments, (std::vector<std::string>{"/GPU", "draft"}));
}

TEST(Expressions, ThatAreTornAreRefused) {
  for (const char* torn : {"", "1 +", "(1", "f(1", "1 2", "min()", "if(1, 2)", "a.", "1 = 1"}) {
    EXPECT_THROW(static_cast<void>(value_of(torn)), ExpressionError) << torn;
  }
}

// Of a file that anybody may have written: 100,000 of them took the whole stack.
TEST(Expressions, ThatAreInThemselvesManyTimesAreRefused) {
  const auto times = [](std::size_t n, std::string_view what) {
    std::string all;
    for (std::size_t i = 0; i < n; ++i) all += what;
    return all;
  };
  EXPECT_EQ(value_of(times(32, "(") + "7" + times(32, ")")), 7);
  EXPECT_EQ(value_of(times(32, "min(") + "7" + times(32, ")")), 7);
  EXPECT_EQ(value_of(times(40, "(1) + ") + "2"), 42);
  EXPECT_EQ(value_of(times(100'001, "-") + "7"), -7);
  for (const std::size_t n : {33U, 100'000U}) {
    EXPECT_THROW(static_cast<void>(value_of(times(n, "(") + "7" + times(n, ")"))), ExpressionError);
    EXPECT_THROW(static_cast<void>(value_of(times(n, "(-"))), ExpressionError);
    EXPECT_THROW(static_cast<void>(value_of(times(n, "min(") + "7" + times(n, ")"))), ExpressionError);
    EXPECT_THROW(
        static_cast<void>(filled(times(n, "{= ") + "7" + times(n, "}"), {}, [](const Reference&) { return 1.0; })),
        ExpressionError);
  }
}

TEST(Expressions, InTextsArePrinted) {
  const LookUp two = [](const Reference&) { return 2.0; };
  EXPECT_EQ(filled("{n} of {= a * {n} | .1f} {model: x, y: {z: 1}} {= a}", {{"n", "3"}}, two),
            "3 of 6.0 {model: x, y: {z: 1}} 2");
  EXPECT_THROW(static_cast<void>(filled("{m}", {{"n", "3"}}, two)), ExpressionError);
  EXPECT_THROW(static_cast<void>(filled("{= a | zz}", {}, two)), ExpressionError);
  // Text of gigabytes.
  EXPECT_EQ(filled("{= 1 | 4.1f}", {}, two), " 1.0");
  EXPECT_EQ(filled("{= 1 | 99}", {}, two).size(), 99U);
  for (const char* wide : {"{= 1 | 3333333333}", "{= 1 | .999999999f}", "{= 1 | 100}"}) {
    EXPECT_THROW(static_cast<void>(filled(wide, {}, two)), ExpressionError) << wide;
  }
}

TEST(FigureFiles, AddAFigureWithDataAlone) {
  const auto all = figures_in(
      "description: A paper\n"
      "sections:\n"
      "  - source: a table\n"
      "    unit: GB/s\n"
      "    tolerance: 0.02\n"
      "    assumptions: [a copy engine]\n"
      "    for: {columns: name | link | rate, rows: [first | pcie5-x16 | 55.4, second | c2c | 1]}\n"
      "    figures:\n"
      "      - id: \"{name}\"\n"
      "        what: of {link}\n"
      "        expected: \"{rate}\"\n"
      "        simulated: link({link}, read, 1000000000, 1, 1) * 1e-9\n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, "paper/first");
  EXPECT_EQ(all[0].what, "of pcie5-x16");
  EXPECT_EQ(all[0].expected, 55.4);
  EXPECT_EQ(all[0].verdict(), Verdict::pass);
  EXPECT_EQ(all[0].source, "a table");
  EXPECT_EQ(all[0].assumptions, std::vector<std::string>{"a copy engine"});
  EXPECT_EQ(all[1].verdict(), Verdict::outside);
}

TEST(FigureFiles, AskRunsForMetricsOfTheirResults) {
  const auto all =
      figures_in(file_with("id: rate, what: rate, expected: 1, tolerance: 0, simulated: "
                           "\"run(full_kv).throughput.output_tokens_per_s / rate(full_kv)\"",
                           "terms: [{name: rate(p), is: \"run({p}).throughput.output_tokens_per_s\"}]\n"));
  EXPECT_EQ(all.at(0).verdict(), Verdict::pass) << all.at(0).simulated;
}

TEST(FigureFiles, GiveRunsTheSettingsOfWhoeverAsks) {
  const std::string text = file_with("id: seed, what: seed, claim: none, simulated: run(full_kv).seed");
  EXPECT_EQ(figures_in(text, {"", "", {"run.seed=7"}}).at(0).simulated, 7);
}

TEST(FigureFiles, SimulateWhatIsWantedAlone) {
  const std::string text = file_with("id: other, what: x, claim: none, simulated: no_such_run.x");
  EXPECT_TRUE(figures_in(text, {"", "wanted", {}}).empty());
}

TEST(FigureFiles, ChooseTheLeastOfRunsThatWillDo) {
  // (x - 3)^2 is least at 3, and 2 is the first of the others with 1; of those from 4 on, 4.
  const auto chosen = [](const char* where) {
    return figures_in(
               file_with(
                   "id: x, what: x, claim: none, simulated: best.value",
                   "choices: [{name: best, varied: x, among: [9, 4, 2, 3], of: run(full_kv), least: \"({x} - 3) * ({x} "
                   "- 3)\"" +
                       std::string(where) + "}]\n"))
        .at(0)
        .simulated;
  };
  EXPECT_EQ(chosen(""), 3);
  EXPECT_EQ(chosen(", where: \"{x} >= 4\""), 4);
  EXPECT_EQ(chosen(", where: \"{x} > 4\""), 9);
}

TEST(FigureFiles, FindTheLargestValueThatWillDo) {
  // 8 halvings of 0 to 16: within 1/16 below 5.
  const double found =
      figures_in(file_with("id: x, what: x, claim: none, simulated: most.value",
                           "choices: [{name: most, varied: x, between: [0, 16], halvings: 8, of: run(full_kv), where: "
                           "\"{x} <= 5\"}]\n"))
          .at(0)
          .simulated;
  EXPECT_EQ(found, 5);
}

TEST(FigureFiles, SayOnlyAnOrderOrARange) {
  const Figure below = figures_in(file_with("id: x, what: x, below: \"3\", simulated: \"2\"")).at(0);
  EXPECT_EQ(below.claim, Claim::at_most);
  EXPECT_EQ(below.measure, Measure::absolute);
  EXPECT_EQ(below.verdict(), Verdict::pass);
  const Figure within = figures_in(file_with("id: x, what: x, within: [2, 4], simulated: \"2.0\"")).at(0);
  EXPECT_EQ(within.expected, 3);
  EXPECT_NEAR(within.tolerance, 0.3333, 1e-12);  // never wider than published
  EXPECT_EQ(within.assumptions.at(0), "published as 2 to 4: judged against the middle, within the range");
}

TEST(FigureFiles, AreReadStrictly) {
  EXPECT_EQ(complaint_about(file_with("id: x, what: x, expectd: 3, simulated: \"2\"")),
            "paper.yaml:7:26: sections.0.figures.0: unknown key \"expectd\" of figure; did you mean \"expected\"?");
  EXPECT_EQ(
      complaint_about(file_with("id: x, what: x, simulated: \"2\"")),
      "paper.yaml:7:9: sections.0.figures.0: missing key \"expected\", \"below\" or \"within\", or claim: none of a "
      "prediction");
}

TEST(FigureFiles, NameTheNearestOfWhatIsUnknown) {
  const auto of = [](const std::string& simulated) {
    return complaint_about(file_with("id: x, what: x, claim: none, simulated: \"" + simulated + "\""));
  };
  const std::string at = "paper.yaml:7:50: sections.0.figures.0.simulated: ";
  EXPECT_EQ(of("rum(full_kv).seed"), at + "unknown run, term or probe \"rum\"; did you mean \"run\"?");
  EXPECT_EQ(of("run(full_kv).throughput.output_token_per_s"),
            at + "unknown metric \"throughput.output_token_per_s\": \"output_token_per_s\"; did you mean "
                 "\"output_tokens_per_s\"?");
  EXPECT_EQ(of("run(full_kv).scenario"), at + "\"scenario\" is no number");
  EXPECT_EQ(of("run(full_kv, 2).seed"), at + "run(full_kv, 2) has 2 arguments, expected those of run(policy)");
  EXPECT_EQ(of("link(pcie5-x16)"), at + "link() has 1 arguments, expected 5");
  EXPECT_EQ(of("link(pcie5-x16, reed, 1, 1, 1)"), at + "unknown word \"reed\"; did you mean \"read\"?");
}

TEST(FigureFiles, NameTheRunWhoseScenarioIsUnknown) {
  EXPECT_EQ(complaint_about("description: A paper\n"
                            "runs: [{name: run, scenario: scenarios/long_context/headlin.yaml}]\n"
                            "sections: [{figures: [{id: x, what: x, claim: none, simulated: run.seed}]}]\n"),
            "paper.yaml:2:8: runs.0: unknown scenario \"scenarios/long_context/headlin.yaml\"; did you mean "
            "\"scenarios/long_context/headline.yaml\"?");
}

TEST(FigureFiles, ThatReferToThemselvesAreRefused) {
  EXPECT_NE(complaint_about(file_with("id: x, what: x, claim: none, simulated: a", "terms: [{name: a, is: a + 1}]\n"))
                .find("a() refers to itself"),
            std::string::npos);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
