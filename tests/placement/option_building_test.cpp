// Pools of options, worked out by hand from the compressors' entries.
#include "models/placement/option_pool.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/placement/placement_spec.h"
#include "models/schemas.h"
#include "tests/placement/pools.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

TEST(OptionPools, HoldEachMethodAtEachRatioEachQuantiserAndBoth) {
  const OptionPool pool = pool_of({"kvzip", "knorm"}, {0.5, 0.25}, {"kivi-4bit"});
  std::vector<std::string> names;
  for (const StorageOption& option : pool.all()) names.push_back(option.name);
  const std::vector<std::string> expected{"full",
                                          "kvzip 0.5",
                                          "kvzip 0.25",
                                          "knorm 0.5",
                                          "knorm 0.25",
                                          "kivi-4bit",
                                          "kvzip 0.5 x kivi-4bit",
                                          "kvzip 0.25 x kivi-4bit",
                                          "knorm 0.5 x kivi-4bit",
                                          "knorm 0.25 x kivi-4bit"};
  EXPECT_EQ(names, expected);
  OptionsSpec apart = options_of({"kvzip"}, {0.5}, {"kivi-4bit"});
  apart.combine = false;
  EXPECT_EQ(option_pool(apart, 2e9).size(), 3U);
}

// KIVI at 4 bits: 4/16 + 2/32 = 0.3125 of the bytes, both ways at 500 GB/s; KVzip has no rate, so a worker's 2 GB/s.
TEST(OptionPools, HaveTheirBytesAndTimes) {
  const OptionPool pool = pool_of({"kvzip"}, {0.25}, {"kivi-4bit"});
  const StorageOption& kvzip = pool[named(pool, "kvzip 0.25")];
  EXPECT_EQ(kvzip.bytes_ratio(), 0.25);
  EXPECT_DOUBLE_EQ(kvzip.compress_s_per_full_byte, 1 / 2e9);
  EXPECT_EQ(kvzip.decompress_s_per_full_byte, 0);
  EXPECT_EQ(kvzip.quantised_quality, 1);
  const StorageOption& kivi = pool[named(pool, "kivi-4bit")];
  EXPECT_EQ(kivi.method, "");
  EXPECT_EQ(kivi.bytes_ratio(), 0.3125);
  EXPECT_DOUBLE_EQ(kivi.compress_s_per_full_byte, 1 / 500e9);
  EXPECT_DOUBLE_EQ(kivi.decompress_s_per_full_byte, 1 / 500e9);
  const StorageOption& both = pool[named(pool, "kvzip 0.25 x kivi-4bit")];
  EXPECT_EQ(both.method, "kvzip");
  EXPECT_EQ(both.quantiser, "kivi-4bit");
  EXPECT_EQ(both.bytes_ratio(), 0.25 * 0.3125);
  EXPECT_DOUBLE_EQ(both.compress_s_per_full_byte, 1 / 2e9 + 0.25 / 500e9);
  EXPECT_DOUBLE_EQ(both.decompress_s_per_full_byte, 0.25 / 500e9);
  EXPECT_EQ(both.quantised_quality, kivi.quantised_quality);
  EXPECT_EQ(pool.bytes(named(pool, "kvzip 0.25 x kivi-4bit"), 1'000'000), 78'125);
}

TEST(OptionPools, AddUpDivergencesWhereBothAreKnown) {
  OptionsSpec options = options_of({"kvzip"}, {0.25}, {"kivi-4bit"});
  const OptionPool pool = option_pool(options, 2e9);
  const double dropped = pool[named(pool, "kvzip 0.25")].step_kl, narrowed = pool[named(pool, "kivi-4bit")].step_kl;
  EXPECT_DOUBLE_EQ(dropped, 0.023);  // VeriCache, at a quarter kept
  EXPECT_GT(narrowed, 0);
  EXPECT_DOUBLE_EQ(pool[named(pool, "kvzip 0.25 x kivi-4bit")].step_kl, dropped + narrowed);
  options.methods[0].step_kl_nats.clear();
  const OptionPool unknown = option_pool(options, 2e9);
  EXPECT_TRUE(std::isnan(unknown[named(unknown, "kvzip 0.25 x kivi-4bit")].step_kl));
}

TEST(OptionPools, LeaveOutWhatSavesNothingOrIsThereAlready) {
  EXPECT_EQ(pool_of({"kvzip", "kvzip"}, {0.5, 1.0, 0.5}).size(), 2U);
  EXPECT_EQ(option_pool(shipped().compressor("kvzip"), 1, 2e9).size(), 1U);
}

TEST(OptionPools, OfPoliciesThatOnlyOrderHoldOneRepresentation) {
  const OptionPool dropped = option_pool(shipped().compressor("keydiff"), 0.3, 1e9);
  ASSERT_EQ(dropped.size(), 2U);
  EXPECT_EQ(dropped[1].name, "keydiff 0.3");
  EXPECT_DOUBLE_EQ(dropped[1].compress_s_per_full_byte, 1e-9);
  const OptionPool narrowed = option_pool(shipped().compressor("kivi-4bit"), 0.3125, 1e9);
  ASSERT_EQ(narrowed.size(), 2U);
  EXPECT_EQ(narrowed[1].name, "kivi-4bit");
  EXPECT_EQ(narrowed[1].bytes_ratio(), 0.3125);
}

TEST(OptionPools, FollowThePolicy) {
  PlacementSpec spec;
  EXPECT_EQ(option_pool(spec).size(), 1U);
  spec.compressor = shipped().compressor("kvzip");
  spec.keep_ratio = 0.5;
  EXPECT_EQ(option_pool(spec)[1].name, "kvzip 0.5");
  spec.policy = importance_policy;
  EXPECT_EQ(option_pool(spec)[1].name, "important chunks");
  spec.policy = utility_policy;
  complete_methods(spec.options, [](const char* name) { return shipped().compressor(name); });
  EXPECT_EQ(option_pool(spec).size(), 1U + 3U * 4U);
  complete_methods(spec.options, [](const char*) -> CompressorSpec { throw std::logic_error("asked twice"); });
}

// An object can lose more tokens or bits, never gain any back.
TEST(OptionPools, SayWhatCanBeMadeOfWhat) {
  const OptionPool pool = pool_of({"kvzip", "knorm"}, {0.5, 0.25}, {"kivi-4bit", "kivi-2bit"});
  const auto follows = [&](const char* from, const char* to) {
    return pool.follows(named(pool, from), named(pool, to));
  };
  EXPECT_TRUE(follows("full", "kvzip 0.5"));
  EXPECT_TRUE(follows("kvzip 0.5", "knorm 0.25"));
  EXPECT_TRUE(follows("kvzip 0.5", "kvzip 0.25 x kivi-4bit"));
  EXPECT_TRUE(follows("kivi-4bit", "kvzip 0.25 x kivi-4bit"));
  EXPECT_FALSE(follows("kvzip 0.25", "kvzip 0.5"));
  EXPECT_FALSE(follows("kvzip 0.5", "knorm 0.5")) << "as many bytes";
  EXPECT_FALSE(follows("kvzip 0.5", "kivi-4bit")) << "dropped tokens do not come back";
  EXPECT_FALSE(follows("kivi-4bit", "kvzip 0.25")) << "nor do bits";
  EXPECT_FALSE(follows("kivi-4bit", "kivi-2bit")) << "what is narrow is not narrowed by another method";
}

// A quarter important in runs of 16, chunks of 64: four places a chunk, 1 - 0.75^4 = 0.68359375.
TEST(ImportantChunks, HoldMoreThanTheImportantTokens) {
  EXPECT_NEAR(stored_share({.share = 0.25, .chunk_tokens = 64, .run_tokens = 16}), 0.68359375, 1e-12);
  EXPECT_NEAR(stored_share({.share = 0.1, .chunk_tokens = 32, .run_tokens = 16}), 0.19, 1e-12);
  EXPECT_DOUBLE_EQ(stored_share({.share = 0.25, .chunk_tokens = 16, .run_tokens = 16}), 0.25);
  EXPECT_DOUBLE_EQ(stored_share({.share = 0.25, .chunk_tokens = 8, .run_tokens = 16}), 0.25);
  EXPECT_NEAR(stored_share({.share = 1e-9, .chunk_tokens = 64, .run_tokens = 1}), 64e-9, 1e-14);
}

TEST(ImportantChunks, AreOneOptionOfWhichTheImportantTokensAreAttended) {
  const OptionPool pool = option_pool(ImportanceSpec{}, 2e9);
  ASSERT_EQ(pool.size(), 2U);
  EXPECT_EQ(pool[1].name, "important chunks");
  EXPECT_NEAR(pool[1].bytes_ratio(), 0.68359375, 1e-12);
  EXPECT_EQ(pool[1].attended_share(), 0.25);
  EXPECT_DOUBLE_EQ(pool[1].compress_s_per_full_byte, 3.0 / 16 / 2e9) << "keys of three heads of eight are read";
  EXPECT_EQ(pool[0].attended_share(), 1);
  // Chunks so large that each holds an important token save nothing.
  EXPECT_EQ(option_pool(ImportanceSpec{.share = 0.9, .chunk_tokens = 4096, .run_tokens = 1}, 2e9).size(), 1U);
}

TEST(OptionPools, SayWhatTheyTakeForGranted) {
  PlacementSpec spec;
  EXPECT_TRUE(option_assumptions(spec).empty());
  spec.compressor = shipped().compressor("kvzip");
  spec.keep_ratio = 0.5;
  EXPECT_EQ(option_assumptions(spec).size(), 2U);
  spec.policy = importance_policy;
  EXPECT_EQ(option_assumptions(spec).size(), 3U);
  EXPECT_NE(option_assumptions(spec)[0].find("0.684 of the bytes"), std::string::npos) << option_assumptions(spec)[0];
  spec.policy = utility_policy;
  spec.options = options_of({"kvzip"}, {0.5}, {"kivi-4bit"});
  EXPECT_EQ(option_assumptions(spec).size(), 4U);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
