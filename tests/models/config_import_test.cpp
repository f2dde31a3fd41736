// Models from config.json: sizes against published counts, formats from quantisation, and refusals that name the field.
#include "models/llm/config_import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "models/llm/llm_spec.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"
#include "sim/engine/random.h"

namespace kvsim::models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDense = R"({
  "architectures": ["LlamaForCausalLM"],
  "attention_bias": false,
  "hidden_size": 4096,
  "intermediate_size": 14336,
  "max_position_embeddings": 131072,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 32,
  "num_key_value_heads": 8,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0},
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16",
  "vocab_size": 128256
})";

constexpr const char* kLatent = R"({
  "first_k_dense_replace": 3,
  "hidden_size": 7168,
  "intermediate_size": 18432,
  "kv_lora_rank": 512,
  "max_position_embeddings": 163840,
  "model_type": "deepseek_v3",
  "moe_intermediate_size": 2048,
  "moe_layer_freq": 1,
  "n_routed_experts": 256,
  "n_shared_experts": 1,
  "num_attention_heads": 128,
  "num_experts_per_tok": 8,
  "num_hidden_layers": 61,
  "num_key_value_heads": 128,
  "num_nextn_predict_layers": 1,
  "q_lora_rank": 1536,
  "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64,
  "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
  "tie_word_embeddings": false,
  "v_head_dim": 128,
  "vocab_size": 129280
})";

/// Qwen3-Next-80B-A3B.
constexpr const char* kHybrid = R"({
  "model_type": "qwen3_next",
  "decoder_sparse_step": 1,
  "full_attention_interval": 4,
  "head_dim": 256,
  "hidden_size": 2048,
  "intermediate_size": 5120,
  "linear_conv_kernel_dim": 4,
  "linear_key_head_dim": 128,
  "linear_num_key_heads": 16,
  "linear_num_value_heads": 32,
  "linear_value_head_dim": 128,
  "max_position_embeddings": 262144,
  "mlp_only_layers": [],
  "moe_intermediate_size": 512,
  "num_attention_heads": 16,
  "num_experts": 512,
  "num_experts_per_tok": 10,
  "num_hidden_layers": 48,
  "num_key_value_heads": 2,
  "shared_expert_intermediate_size": 512,
  "tie_word_embeddings": false,
  "vocab_size": 151936
})";

/// Layers that are one of a state space, attention, experts or a block.
constexpr const char* kSingleBlocks = R"({
  "model_type": "nemotron_h",
  "conv_kernel": 4,
  "head_dim": 128,
  "hidden_size": 256,
  "hybrid_override_pattern": "ME-*M",
  "intermediate_size": 640,
  "mamba_head_dim": 64,
  "mamba_num_heads": 8,
  "mamba_ssm_cache_dtype": "float32",
  "max_position_embeddings": 8192,
  "moe_intermediate_size": 96,
  "moe_latent_size": 64,
  "moe_shared_expert_intermediate_size": 160,
  "n_groups": 2,
  "n_routed_experts": 16,
  "n_shared_experts": 1,
  "num_attention_heads": 4,
  "num_experts_per_tok": 2,
  "num_hidden_layers": 5,
  "num_key_value_heads": 2,
  "ssm_state_size": 32,
  "tie_word_embeddings": false,
  "use_conv_bias": true,
  "vocab_size": 1000
})";

LlmSpec spec_of(const ImportedModel& imported) {
  schema::ConfigNode entry = imported.entry;
  entry.set("description", schema::ConfigNode::scalar("imported"));
  return llm_schema().parse(entry, {"model", nullptr});
}

ImportedModel read(const std::string& config, const std::string& quantisation = {}, std::string_view as = {}) {
  const schema::ConfigNode document = schema::read_yaml(config, "config.json");
  if (quantisation.empty()) return import_model(document, nullptr, as);
  const schema::ConfigNode file = schema::read_yaml(quantisation, "hf_quant_config.json");
  return import_model(document, &file);
}

/// `text` with the line of a key put in another's place; without a key, put in front.
std::string with(std::string text, const std::string& key, const std::string& line) {
  const auto begin = key.empty() ? text.find('"') : text.find("\"" + key + "\"");
  if (key.empty()) return text.insert(begin, line + ",\n  ");
  const auto end = text.find('\n', begin);
  return text.replace(begin, end - begin, line.empty() ? line : line + ",");
}

std::string refusal(const std::string& config, const std::string& quantisation = {}) {
  try {
    static_cast<void>(spec_of(read(config, quantisation)));
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "read";
}

const std::string kAsAnother = " (`kvsim model import --as TYPE` reads them as another)";
const std::string kNotModelled = " (docs/overview.md lists what is not modelled, and what to use instead)";

TEST(ConfigImport, ADenseModelHasThePublishedParametersAndKv) {
  const ImportedModel imported = read(kDense);
  const LlmSpec m = spec_of(imported);
  EXPECT_NEAR(static_cast<double>(m.parameters()), 8.03e9, 0.01e9);
  EXPECT_EQ(m.kv_bytes_per_token(), 131072);
  EXPECT_EQ(m.head_dim, 128);
  EXPECT_EQ(m.max_context, 131072);
  EXPECT_EQ(m.weight_format(), NumberFormat::bf16);
  EXPECT_TRUE(imported.remarks.empty()) << imported.remarks.front();
}

TEST(ConfigImport, LatentsAndExpertsAreRead) {
  const ImportedModel imported = read(kLatent);
  const LlmSpec m = spec_of(imported);
  EXPECT_NEAR(static_cast<double>(m.parameters()), 671.03e9, 0.1e9);
  EXPECT_EQ(m.kv_bytes_per_token(), 70272);
  EXPECT_EQ(m.moe.dense_layers, 3);
  EXPECT_EQ(m.weight_format(), NumberFormat::fp8_block);
  ASSERT_EQ(imported.remarks.size(), 1U);
  EXPECT_EQ(imported.remarks[0], "Multi-token prediction (num_nextn_predict_layers = 1) is neither held nor run.");
}

TEST(ConfigImport, WeightsAreTheNarrowPartsAndTheRestIn16Bit) {
  const LlmSpec m = spec_of(read(kDense, R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8",
                                            "exclude_modules": ["lm_head"]}})"));
  const ParameterGroups p = m.parameter_groups();
  EXPECT_NEAR(static_cast<double>(m.weight_bytes()), p.attention + p.dense_blocks + 2 * p.rest, 1e6);
  EXPECT_EQ(m.weight_format(), NumberFormat::fp8);
  EXPECT_EQ(m.attention_format(), NumberFormat::fp8);
  EXPECT_EQ(m.kv_bytes_per_element, 1);
}

TEST(ConfigImport, TheKvAloneMayBeNarrow) {
  const ImportedModel plain = read(kDense);
  const ImportedModel narrow = read(kDense, R"({"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}})");
  EXPECT_EQ(spec_of(narrow).kv_bytes_per_element, 1);
  EXPECT_EQ(spec_of(narrow).weight_bytes(), spec_of(plain).weight_bytes());
  EXPECT_EQ(spec_of(narrow).weight_format(), NumberFormat::bf16);
  EXPECT_EQ(narrow.remarks, plain.remarks);
  EXPECT_EQ(refusal(kDense, R"({"quantization": {"quant_algo": null}})"),
            "hf_quant_config.json:1:18: no \"quant_algo\", which every quantisation has");
}

/// Of DeepSeek-V3 in NVFP4 with these patterns.
ImportedModel excluding(const std::string& patterns) {
  return read(with(kLatent, "quantization_config", ""),
              R"({"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": null, "exclude_modules": [)" +
                  patterns + "]}}");
}

TEST(ConfigImport, WhatIsExcludedIsHeldIn16BitMatrixByMatrix) {
  const LlmSpec plain = spec_of(excluding("\"lm_head\""));
  const ParameterGroups p = plain.parameter_groups();
  constexpr double kNarrow = 0.5625, kMore = 2 - kNarrow;
  const double base = kNarrow * (p.experts + p.dense_blocks + p.attention + p.shared_experts) + 2 * p.rest;
  const auto weighs = [](const std::string& patterns) {
    return static_cast<double>(spec_of(excluding(patterns)).weight_bytes());
  };
  EXPECT_NEAR(weighs("\"lm_head\"") / base, 1, 1e-4);
  // A layer, what is in it, and parts of that.
  EXPECT_NEAR(
      weighs("\"model.layers.*\"") / (2 * (p.experts + p.dense_blocks + p.attention + p.shared_experts + p.rest)), 1,
      1e-4);
  EXPECT_NEAR(weighs("\"model.layers.0.*\"") / (base + kMore * (p.attention / 61 + p.dense_blocks / 3)), 1, 1e-4);
  EXPECT_NEAR(weighs("\"model.layers.7.self_attn*\"") / (base + kMore * p.attention / 61), 1, 1e-4);
  EXPECT_NEAR(weighs("\"self_attn\"") / (base + kMore * p.attention), 1, 1e-4);
  EXPECT_NEAR(weighs("\"re:.*self_attn.*\"") / (base + kMore * p.attention), 1, 1e-4);
  EXPECT_NEAR(weighs("\"re:.*shared_experts.*\"") / (base + kMore * p.shared_experts), 1, 1e-4);
  EXPECT_NEAR(weighs("\"re:.*mlp\\\\.(gate|up|down)_proj.*\"") / (base + kMore * p.dense_blocks), 1, 1e-4);
  const double up = 61.0 * 1536 * 128 * 192;
  EXPECT_NEAR(weighs("\"language_model.model.layers.*.q_b_proj\"") / (base + kMore * up), 1, 1e-4);
}

TEST(ConfigImport, FormatsOfKernelsAreThoseOfMostOfTheMatrices) {
  EXPECT_EQ(spec_of(excluding("\"lm_head\"")).attention_format(), NumberFormat::nvfp4);
  EXPECT_EQ(spec_of(excluding("\"self_attn\"")).attention_format(), NumberFormat::bf16);
  EXPECT_EQ(spec_of(excluding("\"self_attn\"")).weight_format(), NumberFormat::nvfp4);
  EXPECT_EQ(spec_of(excluding("\"model.layers.*\"")).weight_format(), NumberFormat::bf16);
  const ImportedModel one = excluding("\"model.layers.0.self_attn*\"");
  EXPECT_EQ(spec_of(one).attention_format(), NumberFormat::nvfp4);
  EXPECT_EQ(one.remarks.front(), "Of attention's projections, 1.64 % are in 16 bit: held so, and timed as the others.");
}

std::string modules(const std::string& attention, const std::string& blocks) {
  std::string all = R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {)";
  for (int i = 0; i < 32; ++i) {
    all += "\"model.language_model.layers." + std::to_string(i) + ".self_attn\": {\"quant_algo\": \"" + attention +
           "\"}, \"model.language_model.layers." + std::to_string(i) + ".mlp\": {\"quant_algo\": \"" + blocks + "\"}, ";
  }
  return all + R"("lm_head": {"quant_algo": "NVFP4"}}}})";
}

TEST(ConfigImport, MixedFormatsAreHeldPartByPart) {
  const LlmSpec m = spec_of(read(kDense, modules("FP8", "NVFP4")));
  const ParameterGroups p = m.parameter_groups();
  const double table = 128256.0 * 4096;
  EXPECT_NEAR(static_cast<double>(m.weight_bytes()), p.attention + 0.5625 * (p.dense_blocks + table) + 2 * table, 2e6);
  EXPECT_EQ(m.weight_format(), NumberFormat::nvfp4);
  EXPECT_EQ(m.attention_format(), NumberFormat::fp8);
  EXPECT_EQ(m.head_format(), NumberFormat::nvfp4);
  // Beside activations in 16 bit they are not what was measured, whatever they come to.
  const ImportedModel wide = read(kDense, modules("FP8", "W4A16_NVFP4"));
  EXPECT_EQ(spec_of(wide).weight_bytes(), m.weight_bytes());
  EXPECT_FALSE(spec_of(wide).weights_are_measured());
  EXPECT_EQ(spec_of(wide).arithmetic_format(), NumberFormat::bf16);
  ASSERT_EQ(wide.remarks.size(), 1U);
  EXPECT_EQ(wide.remarks[0].find("Weights in NVFP4 beside activations in 16 bit"), 0U);
}

TEST(ConfigImport, WholeNumbersOf4BitsAreHeldAsSuch) {
  const std::string ints = R"("quantization_config": {"quant_method": "compressed-tensors", "config_groups":
      {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32, "strategy": "group"}}}})";
  const ImportedModel imported = read(with(kDense, "", ints));
  const LlmSpec m = spec_of(imported);
  const ParameterGroups p = m.parameter_groups();
  EXPECT_NEAR(static_cast<double>(m.weight_bytes()), 0.5625 * (p.attention + p.dense_blocks) + 2 * p.rest, 1e6);
  ASSERT_EQ(imported.remarks.size(), 2U);
  EXPECT_EQ(imported.remarks[1].find("The quantisation names nothing that stays in 16 bit (ignore)"), 0U);
}

TEST(ConfigImport, AFileThatExcludesNothingIsRemarked) {
  const ImportedModel all = read(kDense, R"({"quantization": {"quant_algo": "NVFP4"}})");
  ASSERT_EQ(all.remarks.size(), 1U);
  EXPECT_EQ(all.remarks[0],
            "The quantisation names nothing that stays in 16 bit (exclude_modules): all linear layers of attention and "
            "feed-forward blocks are taken as quantised.");
  EXPECT_TRUE(
      read(kDense, R"({"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}})").remarks.empty());
}

/// A dense model whose config.json has this quantisation, beside a file with that one.
std::string beside(const std::string& in_config, const std::string& file) {
  try {
    const ImportedModel imported = read(with(kDense, "", "\"quantization_config\": {" + in_config + "}"),
                                        "{\"quantization\": {" + file + ", \"exclude_modules\": [\"lm_head\"]}}");
    std::string said = spec_of(imported).kv_bytes_per_element == 1 ? "fp8 KV" : "";
    for (const std::string& remark : imported.remarks) said += (said.empty() ? "" : " | ") + remark;
    return said;
  } catch (const schema::InputError& e) {
    return e.what();
  }
}

TEST(ConfigImport, TwoQuantisationsThatContradictEachOtherAreRefused) {
  const std::string left = ", \"ignore\": [\"lm_head\"]", same = "\"quant_algo\": \"NVFP4\"" + left;
  const std::string fp8_kv = ", \"kv_cache_quant_algo\": \"FP8\"", wide_kv = ", \"kv_cache_quant_algo\": null";
  EXPECT_EQ(beside(same, "\"quant_algo\": \"NVFP4\""), "");
  EXPECT_EQ(beside("\"quant_method\": \"fp8\"" + left, "\"quant_algo\": \"NVFP4\""),
            "config.json:2:43: quantization_config has weights in fp8, the quantisation's file in nvfp4 "
            "(hf_quant_config.json:1:33): expected both to say the same");
  EXPECT_EQ(beside(same + wide_kv, "\"quant_algo\": \"NVFP4\"" + fp8_kv),
            "config.json:2:96: quantization_config has the KV cache in 16 bit, the quantisation's file in FP8 "
            "(hf_quant_config.json:1:65): expected both to say the same");
  // What only one says.
  EXPECT_EQ(beside(same, "\"quant_algo\": \"NVFP4\"" + fp8_kv),
            "fp8 KV | The KV cache is in FP8 by the quantisation's file alone: taken so.");
  EXPECT_EQ(beside(same + fp8_kv, "\"quant_algo\": \"NVFP4\""),
            "fp8 KV | The KV cache is in FP8 by quantization_config alone: taken so.");
  EXPECT_EQ(
      beside("\"quant_algo\": \"NVFP4\"", "\"quant_algo\": \"NVFP4\""),
      "The quantisation's file leaves other modules in 16 bit than quantization_config (1 names and 0): the file's "
      "are taken.");
  EXPECT_EQ(
      beside("\"quant_method\": \"gptq\"", "\"quant_algo\": \"NVFP4\""),
      "quantization_config is left aside beside the quantisation's file: config.json:2:43: quant_method: \"gptq\": "
      "expected fp8, mxfp4, or config_groups");
  const std::string mixed = "\"quant_algo\": \"MIXED_PRECISION\", \"quantized_layers\": {";
  const std::string as_fp8 = mixed + "\"model.layers.0.mlp\": {\"quant_algo\": \"FP8\"}}",
                    as_nvfp4 = mixed + "\"model.layers.0.mlp\": {\"quant_algo\": \"NVFP4\"}}";
  EXPECT_NE(beside(as_fp8, as_nvfp4)
                .find("quantization_config has model.layers.0.mlp in fp8, the quantisation's file in "
                      "nvfp4 (hf_quant_config.json:1:"),
            std::string::npos);
  EXPECT_NE(beside(same, as_nvfp4)
                .find("has weights in nvfp4, the quantisation's file in formats that differ from module "
                      "to module"),
            std::string::npos);
}

TEST(ConfigImport, EncodersAreHeldBesideTheModel) {
  const std::string both =
      R"({"model_type": "qwen3_vl", "tie_word_embeddings": true, "vision_config": {"depth": 27,
    "hidden_size": 1152, "intermediate_size": 4304, "out_hidden_size": 4096, "spatial_merge_size": 2, "patch_size": 16,
    "in_channels": 3, "temporal_patch_size": 2, "num_position_embeddings": 2304, "deepstack_visual_indexes": [8, 16, 24]},
    "text_config": )" +
      with(with(kDense, "model_type", "\"model_type\": \"qwen3_vl_text\", \"head_dim\": 128"), "tie_word_embeddings",
           "") +
      "}";
  const ImportedModel imported = read(both);
  const LlmSpec m = spec_of(imported), text = spec_of(read(kDense));
  EXPECT_TRUE(m.tied_embeddings);
  const std::int64_t in = 4 * 1152;
  EXPECT_EQ(m.encoder_parameters,
            27 * (4 * 1152 * 1152 + 2 * 1152 * 4304) + 4 * (in * in + in * 4096) + (3 * 2 * 16 * 16 + 2304) * 1152);
  EXPECT_EQ(m.weight_bytes(), 2 * (m.parameters() + m.encoder_parameters));
  EXPECT_EQ(m.kv_bytes_per_token(), text.kv_bytes_per_token());
  EXPECT_EQ(m.weight_bytes_read(1), 2.0 * static_cast<double>(m.parameters()));
}

TEST(ConfigImport, UnknownFieldsAreNamed) {
  const ImportedModel imported = read(with(kDense, "", "\"warp_heads\": 3, \"use_cache\": true, \"nothing\": null"));
  ASSERT_EQ(imported.remarks.size(), 1U);
  EXPECT_EQ(imported.remarks[0], "Fields that kvsim does not know and did not read: warp_heads.");
}

TEST(ConfigImport, WindowsAreThoseOfTheLayersThatHaveThem) {
  const auto window = [](const std::string& line) { return spec_of(read(with(kDense, "", line))).window; };
  std::string types;
  for (int layer = 0; layer < 32; ++layer) {
    types += fmt::format("{}\"{}\"", layer > 0 ? ", " : "", layer % 4 == 3 ? "full_attention" : "sliding_attention");
  }
  const WindowLayers listed = window("\"sliding_window\": 512, \"layer_types\": [" + types + "]");
  EXPECT_EQ(listed.layers, 24);
  EXPECT_EQ(listed.tokens, 512);
  EXPECT_EQ(window("\"sliding_window\": 512, \"sliding_window_pattern\": 6").layers, 27);  // 6, 12 .. 30 are full
  EXPECT_EQ(window("\"sliding_window\": 512, \"use_sliding_window\": true, \"max_window_layers\": 20").layers, 12);
  EXPECT_EQ(window("\"sliding_window\": 512, \"use_sliding_window\": true, \"max_window_layers\": 32").layers, 0);
  EXPECT_EQ(window("\"sliding_window\": null, \"sliding_window_pattern\": 6").layers, 0);
}

TEST(ConfigImport, HeadsOfWindowsAreTheirOwn) {
  // Keys of 192 and values of 128: a mean of 160 has as many parameters and bytes.
  const std::string mimo = R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 4, "hidden_size": 4096,
    "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "intermediate_size": 16384,
    "vocab_size": 1000, "max_position_embeddings": 262144, "sliding_window": 128, "attention_chunk_size": 128,
    "swa_num_attention_heads": 64, "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128,
    "hybrid_layer_pattern": [0, 1, 1, 1], "moe_layer_freq": [0, 1, 1, 1], "moe_intermediate_size": 2048,
    "n_routed_experts": 16, "n_shared_experts": null, "num_experts_per_tok": 8})";
  const LlmSpec m = spec_of(read(mimo));
  EXPECT_EQ(m.moe.dense_layers, 1);
  EXPECT_EQ(m.full_part().kv_bytes_per_token(), 4 * (192 + 128) * 2);
  EXPECT_EQ(m.window_part().kv_bytes_per_token(), 3 * 8 * (192 + 128) * 2);
  const double projections = 4096.0 * 64 * (192 + 128) * 4 + 4096.0 * (192 + 128) * (4 + 3 * 8);
  EXPECT_EQ(m.parameter_groups().attention, projections);
  const std::string chunk = "\"attention_chunk_size\": 128";
  std::string chunked = mimo;
  chunked.replace(chunked.find(chunk), chunk.size(), "\"attention_chunk_size\": 64");
  EXPECT_NE(refusal(chunked).find("attention_chunk_size: layers that attend within chunks"), std::string::npos);
  const std::string later = R"("moe_layer_freq": [0, 1, 0, 1])";
  std::string mixed = mimo;
  mixed.replace(mixed.find("\"moe_layer_freq\""), later.size(), later);
  EXPECT_EQ(spec_of(read(mixed)).moe.dense_layers, 2);
  mixed.replace(mixed.find("\"moe_layer_freq\""), later.size(), R"("moe_layer_freq": [0, 1, 0, 2])");
  EXPECT_NE(refusal(mixed).find("moe_layer_freq: \"2\", which kvsim does not model"), std::string::npos);
}

TEST(ConfigImport, LayersThatKeepAStateAreRead) {
  const ImportedModel imported = read(kHybrid);
  const LlmSpec m = spec_of(imported);
  EXPECT_NEAR(static_cast<double>(m.parameters()), 80e9, 0.5e9) << "published";
  EXPECT_EQ(m.state.layers, 36);
  EXPECT_EQ(m.kv_bytes_per_token(), 12 * 2 * 2 * 256 * 2);
  EXPECT_EQ(m.state.elements(), 32 * 128 * 128);
  EXPECT_EQ(m.state.conv_elements(), (2 * 16 * 128 + 32 * 128) * 3);
  EXPECT_TRUE(m.output_gate);
  EXPECT_EQ(m.state.bytes_per_element, 2);
  EXPECT_EQ(spec_of(read(with(kHybrid, "", "\"mamba_ssm_dtype\": \"float32\""))).state.bytes_per_element, 4);
  ASSERT_EQ(imported.remarks.size(), 1U);
  EXPECT_EQ(imported.remarks[0], "No field says what states are held in: 16 bit, as vLLM where none does.");
  EXPECT_NE(refusal(with(kHybrid, "", "\"mamba_ssm_dtype\": \"fp4\"")).find("mamba_ssm_dtype: states in fp4"),
            std::string::npos);
}

TEST(ConfigImport, LayersOfOnePartEachAreRead) {
  const LlmSpec m = spec_of(read(kSingleBlocks));
  EXPECT_EQ(m.layers, 5);
  EXPECT_EQ(m.state.layers, 2);
  EXPECT_EQ(m.attention_layers(), 1);
  EXPECT_EQ(m.without_attention, 2);
  EXPECT_EQ(m.without_block, 3);
  EXPECT_EQ(m.routed_layers(), 1);
  EXPECT_EQ(m.moe.dense_layers, 1);
  EXPECT_EQ(m.moe.shared_width(), 160);
  EXPECT_FALSE(m.gated_blocks);
  // A layer with a state: 8 x 64 = 512 wide, 2 x 32 for each of B and C; in 256 x (1024 + 128 + 8), out, convolution of
  // 640 with biases, and 3 x 8 + 512.
  const std::int64_t state = 256 * 1160 + 512 * 256 + 640 * 5 + 24 + 512, attention = 256 * (512 + 512) + 512 * 256;
  const std::int64_t experts = 16 * 2 * 64 * 96 + 2 * 256 * 160 + 2 * 256 * 64 + 256 * 16, block = 2 * 256 * 640;
  EXPECT_EQ(m.parameters(), 2 * state + attention + experts + block + 6 * 256 + 2 * 1000 * 256);
  const std::string pattern = "\"hybrid_override_pattern\": \"ME-*\"";
  EXPECT_NE(refusal(with(kSingleBlocks, "hybrid_override_pattern", pattern)).find("4 of them for 5 layers"),
            std::string::npos);
  EXPECT_NE(refusal(with(kSingleBlocks, "hybrid_override_pattern", "\"hybrid_override_pattern\": \"ME-*Q\""))
                .find("hybrid_override_pattern: \"Q\""),
            std::string::npos);
}

TEST(ConfigImport, FamiliesWithStatesHaveTheirPublishedParameters) {
  struct Known {
    const char* name;
    double parameters;
    std::int64_t kv_bytes_per_token, state_elements;
    std::string config;
  };
  std::string kinds = "[", granite = "[";
  for (int layer = 0; layer < 80; ++layer) kinds += fmt::format("{}{}", layer > 0 ? ", " : "", layer % 8 == 7 ? 1 : 0);
  for (int layer = 0; layer < 40; ++layer) {
    granite += fmt::format("{}\"{}\"", layer > 0 ? ", " : "", layer % 10 == 5 ? "attention" : "mamba");
  }
  const Known known[] = {
      {"Jamba v0.1", 51.6e9, 4 * 2 * 8 * 128 * 2, 28 * 8192 * 16, R"({"model_type": "jamba", "hidden_size": 4096,
        "num_hidden_layers": 32, "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2,
        "expert_layer_offset": 1, "num_experts": 16, "num_experts_per_tok": 2, "intermediate_size": 14336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "mamba_d_conv": 4, "mamba_d_state": 16, "mamba_expand": 2,
        "mamba_dt_rank": 256, "vocab_size": 65536, "max_position_embeddings": 262144, "tie_word_embeddings": false})"},
      {"MiniMax-Text-01", 456e9, 10 * 2 * 8 * 128 * 2, 70 * 64 * 128 * 128, R"({"model_type": "minimax_text_01",
        "hidden_size": 6144, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 9216, "num_local_experts": 32, "num_experts_per_tok": 2,
        "shared_intermediate_size": 0, "vocab_size": 200064, "max_position_embeddings": 10240000,
        "tie_word_embeddings": false, "attn_type_list": )" + kinds + "]}"},
      {"Granite 4.0 H small", 32.2e9, 4 * 2 * 8 * 128 * 2, 36 * 128 * 64 * 128, R"({"model_type": "granitemoehybrid",
        "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
        "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4,
        "mamba_expand": 2, "num_local_experts": 72, "num_experts_per_tok": 10, "intermediate_size": 768,
        "shared_intermediate_size": 1536, "vocab_size": 100352, "max_position_embeddings": 131072,
        "tie_word_embeddings": true, "layer_types": )" + granite + "]}"},
      {"Kimi Linear", 48e9, 7 * 576 * 2, 20 * 32 * 128 * 128, R"({"model_type": "kimi_linear", "hidden_size": 2304,
        "num_hidden_layers": 27, "num_attention_heads": 32, "num_key_value_heads": 32, "q_lora_rank": null,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "intermediate_size": 9216, "moe_intermediate_size": 1024, "num_experts": 256, "num_experts_per_token": 8,
        "num_shared_experts": 1, "first_k_dense_replace": 1, "vocab_size": 163840, "max_position_embeddings": 1048576,
        "tie_word_embeddings": false, "linear_attn_config": {"num_heads": 32, "head_dim": 128,
        "short_conv_kernel_size": 4, "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
        "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26]}})"}};
  for (const Known& k : known) {
    const LlmSpec m = spec_of(read(k.config));
    EXPECT_NEAR(static_cast<double>(m.parameters()) / k.parameters, 1, 0.025) << k.name;
    EXPECT_EQ(m.kv_bytes_per_token(), k.kv_bytes_per_token) << k.name;
    EXPECT_EQ(m.state.layers * m.state.elements(), k.state_elements) << k.name;
  }
}

// Numbers of parameters are those that the publishers state, KV is 2 x layers x KV heads x head width x 2 bytes.
TEST(ConfigImport, PlainFamiliesHaveTheirPublishedParameters) {
  struct Known {
    const char* name;
    double parameters;
    std::int64_t kv_bytes_per_token;
    std::string config;
  };
  const std::string rest = R"("vocab_size": 151936, "max_position_embeddings": 32768, "tie_word_embeddings": false})";
  const Known known[] = {
      {"Qwen1.5-MoE-A2.7B", 14.3e9, 24 * 2 * 16 * 128 * 2,
       R"({"model_type": "qwen2_moe", "hidden_size": 2048,
        "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 5632,
        "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60,
        "num_experts_per_tok": 4, "decoder_sparse_step": 1, "max_window_layers": 21, "sliding_window": 32768,
        "use_sliding_window": false, "norm_topk_prob": false, )" +
           rest},
      {"GLM-4.5-Air", 106e9, 46 * 2 * 8 * 128 * 2, R"({"model_type": "glm4_moe", "attention_bias": true,
        "hidden_size": 4096, "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 128,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "use_qk_norm": false,
        "partial_rotary_factor": 0.5, "rope_scaling": null, "vocab_size": 151552, "max_position_embeddings": 131072,
        "tie_word_embeddings": false})"},
      {"Phi-4", 14.7e9, 40 * 2 * 10 * 128 * 2, R"({"model_type": "phi3", "attention_bias": false, "embd_pdrop": 0.0,
        "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 10,
        "intermediate_size": 17920, "original_max_position_embeddings": 16384, "resid_pdrop": 0.0,
        "rope_scaling": null, "sliding_window": null, "vocab_size": 100352, "max_position_embeddings": 16384,
        "tie_word_embeddings": false})"},
      {"Granite 3.3 8B", 8.17e9, 40 * 2 * 8 * 128 * 2, R"({"model_type": "granite", "attention_bias": false,
        "attention_multiplier": 0.0078125, "embedding_multiplier": 12.0, "residual_multiplier": 0.22,
        "logits_scaling": 16.0, "mlp_bias": false, "hidden_size": 4096, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12800, "vocab_size": 49159,
        "max_position_embeddings": 131072, "tie_word_embeddings": true})"},
      {"Seed-OSS-36B", 36e9, 64 * 2 * 8 * 128 * 2, R"({"model_type": "seed_oss", "attention_bias": true,
        "attention_out_bias": false, "residual_dropout": 0.1, "mlp_bias": false, "head_dim": 128, "hidden_size": 5120,
        "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8, "intermediate_size": 27648,
        "rope_scaling": {"rope_type": "default"}, "vocab_size": 155136, "max_position_embeddings": 524288,
        "tie_word_embeddings": false})"},
      {"Hunyuan-7B", 7.5e9, 32 * 2 * 8 * 128 * 2, R"({"model_type": "hunyuan_v1_dense", "attention_bias": false,
        "attention_head_dim": 128, "cla_share_factor": 2, "use_cla": false, "use_qk_norm": true, "num_experts": 1,
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "kv_lora_rank": null, "intermediate_size": 14336, "mlp_bias": false, "vocab_size": 128167,
        "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}, "max_position_embeddings": 262144,
        "tie_word_embeddings": true})"},
      {"Gemma 2 9B", 9.24e9, 42 * 2 * 8 * 256 * 2, R"({"model_type": "gemma2", "hidden_size": 3584, "head_dim": 256,
        "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 14336,
        "cache_implementation": "hybrid", "attn_logit_softcapping": 50.0, "sliding_window": 4096,
        "sliding_window_size": 4096, "vocab_size": 256000, "max_position_embeddings": 8192})"}};
  for (const Known& k : known) {
    const ImportedModel imported = read(k.config);
    const LlmSpec m = spec_of(imported);
    EXPECT_NEAR(static_cast<double>(m.parameters()) / k.parameters, 1, 0.015) << k.name;
    EXPECT_EQ(m.kv_bytes_per_token(), k.kv_bytes_per_token) << k.name;
    for (const std::string& remark : imported.remarks) {
      EXPECT_EQ(remark.find("Fields that kvsim does not know"), std::string::npos) << k.name << ": " << remark;
    }
  }
  const LlmSpec qwen = spec_of(read(known[0].config));
  EXPECT_NEAR(static_cast<double>(qwen.active_parameters() + qwen.vocabulary * qwen.hidden), 2.7e9, 0.05e9)
      << "published, with the embedding table";
  EXPECT_EQ(qwen.moe.shared_width(), 5632);
  EXPECT_TRUE(qwen.qkv_bias);
  const LlmSpec glm = spec_of(read(known[1].config));
  EXPECT_EQ(glm.moe.dense_layers, 1);
  EXPECT_FALSE(glm.qk_norm);
  // Every second layer of Gemma 2, the first one among them, has the window.
  const ImportedModel gemma = read(known[6].config);
  EXPECT_EQ(spec_of(gemma).window.layers, 21);
  EXPECT_EQ(spec_of(gemma).window.tokens, 4096);
  ASSERT_EQ(gemma.remarks.size(), 1U);
  EXPECT_EQ(gemma.remarks[0],
            "No field says which layers have the sliding window: all but one in 2, as published for gemma2.");
  // Phi's projections that checkpoints hold as one are excluded by that name.
  const auto phi = [&](const char* excluded) {
    return spec_of(
        read(known[2].config, fmt::format(R"({{"quant_algo": "FP8", "exclude_modules": ["{}"]}})", excluded)));
  };
  EXPECT_NEAR(
      static_cast<double>(phi("model.layers.0.self_attn.qkv_proj").weight_bytes() - phi("lm_head").weight_bytes()),
      5120.0 * (40 + 2 * 10) * 128, 1e6);
  EXPECT_NE(refusal(with(known[5].config, "use_cla", "\"use_cla\": true, \"n\": null")).find("use_cla: layers that"),
            std::string::npos);
}

TEST(ConfigImport, AWindowAsLongAsTheContextIsNone) {
  EXPECT_EQ(spec_of(read(with(kDense, "", "\"sliding_window\": 131072"))).window.layers, 0);
  EXPECT_NE(refusal(with(kDense, "", "\"sliding_window\": 131071")).find("sliding_window"), std::string::npos);
}

// Gemma 3n shares KV, which is modelled, and has embeddings of each layer, which are not.
TEST(ConfigImport, WhatIsRefusedOfGemma3nIsWhatIsNotModelled) {
  EXPECT_EQ(
      refusal(R"({"model_type": "gemma3n_text", "num_kv_shared_layers": 15, "hidden_size_per_layer_input": 256})"),
      "config.json:1:91: hidden_size_per_layer_input: embeddings of each layer, which kvsim does not model" +
          kNotModelled);
}

TEST(ConfigImport, AnUnknownTypeIsReadAsTheOneThatIsNamed) {
  const std::string unknown = with(kDense, "model_type", "\"model_type\": \"aurora3\"");
  const ImportedModel imported = read(unknown, {}, "llama");
  EXPECT_EQ(spec_of(imported).parameters(), spec_of(read(kDense)).parameters());
  ASSERT_EQ(imported.remarks.size(), 1U);
  EXPECT_EQ(imported.remarks[0], "Read as a model of type llama (--as), whatever model_type says.");
  try {
    static_cast<void>(read(unknown, {}, "lama"));
    FAIL();
  } catch (const schema::InputError& e) {
    EXPECT_EQ(std::string(e.what()).find("--as: \"lama\" is not read; those that are: cohere2"), 0U) << e.what();
  }
}

TEST(ConfigImport, ContextsThatScalingsLengthenAreThoseThatEnginesTake) {
  const auto scaled = [](const std::string& scaling) {
    const ImportedModel imported = read(with(with(kDense, "rope_scaling", "\"rope_scaling\": " + scaling),
                                             "max_position_embeddings", "\"max_position_embeddings\": 40960"));
    EXPECT_LE(imported.remarks.size(), 1U);
    return std::pair{spec_of(imported).max_context, imported.remarks.empty() ? "" : imported.remarks[0]};
  };
  EXPECT_EQ(scaled(R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768})"),
            (std::pair<std::int64_t, std::string>{
                131072,
                "The context is 131072 tokens, 4 x 32768 by rope_scaling (yarn), as vLLM derives it; "
                "max_position_embeddings is 40960."}));
  EXPECT_EQ(scaled(R"({"type": "yarn", "factor": 10, "original_max_position_embeddings": 4096})"),
            (std::pair<std::int64_t, std::string>{40960, ""}));
  EXPECT_EQ(scaled(R"({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192})"),
            (std::pair<std::int64_t, std::string>{40960, ""}));
  for (const std::string type : {"linear", "dynamic", "ntk"}) {
    EXPECT_EQ(scaled(R"({"type": ")" + type + R"(", "factor": 4})"),
              (std::pair<std::int64_t, std::string>{163840,
                                                    "The context is 163840 tokens, 4 x 40960 by rope_scaling (" + type +
                                                        "), as vLLM derives it; max_position_embeddings is "
                                                        "40960."}));
  }
  EXPECT_EQ(scaled(R"({"rope_type": "yarn", "factor": 2})").first, 81920) << "without a context of training";
  EXPECT_EQ(scaled(R"({"rope_type": "dynamic", "factor": 1.0, "alpha": 1000})"),
            (std::pair<std::int64_t, std::string>{40960, ""}));
  EXPECT_EQ(scaled(R"({"rope_type": "longrope", "factor": 4.0})"), (std::pair<std::int64_t, std::string>{40960, ""}));
  EXPECT_EQ(scaled(R"({"full_attention": {"rope_type": "linear", "factor": 2}, "sliding_attention": {"rope_type": )"
                   R"("default"}})")
                .first,
            81920)
      << "by the kind of layer";
  EXPECT_NE(refusal(with(kDense, "rope_scaling", R"("rope_scaling": {"rope_type": "yarn", "factor": "four"})"))
                .find("factor"),
            std::string::npos);
}

TEST(ConfigImport, IndexersAreRead) {
  const std::string keys = "\"index_head_dim\": 128, \"index_n_heads\": 64, \"index_topk\": 2048";
  const LlmSpec m = spec_of(read(with(with(kLatent, "model_type", "\"model_type\": \"deepseek_v32\""), "", keys)));
  EXPECT_EQ(m.window.layers, 61);
  EXPECT_EQ(m.window.tokens, 2048);
  EXPECT_EQ(m.window.kind, WindowKind::selected);
  EXPECT_EQ(m.indexer.layers, 61);
  EXPECT_NEAR(static_cast<double>(m.parameters()), 671.9e9, 0.1e9);
  EXPECT_EQ(m.kv_bytes_per_token(), 70272 + 61 * 132) << "132 bytes of a key: 8 bit, and a scale";
  std::string types;
  for (int layer = 0; layer < 61; ++layer) types += layer % 4 == 0 ? ", \"full\"" : ", \"shared\"";
  const LlmSpec fewer = spec_of(read(with(with(kLatent, "model_type", "\"model_type\": \"glm_moe_dsa\""), "",
                                          keys + ", \"indexer_types\": [" + types.substr(2) + "]")));
  EXPECT_EQ(fewer.indexer.layers, 16);
}

TEST(ConfigImport, TheLastLayersMayShareTheKvOfThoseBefore) {
  const auto gemma = [](int sharing) {
    std::string types;
    for (int layer = 1; layer <= 10; ++layer)
      types += layer % 5 == 0 ? ", \"full_attention\"" : ", \"sliding_attention\"";
    return R"({"model_type": "gemma4_text", "num_hidden_layers": 10, "hidden_size": 64, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 128, "vocab_size": 1000,
      "max_position_embeddings": 4096, "sliding_window": 128, "layer_types": [)" +
           types.substr(2) + "], \"num_kv_shared_layers\": " + std::to_string(sharing) + "}";
  };
  const LlmSpec m = spec_of(read(gemma(5)));
  EXPECT_EQ(m.shared_kv_layers, 5);
  EXPECT_EQ(m.window.shared_kv_layers, 4);
  EXPECT_EQ(m.kv_bytes_per_token(), 5 * 128);
  EXPECT_EQ(m.full_part().kv_bytes_per_token(), 128);
  EXPECT_EQ(spec_of(read(gemma(0))).parameters() - m.parameters(), 5 * 64 * 64);
  for (const int none_left : {9, 10, 11}) {
    EXPECT_NE(refusal(gemma(none_left)).find("num_kv_shared_layers: no layer of a kind with KV of its own"),
              std::string::npos)
        << refusal(gemma(none_left));
  }
}

TEST(ConfigImport, ChunksAndExpertsInEverySecondLayerAreRead) {
  const LlmSpec m = spec_of(read(R"({"model_type": "llama4_text", "num_hidden_layers": 48, "hidden_size": 5120,
    "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192,
    "intermediate_size_mlp": 16384, "vocab_size": 202048, "max_position_embeddings": 1048576,
    "attention_chunk_size": 8192, "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
    "use_qk_norm": true, "tie_word_embeddings": false})"));
  EXPECT_NEAR(static_cast<double>(m.parameters()), 400e9, 2e9) << "Llama 4 Maverick";
  EXPECT_EQ(m.window.kind, WindowKind::chunked);
  EXPECT_EQ(m.window.layers, 36);
  EXPECT_EQ(m.moe.dense_layers, 24);
  EXPECT_EQ(m.moe.shared_width(), 8192);
}

// Of eight layers, by the list where there is one, else by the period, else as published, which is said.
TEST(ConfigImport, ChunksAreInTheLayersThatTheConfigurationNames) {
  const auto llama4 = [](const std::string& more) {
    return read(R"({"model_type": "llama4_text", "num_hidden_layers": 8, "hidden_size": 5120,
      "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192,
      "intermediate_size_mlp": 16384, "vocab_size": 202048, "max_position_embeddings": 1048576,
      "attention_chunk_size": 8192, "num_local_experts": 16, "num_experts_per_tok": 1, "interleave_moe_layer_step": 1,
      )" + more +
                R"("tie_word_embeddings": false})");
  };
  const auto says = [](const ImportedModel& m) {
    return std::any_of(m.remarks.begin(), m.remarks.end(), [](const std::string& remark) {
      return remark.find("which layers attend within chunks") != std::string::npos;
    });
  };
  const ImportedModel published = llama4("");
  EXPECT_EQ(spec_of(published).window.layers, 6);
  EXPECT_TRUE(says(published));
  const ImportedModel by_period = llama4("\"no_rope_layer_interval\": 8, ");
  EXPECT_EQ(spec_of(by_period).window.layers, 7);
  EXPECT_FALSE(says(by_period));
  const ImportedModel listed = llama4("\"no_rope_layers\": [1, 0, 1, 0, 1, 0, 1, 0], ");
  EXPECT_EQ(spec_of(listed).window.layers, 4);
  EXPECT_FALSE(says(listed));
  EXPECT_THROW(llama4("\"no_rope_layers\": [1, 0], "), schema::InputError);
  EXPECT_THROW(llama4("\"no_rope_layer_interval\": 0, "), schema::InputError);
}

TEST(ConfigImport, ExpertsInMxfp4AreHeldAsSuch) {
  const ImportedModel imported =
      read(with(kDense, "", R"("quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert":
      ["model.layers.*.self_attn", "lm_head"]})"));
  const LlmSpec m = spec_of(imported);
  const ParameterGroups p = m.parameter_groups();
  EXPECT_NEAR(static_cast<double>(m.weight_bytes()) / (4.25 / 8 * p.dense_blocks + 2 * (p.attention + p.rest)), 1,
              1e-4);
  EXPECT_EQ(m.attention_format(), NumberFormat::bf16);
  ASSERT_EQ(imported.remarks.size(), 1U);
}

TEST(ConfigImport, WhatCannotBeSaidIsRefusedAtItsField) {
  const auto dense = [](const std::string& line) { return refusal(with(kDense, "", line)); };
  EXPECT_EQ(
      dense("\"sliding_window\": 4096"),
      "config.json:2:21: sliding_window: a sliding window that no field gives to a part of the layers, which kvsim "
      "does not model" +
          kNotModelled);
  EXPECT_EQ(dense("\"sliding_window\": 4096, \"use_sliding_window\": false"), "read");
  EXPECT_EQ(
      dense("\"sliding_window\": 4096, \"sliding_window_pattern\": 100"),
      "config.json:2:21: sliding_window: a sliding window in every layer, which kvsim does not model" + kNotModelled);
  EXPECT_EQ(dense("\"sliding_window\": 4096, \"layer_types\": [\"full_attention\", \"sliding_attention\"]"),
            "config.json:2:42: layer_types: 2 of them for 32 layers");
  EXPECT_EQ(dense("\"use_double_wide_mlp\": true"),
            "config.json:2:26: use_double_wide_mlp: layers that differ from each other, which kvsim does not model" +
                kNotModelled);
  EXPECT_EQ(dense("\"layer_types\": [\"full_attention\", \"linear_attention\"]"),
            "config.json:2:37: layer_types: \"linear_attention\", which kvsim does not model" + kNotModelled);
  EXPECT_EQ(dense("\"index_topk\": 2048"),
            "config.json:2:17: index_topk: a sparse indexer, which is not read of models of type llama" + kAsAnother);
  EXPECT_EQ(dense("\"attn_type_list\": [1, 0]"),
            "config.json:2:25: attn_type_list: attention of type 0, which kvsim does not model" + kNotModelled);
  // These kvsim models, and reads of other families.
  EXPECT_EQ(
      dense("\"num_kv_shared_layers\": 2"),
      "config.json:2:27: num_kv_shared_layers: layers that share another's KV, which is not read of models of type "
      "llama" +
          kAsAnother);
  EXPECT_EQ(dense("\"kv_lora_rank\": 512"),
            "config.json:2:19: kv_lora_rank: latent attention, which is not read of models of type llama" + kAsAnother);
  EXPECT_EQ(refusal(with(kLatent, "", "\"index_n_heads\": 64, \"index_head_dim\": 128")),
            "config.json:2:20: index_n_heads: an indexer without the number of tokens that it selects (index_topk), "
            "which kvsim does not model" +
                kNotModelled);
  EXPECT_EQ(
      refusal(with(kLatent, "moe_layer_freq", "\"moe_layer_freq\": 2")),
      "config.json:9:21: moe_layer_freq: experts in some layers alone, which kvsim does not model" + kNotModelled);
  EXPECT_EQ(refusal(with(kDense, "mlp_bias", "\"mlp_bias\": true")),
            "config.json:7:15: mlp_bias: biases of the feed-forward block, which kvsim does not model" + kNotModelled);
}

TEST(ConfigImport, EncodersAndMissingFieldsAreRefused) {
  EXPECT_EQ(
      refusal(R"({"model_type": "bert", "hidden_size": 768})"),
      "config.json:1:16: model_type: \"bert\" is not read (`kvsim model import --as TYPE` reads it as another); those "
      "that are: cohere2, deepseek_v2, deepseek_v3, deepseek_v32, gemma2, gemma3_text, gemma4_text, glm4_moe, "
      "glm_moe_dsa, gpt_oss, granite, granitemoehybrid, hunyuan_v1_dense, jamba, kimi_k2, kimi_linear, llama, "
      "llama4_text, mimo, mimo_v2_flash, minimax, minimax_m2, minimax_text_01, mistral, mixtral, nemotron-nas, "
      "nemotron_h, olmo3, phi3, qwen2, qwen2_moe, qwen3, qwen3_5_moe_text, qwen3_5_text, qwen3_moe, qwen3_next, "
      "qwen3_vl_moe_text, qwen3_vl_text, seed_oss, step3p7");
  EXPECT_EQ(refusal(with(kDense, "vocab_size", "")),
            "config.json:1:1: no \"vocab_size\", which every model of this type has");
  EXPECT_EQ(refusal(with(kDense, "num_hidden_layers", "")),
            "config.json:1:1: no \"num_hidden_layers\", which every model of this type has");
  EXPECT_EQ(refusal("[1, 2]"), "config.json:1:1: expected a map, the configuration of a model, found a list");
  EXPECT_EQ(refusal(with(kDense, "num_attention_heads", "\"num_attention_heads\": 33")),
            "config.json:4:18: hidden_size: 4096 is not 33 heads of equal width, and there is no head_dim");
  EXPECT_EQ(refusal(with(kDense, "num_hidden_layers", "\"num_hidden_layers\": -3")),
            "config.json:10:24: num_hidden_layers: must be >= 0, found -3");
}

TEST(ConfigImport, WhatAFamilyAlwaysSaysIsNotGuessed) {
  EXPECT_EQ(refusal(with(kLatent, "n_routed_experts", "")),
            "config.json:1:1: no \"n_routed_experts\", which every model of this type has");
  EXPECT_EQ(refusal(with(kLatent, "q_lora_rank", "")),
            "config.json:1:1: no \"q_lora_rank\", which every model of this type has");
  EXPECT_EQ(refusal(with(kLatent, "q_lora_rank", "\"q_lora_rank\": null")), "read");
  const std::string qwen = with(kDense, "model_type", "\"model_type\": \"qwen3\"");
  EXPECT_EQ(refusal(qwen), "config.json:1:1: no \"head_dim\", which every model of this type has");
  EXPECT_EQ(refusal(with(kDense, "num_key_value_heads", "")), "read");  // one for each query head, as Llama 2 has it
  EXPECT_EQ(refusal(with(with(kDense, "model_type", "\"model_type\": \"mistral\""), "num_key_value_heads", "")),
            "config.json:1:1: no \"num_key_value_heads\", which every model of this type has");
  EXPECT_EQ(refusal(with(kDense, "", "\"shared_expert_intermediate_size\": 8192")),
            "config.json:2:38: shared_expert_intermediate_size: a shared expert, which is not read of models of type "
            "llama" +
                kAsAnother);
  EXPECT_EQ(refusal(with(kDense, "", "\"is_encoder_decoder\": true")),
            "config.json:2:25: is_encoder_decoder: an encoder, which kvsim does not model" + kNotModelled);
  EXPECT_EQ(refusal(with(kDense, "", "\"vision_config\": {}")),
            "config.json:2:20: vision_config: expected its layers, hidden size and intermediate size");
}

TEST(ConfigImport, FormatsOfWeightsThatAreNotKnownAreRefused) {
  EXPECT_EQ(refusal(kDense, R"({"quantization": {"quant_algo": "MIXED_PRECISION"}})"),
            "hf_quant_config.json:1:33: quant_algo: \"MIXED_PRECISION\": expected FP8 or NVFP4");
  EXPECT_EQ(
      refusal(kDense, R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "INT4"}})"),
      "hf_quant_config.json:1:63: a KV cache in \"INT4\": expected FP8, 8 bits of type float, or none for 16 bit");
  EXPECT_EQ(refusal(kDense, R"({"quantization": {"quant_algo": "FP8", "exclude_modules": "lm_head"}})"),
            "hf_quant_config.json:1:59: expected a list of what is not quantised, found \"lm_head\"");
  EXPECT_EQ(refusal(kDense, R"({"quantization": {"quant_algo": "FP8", "exclude_modules": ["re:a{3}"]}})"),
            "hf_quant_config.json:1:60: the expression \"re:a{3}\": expected names, \".*\", \"\\.\" and (one|other)");
  const std::string nested = R"x({"quantization": {"quant_algo": "FP8", "exclude_modules": ["re:a(b(c)d)"]}})x";
  EXPECT_NE(refusal(kDense, nested).find("the expression \"re:a(b(c)d)\""), std::string::npos);
  EXPECT_EQ(refusal(kDense, R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": 1}}})"),
            "hf_quant_config.json:1:78: expected a map, found \"1\"");
  EXPECT_EQ(refusal(kDense, R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers":
      {"model.layers.0.mlp": {"quant_algo": "INT8"}}}})"),
            "hf_quant_config.json:2:45: quant_algo: \"INT8\": expected FP8, NVFP4, W4A16_NVFP4 or MXFP8");
  EXPECT_EQ(refusal(kDense, R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers":
      {"model.layers.0.mlp": {"quant_algo": "FP8"}}}})"),
            "hf_quant_config.json:2:7: quantized_layers: neither this nor the modules that are excluded say what "
            "model.layers.0.self_attn.q_proj is in");
  EXPECT_EQ(refusal(with(kDense, "",
                         "\"quantization_config\": {\"quant_algo\": \"FP8\", \"kv_cache_scheme\": {\"num_bits\": 4, "
                         "\"type\": \"int\"}}")),
            "config.json:2:67: a KV cache in a map: expected FP8, 8 bits of type float, or none for 16 bit");
  EXPECT_EQ(refusal(with(kDense, "", "\"quantization_config\": {\"quant_method\": \"awq\"}")),
            "config.json:2:43: quant_method: \"awq\": expected fp8, mxfp4, or config_groups");
}

/// A byte of the text changed, doubled, taken out, or the rest cut off.
std::string damaged(std::string text, engine::RandomStream& random) {
  const std::size_t at = random.next_u64() % text.size();
  constexpr std::string_view kBytes = "0{}[]\",:-9e.\n\\x";
  switch (random.next_u64() % 4) {
    case 0:
      text[at] = kBytes[random.next_u64() % kBytes.size()];
      return text;
    case 1:
      return text.insert(at, text.substr(at, random.next_u64() % 40));
    case 2:
      return text.erase(at, random.next_u64() % 40);
    default:
      return text.substr(0, at);
  }
}

TEST(ConfigImport, DamagedFilesAreReadOrRefused) {
  engine::RandomStream random(1, "damaged configurations");
  int read_whole = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string text = std::array{kDense, kLatent, kHybrid, kSingleBlocks}.at(static_cast<std::size_t>(i % 4));
    const auto times = 1 + random.next_u64() % 3;
    for (std::uint64_t n = 0; n < times && !text.empty(); ++n) text = damaged(text, random);
    try {
      static_cast<void>(spec_of(read(text)));
      ++read_whole;
    } catch (const schema::InputError&) {
    }
  }
  EXPECT_GT(read_whole, 0);
  EXPECT_LT(read_whole, 500);
}

std::string contents_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Rows of a plain CSV with quotes.
std::vector<std::vector<std::string>> rows_of(const fs::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(contents_of(path));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        cells.emplace_back();
      } else if (c != '\r') {
        cells.back() += c;
      }
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

TEST(ConfigImport, RealConfigurationsHaveThePublishedSizesOrAreRefused) {
  const char* const shared = std::getenv("KVSIM_SHARED");  // NOLINT(concurrency-mt-unsafe): read before any thread
  const fs::path folder = fs::path(shared != nullptr ? shared : KVSIM_SHARED_DEFAULT) / "model_configs";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << "; set KVSIM_SHARED to the folder that has it";
  const auto rows = rows_of(folder / "expected.csv");
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin());
  };
  const std::size_t file = column("file"), computed = column("total_params_b_computed"),
                    published = column("total_params_b_published");
  // Names of 7.6 and 31.6 billion.
  const std::set<std::string> further_off{"XiaomiMiMo--MiMo-7B-Base_config.json",
                                          "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16_config.json",
                                          "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4_config.json"};
  int imported_count = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::string& name = rows[i][file];
    const auto stated = [&](const char* of) {
      const std::string& cell = rows[i][column(of)];
      return cell.empty() ? 0LL : std::stoll(cell);
    };
    const fs::path config = folder / name;
    fs::path quantisation =
        folder / (name.substr(0, name.size() - std::string("config.json").size()) + "hf_quant_config.json");
    if (!fs::exists(quantisation)) quantisation.clear();
    try {
      const LlmSpec m =
          llm_schema().parse(import_model_file(config.string(), quantisation.string()).entry, {"model", nullptr});
      ++imported_count;
      const auto in_16_bit = [&m](const LlmSpec& part) {
        return std::llround(static_cast<double>(part.kv_bytes_per_token()) * 2 / m.kv_bytes_per_element);
      };
      const bool drops = m.window.drops();
      EXPECT_EQ(in_16_bit(m.full_part()) + (drops ? 0 : in_16_bit(m.window_part())), stated("kv_bytes_per_token"))
          << name;
      EXPECT_EQ(drops ? in_16_bit(m.window_part()) : 0, stated("kv_window_bytes_per_token")) << name;
      EXPECT_EQ(drops ? m.window.tokens : 0, stated("window_tokens")) << name;
      EXPECT_EQ(drops ? 0 : m.window.tokens, stated("sparse_topk_tokens")) << name;
      EXPECT_EQ(m.indexer.layers * m.indexer.head_dim * 2, stated("indexer_bytes_per_token")) << name;
      EXPECT_EQ(m.state.layers * m.state.elements(), stated("state_elements_per_sequence")) << name;
      EXPECT_EQ(m.state.layers * m.state.conv_elements(), stated("conv_state_elements_per_sequence")) << name;
      if (!rows[i][computed].empty()) {
        EXPECT_NEAR(static_cast<double>(m.parameters()) / (std::stod(rows[i][computed]) * 1e9), 1, 0.01) << name;
      } else if (!rows[i][published].empty() && !further_off.contains(name)) {  // names are rounded to a billion
        EXPECT_NEAR(static_cast<double>(m.parameters()) / (std::stod(rows[i][published]) * 1e9), 1, 0.03) << name;
      }
    } catch (const schema::InputError& e) {
      EXPECT_NE(std::string(e.what()).find("json:"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(imported_count, 77);
}

}  // namespace
}  // namespace kvsim::models
