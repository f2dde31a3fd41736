// What figures look like as text and as JSON.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tests/validation/figures_once.h"
#include "tools/validation/figures_page.h"
#include "tools/validation/group.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

/// One that passes, one that is deliberately wrong, one without data.
std::vector<Figure> three() {
  const auto figure = [](const char* id, const char* what, const char* unit, double expected, double simulated) {
    Figure f;
    f.id = id;
    f.what = what;
    f.unit = unit;
    f.expected = expected;
    f.simulated = simulated;
    f.tolerance = 0.05;
    f.source = "a book";
    return f;
  };
  std::vector<Figure> figures{figure("one/right", "what is right", "ms", 100, 101),
                              figure("one/wrong", "what is wrong", "GB", 100, 200),
                              figure("two/nothing", "what is not there", "", 1, NAN)};
  figures[0].assumptions = {"the moon is full"};
  figures[2].source = "another book";
  figures[2].skipped = "no data";
  return figures;
}

TEST(FiguresPage, GivesEveryJudgedFigureItsRowAndItsNotes) {
  const std::string text = results::to_text(figures_page(three()));
  EXPECT_EQ(text,
            "1 passed, 1 outside, 1 skipped\n"
            "  Published and measured figures, and what kvsim makes of them\n"
            "\n"
            "one\n"
            "  figure                 expected  simulated         error  tolerance  verdict  notes\n"
            "  right   what is right     100.0      101.0  ms    +1.0 %       ±5 %  pass     1-2\n"
            "  wrong   what is wrong     100.0      200.0  GB  +100.0 %       ±5 %  OUTSIDE  1\n"
            "\n"
            "Skipped without being simulated\n"
            "  - no data (1: two/nothing)\n"
            "\n"
            "Notes\n"
            "  - [1] a book\n"
            "  - [2] the moon is full\n");
}

TEST(FiguresPage, ListsWhatMissesItsAim) {
  std::vector<Figure> figures = three();
  figures[0].aim = 0.005;
  figures[1].aim = 2;
  figures[2].aim = 0;
  const std::string text = results::to_text(figures_page(figures));
  EXPECT_EQ(text.substr(0, text.find('\n')), "1 passed, 1 outside, 1 skipped; 1 of 2 aims met");
  EXPECT_NE(text.find("Aims that are missed\n  - a book: 1 of 2: right 0.01 (0.005)\n"), std::string::npos) << text;
  EXPECT_EQ(figures_document(figures, "")["figures"][0]["aim"], 0.005);
}

TEST(FiguresDocument, HasEveryFigureAndTheSum) {
  const results::Json doc = figures_document(three(), "");
  EXPECT_EQ(doc["schema_version"], 1);
  EXPECT_TRUE(doc["measured"].is_null());
  EXPECT_EQ(
      doc["summary"],
      (results::Json{{"passed", 1}, {"outside", 1}, {"skipped", 1}, {"predictions", 0}, {"aims", 0}, {"aims_met", 0}}));
  ASSERT_EQ(doc["figures"].size(), 3U);
  const results::Json& wrong = doc["figures"][1];
  EXPECT_EQ(wrong["id"], "one/wrong");
  EXPECT_EQ(wrong["group"], "one");
  EXPECT_EQ(wrong["expected"], 100.0);
  EXPECT_EQ(wrong["simulated"], 200.0);
  EXPECT_EQ(wrong["error"], 1.0);
  EXPECT_EQ(wrong["measure"], "relative");
  EXPECT_EQ(wrong["tolerance"], 0.05);
  EXPECT_EQ(wrong["verdict"], "outside");
  EXPECT_TRUE(wrong["reason"].is_null());
  EXPECT_EQ(doc["figures"][0]["assumptions"], results::Json::array({"the moon is full"}));
  EXPECT_TRUE(doc["figures"][2]["simulated"].is_null());
  EXPECT_EQ(doc["figures"][2]["reason"], "no data");
}

/// One that is judged, and one that nothing can judge.
std::vector<Figure> judged_and_predicted() {
  std::vector<Figure> figures{three().front(), three().front()};
  Figure& f = figures.back();
  f.id = "one/longer";
  f.what = "what will be";
  f.expected = NAN;
  f.simulated = 250;
  f.claim = Claim::none;
  f.source = "nobody";
  f.assumptions.clear();
  return figures;
}

TEST(FiguresPage, ShowsPredictionsBesideWhatIsJudged) {
  const std::string text = results::to_text(figures_page(judged_and_predicted()));
  EXPECT_EQ(text,
            "1 passed, 0 outside, 0 skipped; 1 prediction\n"
            "  Published and measured figures, and what kvsim makes of them\n"
            "\n"
            "one\n"
            "  figure                 expected  simulated       error  tolerance  verdict     notes\n"
            "  right   what is right     100.0      101.0  ms  +1.0 %       ±5 %  pass        1-2\n"
            "  longer  what will be          -      250.0  ms       -          -  prediction  3\n"
            "\n"
            "Notes\n"
            "  - [1] a book\n"
            "  - [2] the moon is full\n"
            "  - [3] nobody\n");
}

TEST(FiguresDocument, HasNothingToHoldAPredictionAgainst) {
  const results::Json doc = figures_document(judged_and_predicted(), "");
  EXPECT_EQ(
      doc["summary"],
      (results::Json{{"passed", 1}, {"outside", 0}, {"skipped", 0}, {"predictions", 1}, {"aims", 0}, {"aims_met", 0}}));
  const results::Json& predicted = doc["figures"][1];
  EXPECT_EQ(predicted["verdict"], "prediction");
  EXPECT_EQ(predicted["claim"], "none");
  EXPECT_EQ(predicted["simulated"], 250.0);
  for (const char* key : {"expected", "error", "tolerance", "reason"}) EXPECT_TRUE(predicted[key].is_null()) << key;
}

TEST(FiguresPage, OfEveryGroupFits120Columns) {
  std::vector<Figure> all;
  for (const Group& group : groups()) {
    const std::vector<Figure>& figures = testing::figures_once(group.name);
    all.insert(all.end(), figures.begin(), figures.end());
  }
  std::istringstream lines(results::to_text(figures_page(all)));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(results::display_width(line), 120U) << line;
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
