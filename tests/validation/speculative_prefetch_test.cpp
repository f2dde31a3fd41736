// Speculative prefetch: the published rows, and what is predicted beyond them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/validation/figures_once.h"
#include "tools/validation/group.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

class SpeculativePrefetchFigures : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { figures_ = testing::figures_once("speculative-prefetch"); }

  static const Figure& find(const std::string& name) {
    const auto named = [&](const Figure& f) { return f.id == "speculative-prefetch/" + name; };
    const auto found = std::find_if(figures_.begin(), figures_.end(), named);
    if (found == figures_.end()) throw std::out_of_range(name);
    return *found;
  }

  static inline std::vector<Figure> figures_;
};

TEST_F(SpeculativePrefetchFigures, ThatArePublishedPass) {
  std::size_t judged = 0;
  for (const Figure& f : figures_) {
    EXPECT_NE(f.verdict(), Verdict::outside) << f.id << ": " << f.simulated;
    judged += f.verdict() == Verdict::pass ? 1 : 0;
  }
  EXPECT_EQ(judged, 35U);
}

TEST_F(SpeculativePrefetchFigures, SayThatTheProfileIsFittedToThem) {
  for (const Figure& f : figures_) {
    if (f.id.find("/2k.") == std::string::npos) continue;
    const auto says = [](const std::string& a) { return a.find("is fitted to these rows") != std::string::npos; };
    EXPECT_TRUE(std::any_of(f.assumptions.begin(), f.assumptions.end(), says)) << f.id;
  }
}

TEST_F(SpeculativePrefetchFigures, OfLongerContextsAreJudgedWithNothingFittedToThem) {
  for (const char* name :
       {"8k.2bit.tokens", "8k.1bit.tokens", "32k.2bit.tokens", "8k.full_kv.batch", "8k.2bit.batch", "8k.1bit.batch",
        "32k.2bit.batch", "32k.1bit.batch", "8k.2bit.gain", "8k.1bit.gain", "32k.2bit.gain", "32k.1bit.gain"}) {
    const Figure& f = find(name);
    EXPECT_EQ(f.verdict(), Verdict::pass) << f.id << ": " << f.simulated;
    EXPECT_LE(f.tolerance, 0.15) << f.id;
  }
  // Published are three of 32k tokens.
  EXPECT_EQ(find("32k.full_kv.batch").verdict(), Verdict::skipped);
  // 128 tokens in 16 bit: 15.6 % too fast, where the same bytes without their elements were 31 %. With 64 it is met.
  EXPECT_LT(find("32k.1bit.tokens").simulated, 1.16 * 47.3);
  for (const char* name : {"8k.2bit", "8k.1bit", "32k.2bit", "32k.1bit"}) {
    const Figure& f = find(std::string(name) + ".r64.tokens");
    EXPECT_EQ(f.verdict(), Verdict::pass) << f.id << ": " << f.simulated;
    EXPECT_LE(f.tolerance, 0.1) << f.id;
  }
}

TEST_F(SpeculativePrefetchFigures, OneBitTakesLongerAStepThanTwoWhereTheBatchFillsMemory) {
  // Published: 32k, 36 requests in 761 ms and 22 in 636.
  const double one = find("32k.1bit.batch").simulated / find("32k.1bit.tokens").simulated;
  const double two = find("32k.2bit.batch").simulated / find("32k.2bit.tokens").simulated;
  EXPECT_GT(one, 1.08 * two);
}

TEST_F(SpeculativePrefetchFigures, SpeculationIsAheadOfFetchingOnDemandAtEveryLength) {
  for (const std::string context : {"8k", "32k"}) {
    EXPECT_GT(find(context + ".2bit.gain").simulated, find(context + ".on_demand.gain").simulated) << context;
  }
}

TEST_F(SpeculativePrefetchFigures, ThatNobodyPublishedArePredictions) {
  for (const char* context : {"8k", "32k"}) {
    for (const char* of : {"batch", "tokens", "gain"}) {
      const Figure& f = find(std::string(context) + ".on_demand." + of);
      EXPECT_EQ(f.verdict(), Verdict::prediction) << f.id;
      EXPECT_TRUE(std::isnan(f.expected)) << f.id;
      EXPECT_GT(f.simulated, 0) << f.id;
    }
  }
}

TEST_F(SpeculativePrefetchFigures, GainMoreTheLongerTheContext) {
  const double full_kv = find("2k.full_kv.tokens").simulated;
  for (const std::string variant : {"2bit", "1bit"}) {
    const double short_gain = find("2k." + variant + ".tokens").simulated / full_kv;
    const double middle = find("8k." + variant + ".gain").simulated,
                 longest = find("32k." + variant + ".gain").simulated;
    EXPECT_GT(middle, 1.2 * short_gain) << variant;
    EXPECT_GT(longest, 1.1 * middle) << variant;
  }
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
