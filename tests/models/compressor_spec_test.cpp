// Losses, agreement and quality over the keep ratio, by hand.
#include "models/compression/compressor_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/catalogue/catalogue.h"
#include "models/schemas.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

CompressorSpec with_kl(std::vector<KeepRatioPoint> points) {
  CompressorSpec c;
  c.step_kl_nats = std::move(points);
  return c;
}

TEST(StepKl, ThroughOnePointIsProportionalToTheExcess) {
  // eps(0.25) = 0.03 and 1/c - 1 = 3 there: 0.01 per unit of 1/c - 1.
  const CompressorSpec c = with_kl({{0.25, 0.03}});
  EXPECT_DOUBLE_EQ(c.step_kl(0.25), 0.03);
  EXPECT_NEAR(c.step_kl(0.5), 0.01, 1e-15);  // 1
  EXPECT_NEAR(c.step_kl(0.2), 0.04, 1e-15);  // 4
  EXPECT_NEAR(c.step_kl(0.1), 0.09, 1e-15);  // 9
  EXPECT_NEAR(c.step_kl(0.8), 0.0025, 1e-15);
}

TEST(StepKl, BetweenPointsIsLinearInTheExcess) {
  // (1/c - 1, eps): (1, 0.01) and (4, 0.07).
  const CompressorSpec c = with_kl({{0.2, 0.07}, {0.5, 0.01}});
  EXPECT_NEAR(c.step_kl(0.25), 0.05, 1e-15);         // excess 3: 0.01 + 2/3 x 0.06
  EXPECT_NEAR(c.step_kl(2.0 / 3), 0.005, 1e-15);     // excess 0.5: half-way to nothing
  EXPECT_NEAR(c.step_kl(0.1), 0.07 * 9 / 4, 1e-15);  // beyond: from the origin through the last point
}

TEST(StepKl, KeepingEverythingLosesNothing) {
  EXPECT_DOUBLE_EQ(with_kl({{0.25, 0.03}}).step_kl(1), 0);
  EXPECT_DOUBLE_EQ(with_kl({{0.25, 0.03}}).agreement_at(1), 1);
  EXPECT_NEAR(with_kl({{0.25, 0.03}}).step_kl(0.999999), 0, 1e-7);
}

TEST(StepKl, WithoutPointsIsNotANumber) {
  EXPECT_TRUE(std::isnan(CompressorSpec{}.step_kl(0.5)));
  EXPECT_TRUE(std::isnan(CompressorSpec{}.agreement_at(0.5)));
  EXPECT_TRUE(std::isnan(CompressorSpec{}.quality_at(0.5)));
}

TEST(Agreement, IsTheExponentialOfTheLoss) {
  EXPECT_DOUBLE_EQ(with_kl({{0.25, 0.03}}).agreement_at(0.25), std::exp(-0.03));
}

TEST(Agreement, PublishedDirectlyGoesBeforeTheLoss) {
  CompressorSpec c = with_kl({{0.25, 0.5}});
  c.agreement = {{0.25, 0.9}};
  EXPECT_NEAR(c.agreement_at(0.25), 0.9, 1e-15);
  EXPECT_NEAR(c.agreement_at(0.5), std::pow(0.9, 1.0 / 3), 1e-15);  // -ln a proportional to 1/c - 1
  EXPECT_NEAR(c.agreement_at(0.1), std::pow(0.9, 3), 1e-15);
  EXPECT_DOUBLE_EQ(c.agreement_at(1), 1);
  EXPECT_DOUBLE_EQ(c.step_kl(0.25), 0.5);
}

TEST(Agreement, OfKvzipGivesThePublishedAcceptanceLengths) {
  // About 23 on Llama-70B and 19 on Qwen-32B at c = 0.25, x = 30: A(x) = a (1 - a^x)/(1 - a).
  const Catalogue catalogue = Catalogue::built_in();
  const auto accepted = [&](const char* name) {
    const double a = catalogue.compressor(name).agreement_at(0.25);
    return a * (1 - std::pow(a, 30)) / (1 - a);
  };
  EXPECT_NEAR(accepted("kvzip"), 23, 0.05);
  EXPECT_NEAR(accepted("kvzip-qwen"), 19, 0.05);
  EXPECT_DOUBLE_EQ(catalogue.compressor("kvzip").step_kl(0.25), 0.023);
}

TEST(Agreement, OfPillarAttentionGivesThePublishedAcceptanceLength) {
  // 6.16 of 8 tokens reading 5 % of the KV.
  const CompressorSpec c = Catalogue::built_in().compressor("pillar-attention");
  const double a = c.agreement_at(0.05);
  EXPECT_NEAR(a * (1 - std::pow(a, 8)) / (1 - a), 6.16, 0.005);
  EXPECT_NEAR(c.step_kl(0.05), -std::log(a), 1e-4);
}

TEST(ReadsOnly, IsWhatReadsTheWholeKvSparselyAndNothingElse) {
  const Catalogue catalogue = Catalogue::built_in();
  for (const auto& line : catalogue.list(EntryKind::compressor)) {
    EXPECT_EQ(catalogue.compressor(line.name).reads_only, line.name == "pillar-attention") << line.name;
  }
}

TEST(ReadsOnly, KeepsElementsWholeChoosesOnlineAndSendsNothing) {
  const auto refusal = [](const std::string& keys) {
    const std::string entry = "{description: x, scope: all, reads_only: true, " + keys + "}";
    return schema::error_of([&] { return compressor_schema().parse(schema::yaml(entry)); });
  };
  const auto says = [](const std::string& message, const char* words) {
    return message.find(words) != std::string::npos;
  };
  EXPECT_EQ(refusal("kind: token_dropping, mode: online, reload: missing"), "no error");
  EXPECT_TRUE(says(refusal("kind: both, bits_per_element: 8, mode: online, reload: whole"),
                   "reads_only: needs kind token_dropping"));
  EXPECT_TRUE(says(refusal("kind: token_dropping, mode: offline, reload: missing"), "reads_only: needs mode online"));
  EXPECT_TRUE(says(refusal("kind: token_dropping, mode: online, reload: missing, remote_prefix: true"),
                   "remote_prefix: must be false with reads_only"));
}

TEST(Quality, IsLinearInTheKeepRatio) {
  CompressorSpec c;
  c.quality = {{0.2, 0.6}, {0.6, 0.8}};
  EXPECT_DOUBLE_EQ(c.quality_at(0.2), 0.6);
  EXPECT_NEAR(c.quality_at(0.4), 0.7, 1e-15);
  EXPECT_NEAR(c.quality_at(0.6), 0.8, 1e-15);
  EXPECT_NEAR(c.quality_at(0.8), 0.9, 1e-15);  // towards 1 with everything kept
  EXPECT_NEAR(c.quality_at(0.1), 0.3, 1e-15);  // towards 0 with nothing kept
  EXPECT_DOUBLE_EQ(c.quality_at(1), 1);
}

TEST(Quality, WithAPointAtOneMeetsIt) {
  CompressorSpec c;
  c.quality = {{0.5, 0.8}, {1, 0.9}};
  EXPECT_NEAR(c.quality_at(0.75), 0.85, 1e-15);
}

TEST(Functional, IsKnownUpToTheHighestPointAndAtMostThatOfTheLowest) {
  CompressorSpec c;
  c.functional[0].points = {{0.25, 0.1}, {0.75, 0.3}};
  EXPECT_DOUBLE_EQ(c.functional_at(0.25)[0], 0.1);
  EXPECT_NEAR(c.functional_at(0.5)[0], 0.2, 1e-15);
  EXPECT_NEAR(c.functional_at(0.75)[0], 0.3, 1e-15);
  EXPECT_DOUBLE_EQ(c.functional_at(0.1)[0], 0.1);     // keeping less is no better
  EXPECT_TRUE(std::isnan(c.functional_at(0.76)[0]));  // nothing is published there
  EXPECT_TRUE(std::isnan(c.functional_at(0.5)[1]));   // nor of another task
  // A task that is wrong at the last ratio with a figure must not be forgotten above it.
  c.functional[1].points = {{0.25, 0.0}};
  EXPECT_EQ(least_functional(c.functional_at(0.25)), 0);
  EXPECT_TRUE(std::isnan(least_functional(c.functional_at(0.26))));
  c.functional[1].points.clear();
  EXPECT_EQ(c.functional_at(1), functional_of_full_kv());
}

TEST(Functional, TheLeastIsOfTheTasksThatAreKnown) {
  FunctionalScores scores = functional_unknown();
  EXPECT_TRUE(std::isnan(least_functional(scores)));
  scores[1] = 0.4;
  EXPECT_DOUBLE_EQ(least_functional(scores), 0.4);
  scores[2] = 0.3;
  EXPECT_DOUBLE_EQ(least_functional(scores), 0.3);
}

// VeriCache, figure 3: calls below 0.1 and code near 0 at 4 times, where the soft score is above 0.75; section 8.3:
// calls 0.31 of full KV on Llama-70B at the most conservative ratio.
TEST(Functional, OfKvzipIsAsPublishedAndFarBelowItsTaskScore) {
  const Catalogue catalogue = Catalogue::built_in();
  const CompressorSpec& llama = catalogue.compressor("kvzip");
  EXPECT_GT(llama.quality_at(0.25), 0.75);
  EXPECT_DOUBLE_EQ(llama.functional_at(0.25)[0], 0.1);
  EXPECT_DOUBLE_EQ(llama.functional_at(0.25)[1], 0);
  EXPECT_EQ(llama.functional[0].points.back().keep_ratio, 0.75);
  EXPECT_EQ(llama.functional[0].points.back().value, 0.31);
  EXPECT_TRUE(std::isnan(least_functional(llama.functional_at(0.75)))) << "nothing is published of its code there";
  EXPECT_DOUBLE_EQ(catalogue.compressor("kvzip-qwen").functional_at(0.25)[2], 0.9);
  EXPECT_TRUE(std::isnan(least_functional(catalogue.compressor("snapkv").functional_at(0.25))));
}

TEST(Functional, FallsNowhereAsMoreIsKept) {
  const std::string entry =
      "{description: x, kind: token_dropping, mode: online, scope: all, reload: missing, functional: {calls: {points: "
      "[{keep_ratio: 0.2, value: 0.5}, {keep_ratio: 0.5, value: 0.4}]}}}";
  const std::string said = schema::error_of([&] { return compressor_schema().parse(schema::yaml(entry)); });
  EXPECT_NE(said.find("functional.calls.points.1.value: falls with keep_ratio"), std::string::npos) << said;
}

TEST(QuantisedRatio, IsBitsAndTheMetadataOfTheGroup) {
  CompressorSpec c;
  EXPECT_DOUBLE_EQ(c.quantised_ratio(), 1);
  c.bits_per_element = 2;
  EXPECT_DOUBLE_EQ(c.quantised_ratio(), 2.0 / 16);
  c.group_size = 32;  // 2 x 16 bits of scale and zero point over 32 x 16 bits
  EXPECT_DOUBLE_EQ(c.quantised_ratio(), 2.0 / 16 + 2.0 / 32);
  c.bits_per_element = 8;
  EXPECT_DOUBLE_EQ(c.quantised_ratio(), 8.0 / 16 + 2.0 / 32);
}

TEST(QuantisedRatio, IsNeverAboveTheFullCache) {
  CompressorSpec c;
  c.bits_per_element = 15;
  c.group_size = 4;
  EXPECT_DOUBLE_EQ(c.quantised_ratio(), 1);
  c.bits_per_element = 16;  // whole elements carry no metadata
  EXPECT_DOUBLE_EQ(c.quantised_ratio(), 1);
}

// SpeCache, tables 1 and 2: means over ten LongBench tasks of Mistral-7B (42.3 with the whole KV) and LLaMA-3-8B
// (42.7).
TEST(ShippedCompressors, ScoreAsPublishedOnLongBench) {
  struct Published {
    const char* name;
    double keep_ratio, mistral, llama;
  };
  const Catalogue catalogue = Catalogue::built_in();
  for (const Published& p :
       {Published{"kivi-2bit", 0.1875, 40.7, 41.5}, Published{"specache-2bit", 0.15625, 39.7, 41.6},
        Published{"kivi-1bit", 0.125, 30.4, 26.7}, Published{"specache-1bit", 0.09375, 28.9, 24.7},
        Published{"specache-2bit", 0.1875, 40.7, 41.5}, Published{"specache-1bit", 0.125, 30.4, 26.7},
        Published{"h2o-longbench", 0.25, 38.3, 41.0}, Published{"h2o-longbench", 0.125, 36.1, 40.1},
        Published{"streaming-llm-longbench", 0.25, 28.9, 29.2},
        Published{"streaming-llm-longbench", 0.125, 25.1, 25.6}}) {
    const double mean = (p.mistral / 42.3 + p.llama / 42.7) / 2;
    EXPECT_NEAR(catalogue.compressor(p.name).quality_at(p.keep_ratio), mean, 6e-5) << p.name << " " << p.keep_ratio;
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
