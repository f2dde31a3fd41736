// What prefetching moves and what it is worth, by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <tuple>

#include "models/catalogue/catalogue.h"
#include "models/prefetch/prefetch_spec.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

const Catalogue& catalogue() {
  static const Catalogue shipped = Catalogue::built_in();
  return shipped;
}

PrefetchSpec spec_with(const char* profile) {
  PrefetchSpec spec;
  spec.attention = catalogue().attention_profile(profile);
  return spec;
}

TEST(UnionOfTopK, NeighboursShareTheOverlap) {
  EXPECT_DOUBLE_EQ(union_of_top_k(64, 1, 0.3, 1e6), 64);
  EXPECT_DOUBLE_EQ(union_of_top_k(64, 3, 0, 1e6), 192);
  EXPECT_DOUBLE_EQ(union_of_top_k(64, 3, 0.75, 1e6), 96);  // 64 (1 + 2/4)
  EXPECT_DOUBLE_EQ(union_of_top_k(64, 3, 0, 100), 100);
}

TEST(FetchedTokens, AreWholeRows) {
  PrefetchSpec spec;
  spec.top_k = 60;
  EXPECT_EQ(fetched_tokens(spec, 1000), 60);
  spec.row_tokens = 16;
  EXPECT_EQ(fetched_tokens(spec, 1000), 64);
  EXPECT_EQ(fetched_tokens(spec, 62), 62);
  spec.row_tokens = 10;
  spec.query_tokens = 11;
  spec.overlap = 0.9;  // 60 (1 + 10/10) = 120 tokens, whatever the rounding of 0.1
  EXPECT_EQ(fetched_tokens(spec, 1000), 120);
}

TEST(LayerFetch, OfMistral7BIsEightMebibytesAStep) {
  // 64 pairs x 32 layers x 8 heads x 128 x 2 (K and V) x 2 bytes.
  const LlmSpec mistral = catalogue().model("mistral-7b");
  const LayerFetch layer = layer_fetch({}, mistral, 1, 32768);
  EXPECT_EQ(layer.rows, 64 * 8 * 2);
  EXPECT_EQ(layer.row_bytes, 256);
  EXPECT_EQ(static_cast<double>(mistral.layers) * layer.bytes(), 8388608);
}

TEST(LayerFetch, InterleavedPairsAreHalfAsManyRowsTwiceAsLong) {
  const LlmSpec mistral = catalogue().model("mistral-7b");
  PrefetchSpec spec;
  spec.layout = RowLayout::interleaved;
  const LayerFetch layer = layer_fetch(spec, mistral, 1, 32768);
  EXPECT_EQ(layer.rows, 64 * 8);
  EXPECT_EQ(layer.row_bytes, 512);
}

TEST(LayerFetch, WhatIsThereAlreadyIsNotFetchedAgain) {
  const LlmSpec mistral = catalogue().model("mistral-7b");
  PrefetchSpec spec;
  spec.overlap = 0.6;
  EXPECT_EQ(layer_fetch(spec, mistral, 1, 32768).rows, 26 * 8 * 2);  // 25.6 of 64
  spec.row_tokens = 4;
  EXPECT_EQ(layer_fetch(spec, mistral, 1, 32768).rows, 7 * 8 * 2);  // 6.4 of 16
  EXPECT_EQ(layer_fetch(spec, mistral, 1, 32768).row_bytes, 4 * 256);
}

TEST(LayerFetch, HeadsAreSharedOutUntilEachGpuHasOne) {
  const LlmSpec mistral = catalogue().model("mistral-7b");  // 8 KV heads
  EXPECT_EQ(layer_fetch({}, mistral, 2, 32768).rows, 64 * 4 * 2);
  EXPECT_EQ(layer_fetch({}, mistral, 8, 32768).rows, 64 * 2);
  EXPECT_EQ(layer_fetch({}, mistral, 16, 32768).rows, 64 * 2);
}

TEST(LayerFetch, NarrowElementsMakeShorterRows) {
  LlmSpec mistral = catalogue().model("mistral-7b");
  mistral.kv_bytes_per_element = 1;
  EXPECT_EQ(layer_fetch({}, mistral, 1, 32768).row_bytes, 128);
}

TEST(LayerFetch, OfALatentIsRefused) {
  LlmSpec latent = catalogue().model("mistral-7b");
  latent.attention = AttentionKind::mla;
  EXPECT_THROW(static_cast<void>(layer_fetch({}, latent, 1, 32768)), std::invalid_argument);
}

TEST(ResidentFraction, IsAsPublished) {
  // SpeCache: groups of 32, a residual of 64 tokens and 64 prefetched.
  CompressorSpec copy;
  copy.group_size = 32;
  copy.bits_per_element = 2;
  EXPECT_NEAR(resident_fraction(copy, 128, 32768), 0.19, 0.005);
  EXPECT_DOUBLE_EQ(resident_fraction(copy, 128, 32768), 2.0 / 16 + 2.0 / 32 + 128.0 / 32768);
  copy.bits_per_element = 1;
  EXPECT_NEAR(resident_fraction(copy, 128, 8192), 0.14, 0.005);
  EXPECT_DOUBLE_EQ(resident_fraction(copy, 128, 100), 1.0 / 16 + 2.0 / 32 + 1) << "kept beside the copy";
}

TEST(SpeCacheCompressors, KeepWhatTheirBitsAndGroupsSay) {
  for (const auto& [name, bits, ratio] : {std::tuple{"specache-2bit", 2.0, 0.15625}, {"specache-1bit", 1.0, 0.09375}}) {
    const CompressorSpec c = catalogue().compressor(name);
    EXPECT_EQ(c.bits_per_element, bits);
    EXPECT_EQ(c.group_size, 64);
    EXPECT_EQ(c.residual_tokens, 64);
    EXPECT_DOUBLE_EQ(c.quantised_ratio(), ratio);
    ASSERT_EQ(c.quality.size(), 2U);  // groups of 64, and of 32
    ASSERT_EQ(c.step_kl_nats.size(), 1U);
    EXPECT_DOUBLE_EQ(c.quality[0].keep_ratio, ratio);
    EXPECT_DOUBLE_EQ(c.quality[1].keep_ratio, ratio + 2.0 / 64);
    EXPECT_DOUBLE_EQ(c.step_kl_nats[0].keep_ratio, ratio);
  }
}

TEST(PrefetchQuality, IsTheMassTimesTheHitRate) {
  PrefetchSpec spec;  // 64 of 6400: 1 %
  spec.attention.coverage = {{0.01, 0.8}};
  spec.attention.hit_rate = {{2, 0.75}};
  spec.attention.recovery = {{0.6, 0.5}};
  CompressorSpec copy;
  copy.bits_per_element = 2;  // an eighth
  copy.quality = {{0.125, 0.9}};
  copy.step_kl_nats = {{0.125, 0.06}};
  const PrefetchQuality q = prefetch_quality(spec, copy, 6400, true);
  EXPECT_DOUBLE_EQ(q.share_of_keys, 0.01);
  EXPECT_DOUBLE_EQ(q.mass, 0.8);
  EXPECT_DOUBLE_EQ(q.hit_rate, 0.75);
  EXPECT_DOUBLE_EQ(q.covered, 0.6);
  EXPECT_DOUBLE_EQ(q.recovered, 0.5);
  EXPECT_DOUBLE_EQ(q.score, 0.95);
  EXPECT_DOUBLE_EQ(q.step_kl, 0.03);
  const PrefetchQuality own = prefetch_quality(spec, copy, 6400, false);  // 0.8: half-way from 0.6 to 1
  EXPECT_DOUBLE_EQ(own.hit_rate, 1);
  EXPECT_DOUBLE_EQ(own.covered, 0.8);
  EXPECT_DOUBLE_EQ(own.recovered, 0.75);
}

TEST(PrefetchQuality, OfAWholeContextIsTheFullCaches) {
  PrefetchSpec spec = spec_with("specache-published");
  const CompressorSpec copy = catalogue().compressor("specache-1bit");
  for (const std::int64_t row : {1, 16, 64}) {
    spec.row_tokens = row;
    const PrefetchQuality q = prefetch_quality(spec, copy, 64, true);
    EXPECT_DOUBLE_EQ(q.share_of_keys, 1);
    EXPECT_DOUBLE_EQ(q.score, 1);
    EXPECT_DOUBLE_EQ(q.step_kl, 0);
  }
}

TEST(PrefetchQuality, WithKeysAlikeFewPairsAreWorthLittle) {
  const CompressorSpec copy = catalogue().compressor("specache-1bit");
  const PrefetchQuality q = prefetch_quality(spec_with("uniform"), copy, 6400, true);
  EXPECT_DOUBLE_EQ(q.covered, 0.01);
  const double alone = copy.quality_at(copy.quantised_ratio());
  EXPECT_NEAR(q.score, alone + (1 - alone) * 0.01, 1e-12);
}

TEST(PrefetchQuality, RowsOfNeighboursHoldFewerOfTheMostAttended) {
  PrefetchSpec spec = spec_with("specache-published");
  const CompressorSpec copy = catalogue().compressor("specache-2bit");
  const PrefetchQuality tokens = prefetch_quality(spec, copy, 32768, true);
  spec.row_tokens = 16;
  const PrefetchQuality rows = prefetch_quality(spec, copy, 32768, true);
  EXPECT_EQ(rows.share_of_keys, tokens.share_of_keys);
  EXPECT_LT(rows.mass, tokens.mass);
}

TEST(PrefetchQuality, PairsForOtherQueryTokensDoNotCount) {
  PrefetchSpec spec = spec_with("specache-published");
  const CompressorSpec copy = catalogue().compressor("specache-2bit");
  const PrefetchQuality one = prefetch_quality(spec, copy, 32768, true);
  spec.query_tokens = 4;
  const PrefetchQuality four = prefetch_quality(spec, copy, 32768, true);
  EXPECT_DOUBLE_EQ(four.share_of_keys, 4 * one.share_of_keys);
  EXPECT_EQ(four.mass, one.mass);
}

TEST(PrefetchQuality, IsNotANumberWhereTheQuantisersIsUnknown) {
  CompressorSpec copy;
  copy.bits_per_element = 2;
  const PrefetchQuality q = prefetch_quality(spec_with("uniform"), copy, 6400, true);
  EXPECT_TRUE(std::isnan(q.score));
  EXPECT_TRUE(std::isnan(q.step_kl));
  EXPECT_DOUBLE_EQ(q.covered, 0.01);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
