// A profile's figures of frameworks without fused kernels and paged KV: keys, bounds, and that they are listed.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/catalogue/catalogue.h"
#include "models/kernels/profile.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

KernelProfile parse(const std::string& attention, const std::string& rest = "") {
  const std::string text =
      "description: eager\nmeasured_on: none\n"
      "linear: {t0: 0 us, bandwidth_efficiency: 0.8, compute_efficiency: {points: [{size: 1, efficiency: 0.7}]}}\n"
      "attention: {t0: 0 us, bandwidth_efficiency: 0.1, compute_efficiency: {points: [{size: 1, efficiency: 0.6}]}" +
      attention + "}\n" + rest;
  return profile_schema().parse(schema::read_yaml(text, "profile.yaml"));
}

TEST(FrameworkProfile, KeysLeftOutMeanFusedKernelsAndAPagedEngine) {
  const KernelProfile p = parse("");
  EXPECT_EQ(p.low_bit.elements_per_s.value, 0);
  EXPECT_EQ(p.further_query_share.value, 0);
  EXPECT_FALSE(p.framework);
}

TEST(FrameworkProfile, KeysAreRead) {
  const KernelProfile p = parse(
      ", low_bit: {elements_per_s: {value: 2e9, source: derived, reference: ours}, blend_power: 3}, "
      "further_query_share: 0.25",
      "framework: {workspace: 3 GB, full_kv_factor: {value: 2, source: derived, reference: two copies}}");
  EXPECT_DOUBLE_EQ(p.low_bit.elements_per_s.value, 2e9);
  EXPECT_EQ(p.low_bit.elements_per_s.source.reference, "ours");
  EXPECT_DOUBLE_EQ(p.low_bit.blend_power, 3);
  EXPECT_DOUBLE_EQ(p.further_query_share.value, 0.25);
  ASSERT_TRUE(p.framework);
  EXPECT_EQ(p.framework->workspace_bytes.value, 3'000'000'000);
  EXPECT_DOUBLE_EQ(p.framework->full_kv_factor.value, 2);
  EXPECT_EQ(p.framework->full_kv_factor.source.kind, schema::SourceKind::derived);
}

TEST(FrameworkProfile, WhatIsWrittenReadsBackTheSame) {
  const auto& schema = profile_schema();
  for (const KernelProfile& p :
       {parse(""), parse(", low_bit: {elements_per_s: 2e9}, further_query_share: 1", "framework: {workspace: 3 GB}"),
        Catalogue::built_in().profile("a6000-pytorch-eager")}) {
    const schema::ConfigNode written = schema.dump(p);
    const KernelProfile again = schema.parse(written);
    EXPECT_EQ(schema.dump(again), written);
    EXPECT_EQ(again.low_bit.elements_per_s.value, p.low_bit.elements_per_s.value);
    EXPECT_EQ(again.low_bit.blend_power, p.low_bit.blend_power);
    EXPECT_EQ(again.further_query_share.value, p.further_query_share.value);
    ASSERT_EQ(again.framework.has_value(), p.framework.has_value());
    if (!p.framework) continue;
    EXPECT_EQ(again.framework->workspace_bytes.value, p.framework->workspace_bytes.value);
    EXPECT_EQ(again.framework->full_kv_factor.value, p.framework->full_kv_factor.value);
    EXPECT_EQ(again.framework->full_kv_factor.source.reference, p.framework->full_kv_factor.source.reference);
  }
}

TEST(LowBitAttention, TakesItsBytesAndItsElements) {
  // Read at 100 B/s; two multiprocessors dequantise 4 elements a second each: an element of 1/4 B is read in 2.5 ms and
  // dequantised in 125 ms, one of half as many bits in as long.
  LowBitAttention apart;
  apart.elements_per_s.value = 4;
  EXPECT_NEAR(apart.time_factor(0.25, 100, 2), (0.0025 + 0.125) / 0.0025, 1e-9);
  EXPECT_NEAR(apart.time_factor(0.125, 100, 2), (0.00125 + 0.125) / 0.00125, 1e-9);
  LowBitAttention fused = apart;
  fused.blend_power = 64;
  EXPECT_NEAR(fused.time_factor(0.25, 100, 2), 0.125 / 0.0025, 1e-6);  // dequantising hides the reading
  EXPECT_NEAR(fused.time_factor(20, 100, 2), 1, 0.02);                 // 0.2 s against 0.125 s: bytes alone
}

TEST(FrameworkProfile, FiguresThatCannotBeAreRefused) {
  EXPECT_THROW(parse(", low_bit: {elements_per_s: 0}"), schema::InputError);
  EXPECT_THROW(parse(", low_bit: {elements_per_s: 1e9, blend_power: 0.5}"), schema::InputError);
  EXPECT_THROW(parse(", further_query_share: 1.1"), schema::InputError);
  EXPECT_THROW(parse(", further_query_share: -0.1"), schema::InputError);
  EXPECT_THROW(parse("", "framework: {full_kv_factor: 0.9}"), schema::InputError);
  EXPECT_THROW(parse("", "framework: {full_kv_factor: 1e18}"), schema::InputError);
  EXPECT_THROW(parse("", "framework: {workspace: -1 GB}"), schema::InputError);
}

TEST(FrameworkProfile, ItsFiguresAreListedWithTheirSources) {
  const Catalogue catalogue = Catalogue::built_in();
  const auto listed = [&](const char* profile) {
    return used_figures(catalogue.gpu("a6000"), catalogue.profile(profile), catalogue.model("mistral-7b"), 1);
  };
  const auto has = [](const std::vector<UsedFigure>& list, const std::string& name) {
    return std::any_of(list.begin(), list.end(), [&](const UsedFigure& f) {
      return f.name == name && f.source.kind == schema::SourceKind::derived && !f.source.reference.empty();
    });
  };
  for (const char* name : {"profile.attention.low_bit.elements_per_s", "profile.attention.further_query_share",
                           "profile.framework.workspace", "profile.framework.full_kv_factor"}) {
    EXPECT_TRUE(has(listed("a6000-pytorch-eager"), name)) << name;
    EXPECT_FALSE(has(listed("ampere-a6000"), name)) << name;
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
