// The groups as a whole: names, sources, and what happens without measured data.
#include "tools/validation/group.h"

#include <gtest/gtest.h>

#include <set>

#include "models/schema/error.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/validation/figures_once.h"
#include "tools/validation/measured_data.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

class EveryGroup : public ::testing::TestWithParam<Group> {};

TEST_P(EveryGroup, HasFiguresWithOwnIdsAndSources) {
  std::set<std::string> ids;
  const std::vector<Figure>& figures = testing::figures_once(GetParam().name);
  EXPECT_FALSE(figures.empty());
  for (const Figure& f : figures) {
    EXPECT_EQ(f.group(), GetParam().name);
    EXPECT_TRUE(ids.insert(f.id).second) << f.id << " is there twice";
    EXPECT_FALSE(f.what.empty()) << f.id;
    EXPECT_TRUE(!f.source.empty() || f.skipped == kNoMeasuredData) << f.id;
  }
}

TEST_P(EveryGroup, IsFoundByItsName) {
  EXPECT_EQ(&find_group(GetParam().name), &find_group(std::string(GetParam().name)));
  EXPECT_FALSE(GetParam().description.empty());
}

TEST_P(EveryGroup, GivesTheSameFiguresAgain) {
  const std::vector<Figure>&a = testing::figures_once(GetParam().name), b = GetParam().figures({});
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_TRUE(a[i].simulated == b[i].simulated || !a[i].skipped.empty()) << a[i].id;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryGroup, ::testing::ValuesIn(groups().begin(), groups().end()), [](const auto& test) {
  std::string name(test.param.name);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(Groups, ThoseOfMeasuredDataAreSkippedWithoutIt) {
  for (const char* name : {"measured-kernels", "transfers", "serving", "backtest"}) {
    for (const Figure& f : find_group(name).figures({})) {
      EXPECT_EQ(f.verdict(), Verdict::skipped) << f.id;
      EXPECT_EQ(f.skipped, kNoMeasuredData) << f.id;
    }
  }
}

TEST(Groups, ThoseThatAFolderOfMeasuredDataLacksAreSkipped) {
  const kvsim::testing::TemporaryFolder folder;
  const std::string header = "gpu,framework,version,kernel,dtype,m_tokens,n,k,measured_ms\n";
  static_cast<void>(folder.write("kernels/linear.csv", header + "a100_sxm,vllm,1,x,bfloat16,1,4096,4096,0.05\n"));
  for (const char* name : {"measured-kernels", "transfers", "serving", "backtest"}) {
    for (const Figure& f : find_group(name).figures({folder.path()})) {
      EXPECT_EQ(f.verdict(), Verdict::skipped) << f.id;
      EXPECT_NE(f.skipped.find("the folder of measured data has no"), std::string::npos) << f.skipped;
    }
  }
}

TEST(Groups, AMisspeltNameGetsTheNearest) {
  try {
    find_group("servign");
    FAIL();
  } catch (const schema::InputError& e) {
    EXPECT_STREQ(e.what(), "--group: unknown group \"servign\"; did you mean \"serving\"?");
  }
}

TEST(MeasuredKernels, RowsOfAGpuThatNoFigureComparesAreNamed) {
  const kvsim::testing::TemporaryFolder folder;
  folder.write("linear.csv",
               "gpu,framework,version,dtype,m_tokens,n,k,measured_ms\nh20,vllm,1,bfloat16,1,4096,4096,0.05\n");
  const std::string text =
      "description: rows\nsections:\n  - source: a file\n    measure: absolute\n    figures:\n      - id: others\n"
      "        what: rows\n        expected: 0\n        tolerance: 0\n"
      "        simulated: other_rows(linear.csv, a100 h100-sxm)\n";
  try {
    static_cast<void>(figures_of(text, "rows.yaml", {folder.path(), {}, {}}));
    FAIL() << "accepted";
  } catch (const schema::InputError& e) {
    EXPECT_NE(std::string(e.what()).find("no figure compares the rows of h20 (1 rows)"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
