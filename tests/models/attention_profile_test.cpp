// Curves of attention profiles: between their points, outside them, and what is refused.
#include "models/prefetch/prefetch_spec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/catalogue/catalogue.h"
#include "models/schemas.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using schema::error_of;
using schema::yaml;

const Catalogue& catalogue() {
  static const Catalogue shipped = Catalogue::built_in();
  return shipped;
}

TEST(Coverage, IsLinearInTheLogarithmBetweenPointsAndProportionalBelowThem) {
  AttentionProfile p;
  p.coverage = {{0.01, 0.5}, {0.1, 0.8}};
  EXPECT_DOUBLE_EQ(coverage_at(p, 0.01), 0.5);
  EXPECT_DOUBLE_EQ(coverage_at(p, 0.1), 0.8);
  EXPECT_NEAR(coverage_at(p, std::sqrt(0.001)), 0.65, 1e-12);  // half-way from 0.01 to 0.1
  EXPECT_NEAR(coverage_at(p, std::sqrt(0.1)), 0.9, 1e-12);     // half-way from 0.1 to 1
  EXPECT_NEAR(coverage_at(p, 0.002), 0.1, 1e-12);              // a fifth of the first point
  EXPECT_EQ(coverage_at(p, 0), 0);
  EXPECT_EQ(coverage_at(p, 1), 1);
}

TEST(HitRate, IsLinearFromNothingToTheKvItself) {
  AttentionProfile p;
  p.hit_rate = {{1, 0.8}, {2, 0.9}};
  EXPECT_DOUBLE_EQ(hit_rate_at(p, 0.5), 0.4);
  EXPECT_DOUBLE_EQ(hit_rate_at(p, 1), 0.8);
  EXPECT_DOUBLE_EQ(hit_rate_at(p, 1.5), 0.85);
  EXPECT_DOUBLE_EQ(hit_rate_at(p, 9), 0.95);  // half-way from 2 to 16 bits
  EXPECT_DOUBLE_EQ(hit_rate_at(p, 16), 1);
  p.hit_rate = {{16, 0.97}};
  EXPECT_DOUBLE_EQ(hit_rate_at(p, 16), 0.97) << "a point at 16 bits is kept";
}

TEST(Recovery, IsLinearFromNothingToAll) {
  AttentionProfile p;
  p.recovery = {{0.5, 0.2}};
  EXPECT_DOUBLE_EQ(recovery_at(p, 0), 0);
  EXPECT_DOUBLE_EQ(recovery_at(p, 0.25), 0.1);
  EXPECT_DOUBLE_EQ(recovery_at(p, 0.75), 0.6);
  EXPECT_DOUBLE_EQ(recovery_at(p, 1), 1);
}

TEST(AttentionProfiles, ThePublishedPointIsMet) {
  // SpeCache, arXiv:2503.16163: the top 0.5 % of the keys cover 90 % of the mass.
  EXPECT_DOUBLE_EQ(coverage_at(catalogue().attention_profile("specache-published"), 0.005), 0.9);
}

TEST(AttentionProfiles, WithKeysAlikeTheShareIsTheMass) {
  const AttentionProfile uniform = catalogue().attention_profile("uniform");
  for (const double share : {0.0001, 0.005, 0.3, 1.0}) EXPECT_DOUBLE_EQ(coverage_at(uniform, share), share);
  EXPECT_DOUBLE_EQ(hit_rate_at(uniform, 1), 1);
}

std::string profile_error(const std::string& coverage, const std::string& hit_rate = "{at: 1, value: 0.8}") {
  const std::string text = "{description: x, coverage: {points: [" + coverage + "]}, hit_rate: {points: [" + hit_rate +
                           "]}, recovery: {points: [{at: 1, value: 1}]}}";
  return error_of([&] { return attention_profile_schema().parse(yaml(text)); });
}

TEST(AttentionProfileSchema, RefusesCurvesThatCannotBe) {
  EXPECT_EQ(profile_error("{at: 0.1, value: 0.5}, {at: 0.2, value: 0.5}"), "no error");
  EXPECT_NE(profile_error("{at: 0.1, value: 0.5}, {at: 0.1, value: 0.6}").find("must ascend in at"), std::string::npos);
  EXPECT_NE(profile_error("{at: 0.1, value: 0.5}, {at: 0.2, value: 0.4}")
                .find("coverage.points.1.value: 0.4 after 0.5: the curve cannot fall"),
            std::string::npos);
  EXPECT_NE(profile_error("{at: 0.1, value: 0.09}").find("cover their share at least"), std::string::npos);
  EXPECT_NE(profile_error("{at: 0.1, value: 1.1}").find("coverage.points.0.value"), std::string::npos);
  EXPECT_NE(profile_error("{at: 0, value: 0.1}").find("coverage.points.0.at"), std::string::npos);
  EXPECT_NE(profile_error("").find("coverage.points"), std::string::npos);
  EXPECT_NE(profile_error("{at: 0.1, value: 0.5}", "{at: 17, value: 1}").find("hit_rate.points.0.at"),
            std::string::npos);
}

std::string prefetch_error(const std::string& text) {
  return error_of([&] { return prefetch_schema().parse(yaml(text), {"decode.prefetch", &catalogue()}); });
}

TEST(PrefetchSchema, ReadsEveryKey) {
  const PrefetchSpec p = prefetch_schema().parse(
      yaml("{top_k: 32, overlap: 0.5, query_tokens: 4, row_tokens: 8, layout: interleaved, dequantisation: unfused, "
           "copies: mapped_reads, buffered_layers: 3, attention: uniform}"),
      {"decode.prefetch", &catalogue()});
  EXPECT_EQ(p.top_k, 32);
  EXPECT_EQ(p.overlap, 0.5);
  EXPECT_EQ(p.query_tokens, 4);
  EXPECT_EQ(p.row_tokens, 8);
  EXPECT_EQ(p.layout, RowLayout::interleaved);
  EXPECT_EQ(p.dequantisation, Dequantisation::unfused);
  EXPECT_EQ(p.copies, "mapped_reads");
  EXPECT_EQ(p.buffered_layers, 3);
  EXPECT_EQ(p.attention.name, "uniform");
  const PrefetchSpec again = prefetch_schema().parse(prefetch_schema().dump(p));
  EXPECT_EQ(prefetch_schema().dump(again), prefetch_schema().dump(p));
}

TEST(PrefetchSchema, LeavesTheProfileOpenAndNamesTheOneThatStandsForIt) {
  const PrefetchSpec p = prefetch_schema().parse(yaml("{}"));
  EXPECT_TRUE(p.attention.coverage.empty());
  EXPECT_EQ(p.top_k, 64);
  EXPECT_EQ(p.copies, "best");
  EXPECT_TRUE(catalogue().contains(EntryKind::attention_profile, default_attention_profile));
}

TEST(PrefetchSchema, RefusesWhatIsOutOfRange) {
  for (const char* key :
       {"top_k: 0", "overlap: 1", "overlap: -0.1", "query_tokens: 0", "query_tokens: 65", "row_tokens: 0",
        "layout: mixed", "dequantisation: none", "copies: \"\"", "buffered_layers: 0", "attention: unifrm"}) {
    const std::string name = std::string(key).substr(0, std::string(key).find(':'));
    EXPECT_NE(prefetch_error("{" + std::string(key) + "}").find("decode.prefetch." + name), std::string::npos) << key;
  }
  EXPECT_NE(
      prefetch_error("{attention: unifrm}").find("unknown attention_profile \"unifrm\"; did you mean \"uniform\""),
      std::string::npos);
}

// SpeCache, table 4, 1 bit in groups of 64 on LLaMA-3-8B: 41.9 with speculation, 42.4 without, 24.7 with nothing
// fetched (table 1).
TEST(AttentionProfile, TheSpeculativeChoiceOfOneBitIsAsGoodAsPublished) {
  EXPECT_NEAR(hit_rate_at(catalogue().attention_profile("specache-published"), 1), (41.9 - 24.7) / (42.4 - 24.7), 3e-4);
}

RC_GTEST_PROP(AttentionProfileProperty, NoCurveFallsOrLeavesItsRange, ()) {
  static const auto lines = catalogue().list(EntryKind::attention_profile);
  const AttentionProfile p = catalogue().attention_profile(lines[*rc::gen::inRange<std::size_t>(0, lines.size())].name);
  const double a = *rc::gen::inRange(0, 100001) / 100000.0, b = *rc::gen::inRange(0, 100001) / 100000.0;
  const double less = std::min(a, b), more = std::max(a, b);
  RC_ASSERT(coverage_at(p, less) <= coverage_at(p, more));
  RC_ASSERT(hit_rate_at(p, 16 * less) <= hit_rate_at(p, 16 * more));
  RC_ASSERT(recovery_at(p, less) <= recovery_at(p, more));
  RC_ASSERT(coverage_at(p, less) >= less * (1 - 1e-12));
  RC_ASSERT(coverage_at(p, more) <= 1 && hit_rate_at(p, 16 * more) <= 1 && recovery_at(p, more) <= 1);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
