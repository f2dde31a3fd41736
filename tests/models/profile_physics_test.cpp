// Profiles that no machine could have produced are refused, with the place and the reason.
#include <gtest/gtest.h>

#include "models/kernels/profile.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

/// A profile with one form of each kind and one table of each kind; every line is one thing to get wrong.
const std::string kGood = R"(description: hostile
measured_on: card
linear: {t0: 4 us, bandwidth_efficiency: 0.9, compute_efficiency: {points: [{size: 1, efficiency: 0.7}]}}
attention: {t0: 9 us, bandwidth_efficiency: 0.9, compute_efficiency: {points: [{size: 1, efficiency: 0.6}]}}
machine: {memory_bandwidth: 1000 GB/s, bf16_peak: 100 TFLOP/s, multiprocessors: 100, l2_cache: 10 MB}
fitted:
  linear:
    - {weights: bf16, t0: 4 us, bandwidth_efficiency: 0.9, tiles: [{rows: 64, columns: 64, efficiency: 0.5}]}
  decode_attention:
    - {kv: bf16, t0: 9 us, per_doubling: 1 us, stream: {bandwidth_efficiency: 0.9}}
  prefill_attention:
    - {kv: bf16, tile_rows: 128, t0: 9 us, efficiency: 0.6}
  moe:
    - {weights: bf16, t0: 30 us, stream: {bandwidth_efficiency: 0.8}, tiles: [{rows: 16, columns: 128, efficiency: 0.4}]}
tables:
  linear:
    - {weights: bf16, n: 4096, k: 4096, points: [{size: 1, seconds: 40 us}, {size: 512, seconds: 300 us}]}
  decode_attention:
    - kv: bf16
      heads: 32
      kv_heads: 8
      kv_lengths: [1024, 8192]
      rows:
        - {requests: 1, seconds: [20 us, 60 us]}
        - {requests: 8, seconds: [60 us, 400 us]}
)";

std::string refusal(const std::string& find, const std::string& replace) {
  std::string text = kGood;
  const auto at = text.find(find);
  if (at == std::string::npos) return "the test's text lacks " + find;
  text.replace(at, find.size(), replace);
  try {
    static_cast<void>(profile_schema().parse(schema::read_yaml(text, "profile.yaml")));
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(HostileProfile, TheUnchangedOneIsAccepted) {
  EXPECT_EQ(refusal("hostile", "friendly"), "accepted");
}

struct Hostile {
  const char* name;
  const char* find;
  const char* replace;
  const char* message;  ///< a part of it
};

class HostileProfile : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileProfile, IsRefusedWithLineAndReason) {
  const std::string message = refusal(GetParam().find, GetParam().replace);
  EXPECT_TRUE(message.starts_with("profile.yaml:")) << message;
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileProfile,
    ::testing::Values(
        Hostile{"NotANumber", "efficiency: 0.5}]", "efficiency: .nan}]", "profile.yaml:8:"},
        Hostile{"Infinite", "efficiency: 0.5}]", "efficiency: .inf}]", "profile.yaml:8:"},
        Hostile{"CorrectionOfAnotherGrid", "weights: bf16, t0: 4 us,",
                "weights: bf16, correction: {tokens: [1, 8], n: [4], k: [4], factors: [1]}, t0: 4 us,",
                "1 factors for a grid of 2"},
        Hostile{"CorrectionThatDescends", "weights: bf16, t0: 4 us,",
                "weights: bf16, correction: {tokens: [8, 1], n: [4], k: [4], factors: [1, 1]}, t0: 4 us,",
                "the sizes must ascend"},
        Hostile{"CorrectionThatSaysNothing", "weights: bf16, t0: 4 us,",
                "weights: bf16, correction: {tokens: [8], n: [4], k: [4], factors: [11]}, t0: 4 us,",
                "profile.yaml:8:"},
        Hostile{"CorrectionFasterThanMemory", "weights: bf16, t0: 4 us,",
                "weights: bf16, correction: {tokens: [1], n: [8192], k: [8192, 16384], factors: [1, 0.34]}, t0: 4 us,",
                "fitted.linear.0.correction.factors.1: 0.34 there: the form implies 1979 GB/s"},
        Hostile{"CorrectionFasterThanArithmetic", "weights: bf16, t0: 4 us,",
                "weights: bf16, correction: {tokens: [8192], n: [8192], k: [8192], factors: [0.4]}, t0: 4 us,",
                "TFLOP/s, the machine's peak is 100 TFLOP/s"},
        Hostile{"DecodeFasterThanMemory", "per_doubling: 1 us,",
                "correction: {walks: [64], kv_length: [65536], head_dim: [128], group: [4], factors: [0.5]}, "
                "per_doubling: 1 us,",
                "GB/s, the machine's peak is 1000 GB/s"},
        Hostile{"PrefillFasterThanArithmetic", "tile_rows: 128, t0: 9 us,",
                "tile_rows: 128, correction: {heads: [64], kv_length: [16384], head_dim: [128], group: [4], factors: "
                "[0.1]}, t0: 9 us,",
                "fitted.prefill_attention.0.correction.factors.0: 0.1 there"},
        Hostile{"ErrorsThatFall", "weights: bf16, t0: 4 us,",
                "weights: bf16, error: {median: 0.1, p90: 0.05}, t0: 4 us,", "0.05, below the median of 0.1"},
        Hostile{"WalkAbovePeak", "per_doubling: 1 us,", "walk: {sm_bandwidth: 2, efficiency: 1.1}, per_doubling: 1 us,",
                "profile.yaml:10:"},
        Hostile{"KvInFourBits", "- {kv: bf16, t0: 9 us, per", "- {kv: nvfp4, t0: 9 us, per", "profile.yaml:10:"},
        Hostile{"NegativeTime", "t0: 9 us, per_doubling", "t0: -9 us, per_doubling", "profile.yaml:10:"},
        Hostile{"TimeWithoutUnit", "per_doubling: 1 us", "per_doubling: 1", "profile.yaml:10:"},
        Hostile{"TenTimesThePeak", "stream: {bandwidth_efficiency: 0.9}", "stream: {bandwidth_efficiency: 10}",
                "a kernel reaches some of its GPU's peak, and not more"},
        Hostile{"NoTiles", "tiles: [{rows: 64, columns: 64, efficiency: 0.5}]", "tiles: []", "profile.yaml:8:"},
        Hostile{"EmptyTable", "points: [{size: 1, seconds: 40 us}, {size: 512, seconds: 300 us}]", "points: []",
                "profile.yaml:17:"},
        Hostile{"WeightsFasterThanMemory", "seconds: 40 us", "seconds: 4 us",
                "implies 8389 GB/s, the machine's peak is 1000 GB/s"},
        Hostile{"ArithmeticFasterThanThePeak", "seconds: 300 us", "seconds: 45 us",
                "implies 382 TFLOP/s, the machine's peak is 100 TFLOP/s"},
        Hostile{"KvFasterThanMemory", "400 us]", "80 us]", "implies 3355 GB/s, the machine's peak is 1000 GB/s"},
        Hostile{"SmallWeightsFasterThanAnyL2", "n: 4096, k: 4096, points: [{size: 1, seconds: 40 us}",
                "n: 1024, k: 1024, points: [{size: 1, seconds: 0.2 us}",
                "implies 10486 GB/s, the machine's peak is 1000 GB/s"},
        Hostile{"FixedTimeOfAges", "t0: 9 us, per_doubling", "t0: 1e300 s, per_doubling",
                "a kernel's fixed time lies between nothing and 10 ms"},
        Hostile{"RooflineOfAges", "linear: {t0: 4 us", "linear: {t0: 900 ms",
                "a kernel's fixed time lies between nothing and 10 ms"},
        Hostile{"CacheOfNoGpu", "tile_rows: 128, t0: 9 us", "tile_rows: 128, io_efficiency: 25, t0: 9 us",
                "found 25: a cache delivers some ten times what memory does"},
        Hostile{"MultiprocessorAsFastAsAll", "weights: bf16, t0: 4 us,", "weights: bf16, sm_bandwidth: 1000, t0: 4 us,",
                "found 1000: a multiprocessor takes a few times its share of the bandwidth"},
        Hostile{"NoLongestTile", "tile_rows: 128, t0: 9 us", "tile_rows: 128, longest_factor: 1e-9, t0: 9 us",
                "profile.yaml:12:"},
        Hostile{"FallingTable", "seconds: 300 us", "seconds: 30 us", "more work cannot take less time"},
        Hostile{"FallingGrid", "[60 us, 400 us]", "[15 us, 400 us]", "more work cannot take less time"},
        Hostile{"ShortRow", "[60 us, 400 us]", "[60 us, 300 us, 400 us]", "3 times for 2 lengths in kv_lengths"},
        Hostile{"LengthsDescend", "[1024, 8192]", "[8192, 1024]", "the lengths must ascend"},
        Hostile{"NoMachine", "machine: {", "# machine: {", "missing; fitted forms and tables are scaled"},
        Hostile{"TableWithoutForm", "- {weights: bf16, t0", "- {weights: fp8, t0", "no fitted form of this format"},
        Hostile{"TwoFormsForAFormat",
                "    - {kv: bf16, t0: 9 us, per_doubling: 1 us, stream: {bandwidth_efficiency: 0.9}}",
                "    - {kv: bf16, t0: 9 us, stream: {bandwidth_efficiency: 0.9}}\n"
                "    - {kv: bf16, t0: 8 us, stream: {bandwidth_efficiency: 0.9}}",
                "two forms for the same number format"},
        Hostile{"TwoFormsForRoutedExperts", "  moe:\n",
                "  moe:\n    - {weights: bf16, t0: 9 us, stream: {bandwidth_efficiency: 0.8}, tiles: [{rows: 8, "
                "columns: 8, "
                "efficiency: 0.4}]}\n",
                "two forms for the same number format"},
        Hostile{"ExpertsFasterThanTheirGpu", "columns: 128, efficiency: 0.4", "columns: 128, efficiency: 1.4",
                "a kernel reaches some of its GPU's peak, and not more"},
        Hostile{"ExpertsWithoutTiles", "tiles: [{rows: 16, columns: 128, efficiency: 0.4}]", "tiles: []",
                "profile.yaml:14:"},
        Hostile{"ExpertsOfAges", "t0: 30 us", "t0: 30 s", "a kernel's fixed time lies between nothing and 10 ms"},
        Hostile{"TwoFormsForALatent", "  moe:\n",
                "  latent_decode_attention:\n"
                "    - {kv: fp8, t0: 9 us, stream: {bandwidth_efficiency: 0.9}}\n"
                "    - {kv: fp8, t0: 8 us, stream: {bandwidth_efficiency: 0.9}}\n  moe:\n",
                "two forms for the same number format"},
        Hostile{"LatentsFasterThanTheirGpu", "  moe:\n",
                "  latent_prefill_attention:\n    - {kv: bf16, tile_rows: 128, t0: 9 us, efficiency: 1.6}\n  moe:\n",
                "a kernel reaches some of its GPU's peak, and not more"},
        Hostile{
            "AKeyOfHeadsForALatent", "  moe:\n",
            "  latent_prefill_attention:\n    - {kv: bf16, tile_rows: 128, t0: 9 us, efficiency: 0.6, packs_groups: "
            "true}\n  moe:\n",
            "packs_groups"},
        Hostile{"SlowL2", "stream: {bandwidth_efficiency: 0.9}",
                "stream: {bandwidth_efficiency: 0.9, l2_efficiency: 0.5}",
                "a hit in L2 is not slower than a read from HBM"},
        Hostile{"KernelsThatCopiesSpeedUp", "machine: {", "interference: {kernels_to_gpu: -0.1}\nmachine: {",
                "work that shares a GPU is slowed down, not sped up"},
        Hostile{"LaunchOfAges", "machine: {", "launch: {kernel: 2 s}\nmachine: {",
                "a kernel's fixed time lies between nothing and 10 ms"},
        Hostile{"ScoresInNoTime", "  moe:\n", "  top_k: {t0: 8 us, per_score: -1 ns}\n  moe:\n", "per_score"},
        Hostile{"QuantisingAboveThePeak", "  moe:\n",
                "  quantise: {t0: 8 us, stream: {bandwidth_efficiency: 1.2}}\n  moe:\n",
                "a kernel reaches some of its GPU's peak, and not more"},
        Hostile{"MisspeltKey", "per_doubling", "per_doublng", "did you mean"}),
    [](const auto& hostile) { return std::string(hostile.param.name); });

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
