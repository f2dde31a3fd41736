// What a scenario may say of placement, and what it is told where it says something else.
#include "models/placement/placement_spec.h"
#include "models/schemas.h"

#include <gtest/gtest.h>

#include "tests/placement/pools.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using schema::yaml;

const schema::ObjectSchema<PlacementSpec>& table() {
  static const auto schema = placement_schema({{"none", "nothing is kept", 0},
                                               {"lru", "the least recently used goes", 0},
                                               {"importance_chunks", "important chunks", 0},
                                               {"utility", "the least loss of utility goes", 0}});
  return schema;
}

PlacementSpec parsed(const std::string& text) {
  return table().parse(yaml(text), {"placement", &shipped()});
}

std::string failure(const std::string& text) {
  return schema::error_of([&] { return parsed(text); });
}

/// The text is refused at a key, in words that hold `says`.
void expect_refused(const std::string& text, const std::string& key, const std::string& says) {
  const std::string error = failure(text);
  EXPECT_NE(error.find("placement" + (key.empty() ? "" : "." + key) + ": "), std::string::npos)
      << text << ": " << error;
  EXPECT_NE(error.find(says), std::string::npos) << text << ": " << error;
}

TEST(PlacementSchema, ReadsEveryKey) {
  const PlacementSpec p = parsed(
      "{policy: utility, granularity: blocks, utility: {alpha: 4 s, variant: least_drop_for_need, first: whole, "
      "targets: next, "
      "frequency: decayed, "
      "half_life: 2 min, bandwidth: observed, promote: false}, options: {methods: [kvzip, keydiff], keep_ratios: "
      "[0.5], "
      "quantisers: [kivi-4bit], combine: false}, quality: {advantage: 0.25, disadvantage: 1.5, shape: 1, best: {kvzip: "
      "0.75, knorm: 0, snapkv: 0, keydiff: 0.25}}, drift: {every: 30 s, magnitude: 0.2}, profiling: {online: true, "
      "threshold: 0.1, "
      "queries: 2, noise: 0.2, output_tokens: 64 tokens}, workers: 3, worker_rate: 1 GB/s, in_transit: 0.2, "
      "gpu_memory: 1 GB}");
  EXPECT_EQ(p.granularity, Granularity::blocks);
  EXPECT_EQ(p.utility.alpha_s, 4);
  EXPECT_EQ(p.utility.variant, UtilityVariant::least_drop_for_need);
  EXPECT_EQ(p.utility.first, FirstPlacement::whole);
  EXPECT_EQ(p.utility.targets, EvictionTargets::next);
  EXPECT_EQ(p.utility.half_life_s, 120);
  EXPECT_EQ(p.utility.bandwidth, BandwidthBelief::observed);
  EXPECT_FALSE(p.utility.promote);
  ASSERT_EQ(p.options.methods.size(), 2U);
  EXPECT_EQ(p.options.methods[1].name, "keydiff");
  EXPECT_EQ(p.options.quantisers.at(0).name, "kivi-4bit");
  EXPECT_FALSE(p.options.combine);
  EXPECT_EQ(p.quality.best_kvzip, 0.75);
  EXPECT_EQ(p.quality.best_keydiff, 0.25);
  EXPECT_EQ(p.drift.every_s, 30);
  EXPECT_EQ(p.profiling.output_tokens, 64);
  EXPECT_EQ(p.profiling.noise, 0.2);
  EXPECT_EQ(p.workers, 3);
  EXPECT_EQ(p.worker_bytes_per_s, 1e9);
  EXPECT_EQ(p.gpu_memory_bytes, 1'000'000'000);
}

TEST(PlacementSchema, HasDefaultsThatStandForThemselves) {
  const PlacementSpec p = parsed("{}");
  EXPECT_EQ(p.policy, "lru");
  EXPECT_FALSE(p.granularity.has_value());
  EXPECT_TRUE(p.options.methods.empty());
  for (const char* name : default_option_methods) EXPECT_TRUE(shipped().contains(EntryKind::compressor, name));
}

/// Written out whole, without the keys of other policies.
schema::ConfigNode written(const PlacementSpec& spec) {
  schema::ConfigNode node = table().dump(spec);
  for (const ForeignKey& foreign : foreign_keys(spec.policy)) node.erase(foreign.key);
  return node;
}

TEST(PlacementSchema, WhatIsWrittenOutReadsBack) {
  for (const char* text : {"{}", "{policy: none}", "{policy: lru, compressor: kvzip, keep_ratio: 0.5}",
                           "{policy: lru, compressor: kivi-4bit}",
                           "{policy: importance_chunks, importance: {share: 0.1}}", "{policy: utility}",
                           "{policy: utility, options: {methods: [knorm], quantisers: [kivi-2bit]}, quality: {source: "
                           "file, path: a.csv}}"}) {
    const schema::ConfigNode first = written(parsed(text));
    EXPECT_EQ(written(table().parse(first, {"placement", &shipped()})), first) << text;
  }
}

TEST(PlacementSchema, RefusesRepresentationsOfOtherPolicies) {
  expect_refused("{policy: utility, compressor: kvzip, keep_ratio: 0.5}", "compressor", "options.methods");
  expect_refused("{policy: utility, keep_ratio: 0.5}", "keep_ratio", "options.keep_ratios");
  expect_refused("{policy: importance_chunks, compressor: kvzip, keep_ratio: 0.5}", "compressor", "importance.share");
  expect_refused("{policy: none, compressor: kvzip, keep_ratio: 0.5}", "compressor", "remove this key");
}

TEST(PlacementSchema, ACompressorThatDropsTokensNeedsARatioAndAQuantiserHasIts) {
  expect_refused("{compressor: kvzip}", "", "keep_ratio");
  expect_refused("{keep_ratio: 0.5}", "keep_ratio", "add compressor");
  expect_refused("{compressor: kivi-4bit, keep_ratio: 0.5}", "keep_ratio", "keeps 0.3125");
  EXPECT_EQ(failure("{compressor: kivi-4bit, keep_ratio: 0.3125}"), "no error");
  expect_refused("{compressor: {base: kivi-4bit, kind: both}, keep_ratio: 0.2}", "compressor", "one of both");
  expect_refused("{compressor: knrm, keep_ratio: 0.5}", "compressor", "did you mean \"knorm\"");
}

TEST(PlacementSchema, OptionsAreOfTheRightKindAndThereOnce) {
  const auto options = [](const std::string& text) { return "{policy: utility, options: {" + text + "}}"; };
  expect_refused(options("methods: [kivi-4bit]"), "options.methods.0", "quantisers");
  expect_refused(options("quantisers: [kivi-4bit, kvzip]"), "options.quantisers.1", "methods");
  expect_refused(options("methods: [kvzip, knorm, kvzip]"), "options.methods.2", "twice");
  expect_refused(options("quantisers: [kivi-4bit, kivi-4bit]"), "options.quantisers.1", "twice");
  expect_refused(options("keep_ratios: [0.5, 0.25, 0.5]"), "options.keep_ratios.2", "twice");
  expect_refused(options("keep_ratios: [1]"), "options.keep_ratios.0", "the whole object is an option anyway");
  expect_refused(options("keep_ratios: [0]"), "options.keep_ratios.0", "> 0");
  expect_refused(options("methods: []"), "options.methods", "1");
  expect_refused(options("quantisers: [{description: x, kind: quantisation, mode: online, scope: all, reload: whole, "
                         "bits_per_element: 4}]"),
                 "options.quantisers.0", "no quality curve");
}

TEST(PlacementSchema, QualityComesFromOneSource) {
  expect_refused("{quality: {source: file}}", "quality", "missing key \"path\"");
  expect_refused("{quality: {best: {kvzip: 0.5}}}", "quality.best", "add up to 1.1");
  expect_refused("{quality: {advantage: 0.9, disadvantage: 0.8}}", "quality.advantage", "above disadvantage");
}

/// Another policy's keys stand for their defaults, whatever was written there.
TEST(PlacementSchema, KeysOfOtherPoliciesAreReset) {
  PlacementSpec p =
      parsed("{policy: lru, options: {methods: [knorm]}, profiling: {online: true}, utility: {alpha: 1 s}}");
  reset_foreign_keys(p);
  EXPECT_TRUE(p.options.methods.empty());
  EXPECT_FALSE(p.profiling.online);
  EXPECT_EQ(p.utility.alpha_s, UtilitySpec{}.alpha_s);
  PlacementSpec own = parsed("{policy: utility, options: {methods: [knorm]}, profiling: {online: true}}");
  reset_foreign_keys(own);
  EXPECT_EQ(own.options.methods.size(), 1U);
  EXPECT_TRUE(own.profiling.online);
}

TEST(PlacementSchema, RefusesWhatIsOutOfRange) {
  for (const char* key : {"policy: lrv", "granularity: tokens", "workers: 0", "worker_rate: 0 GB/s", "in_transit: 1",
                          "gpu_memory: -1 GB", "drift: {every: -1 s}", "drift: {every: 1 us}", "worker_rate: 1 B/s",
                          "quality: {shape: 0}", "quality: {advantage: 2}"}) {
    const std::string name = std::string(key).substr(0, std::string(key).find(':'));
    EXPECT_NE(failure("{" + std::string(key) + "}").find("placement." + name), std::string::npos) << key;
  }
  expect_refused("{policy: importance_chunks, importance: {share: 1}}", "importance.share", "no choice");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
