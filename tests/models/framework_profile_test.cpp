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
  EXPECT_EQ(p.low_bit_time_factor.value, 0);
  EXPECT_EQ(p.further_query_share.value, 0);
  EXPECT_FALSE(p.framework);
}

TEST(FrameworkProfile, KeysAreRead) {
  const KernelProfile p =
      parse(", low_bit_time_factor: {value: 1.5, source: derived, reference: ours}, further_query_share: 0.25",
            "framework: {workspace: 3 GB, full_kv_factor: {value: 2, source: derived, reference: two copies}}");
  EXPECT_DOUBLE_EQ(p.low_bit_time_factor.value, 1.5);
  EXPECT_EQ(p.low_bit_time_factor.source.reference, "ours");
  EXPECT_DOUBLE_EQ(p.further_query_share.value, 0.25);
  ASSERT_TRUE(p.framework);
  EXPECT_EQ(p.framework->workspace_bytes.value, 3'000'000'000);
  EXPECT_DOUBLE_EQ(p.framework->full_kv_factor.value, 2);
  EXPECT_EQ(p.framework->full_kv_factor.source.kind, schema::SourceKind::derived);
}

TEST(FrameworkProfile, WhatIsWrittenReadsBackTheSame) {
  const auto& schema = profile_schema();
  for (const KernelProfile& p :
       {parse(""), parse(", low_bit_time_factor: 1.5, further_query_share: 1", "framework: {workspace: 3 GB}"),
        Catalogue::built_in().profile("a6000-pytorch-eager")}) {
    const schema::ConfigNode written = schema.dump(p);
    const KernelProfile again = schema.parse(written);
    EXPECT_EQ(schema.dump(again), written);
    EXPECT_EQ(again.low_bit_time_factor.value, p.low_bit_time_factor.value);
    EXPECT_EQ(again.further_query_share.value, p.further_query_share.value);
    ASSERT_EQ(again.framework.has_value(), p.framework.has_value());
    if (!p.framework) continue;
    EXPECT_EQ(again.framework->workspace_bytes.value, p.framework->workspace_bytes.value);
    EXPECT_EQ(again.framework->full_kv_factor.value, p.framework->full_kv_factor.value);
    EXPECT_EQ(again.framework->full_kv_factor.source.reference, p.framework->full_kv_factor.source.reference);
  }
}

TEST(FrameworkProfile, FiguresThatCannotBeAreRefused) {
  EXPECT_THROW(parse(", low_bit_time_factor: -1"), schema::InputError);
  EXPECT_THROW(parse(", further_query_share: 1.1"), schema::InputError);
  EXPECT_THROW(parse(", further_query_share: -0.1"), schema::InputError);
  EXPECT_THROW(parse("", "framework: {full_kv_factor: 0.9}"), schema::InputError);
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
  for (const char* name : {"profile.attention.low_bit_time_factor", "profile.attention.further_query_share",
                           "profile.framework.workspace", "profile.framework.full_kv_factor"}) {
    EXPECT_TRUE(has(listed("a6000-pytorch-eager"), name)) << name;
    EXPECT_FALSE(has(listed("ampere-a6000"), name)) << name;
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
