#include "sim/serving/kv_geometry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvsim::serving::KVSIM_FILE {
namespace {

using models::CompressionKind;
using models::CompressionScope;
using models::ReloadContent;

/// 2 layers x 2 KV heads x 64 x 2 (K and V) x 2 bytes = 1024 bytes per token.
models::LlmSpec tiny_model() {
  models::LlmSpec m;
  m.layers = 2;
  m.heads = 8;
  m.kv_heads = 2;
  m.head_dim = 64;
  m.hidden = 512;
  return m;
}

models::CompressorSpec dropping() {
  models::CompressorSpec c;
  c.kind = CompressionKind::token_dropping;
  return c;
}

models::CompressorSpec two_bit() {
  models::CompressorSpec c;
  c.kind = CompressionKind::quantisation;
  c.scope = CompressionScope::all;
  c.reload = ReloadContent::whole;
  c.bits_per_element = 2;
  c.group_size = 32;
  c.residual_tokens = 128;
  return c;
}

TEST(KvGeometry, FullReservationsAreWholeBlocks) {
  const KvGeometry g(tiny_model(), 1, {tiny_model(), dropping(), 0.25}, 16);
  EXPECT_EQ(g.block_bytes(), 16 * 1024);
  EXPECT_EQ(g.full_reservation(0), 0);
  EXPECT_EQ(g.full_reservation(1), 16 * 1024);
  EXPECT_EQ(g.full_reservation(16), 16 * 1024);
  EXPECT_EQ(g.full_reservation(17), 2 * 16 * 1024);
}

TEST(KvGeometry, LayersThatStayWholeTakeTheirShareOfTheRatio) {
  models::CompressorSpec c = two_bit();
  const double ratio = KvGeometry(tiny_model(), 1, {tiny_model(), c, 1}, 16).compressed().ratio();
  c.whole_layers = 1;  // of two
  EXPECT_DOUBLE_EQ(KvGeometry(tiny_model(), 1, {tiny_model(), c, 1}, 16).compressed().ratio(), 0.5 + ratio / 2);
  c.whole_layers = 4;
  EXPECT_DOUBLE_EQ(KvGeometry(tiny_model(), 1, {tiny_model(), c, 1}, 16).compressed().ratio(), 1);
}

TEST(KvGeometry, CountsTheTokensWhoseElementsAreQuantised) {
  const KvGeometry g(tiny_model(), 1, {tiny_model(), two_bit(), 1}, 16);
  EXPECT_EQ(g.compressed().quantised(1000, 24), 1024 - 128) << "the latest are whole";
  EXPECT_EQ(g.compressed().quantised(100, 0), 0);
  EXPECT_EQ(g.compressed().quantised_growth(), 1);
  EXPECT_EQ(g.compressed().with_low_bit_copy(0).quantised(1000, 24), 1024) << "the copy has all of them";
  EXPECT_EQ(KvGeometry(tiny_model(), 1, {tiny_model(), dropping(), 0.5}, 16).compressed().quantised(1000, 24), 0);
}

/// Of the same model, one of the two layers with a window of 100 tokens: 512 bytes of a token in each.
models::LlmSpec windowed_model() {
  models::LlmSpec m = tiny_model();
  m.max_context = 4096;
  m.window = {.layers = 1, .tokens = 100};
  return m;
}

TEST(KvGeometry, KvOfAWindowStopsGrowing) {
  const KvGeometry g(windowed_model(), 1, {windowed_model(), dropping(), 1}, 16);
  for (const std::int64_t n : {0, 1, 16, 99, 100, 101, 128, 129, 1000, 4096}) {
    EXPECT_EQ(g.full_transfer(n), 512 * n + 512 * std::min<std::int64_t>(n, 100)) << n;
    EXPECT_EQ(g.stored_transfer(n), g.full_transfer(n)) << n;
    // A window of 100 tokens begins anywhere in a block: it lies in ceil(99/16) + 1 = 8 blocks of 16 at most.
    const std::int64_t blocks = (n + 15) / 16;
    EXPECT_EQ(g.full_reservation(n), 16 * 512 * (blocks + std::min<std::int64_t>(blocks, 8))) << n;
  }
  EXPECT_EQ(g.step_reservation(2048), 128 * 16 * 512) << "new tokens are there before those leave that they push out";
}

TEST(KvGeometry, TokensAreThoseOfOneContextWhereLayersHaveAWindow) {
  const KvGeometry g(windowed_model(), 1, {windowed_model(), dropping(), 1}, 16);
  for (const std::int64_t tokens : {0, 16, 112, 128, 144, 160, 4096}) {
    EXPECT_EQ(g.bytes_of_full_blocks(tokens + 15), g.full_reservation(tokens));
    EXPECT_EQ(g.tokens_of_full_blocks(g.full_reservation(tokens)), tokens);
    EXPECT_EQ(g.tokens_of_full_blocks(g.full_reservation(tokens) + 16 * 512 - 1), tokens);
  }
}

TEST(KvGeometry, KvHeadsOfAWindowAreShardedAsManyAsThereAre) {
  models::LlmSpec m = windowed_model();  // 2 KV heads in the other layer: a copy each for 2 GPUs, two for 4
  m.window.kv_heads = 4;
  const KvGeometry g(m, 4, {m, dropping(), 1}, 16);
  EXPECT_EQ(m.kv_bytes_per_token(), 512 + 1024);
  EXPECT_EQ(g.full_transfer(50), 50 * (2 * 512 + 1024));
  EXPECT_EQ(g.full_transfer(1000), 1000 * 2 * 512 + 100 * 1024);
}

RC_GTEST_PROP(KvGeometry, AnEndlessWindowIsNone, ()) {
  models::LlmSpec m = tiny_model(), endless = m;
  m.max_context = endless.max_context = *rc::gen::inRange<std::int64_t>(1, 5000);
  endless.window = {.layers = *rc::gen::inRange<std::int64_t>(1, 2), .tokens = m.max_context};
  const auto tensor = *rc::gen::element<std::int64_t>(1, 2, 4), block = *rc::gen::element<std::int64_t>(1, 7, 16, 64);
  const KvGeometry g(m, tensor, {m, dropping(), 1}, block), e(endless, tensor, {endless, dropping(), 1}, block);
  const auto n = *rc::gen::inRange<std::int64_t>(0, m.max_context + 1);
  RC_ASSERT(e.full_reservation(n) == g.full_reservation(n));
  RC_ASSERT(e.full_transfer(n) == g.full_transfer(n));
  RC_ASSERT(e.stored_transfer(n) == g.stored_transfer(n));
  RC_ASSERT(e.full_read(n) == g.full_read(n));
  RC_ASSERT(e.step_reservation(2048) == 0);
}

TEST(KvGeometry, TokenDroppingKeepsGeneratedTokensWholeAndReloadsTheMissingPart) {
  const KvGeometry g(tiny_model(), 1, {tiny_model(), dropping(), 0.25}, 16);
  // 1000 prompt tokens keep 250; 40 generated stay whole: 290 tokens.
  EXPECT_EQ(g.compressed_transfer(1000, 40), 290 * 1024);
  EXPECT_EQ(g.compressed_reservation(1000, 40, 21), 20 * 16 * 1024);  // ceil((290 + 21)/16) = 20 blocks
  EXPECT_EQ(g.reload_transfer(1000, 40), 750 * 1024);
  EXPECT_EQ(g.reload_reservation(1000, 40), 47 * 16 * 1024);  // ceil(750/16)
  EXPECT_EQ(g.redundant_reservation(1000, 40), 0);
  EXPECT_DOUBLE_EQ(g.compressed().attended(1000, 40), 290);
}

TEST(KvGeometry, ABudgetLeavesAsManyTokensOfAnyContext) {
  models::CompressorSpec c = dropping();
  c.sink_tokens = 4;
  c.residual_tokens = 64;
  const KvGeometry g(tiny_model(), 1, CompressedContext(tiny_model(), c, 1).with_budget(256), 16);
  // So much of the prompt is left; what is generated stays beside it.
  EXPECT_EQ(g.compressed_transfer(1000, 0), 256 * 1024);
  EXPECT_EQ(g.compressed_transfer(50'000, 0), 256 * 1024);
  EXPECT_EQ(g.compressed_transfer(50'000, 64), (256 + 64) * 1024);
  EXPECT_EQ(g.compressed_transfer(50'000, 100), (256 + 100) * 1024);
  EXPECT_EQ(g.compressed_transfer(200, 0), 200 * 1024) << "a shorter one is whole";
  EXPECT_DOUBLE_EQ(g.compressed().attended(50'000, 64), 256 + 64);
  EXPECT_EQ(g.reload_transfer(50'000, 64), (50'000 - 256) * 1024);
  EXPECT_DOUBLE_EQ(g.compressed().ratio_of(50'004, 64), 252.0 / 50'000);
  EXPECT_DOUBLE_EQ(g.compressed().ratio_of(256, 300), 1) << "nothing of the prompt need go";
  c.scope = CompressionScope::all;
  const KvGeometry all(tiny_model(), 1, CompressedContext(tiny_model(), c, 1).with_budget(256), 16);
  EXPECT_EQ(all.compressed_transfer(50'000, 100), 256 * 1024);
  EXPECT_EQ(all.compressed_transfer(50'000, 20'000), 256 * 1024);
}

TEST(KvGeometry, QuantisationAttendsToEverythingAndReloadsTheWholeOfWhatItCompressed) {
  const KvGeometry g(tiny_model(), 1, {tiny_model(), two_bit(), 1.0}, 16);
  // 2/16 + 2/32 = 0.1875 of 1000 + 40 - 128 = 912 tokens, 128 whole: 171 + 128 = 299 tokens.
  EXPECT_DOUBLE_EQ(g.compressed().ratio(), 0.1875);
  EXPECT_EQ(g.compressed_transfer(1000, 40), 299 * 1024);
  EXPECT_EQ(g.reload_transfer(1000, 40), 912 * 1024);
  EXPECT_EQ(g.redundant_reservation(1000, 40), 10 * 16 * 1024);  // floor(171/16)
  EXPECT_DOUBLE_EQ(g.compressed().attended(1000, 40), 1040);
}

TEST(KvGeometry, ATimeFactorCountsForWhatIsCompressedAlone) {
  const KvGeometry quantised(tiny_model(), 1, {tiny_model(), two_bit(), 1.0}, 16);
  EXPECT_DOUBLE_EQ(quantised.compressed_read(1000, 40, 2), (2 * 171 + 128) * 1024);
  const KvGeometry dropped(tiny_model(), 1, {tiny_model(), dropping(), 0.25}, 16);
  EXPECT_DOUBLE_EQ(dropped.compressed_read(1000, 40, 1.5), (1.5 * 250 + 40) * 1024);
  EXPECT_EQ(dropped.compressed_read_growth(1000, 40, 1.37), 1024) << "what is generated is whole";
}

TEST(KvGeometry, WhatStepsReadAddsUpExactlyInAnyOrder) {
  // A keep ratio of 1/7 is no binary fraction: reads are rounded to bytes, tokens to 1024ths. Each further generated
  // token, which is whole, adds its own bytes and nothing else, however many there are.
  const KvGeometry g(tiny_model(), 1, {tiny_model(), dropping(), 1.0 / 7}, 16);
  double up = 0, down = 0, tokens_up = 0, tokens_down = 0;
  for (std::int64_t n = 1; n <= 3000; ++n) {
    up += g.compressed_read(10 * n, n, 1.37);
    tokens_up += g.compressed().attended(10 * n, n);
    down += g.compressed_read(10 * (3001 - n), 3001 - n, 1.37);
    tokens_down += g.compressed().attended(10 * (3001 - n), 3001 - n);
    EXPECT_EQ(g.compressed_read(1000, n), g.compressed_read(1000, 0) + g.full_read(n));
    EXPECT_EQ(g.compressed().attended(1000, n), g.compressed().attended(1000, 0) + static_cast<double>(n));
  }
  EXPECT_EQ(up, down);
  EXPECT_EQ(tokens_up, tokens_down);
  EXPECT_NEAR(g.compressed_read(1000, 0), 1000.0 / 7 * 1024, 0.5);
}

TEST(KvGeometry, KvHeadsBeyondTheGroupAreReplicated) {
  // 2 KV heads on 8 GPUs: each is held by 4 of them.
  const KvGeometry g(tiny_model(), 8, {tiny_model(), dropping(), 0.25}, 16);
  EXPECT_DOUBLE_EQ(g.token_bytes(), 4 * 1024);
  EXPECT_EQ(g.full_transfer(10), 10 * 4 * 1024);
  EXPECT_DOUBLE_EQ(g.full_read(10), 10 * 1024);  // per copy
}

TEST(KvGeometry, KeepingEverythingReloadsNothing) {
  const KvGeometry g(tiny_model(), 1, {tiny_model(), dropping(), 1.0}, 16);
  EXPECT_EQ(g.reload_transfer(1000, 0), 0);
  EXPECT_EQ(g.compressed_transfer(1000, 0), g.full_transfer(1000));
}

RC_GTEST_PROP(KvGeometryProperty, RegularGrowthIsWhatThereIsTokenByToken, ()) {
  models::CompressorSpec c = *rc::gen::arbitrary<bool>() ? two_bit() : dropping();
  c.scope = *rc::gen::element(CompressionScope::all, CompressionScope::prompt);
  c.bits_per_element = *rc::gen::element(1, 2, 3, 4, 8);
  c.group_size = *rc::gen::element(0, 32, 64, 100);
  c.residual_tokens = *rc::gen::element(0, 1, 64, 128);
  c.sink_tokens = *rc::gen::element(0, 4);
  const double keep = *rc::gen::inRange(1, 1000) / 1000.0;
  const std::int64_t block = *rc::gen::element(1, 7, 16, 64);
  const double factor = *rc::gen::element(1.0, 1.14, 1.5, 1.6);
  const std::int64_t budget = *rc::gen::element(0, 50, 1000);
  CompressedContext context(tiny_model(), c, keep);
  if (budget > 0 && c.kind == CompressionKind::token_dropping) context = context.with_budget(budget);
  const KvGeometry g(tiny_model(), 1, context, block);
  const std::int64_t prompt = *rc::gen::inRange(1, 100'000), generated = *rc::gen::inRange(0, 300);
  const auto reads = g.compressed_read_growth(prompt, generated, factor);
  const auto held = g.compressed_units() ? g.compressed().in_units(prompt, generated) : std::nullopt;
  for (std::int64_t k = 0; k < 500; ++k) {
    if (reads) {
      RC_ASSERT(g.compressed_read(prompt, generated + k, factor) ==
                g.compressed_read(prompt, generated, factor) + static_cast<double>(k) * *reads);
      RC_ASSERT(g.compressed().attended(prompt, generated + k) ==
                g.compressed().attended(prompt, generated) + static_cast<double>(k));
    }
    if (!held) continue;
    // With a token more, as a step needs it.
    const auto [of_token, adds] = *g.compressed_units();
    const std::int64_t units = *held + k * adds + of_token, of_block = block * of_token;
    RC_ASSERT(g.compressed_reservation(prompt, generated + k, 1) ==
              (units + of_block - 1) / of_block * g.block_bytes());
  }
}

TEST(KvGeometry, GrowsRegularlyOnceItsResidualWindowIsFull) {
  const KvGeometry g(tiny_model(), 1, {tiny_model(), two_bit(), 1}, 16);
  EXPECT_FALSE(g.compressed_read_growth(100, 27, 1));
  // (2/16 + 2/32) of 1,024 bytes; 3 sixteenths of a token.
  EXPECT_EQ(g.compressed_read_growth(100, 28, 1), 192);
  EXPECT_EQ(g.compressed_units()->of_token, 16);
  EXPECT_EQ(g.compressed_units()->a_token_adds, 3);
  // 128 whole tokens and one of three sixteenths.
  EXPECT_EQ(g.compressed().in_units(100, 29), 128 * 16 + 3);
}

}  // namespace
}  // namespace kvsim::serving::KVSIM_FILE
