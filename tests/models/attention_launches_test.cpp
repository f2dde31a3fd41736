// Which launch serves a step's attention: what a profile's `launches` says.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_time.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr double kToken = 131072;  // bytes of Llama-3.1-8B's KV

class AttentionLaunchesOf : public ::testing::Test {
 protected:
  [[nodiscard]] double attention_s(const StepWork& w) const {
    return StepTimer(catalogue_.gpu("rtx-pro-6000"), {}, profile_, model_, 1).time(w).attention_s;
  }
  static AttentionWork attention(double requests, double queries, double context) {
    const double all = requests * queries;
    return {all, requests * (context + queries - 1) * kToken, all * context + all * (queries + 1) / 2, requests,
            context + queries - 1};
  }
  /// Nine requests that draft over 8,000 tokens.
  static StepWork drafts() {
    StepWork w;
    w.decode = attention(9, 1, 8000);
    return w;
  }
  /// One that verifies 30 tokens over 32,000.
  static StepWork verification() {
    StepWork w;
    w.verify = attention(1, 31, 32000);
    return w;
  }
  static StepWork chunk(double tokens, double before) {
    StepWork w;
    w.prefill = attention(1, tokens, before);
    w.chunks = {{tokens, before}};
    return w;
  }

  Catalogue catalogue_ = Catalogue::built_in();
  LlmSpec model_ = catalogue_.model("llama-3.1-8b");
  KernelProfile profile_ = catalogue_.profile("rtx-pro-6000-vllm");
};

TEST_F(AttentionLaunchesOf, AVerificationReadsItsKvOnceBesideDraftsThatStayAsTheyAre) {
  StepWork both = drafts();
  both.verify = verification().verify;
  EXPECT_NEAR(attention_s(both), attention_s(drafts()) + attention_s(verification()), 1e-12);
  // 4.2 GB at the 0.6 to 0.9 of 1,792 GB/s that decode attention reaches; the mixed launch does not split them.
  EXPECT_LT(attention_s(verification()), 4.2e9 / (0.6 * 1792e9));
  const double once = attention_s(both);
  profile_.launches.several_queries = Launch::mixed;
  EXPECT_GT(attention_s(both), 2 * once);
}

TEST_F(AttentionLaunchesOf, OnceAVerificationTakesNoLessThanItsArithmetic) {
  StepWork wide;
  wide.verify = attention(1, 1000, 32000);
  const double flops = wide.verify.pairs * model_.attention_flops_per_pair();
  EXPECT_GE(attention_s(wide), flops / catalogue_.gpu("rtx-pro-6000").bf16_flops_per_s.value);
  EXPECT_GT(attention_s(wide), 3 * attention_s(verification()));
}

TEST_F(AttentionLaunchesOf, ChunksBesideDecodesAreOneLaunchWhereTheProfileSaysSo) {
  StepWork both = drafts(), alone = chunk(512, 4000);
  both.prefill = alone.prefill;
  both.chunks = alone.chunks;
  const double shared = attention_s(both);
  profile_.launches.mixed = Launch::apart;
  profile_.launches.prefill = Launch::prefill;
  EXPECT_NEAR(attention_s(both), attention_s(drafts()) + attention_s(alone), 1e-12);
  EXPECT_NE(attention_s(both), shared);
  profile_.launches.mixed = Launch::mixed;
  EXPECT_EQ(attention_s(both), shared) << "chunks alone are another kind of step";
}

TEST_F(AttentionLaunchesOf, ChunksAloneTakeTheLaunchOfTheirOwnKind) {
  const double mixed = attention_s(chunk(512, 4000));
  profile_.launches.prefill = Launch::prefill;
  EXPECT_NE(attention_s(chunk(512, 4000)), mixed);
}

TEST_F(AttentionLaunchesOf, SeveralQueriesAsTilesAreChunksOfAsManyTokens) {
  profile_.launches = {};
  profile_.launches.several_queries = Launch::prefill;
  const double as_chunk = attention_s(chunk(31, 32000));
  EXPECT_NEAR(attention_s(verification()), as_chunk, 1e-9 * as_chunk);
  StepWork decodes;
  decodes.decode = verification().verify;
  EXPECT_NEAR(attention_s(decodes), as_chunk, 1e-9 * as_chunk) << "proposed tokens are verified alike";
  StepWork all = drafts();
  all.verify = verification().verify;
  EXPECT_NEAR(attention_s(all), attention_s(drafts()) + as_chunk, 1e-9 * as_chunk);
  // Three in a launch are three chunks of one.
  StepWork three, chunks;
  three.verify = attention(3, 31, 32000);
  chunks.prefill = attention(3, 31, 32000);
  chunks.chunks = {{31, 32000}, {31, 32000}, {31, 32000}};
  EXPECT_NEAR(attention_s(three), attention_s(chunks), 1e-9 * attention_s(chunks));
}

TEST_F(AttentionLaunchesOf, DecodesTakeTheMixedLaunchWhereAnEngineHasNoOther) {
  const double own = attention_s(drafts());
  profile_.launches.decode = Launch::mixed;
  EXPECT_NE(attention_s(drafts()), own);
}

TEST_F(AttentionLaunchesOf, OutsideTheDomainIsJudgedByTheLaunchThatServes) {
  const auto within = [&](const StepWork& w) {
    return StepTimer(catalogue_.gpu("rtx-pro-6000"), {}, profile_, model_, 1).time(w).within_domain;
  };
  EXPECT_TRUE(within(verification()));  // decode attention was measured to 17 GB a layer
  profile_.launches.several_queries = Launch::mixed;
  EXPECT_FALSE(within(verification()));  // mixed batches to 18,432 tokens
  profile_.launches.several_queries = Launch::prefill;
  EXPECT_FALSE(within(verification()));
}

TEST_F(AttentionLaunchesOf, WithoutAFormForTheKvEachKindIsLaunchedApartAndSaysSo) {
  LlmSpec fp8 = model_;
  fp8.kv_bytes_per_element = 1;
  const StepTimer timer(catalogue_.gpu("rtx-pro-6000"), {}, profile_, fp8, 1);
  const auto says = [](const StepTimer& t) {
    return std::any_of(t.fallbacks().begin(), t.fallbacks().end(),
                       [](const std::string& f) { return f.find("mixed steps for a fp8 KV") != std::string::npos; });
  };
  EXPECT_TRUE(says(timer));
  EXPECT_FALSE(says(StepTimer(catalogue_.gpu("rtx-pro-6000"), {}, profile_, model_, 1)));
  StepWork both = drafts();
  both.prefill = chunk(512, 4000).prefill;
  both.chunks = chunk(512, 4000).chunks;
  EXPECT_NEAR(timer.time(both).attention_s, timer.time(drafts()).attention_s + timer.time(chunk(512, 4000)).attention_s,
              1e-12);
}

TEST(LaunchesSchema, ASharedLaunchNeedsItsForm) {
  const auto parse = [](const std::string& launches) {
    return profile_schema().parse(schema::read_yaml(R"(
description: d
measured_on: none
linear: {t0: 0 us, bandwidth_efficiency: 1, compute_efficiency: {points: [{size: 1, efficiency: 1}]}}
attention: {t0: 0 us, bandwidth_efficiency: 1, compute_efficiency: {points: [{size: 1, efficiency: 1}]}}
)" + launches,
                                                    "test.yaml"));
  };
  const KernelProfile p = parse("");
  EXPECT_EQ(p.launches.decode, Launch::decode);
  EXPECT_EQ(p.launches.several_queries, Launch::once);
  EXPECT_EQ(p.launches.prefill, Launch::prefill);
  EXPECT_EQ(p.launches.mixed, Launch::apart);
  EXPECT_EQ(parse("launches: {several_queries: prefill}").launches.several_queries, Launch::prefill);
  for (const char* key : {"decode", "several_queries", "prefill", "mixed"}) {
    EXPECT_THROW(parse(std::string("launches: {") + key + ": mixed}"), schema::InputError) << key;
  }
  EXPECT_THROW(parse("launches: {decode: once}"), schema::InputError);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
