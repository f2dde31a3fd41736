// Quality curves from a file: what they say between their points, and what is refused.
#include "models/placement/quality_curves.h"

#include <gtest/gtest.h>

#include "tests/placement/pools.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using schema::error_of;

constexpr const char* kHeader = "context,method,keep_ratio,quality\n";

QualityFile file(const std::string& rows) {
  return QualityFile::from_text("q.csv", kHeader + rows);
}

std::string refusal(const std::string& rows) {
  return error_of([&] { return file(rows); });
}

TEST(QualityFile, IsLinearBetweenItsPointsAndUpToTheWhole) {
  const QualityFile q = file("0,kvzip,0.5,0.9\n0,kvzip,0.1,0.5\n");
  EXPECT_DOUBLE_EQ(q.quality(0, "kvzip", 0.5).value(), 0.9);
  EXPECT_DOUBLE_EQ(q.quality(0, "kvzip", 0.3).value(), 0.7);
  EXPECT_DOUBLE_EQ(q.quality(0, "kvzip", 0.75).value(), 0.95);
  EXPECT_DOUBLE_EQ(q.quality(0, "kvzip", 0.1).value(), 0.5);
  EXPECT_DOUBLE_EQ(q.quality(0, "kvzip", 1).value(), 1);
  EXPECT_FALSE(q.quality(0, "kvzip", 0.05).has_value());
  EXPECT_FALSE(q.quality(1, "kvzip", 0.5).has_value());
  EXPECT_FALSE(q.quality(0, "knorm", 0.5).has_value());
}

TEST(QualityFile, MaySayWhatTheWholeScores) {
  const QualityFile q = file("0,kvzip,1,0.9\n0,kvzip,0.5,0.7\n");
  EXPECT_DOUBLE_EQ(q.quality(0, "kvzip", 1).value(), 0.9);
  EXPECT_DOUBLE_EQ(q.quality(0, "kvzip", 0.75).value(), 0.8);
}

TEST(QualityFile, AStarStandsForAllOtherContexts) {
  const QualityFile q = file("*,kvzip,0.5,0.6\n2,kvzip,0.5,0.9\n");
  EXPECT_DOUBLE_EQ(q.quality(0, "kvzip", 0.5).value(), 0.6);
  EXPECT_DOUBLE_EQ(q.quality(2, "kvzip", 0.5).value(), 0.9);
}

TEST(QualityFile, FillsATable) {
  const OptionPool pool = pool_of({"kvzip"}, {0.5}, {"kivi-2bit"});
  const QualityTable table = file("*,kvzip,0.5,0.6\n1,kvzip,0.5,0.9\n").curves(3, pool);
  ASSERT_EQ(table.curves(), 3U);
  const double narrow = shipped().compressor("kivi-2bit").quality_at(0.1875);
  for (CurveIndex i = 0; i < 3; ++i) {
    const double score = i == 1 ? 0.9 : 0.6;
    EXPECT_EQ(table.quality(i, 0), 1.0F);
    EXPECT_NEAR(table.quality(i, named(pool, "kvzip 0.5")), score, 1e-6);
    EXPECT_NEAR(table.quality(i, named(pool, "kivi-2bit")), narrow, 1e-6);
    EXPECT_NEAR(table.quality(i, named(pool, "kvzip 0.5 x kivi-2bit")), score * narrow, 1e-6);
  }
}

TEST(QualityFile, ServesImportantChunksByTheShareAttended) {
  const OptionPool pool = option_pool(ImportanceSpec{}, 2e9);
  EXPECT_NEAR(file("*,snapkv,0.25,0.7\n").curves(1, pool).quality(0, 1), 0.7, 1e-6);
}

TEST(QualityFile, NamesTheFirstContextWithoutACurve) {
  const OptionPool pool = pool_of({"kvzip"}, {0.5});
  EXPECT_EQ(error_of([&] { return file("0,kvzip,0.5,0.9\n2,kvzip,0.5,0.9\n").curves(3, pool).curves(); }),
            "q.csv: context 1 has no curve of kvzip, expected rows for it, or for *");
  EXPECT_EQ(error_of([&] { return file("*,knorm,0.5,0.9\n").curves(3, pool).curves(); }),
            "q.csv: context 0 has no curve of kvzip, expected rows for it, or for *");
}

TEST(QualityFile, MustReachDownToWhatIsKept) {
  const OptionPool pool = pool_of({"kvzip"}, {0.5, 0.1});
  EXPECT_EQ(error_of([&] { return file("0,kvzip,0.75,0.99\n0,kvzip,0.25,0.9\n").curves(1, pool).curves(); }),
            "q.csv:3: the curve of context 0, kvzip ends at keep ratio 0.25, expected rows down to 0.1, which option "
            "\"kvzip 0.1\" keeps");
}

TEST(QualityFile, SaysInWhichLineItIsWrong) {
  EXPECT_EQ(error_of([] { return QualityFile::from_text("q.csv", "context,method,quality\n"); }),
            "q.csv:1:1: the column keep_ratio is missing, expected a header with the columns context, method, "
            "keep_ratio, quality; found context, method, quality");
  EXPECT_EQ(refusal(""), "q.csv:1: has a header and no curve, expected rows such as 0,kvzip,0.25,0.97");
  EXPECT_EQ(refusal("a,kvzip,0.5,0.9\n"), "q.csv:2:1: context is \"a\", expected a number from 0, or * for all others");
  EXPECT_EQ(refusal("-1,kvzip,0.5,0.9\n"),
            "q.csv:2:1: context is \"-1\", expected a number from 0, or * for all others");
  EXPECT_EQ(refusal("0,,0.5,0.9\n"), "q.csv:2:3: method is empty, expected the name of a compressor");
  EXPECT_EQ(refusal("0,kvzip,0,0.9\n"), "q.csv:2:9: keep_ratio is 0, expected above 0, at most 1");
  EXPECT_EQ(refusal("0,kvzip,0.5,1.1\n"), "q.csv:2:13: quality is 1.1, expected at least 0, at most 1");
  EXPECT_EQ(refusal("0,kvzip,0.5,nan\n"), "q.csv:2:13: quality is nan, expected at least 0, at most 1");
  EXPECT_EQ(refusal("0,kvzip,half,1\n"), "q.csv:2:9: keep_ratio is \"half\", expected a number");
  EXPECT_EQ(refusal("0,kvzip,0.5,0.9\n1,kvzip,0.5,0.9\n0,kvzip,0.5,0.8\n"),
            "q.csv:4:9: keep_ratio 0.5 of context 0, kvzip is there already (line 2), expected it once");
}

TEST(QualityFile, MayNotRiseAsLessIsKept) {
  EXPECT_EQ(refusal("*,kvzip,0.5,0.8\n*,kvzip,0.25,0.9\n"),
            "q.csv:3: quality 0.9 at keep ratio 0.25 is above the 0.8 at 0.5 (line 2) for context *, kvzip: expected a "
            "curve that does not rise as less is kept");
}

TEST(QualityFile, MustBeThere) {
  EXPECT_NE(error_of([] { return QualityFile::read("nowhere.csv"); }).find("nowhere.csv"), std::string::npos);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
