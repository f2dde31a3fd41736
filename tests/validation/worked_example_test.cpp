// The published worked example (Mistral-24B on RTX PRO 6000), figure by figure, within 5 %. The figures are those of
// `kvsim validate --group draft-verify`.
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/validation/group.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

class WorkedExample : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { figures() = find_group("draft-verify").figures({"", "example."}); }

  static std::vector<Figure>& figures() {
    static std::vector<Figure> all;
    return all;
  }

  /// The figure is what was published and is met within `tolerance` of it.
  static void expect(const std::string& name, double published, double tolerance = 0.05) {
    const auto& all = figures();
    const auto f = std::find_if(all.begin(), all.end(),
                                [&](const Figure& each) { return each.id == "draft-verify/example." + name; });
    ASSERT_NE(f, all.end()) << name;
    EXPECT_EQ(f->expected, published);
    EXPECT_LE(f->tolerance, tolerance);
    EXPECT_EQ(f->verdict(), Verdict::pass) << f->simulated << " " << f->unit;
  }
};

TEST_F(WorkedExample, ADraftOnlyIterationTakes35Milliseconds) {
  expect("draft_step", 35);
}

TEST_F(WorkedExample, AnIterationWithOneVerificationTakes37Milliseconds) {
  expect("verify_step", 37);
}

TEST_F(WorkedExample, AReloadTakes80Milliseconds) {
  expect("reload", 80);
}

TEST_F(WorkedExample, StaggeredVerifiesOnceEveryThreeIterations) {
  expect("interval", 3);
}

TEST_F(WorkedExample, StaggeredHidesEveryReload) {
  expect("late", 0, 0);
  expect("waiting", 0, 0);
}

TEST_F(WorkedExample, StaggeredPeaksAt64GigabytesOfMemory) {
  expect("staggered_peak", 64);
}

TEST_F(WorkedExample, LockStepStopsFor800MillisecondsOfReloads) {
  expect("lock_step_pause", 800);
}

TEST_F(WorkedExample, LockStepPeaksAt90GigabytesOfMemory) {
  expect("lock_step_peak", 90);
}

TEST_F(WorkedExample, SequentialVerifyTakesTheSame800MillisecondsWithoutThePeak) {
  expect("sequential_round", 10, 0);
  expect("sequential", 800);
  expect("sequential_peak", 72, 0);
}

TEST_F(WorkedExample, EveryFigureIsMet) {
  for (const Figure& f : figures()) EXPECT_EQ(f.verdict(), Verdict::pass) << f.id << " " << f.simulated;
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
