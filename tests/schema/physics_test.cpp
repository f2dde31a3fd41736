// Entries that break physics or arithmetic are refused at the offending figure, with the reason.
#include <gtest/gtest.h>

#include "models/compression/compressor_spec.h"
#include "models/hardware/gpu.h"
#include "models/kernels/profile.h"
#include "models/llm/llm_spec.h"
#include "models/schemas.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using schema::error_of;
using schema::yaml;

/// `text` with its only occurrence of `from` replaced.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const std::string profile = R"(description: test
measured_on: a100
linear:
  t0: 5 us
  bandwidth_efficiency: 0.8
  compute_efficiency: {points: [{size: 512, efficiency: 0.7}, {size: 1024, efficiency: 0.8}]}
attention:
  t0: 20 us
  bandwidth_efficiency: 0.9
  compute_efficiency: {points: [{size: 4096, efficiency: 0.5}]}
)";

std::string profile_error(const std::string& from, const std::string& to) {
  return error_of([&] { return profile_schema().parse(yaml(changed(profile, from, to))); });
}

TEST(ProfilePhysics, AValidOneLoads) {
  const KernelProfile loaded = profile_schema().parse(yaml(profile));
  EXPECT_EQ(loaded.linear_t0_s.value, 5e-6);
  EXPECT_EQ(loaded.attention_compute_efficiency.points.at(0).size, 4096);
}

TEST(ProfilePhysics, NoKernelExceedsItsGpu) {
  EXPECT_EQ(profile_error("bandwidth_efficiency: 0.8", "bandwidth_efficiency: 1.2"),
            "test.yaml:5:25: linear.bandwidth_efficiency: must be > 0 and <= 1.05, found 1.2: a kernel reaches some of "
            "its GPU's peak, and not more");
  EXPECT_EQ(profile_error("efficiency: 0.5}", "efficiency: 0}"),
            "test.yaml:10:58: attention.compute_efficiency.points.0.efficiency: must be > 0 and <= 1.05, found 0: a "
            "kernel reaches some of its GPU's peak, and not more");
}

TEST(ProfilePhysics, NoOperatorTakesNegativeTime) {
  EXPECT_EQ(profile_error("t0: 20 us", "t0: -1 us"),
            "test.yaml:8:7: attention.t0: must be >= 0 s and <= 10 ms, found -1 us: a kernel's fixed time lies between "
            "nothing and 10 ms; those that were fitted are below 100 us");
}

TEST(ProfilePhysics, TablesAscend) {
  EXPECT_EQ(profile_error("size: 1024", "size: 512"),
            "test.yaml:6:70: linear.compute_efficiency.points.1.size: the points must ascend in size");
  EXPECT_EQ(profile_error("points: [{size: 4096, efficiency: 0.5}]", "points: []"),
            "test.yaml:10:32: attention.compute_efficiency.points: expected at least 1 item, found 0");
}

const std::string model = R"(description: test
layers: 32
hidden: 4096
heads: 32
kv_heads: 8
head_dim: 128
intermediate: 14336
vocabulary: 128256
max_context: 8192 tokens
moe: {experts: 8, experts_per_token: 2, expert_intermediate: 1024}
)";

std::string model_error(const std::string& from, const std::string& to) {
  return error_of([&] { return llm_schema().parse(yaml(changed(model, from, to))); });
}

TEST(ModelChecks, AValidOneLoads) {
  const LlmSpec loaded = llm_schema().parse(yaml(model));
  EXPECT_EQ(loaded.moe.experts, 8);
  EXPECT_EQ(loaded.attention, AttentionKind::gqa);
  EXPECT_EQ(loaded.weight_bytes_override, 0);
}

TEST(ModelChecks, ShapesFitTogether) {
  EXPECT_EQ(model_error("kv_heads: 8", "kv_heads: 7"),
            "test.yaml:5:11: kv_heads: must divide heads: 32 heads do not share 7 KV heads evenly");
  EXPECT_EQ(model_error("experts_per_token: 2", "experts_per_token: 9"),
            "test.yaml:10:38: moe.experts_per_token: 9 experts per token, but there are only 8 experts");
  EXPECT_EQ(model_error("experts: 8,", "experts: 8, dense_layers: 32,"),
            "test.yaml:10:33: moe.dense_layers: must be below layers (32): no layer is left for the experts");
  EXPECT_EQ(model_error("hidden: 4096", "hidden: 4096\nattention: mla"),
            "test.yaml:4:12: attention: mla needs the key \"mla\" with its dimensions");
  EXPECT_EQ(model_error("layers: 32", "layers: 0"), "test.yaml:2:9: layers: must be > 0, found 0");
}

const std::string compressor = R"(description: test
kind: token_dropping
mode: offline
scope: prompt
reload: missing
step_kl: {points: [{keep_ratio: 0.2, value: 0.03}, {keep_ratio: 0.4, value: 0.01}]}
agreement: {points: [{keep_ratio: 0.25, value: 0.98}]}
)";

std::string compressor_error(const std::string& from, const std::string& to) {
  return error_of([&] { return compressor_schema().parse(yaml(changed(compressor, from, to))); });
}

TEST(CompressorChecks, AValidOneLoads) {
  const CompressorSpec loaded = compressor_schema().parse(yaml(compressor));
  EXPECT_EQ(loaded.attention_time_factor.value, 1) << "left out, attention costs what its bytes cost";
  EXPECT_EQ(loaded.step_kl_nats.size(), 2U);
  EXPECT_TRUE(loaded.quality.empty());
}

TEST(CompressorChecks, CurvesMakeSense) {
  EXPECT_EQ(compressor_error("keep_ratio: 0.4", "keep_ratio: 1.4"),
            "test.yaml:6:65: step_kl.points.1.keep_ratio: must be > 0 and <= 1, found 1.4: it is compressed bytes over "
            "full bytes");
  EXPECT_EQ(compressor_error("keep_ratio: 0.4", "keep_ratio: 0.1"),
            "test.yaml:6:65: step_kl.points.1.keep_ratio: the points must ascend in keep_ratio");
  EXPECT_EQ(compressor_error("value: 0.01", "value: 0.04"),
            "test.yaml:6:77: step_kl.points.1.value: rises with keep_ratio: keeping more cannot drift further");
  EXPECT_EQ(compressor_error("value: 0.98", "value: 98"),
            "test.yaml:7:48: agreement.points.0.value: must be > 0 and <= 1, found 98: it is a probability; did you "
            "mean 0.98?");
}

TEST(CompressorChecks, KindWidthAndReloadFitTogether) {
  EXPECT_EQ(compressor_error("reload: missing", "reload: missing\nbits_per_element: 4"),
            "test.yaml:6:19: bits_per_element: token_dropping keeps elements whole (16 bits); expected kind: both");
  EXPECT_EQ(compressor_error("kind: token_dropping", "bits_per_element: 4\nkind: quantisation"),
            "test.yaml:6:9: reload: must be whole: quantised tokens are not exact, so nothing of the full KV is on the "
            "GPU");
}

TEST(GpuChecks, Fp8IsNoSlowerThanBf16) {
  EXPECT_EQ(error_of([] {
              return gpu_schema().parse(
                  yaml("description: x\nmemory: 80 GiB\nmemory_bandwidth: 2 TB/s\n"
                       "bf16_peak: 300 TFLOP/s\nfp8_peak: 200 TFLOP/s\n"
                       "host_link: a\npeer_link: b\nprofile: c\n"));
            }),
            "test.yaml:5:11: fp8_peak: below bf16_peak: no GPU is slower in fp8 than in bf16");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
