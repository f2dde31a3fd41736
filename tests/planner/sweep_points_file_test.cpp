// --points: a table of points, and where it is wrong.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "planner/sweep/design.h"
#include "tests/scenario/temporary_folder.h"

namespace kvsim::planner::sweep::KVSIM_FILE {
namespace {

class SweepPointsFile : public ::testing::Test {
 protected:
  Design read(const std::string& text) { return Design::list(folder_.write("p.csv", text)); }

  /// The message, the folder's name left out.
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const schema::InputError& error) {
      return std::string(error.what()).substr(folder_.path().size() + 1);
    }
    return "accepted";
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(SweepPointsFile, ARowIsAPoint) {
  const Design design = read("a.b, c\n1, x\n2,\"{mean: 8k tokens, cv: 0.5}\"\n\n1,y\r\n");
  ASSERT_EQ(design.size(), 3U);
  EXPECT_EQ(design.kind(), DesignKind::list);
  EXPECT_EQ(design.describe(0), "a.b=1, c=x");
  EXPECT_EQ(design.describe(1), "a.b=2, c={mean: 8k tokens, cv: 0.5}");
  EXPECT_EQ(design.describe(2), "a.b=1, c=y");
  EXPECT_EQ(design.axes()[0].values, (std::vector<std::string>{"1", "2"}));
  EXPECT_TRUE(design.changes(2)[0].origin.str().ends_with("p.csv:5:1"));
}

TEST_F(SweepPointsFile, QuotesWithinQuotesAreDoubled) {
  EXPECT_EQ(read("a\n\"say \"\"x\"\"\"\n").value(0, 0), "say \"x\"");
}

TEST_F(SweepPointsFile, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(refusal(""), "p.csv: is empty, expected a header of scenario keys and a row a point");
  EXPECT_EQ(refusal("a,b\n"), "p.csv: has no points below its header");
  EXPECT_EQ(refusal("a,,b\n1,2,3\n"), "p.csv:1:3: a column has no name, expected a key such as decode.draft_length");
  EXPECT_EQ(refusal("a,b,a\n1,2,3\n"), "p.csv:1:5: column \"a\" is there twice");
  EXPECT_EQ(refusal("a,b\n1,2\n3\n"), "p.csv:3:1: expected 2 fields as in the header, found 1");
  EXPECT_EQ(refusal("a,b\n1,\n"), "p.csv:2:3: b has no value");
  EXPECT_EQ(refusal("a,b\n1,2\n3,4\n1,2\n"), "p.csv:4:1: the same point as in line 2");
  EXPECT_EQ(refusal("a\n\"1\n"), "p.csv:2:1: a quote that nothing closes");
  EXPECT_EQ(refusal("a\n\"1\"2\n"), "p.csv:2:4: expected a comma after a quoted field");
}

}  // namespace
}  // namespace kvsim::planner::sweep::KVSIM_FILE
