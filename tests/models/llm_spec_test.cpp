// Architectures against what their makers publish, and the derived quantities against shapes small enough to count.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/llm/llm_spec.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "sim/engine/random.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

struct Published {
  const char* model;
  double parameters;
  std::int64_t kv_bytes_per_token;
};

// Llama 4 Scout and Gemma 4 26B have 109e9 and 26e9 with their image encoders, which parameters() leaves out; of
// Nemotron Super 49B the checkpoint has 49.9e9, and of Nemotron 3 Nano 30B 31.6e9. Of Qwen3 1.7B the maker says 1.7e9,
// and 1.4e9 without the embedding table of 0.31e9.
constexpr Published kPublished[] = {
    {"llama-2-7b", 6.74e9, 524288},
    {"llama-2-13b", 13.02e9, 819200},
    {"llama-3-8b", 8.03e9, 131072},
    {"llama-3.1-8b", 8.03e9, 131072},
    {"llama-3.1-70b", 70.6e9, 327680},
    {"llama-3.2-1b", 1.24e9, 32768},
    {"qwen2.5-0.5b", 0.49e9, 12288},
    {"mistral-7b", 7.24e9, 131072},
    {"mistral-24b", 23.6e9, 163840},
    {"qwen2.5-14b", 14.77e9, 196608},
    {"qwen2-7b", 7.62e9, 57344},
    {"qwen2.5-7b", 7.62e9, 57344},
    {"qwen2.5-32b", 32.8e9, 262144},
    {"qwen2.5-72b", 72.7e9, 327680},
    {"qwen3-4b", 4.02e9, 147456},
    {"qwen3-32b", 32.8e9, 262144},
    {"qwen3-30b-a3b", 30.5e9, 98304},
    {"qwen3-1.7b", 1.72e9, 114688},
    {"qwen3-8b", 8.2e9, 147456},
    {"yi-coder-9b", 8.83e9, 98304},
    {"deepseek-v3", 671e9, 70272},
    {"kimi-k2", 1.026e12, 70272},
    {"minimax-m2.5", 229e9, 253952},
    {"qwen3-235b-a22b", 235e9, 192512},
    {"llama-3.2-3b", 3.21e9, 114688},
    {"qwen2.5-1.5b", 1.54e9, 28672},
    {"qwen2.5-3b", 3.09e9, 36864},
    {"gemma-3-12b", 11.771e9, 393216},
    {"gemma-3-27b", 27.016e9, 507904},
    {"gpt-oss-20b", 20.91e9, 49152},
    {"gpt-oss-120b", 116.83e9, 73728},
    {"qwen3-14b", 14.8e9, 163840},
    {"longchat-7b", 6.74e9, 524288},
    {"qwen3-0.6b", 0.596e9, 114688},
    {"qwen3-coder-480b-a35b", 480e9, 253952},
    {"qwen3-vl-32b", 32.8e9, 262144},
    {"qwen3-vl-235b-a22b", 235e9, 192512},
    {"qwen3.5-27b", 27e9, 65536},
    {"qwen3.5-35b-a3b", 35e9, 20480},
    {"qwen3.5-122b-a10b", 122e9, 24576},
    {"qwen3.5-397b-a17b", 397e9, 30720},
    {"llama-3.1-405b", 405e9, 516096},
    {"llama-3.3-nemotron-super-49b", 49.9e9, 200704},
    {"llama-4-scout", 107.8e9, 196608},
    {"llama-4-maverick", 400e9, 196608},
    {"mixtral-8x7b", 46.7e9, 131072},
    {"mixtral-8x22b", 141e9, 229376},
    {"minimax-m2.7", 230e9, 253952},
    {"mimo-v2-flash", 309e9, 222720},
    {"gemma-4-26b-a4b", 25.25e9, 225280},
    {"gemma-4-31b", 31e9, 901120},
    {"gemma-4-31b-nvfp4", 31e9, 450560},
    {"deepseek-r1", 671e9, 70272},
    {"deepseek-v3.2", 671.9e9, 78324},
    {"kimi-k2.5", 1.026e12, 70272},
    {"glm-5", 744e9, 100152},
    {"glm-5-fp8", 744e9, 100152},
    {"glm-5.2", 743.4e9, 92628},
    {"glm-5.2-fp8", 743.4e9, 92628},
    {"nemotron-h-56b", 56e9, 40960},
    {"nemotron-3-nano-30b-a3b", 31.6e9, 6144},
    {"nemotron-3-super-120b-a12b-fp8", 120e9, 4096},
    {"nemotron-3-ultra-550b-a55b", 550e9, 12288},
};

TEST(LlmSpec, EveryModelOfTheCatalogueHasItsPublishedParametersWithinOnePercent) {
  const Catalogue catalogue = Catalogue::built_in();
  std::set<std::string> checked;
  for (const Published& p : kPublished) {
    const auto parameters = static_cast<double>(catalogue.model(p.model).parameters());
    EXPECT_NEAR(parameters / p.parameters, 1.0, 0.01) << p.model;
    checked.insert(p.model);
  }
  for (const auto& line : catalogue.list(EntryKind::model)) {
    EXPECT_TRUE(checked.contains(line.name)) << line.name << " has no published parameter count in this test";
  }
}

TEST(LlmSpec, EveryModelOfTheCatalogueHasExactlyItsKvBytesPerToken) {
  const Catalogue catalogue = Catalogue::built_in();
  for (const Published& p : kPublished) {
    EXPECT_EQ(catalogue.model(p.model).kv_bytes_per_token(), p.kv_bytes_per_token) << p.model;
  }
}

TEST(LlmSpec, LayersWithAWindowByHand) {
  const Catalogue catalogue = Catalogue::built_in();
  // gpt-oss-120b: 18 layers of either kind, 8 KV heads of 64 in 16 bit: 18 x 2 x 8 x 64 x 2.
  const LlmSpec gpt = catalogue.model("gpt-oss-120b");
  EXPECT_EQ(gpt.full_part().kv_bytes_per_token(), 36864);
  EXPECT_EQ(gpt.window_part().kv_bytes_per_token(), 36864);
  // Attention has 2880 x (64 + 2 x 8 + 64) x 64 weights a layer and biases of queries, keys and values.
  EXPECT_EQ(gpt.parameter_groups().attention, 36.0 * (2880 * 9216 + 5120));
  EXPECT_NEAR(static_cast<double>(gpt.active_parameters()), 5.13e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(gpt.weight_bytes()), 60.8 * (1LL << 30), 0.01 * 60.8 * (1LL << 30)) << "checkpoint";
  // gemma-3-27b: 52 of 62 layers, 16 KV heads of 128: 10 and 52 x 2 x 16 x 128 x 2.
  const LlmSpec gemma = catalogue.model("gemma-3-27b");
  EXPECT_EQ(gemma.full_part().kv_bytes_per_token(), 81920);
  EXPECT_EQ(gemma.window_part().kv_bytes_per_token(), 425984);
  EXPECT_EQ(gemma.weight_bytes(), 2 * (gemma.parameters() + 417000000));
}

TEST(LlmSpec, ActiveParametersLeaveOutIdleExpertsAndTheEmbeddingLookUp) {
  // Published: 3.3e9 of Qwen3-30B-A3B and 37e9 of DeepSeek-V3, both with the embedding table.
  const Catalogue catalogue = Catalogue::built_in();
  const LlmSpec qwen = catalogue.model("qwen3-30b-a3b");
  const LlmSpec deepseek = catalogue.model("deepseek-v3");
  const auto active = [](const LlmSpec& m) { return static_cast<double>(m.active_parameters()); };
  const auto embedding = [](const LlmSpec& m) { return static_cast<double>(m.vocabulary * m.hidden); };
  EXPECT_NEAR(active(qwen), 3.04e9, 0.01e9);
  EXPECT_NEAR(active(qwen) + embedding(qwen), 3.3e9, 0.06e9);
  EXPECT_NEAR(active(deepseek), 36.6e9, 0.1e9);
  EXPECT_NEAR(active(deepseek) + embedding(deepseek), 37e9, 0.6e9);
}

TEST(LlmSpec, ADenseModelUsesAllItsParametersButTheEmbeddingTable) {
  const Catalogue catalogue = Catalogue::built_in();
  const LlmSpec untied = catalogue.model("llama-3.1-8b");
  EXPECT_EQ(untied.active_parameters(), untied.parameters() - 128256LL * 4096);
  const LlmSpec tied = catalogue.model("llama-3.2-1b");
  EXPECT_EQ(tied.active_parameters(), tied.parameters());  // the table is the LM head
}

TEST(LlmSpec, GroupedQueryAttentionByHand) {
  // L 1, hidden 8, 4 heads of 2, 2 KV heads, feed-forward 16, vocabulary 10:
  //   attention 8 (8 + 2 x 4) + 8 x 8 = 192; feed-forward 3 x 8 x 16 = 384; norms 3 x 8 = 24; tables 2 x 80 = 160.
  LlmSpec m = testing::tiny_model();
  EXPECT_EQ(m.parameters(), 192 + 384 + 24 + 160);
  EXPECT_EQ(m.active_parameters(), 192 + 384 + 24 + 80);
  EXPECT_EQ(m.weight_bytes(), 2 * 760);
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(1), 2 * 680);
  EXPECT_EQ(m.kv_bytes_per_token(), 2 * 1 * 2 * 2 * 2);           // K and V, L, KV heads, head_dim, bytes
  EXPECT_DOUBLE_EQ(m.attention_flops_per_pair(), 4 * 1 * 4 * 2);  // 4 L H d
  EXPECT_DOUBLE_EQ(m.linear_flops_per_token(), 2 * (192 + 384 + 24 + 80));
  m.qkv_bias = true;  // one per output of the QKV projection
  EXPECT_EQ(m.parameters(), 760 + 16);
  m.qk_norm = true;  // one scale per element of a head, for queries and keys
  EXPECT_EQ(m.parameters(), 760 + 16 + 4);
  m.tied_embeddings = true;
  EXPECT_EQ(m.parameters(), 760 + 16 + 4 - 80);
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(1), static_cast<double>(m.weight_bytes()));
}

TEST(LlmSpec, LatentAttentionByHand) {
  // hidden 8, 2 heads, r_q 4, r_kv 6, nope 3, rope 2, v 5:
  //   queries 8 x 4 + 4 x 2 x 5 = 72; latent 8 (6 + 2) = 64; expansion 6 x 2 x (3 + 5) = 96; output 2 x 5 x 8 = 80.
  LlmSpec m = testing::tiny_model();
  m.attention = AttentionKind::mla;
  m.heads = m.kv_heads = 2;
  m.mla = {4, 6, 3, 2, 5};
  EXPECT_EQ(m.parameters(), 72 + 64 + 96 + 80 + 384 + 24 + 160);
  EXPECT_EQ(m.kv_bytes_per_token(), (6 + 2) * 2);                       // L (r_kv + d_rope) b
  EXPECT_DOUBLE_EQ(m.attention_flops_per_pair(), 2 * 2 * (2 * 6 + 2));  // 2 L H (2 r_kv + d_rope)
  m.mla.q_lora_rank = 0;                                                // queries not compressed: 8 x 2 x 5 = 80
  EXPECT_EQ(m.parameters(), 80 + 64 + 96 + 80 + 384 + 24 + 160);
}

TEST(LlmSpec, MixtureOfExpertsByHand) {
  // 3 layers of which 1 dense; 4 experts of width 5, 2 per token, 1 shared: an expert has 3 x 8 x 5 = 120 parameters.
  // Everyone uses attention 3 x 192, feed-forward 384, 2 x (shared 120 + router 8 x 4), norms 7 x 8, tables 2 x 80.
  LlmSpec m = testing::tiny_model();
  m.layers = 3;
  m.moe = {.experts = 4, .experts_per_token = 2, .shared_experts = 1, .expert_intermediate = 5, .dense_layers = 1};
  const std::int64_t always = 3 * 192 + 384 + 2 * (120 + 32) + 56 + 160;
  EXPECT_EQ(m.parameters(), always + 2 * 4 * 120);
  EXPECT_EQ(m.active_parameters(), always - 80 + 2 * 2 * 120);
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(1), 2.0 * static_cast<double>(always - 80 + 2 * 2 * 120));
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(2), 2.0 * static_cast<double>(always - 80 + 2 * 3 * 120));  // 4 (1 - 1/4) = 3
}

TEST(LlmSpec, OneTokenTouchesItsExpertsAndManyTouchAll) {
  const LlmSpec m = Catalogue::built_in().model("qwen3-30b-a3b");
  EXPECT_DOUBLE_EQ(m.experts_touched(0), 0);
  EXPECT_NEAR(m.experts_touched(1), 8, 1e-12);
  EXPECT_DOUBLE_EQ(m.experts_touched(1e9), 128);
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(1e9), static_cast<double>(m.weight_bytes()) - 2.0 * 151936 * 2048);
  EXPECT_DOUBLE_EQ(testing::tiny_model().experts_touched(5), 0);
}

TEST(LlmSpec, ExpertsTouchedAgreesWithRoutingAtRandom) {
  LlmSpec m = testing::tiny_model();
  m.moe = {32, 4, 0, 1, 0};
  engine::RandomStream random(7, "routing");
  for (const int tokens : {2, 5, 20}) {
    constexpr int kTrials = 4000;
    double sum = 0, squares = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::set<std::uint64_t> touched;
      for (int t = 0; t < tokens; ++t) {
        std::set<std::uint64_t> chosen;
        while (chosen.size() < 4) chosen.insert(random.below(32));
        touched.insert(chosen.begin(), chosen.end());
      }
      const auto n = static_cast<double>(touched.size());
      sum += n;
      squares += n * n;
    }
    const double mean = sum / kTrials;
    const double standard_error = std::sqrt((squares / kTrials - mean * mean) / kTrials);
    EXPECT_NEAR(mean, m.experts_touched(tokens), 4 * standard_error) << tokens << " tokens";
  }
}

TEST(LlmSpec, KvHeadsShardUntilEachGpuHasOneThenReplicate) {
  LlmSpec m = testing::tiny_model();  // 2 KV heads
  EXPECT_DOUBLE_EQ(m.kv_copies(1), 1);
  EXPECT_DOUBLE_EQ(m.kv_copies(2), 1);
  EXPECT_DOUBLE_EQ(m.kv_copies(4), 2);
  EXPECT_DOUBLE_EQ(m.kv_copies(8), 4);
  m.attention = AttentionKind::mla;  // the latent is needed by every head
  EXPECT_DOUBLE_EQ(m.kv_copies(1), 1);
  EXPECT_DOUBLE_EQ(m.kv_copies(8), 8);
}

TEST(LlmSpec, WeightsGivenInPlaceReplaceTheDerivedOnes) {
  LlmSpec m = testing::tiny_model();
  m.weight_bytes_override = 5000;
  EXPECT_EQ(m.weight_bytes(), 5000);
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(1), 5000);
  m.moe = {4, 2, 0, 5, 0};  // an MoE reads the share that it touches
  const auto all = static_cast<double>(m.parameters());
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(1), 5000 * (1 - 2 * 120 / all));
}

TEST(LlmSpec, NarrowerWeightsAndKvTakeProportionallyFewerBytes) {
  LlmSpec m = testing::tiny_model();
  m.weight_bytes_per_parameter = 0.5;
  m.kv_bytes_per_element = 1;
  EXPECT_EQ(m.weight_bytes(), 300 + 2 * 80 * 2);  // embedding table and LM head stay in 16 bits
  EXPECT_EQ(m.kv_bytes_per_token(), 8);
}

TEST(LlmSpec, EmbeddingAndHeadAreApartFromNarrowWeights) {
  LlmSpec m = testing::tiny_model();
  EXPECT_EQ(m.head_weight_bytes(), 160);
  m.weight_bytes_per_parameter = 1;
  EXPECT_EQ(m.head_format(), NumberFormat::bf16);
  EXPECT_EQ(m.weight_formats(), (std::vector{NumberFormat::fp8, NumberFormat::bf16}));
  EXPECT_EQ(m.head_weight_bytes(), 160);
  EXPECT_EQ(m.embedding_weight_bytes(), 160);
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(1), 600 + 160);
  m.stated_head_format = NumberFormat::fp8;
  EXPECT_EQ(m.weight_formats(), std::vector{NumberFormat::fp8});
  EXPECT_EQ(m.weight_bytes(), 600 + 80 + 160);
  EXPECT_DOUBLE_EQ(m.weight_bytes_read(1), 680);
  m.stated_head_format.reset();
  m.tied_embeddings = true;
  EXPECT_EQ(m.weight_bytes(), 600 + 160);
  EXPECT_EQ(m.embedding_weight_bytes(), 0);
  m.weight_bytes_per_parameter = 4;  // wider ones are as wide everywhere
  EXPECT_EQ(m.weight_bytes(), 680 * 4);
  m.weight_bytes_override = 6800;
  EXPECT_DOUBLE_EQ(m.head_weight_bytes(), 800);
}

TEST(LlmSpec, WeightsInNoMeasuredFormatComputeIn16Bits) {
  LlmSpec m = testing::tiny_model();
  m.weight_bytes_per_parameter = 0.53125;  // MXFP4
  EXPECT_EQ(m.arithmetic_format(), NumberFormat::bf16);
  m.weight_bytes_per_parameter = 1;
  EXPECT_EQ(m.arithmetic_format(), NumberFormat::fp8);
}

TEST(LlmSpec, LayersThatShareKvKeepAndProjectNone) {
  LlmSpec m = testing::tiny_model();
  m.layers = 6;
  const LlmSpec all = m;
  m.shared_kv_layers = 2;
  EXPECT_EQ(m.kv_bytes_per_token(), 4 * 16);
  EXPECT_DOUBLE_EQ(m.reads_of_kv(), 1.5);
  EXPECT_EQ(m.attention_flops_per_pair(), all.attention_flops_per_pair());
  EXPECT_EQ(all.parameters() - m.parameters(), 2 * 8 * (2 * 2 * 2));
  m.window = {.layers = 4, .shared_kv_layers = 1, .tokens = 100, .kv_heads = 1};
  EXPECT_EQ(m.full_part().kv_bytes_per_token(), 16);
  EXPECT_EQ(m.window_part().kv_bytes_per_token(), 3 * 8);
  EXPECT_EQ(m.kv_bytes_per_token(), 16 + 3 * 8);
  EXPECT_DOUBLE_EQ(m.reads_of_kv(), (2 * 16 + 4 * 8) / 40.0);
}

TEST(LlmSpec, WeightsAreInTheStatedFormatElseInThatOfTheirWidth) {
  LlmSpec m = testing::tiny_model();
  EXPECT_EQ(m.weight_format(), NumberFormat::bf16);
  m.weight_bytes_per_parameter = 1;
  EXPECT_EQ(m.weight_format(), NumberFormat::fp8);
  m.weight_bytes_per_parameter = 0.5625;
  EXPECT_EQ(m.weight_format(), NumberFormat::nvfp4);
  m.stated_weight_format = NumberFormat::fp8_block;
  EXPECT_EQ(m.weight_format(), NumberFormat::fp8_block);
}

TEST(LlmSpec, AFormatThatTheWidthContradictsIsRefusedWithItsLine) {
  const auto refusal = [](const std::string& width) {
    Catalogue catalogue = Catalogue::built_in();
    const std::string text = "models:\n  narrow:\n    base: llama-3.1-8b\n    weight_format: fp8_block\n" + width;
    const schema::ConfigNode document = schema::read_yaml(text, "narrow.yaml");
    try {
      catalogue.add({&document, 1});
    } catch (const schema::InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("    weight_bytes_per_parameter: 1\n"), "accepted");
  EXPECT_EQ(refusal("    weight_bytes_per_parameter: 1.2\n"), "accepted");  // some layers in 16 bits
  const std::string below = refusal("    weight_bytes_per_parameter: 0.5\n");
  EXPECT_NE(below.find("narrow.yaml:5:"), std::string::npos) << below;
  EXPECT_NE(below.find("weights in fp8_block take 1 to 2 each"), std::string::npos) << below;
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
