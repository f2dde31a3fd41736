// Latent attention: rows of whole blocks and of attention alone are read, refused, made ready, fitted and written.
#include "models/calibration/latent_fit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/calibration/calibrate.h"
#include "models/calibration/physics.h"
#include "models/catalogue/catalogue.h"
#include "models/schema/yaml.h"
#include "tests/calibration/synthetic.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;

LinearForm projections() {
  LinearForm form;
  form.t0_s = 3e-6;
  form.bandwidth_efficiency = 0.85;
  form.tiles = {{64, 64, 0.4}, {128, 128, 0.8}};
  return form;
}

DecodeForm decode_truth() {
  DecodeForm form;
  form.t0_s = 45e-6;
  form.per_doubling_s = 1e-6;
  form.per_head_s = 2e-9;
  form.per_request_doubling_s = 3e-6;
  form.per_token_s = 25e-9;
  form.stream = {0.9, 1.8, 0.6, 0.2};
  form.walk = {2, 0.6, 0.5, 2e-6, 128, 4, 20e-9, 0, true};
  return form;
}

TiledForm prefill_truth() {
  TiledForm form;
  form.t0_s = 50e-6;
  form.efficiency = 0.65;
  form.overhead_tokens = 40;
  form.wave_quantisation = 0.3;
  form.blend_power = 3;
  form.io_efficiency = 0.8;
  form.per_token_s = 20e-9;
  form.write_efficiency = 0.3;
  return form;
}

template <class Sample>
Sample block_row(double heads, double batch, double length) {
  Sample row;
  row.from.framework = "vllm";
  row.block = {576, "MLA", NumberFormat::bf16, heads, 0};
  if constexpr (std::is_same_v<Sample, DecodeSample>) {
    row.shape = absorbed_shape(latent_model(1).mla, heads);
    row.requests = batch;
    row.kv_length = length;
    row.warm = true;
    row.seconds = decode_truth().time(call_of(row), testing::machine(), true).seconds +
                  block_linear_s(projections(), heads, batch, testing::machine());
  } else {
    row.block.kernel = "FLASH";
    row.shape = expanded_shape(latent_model(1).mla, heads);
    row.chunks = batch;
    row.tokens = length;
    TiledCall call;
    for (double i = 0; i < batch; ++i) prefill_truth().add_chunk(call, length, 0, row.shape);
    row.seconds = prefill_truth().time(call, row.shape, testing::machine()).seconds +
                  block_linear_s(projections(), heads, batch * length, testing::machine());
  }
  return row;
}

Samples rows() {
  Samples samples;
  testing::Noise noise;
  for (const double heads : {4.0, 8.0, 16.0, 64.0, 128.0}) {
    for (double batch = 1; batch <= 256; batch *= 4) {
      for (double kv = 16; kv <= 65536; kv *= 4) {
        samples.latent_decode.push_back(block_row<DecodeSample>(heads, batch, kv));
        samples.latent_decode.back().seconds *= noise.next();
      }
      for (double tokens = 256; tokens <= 16384; tokens *= 2) {
        if (batch * tokens > 65536) continue;
        samples.latent_prefill.push_back(block_row<TiledSample>(heads, batch, tokens));
        samples.latent_prefill.back().seconds *= noise.next();
      }
    }
  }
  return samples;
}

TEST(LatentFit, AttentionIsTheBlockWithoutItsLinearLayers) {
  Samples samples = rows();
  const LinearForm linear = projections();
  EXPECT_TRUE(prepare_latents(samples, &linear, testing::machine()).empty());
  const DecodeKind kind{.kv = NumberFormat::bf16, .latent = true};
  const FitProblem problem = decode_problem(samples.latent_decode, kind, testing::machine());
  const DecodeForm found = decode_form(kind, fit(problem, all_rows(problem)).values);
  for (const double heads : {16.0, 32.0}) {
    for (const double kv : {300.0, 9000.0}) {
      const DecodeCall call{48, heads, 48 * kv * 1152, kv, 0, 1, 544};
      const double expected = decode_truth().time(call, testing::machine(), false).seconds;
      EXPECT_NEAR(found.time(call, testing::machine(), false).seconds / expected, 1, 0.08) << heads << " " << kv;
    }
  }
  const TiledKind tiles{.kv = NumberFormat::bf16, .latent = true};
  const FitProblem prompts = tiled_problem(samples.latent_prefill, tiles, testing::machine());
  const TiledForm tiled = tiled_form(tiles, fit(prompts, all_rows(prompts)).values);
  const HeadShape shape = expanded_shape(latent_model(1).mla, 32);
  TiledCall call;
  tiled.add_chunk(call, 3000, 0, shape);
  EXPECT_NEAR(tiled.time(call, shape, testing::machine()).seconds /
                  prefill_truth().time(call, shape, testing::machine()).seconds,
              1, 0.08);
}

TEST(LatentFit, WhatIsWrittenLoadsAndPredictsTheSame) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("h100-sxm");
  Readings readings;
  readings.samples = rows();
  CalibrationOptions options;
  options.profile = "written";
  options.known["h100-sxm"].linear = {projections()};
  const Calibration fitted = calibrate(readings, gpu, {}, {catalogue.model("deepseek-v3")}, options);
  ASSERT_EQ(fitted.operators.size(), 2U);
  for (const OperatorReport& op : fitted.operators) {
    EXPECT_LT(op.shapes.median, 0.05) << op.name;
    EXPECT_GT(op.models.count, 0U) << op.name;  // 128, 64 and 16 heads are DeepSeek-V3's
  }
  Catalogue again;
  const schema::ConfigNode document = schema::read_yaml(catalogue_yaml(fitted, gpu), "written.yaml");
  again.add({&document, 1});
  const FittedForms forms = again.profile("written").fitted;
  ASSERT_EQ(forms.latent_decode_attention.size(), 1U);
  ASSERT_EQ(forms.latent_prefill_attention.size(), 1U);
  EXPECT_NE(forms.latent_decode_attention[0].source.reference.find("by MLA, of blocks with their linear layers"),
            std::string::npos);
  const DecodeCall call{48, 16, 48 * 9000 * 1152, 9000, 0, 1, 544, 2};
  const Machine machine = Machine::of(gpu);
  EXPECT_NEAR(forms.latent_decode_attention[0].time(call, machine, false).seconds /
                  fitted.profile.fitted.latent_decode_attention[0].time(call, machine, false).seconds,
              1, 1e-3);
  const HeadShape shape = expanded_shape(latent_model(1).mla, 32);
  TiledCall chunk;
  forms.latent_prefill_attention[0].add_chunk(chunk, 3000, 0, shape);
  EXPECT_NEAR(forms.latent_prefill_attention[0].time(chunk, shape, machine).seconds /
                  fitted.profile.fitted.latent_prefill_attention[0].time(chunk, shape, machine).seconds,
              1, 1e-3);
}

/// Of weights in blocks of fp8.
LinearForm narrow_projections() {
  LinearForm form = projections();
  form.weights = NumberFormat::fp8_block;
  form.t0_s = 19e-6;
  form.quantise = {4e-6, 4e-9, 0.4};
  return form;
}

/// Rows of linear layers in bf16 and, each waiting 0.9 ms for its launch, in fp8_block; blocks in bf16 and, with
/// `narrow`, in fp8_block.
Samples rows_with_hidden_kernels(bool narrow) {
  Samples samples = rows();
  samples.latent_prefill.clear();
  const Samples in_bf16 = samples;
  for (const double n : {512.0, 2048.0, 7168.0, 24576.0}) {
    for (const double k : {512.0, 1536.0, 7168.0, 16384.0}) {
      for (double m = 1; m <= 16384; m *= 4) {
        LinearSample row{{}, NumberFormat::bf16, m, n, k, projections().time(m, n, k, testing::machine()).seconds};
        samples.linear.push_back(row);
        row.weights = NumberFormat::fp8_block;
        row.run.launched = true;
        LinearForm launched = narrow_projections();
        launched.benchmark.launch_s = 0.9e-3;
        row.seconds = launched.time(m, n, k, testing::machine(), row.run).seconds;
        samples.linear.push_back(row);
      }
    }
  }
  if (!narrow) return samples;
  for (DecodeSample row : in_bf16.latent_decode) {
    row.block.projections = NumberFormat::fp8_block;
    row.seconds += block_linear_s(narrow_projections(), row.block.heads, row.requests, testing::machine()) -
                   block_linear_s(projections(), row.block.heads, row.requests, testing::machine());
    samples.latent_decode.push_back(row);
  }
  return samples;
}

// 4 layers of 16 heads for 8 tokens: 4 x 23 us and 37 MB of weights, 0.1 ms in all, where no row goes below 0.9 ms.
// Without blocks fixed times end at their bounds: 4 x 12 us and what 6 us are between them for k.
TEST(LatentFit, BlocksTellWhatLayersThatWaitForTheirLaunchTakeForFewTokens) {
  GpuSpec gpu = Catalogue::built_in().gpu("h100-sxm");
  const auto few_tokens_s = [&gpu](bool narrow) {
    Readings readings;
    readings.samples = rows_with_hidden_kernels(narrow);
    CalibrationOptions options;
    options.leave_out_shapes = options.leave_out_models = false;
    const FittedForms forms = calibrate(readings, gpu, {}, {}, options).profile.fitted;
    EXPECT_EQ(forms.linear.size(), 2U);
    EXPECT_EQ(forms.linear.back().weights, NumberFormat::fp8_block);
    EXPECT_EQ(forms.linear.back().source.reference.find("in blocks over latents") != std::string::npos, narrow);
    return block_linear_s(forms.linear.back(), 16, 8, testing::machine());
  };
  const double truth_s = block_linear_s(narrow_projections(), 16, 8, testing::machine());
  EXPECT_NEAR(few_tokens_s(true) / truth_s, 1, 0.1);
  EXPECT_LT(few_tokens_s(false) / truth_s, 0.8);
}

TEST(LatentRows, BlocksByAnotherKernelThanTheFormsSayNothingOfLinearLayers) {
  Samples samples;
  samples.latent_decode = {block_row<DecodeSample>(16, 4, 512), block_row<DecodeSample>(16, 4, 512)};
  samples.latent_decode[1].block.projections = NumberFormat::fp8_block;
  samples.linear = {{{}, NumberFormat::fp8_block, 1, 512, 512, 9e-5, {1, true}}};
  FittedForms forms;
  forms.latent_decode_attention = {decode_truth()};
  const std::vector<LinearBlock> same = linear_blocks(samples, samples, forms, testing::machine());
  ASSERT_EQ(same.size(), 1U);
  EXPECT_EQ(same[0].tokens, 4);
  EXPECT_DOUBLE_EQ(same[0].seconds - same[0].beside_s, block_linear_s(projections(), 16, 4, testing::machine()));
  Samples kept = samples;
  kept.latent_decode[0].block.kernel = "OTHER";
  kept.latent_decode.pop_back();
  EXPECT_TRUE(linear_blocks(samples, kept, forms, testing::machine()).empty());
  EXPECT_TRUE(linear_blocks(samples, samples, {}, testing::machine()).empty()) << "no form of the attention";
  samples.linear[0].run.launched = false;
  EXPECT_TRUE(linear_blocks(samples, samples, forms, testing::machine()).empty()) << "its own rows tell";
}

TEST(LatentFit, BlocksNeedAFormOfTheirLinearLayers) {
  Readings readings;
  readings.samples = rows();
  CalibrationOptions options;
  try {
    (void)calibrate(readings, Catalogue::built_in().gpu("h100-sxm"), {}, {}, options);
    FAIL();
  } catch (const schema::InputError& e) {
    EXPECT_NE(std::string(e.what()).find("rows of whole blocks without a form of bf16 linear layers"),
              std::string::npos);
  }
}

TEST(LatentRows, OneKernelOfWholeBlocksWithBf16ProjectionsCounts) {
  Samples samples;
  for (const double batch : {1.0, 2.0, 4.0}) samples.latent_decode.push_back(block_row<DecodeSample>(16, batch, 512));
  DecodeSample other = samples.latent_decode[0];
  other.block.kernel = "OTHER";
  samples.latent_decode.push_back(other);
  DecodeSample narrow = samples.latent_decode[0];
  narrow.block.projections = NumberFormat::nvfp4;
  samples.latent_decode.push_back(narrow);
  DecodeSample alone = samples.latent_decode[0];
  alone.block.projections.reset();
  samples.latent_decode.push_back(alone);
  alone.kv = NumberFormat::fp8;  // of these there are no blocks: they stay
  samples.latent_decode.push_back(alone);
  samples.latent_prefill.push_back(block_row<TiledSample>(16, 2, 1024));
  TiledSample prompt = block_row<TiledSample>(16, 2, 64);
  prompt.block.kernel = "MLA";  // decoding's: absorbed
  samples.latent_prefill.push_back(prompt);
  const LinearForm linear = projections();
  EXPECT_EQ(prepare_latents(samples, &linear, testing::machine()).size(), 3U);
  ASSERT_EQ(samples.latent_decode.size(), 5U);
  ASSERT_EQ(samples.latent_prefill.size(), 1U);
  EXPECT_EQ(samples.latent_decode[3].kv, NumberFormat::fp8);
  EXPECT_EQ(samples.latent_decode[3].block.linear_s, 0);
  const DecodeSample& absorbed = samples.latent_decode[4];
  EXPECT_EQ(absorbed.queries, 64);
  EXPECT_EQ(absorbed.kv_length, 32.5);
  EXPECT_DOUBLE_EQ(absorbed.kv_bytes(), 2 * 64 * 1152);
  EXPECT_DOUBLE_EQ(absorbed.block.linear_s, block_linear_s(linear, 16, 128, testing::machine()));
}

TEST(LatentTables, RowsAreReadAndRefusedByLine) {
  const fs::path blocks = fs::path(::testing::TempDir()) / "kvsim-latent-blocks.csv";
  const fs::path alone = fs::path(::testing::TempDir()) / "kvsim-latent-alone.csv";
  const std::string start = "h100_sxm,vllm,0.24.0,FLASHMLA,";
  std::ofstream(blocks)
      << "gpu,framework,version,kernel,phase,num_heads,attention_dtype,kv_dtype,projection_dtype,batch,"
         "length,measured_ms\n"
      << start << "decode,16,bfloat16,fp8,fp8_block,8,4097,0.12\n"        // 2
      << start << "prefill,16,bfloat16,bfloat16,bfloat16,4,2048,1.4\n"    // 3
      << start << "encode,16,bfloat16,fp8,fp8_block,8,4097,0.12\n"        // 4
      << start << "decode,16,bfloat16,int4,fp8_block,8,4097,0.12\n"       // 5
      << start << "decode,16,bfloat16,fp8,int8,8,4097,0.12\n"             // 6
      << start << "decode,0,bfloat16,fp8,bfloat16,8,4097,0.12\n"          // 7
      << start << "decode,16,bfloat16,fp8,bfloat16,8.5,4097,0.12\n"       // 8
      << start << "decode,16,bfloat16,bfloat16,bfloat16,64,131073,1.1\n"  // 9: 8.7 TB/s of 3.35
      << start << "prefill,128,bfloat16,bfloat16,bfloat16,8,8192,2\n";    // 10: 11 PFLOP/s of 0.99
  const std::string header =
      "gpu,framework,version,kernel,phase,num_heads,attention_dtype,kv_dtype,batch,length,measured_ms\n";
  std::ofstream(alone) << header << "b200_sxm,trtllm,1.3.0rc20,default,decode,16,bfloat16,fp8,8,4096,0.02\n"
                       << "h100_sxm,vllm,0.14.0,flashmla,decode,16,bfloat16,fp8,8,4096,0.21\n";  // 3: launched
  Readings readings;
  read_samples(blocks.string(), nullptr, true, readings);
  read_samples(alone.string(), nullptr, true, readings);
  fs::remove(blocks);
  fs::remove(alone);
  std::vector<int> lines;
  for (const RefusedRow& row : readings.refused) lines.push_back(static_cast<int>(row.origin.line()));
  EXPECT_EQ(lines, (std::vector<int>{4, 5, 6, 3}));
  EXPECT_NE(readings.refused.back().reason.find("launched from Python"), std::string::npos);
  ASSERT_EQ(readings.samples.latent_decode.size(), 5U);
  const DecodeSample& first = readings.samples.latent_decode[0];
  EXPECT_EQ(first.block.projections, NumberFormat::fp8_block);
  EXPECT_EQ(first.block.kernel, "FLASHMLA");
  EXPECT_DOUBLE_EQ(first.kv_bytes(), 8 * 4097 * 576.0);
  EXPECT_DOUBLE_EQ(first.seconds, 0.12e-3);
  EXPECT_FALSE(readings.samples.latent_decode[4].block.projections.has_value());
  ASSERT_EQ(readings.samples.latent_prefill.size(), 2U);
  EXPECT_EQ(readings.samples.latent_prefill[0].shape.head_dim, 160);
  lines.clear();
  for (const RefusedRow& row : refuse_impossible(readings.samples, testing::machine())) {
    lines.push_back(static_cast<int>(row.origin.line()));
  }
  EXPECT_EQ(lines, (std::vector<int>{7, 8, 9, 10}));
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
