// Routed experts: rows that a form generates are fitted, read, refused, and written.
#include "models/calibration/operator_fits.h"

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

MoeForm truth() {
  MoeForm f;
  f.t0_s = 20e-6;
  f.per_doubling_s = 3e-6;
  f.wave_quantisation = 0.5;
  f.blend_power = 2;
  f.io_efficiency = 0.7;
  f.foreign_share = 0.6;
  f.stream = {0.85, 3, 0.8, 0.1};
  f.tiles = {{16, 128, 0.2}, {64, 128, 0.5}, {128, 128, 0.6}};
  return f;
}

std::vector<MoeSample> rows() {
  std::vector<MoeSample> result;
  testing::Noise noise;
  for (const double hidden : {2048.0, 4096.0, 6144.0}) {
    for (double tokens = 1; tokens <= 16384; tokens *= 4) {
      for (const double gpus : {1.0, 4.0}) {
        for (const double alpha : {0.0, 1.2}) {
          for (const bool within : {true, false}) {
            MoeSample row;
            row.from.framework = "vllm";
            row.kernel = "triton";
            row.layer = {hidden, hidden / 2, 8, 128, within ? gpus : 1, within ? 1 : gpus, true};
            row.tokens = tokens;
            row.alpha = alpha;
            const MoeCall call{
                row.layer, tokens,
                alpha > 0 ? routed_by_power_law(row.layer, tokens, alpha) : routed_evenly(row.layer, tokens)};
            row.seconds = truth().time(call, testing::machine(), true).seconds * noise.next();
            if (gpus > 1 || within) result.push_back(row);
          }
        }
      }
    }
  }
  return result;
}

TEST(MoeFit, SeesThroughNoiseAndOutliers) {
  const FitProblem problem = moe_problem(rows(), NumberFormat::bf16, testing::machine());
  const MoeForm found = moe_form(NumberFormat::bf16, fit(problem, all_rows(problem)).values);
  const ExpertLayer layer{5120, 1536, 6, 160, 2, 1, true};  // not among the rows
  for (const double tokens : {1.0, 30.0, 700.0, 9000.0}) {
    const MoeCall call{layer, tokens, routed_at_random(layer, tokens)};
    for (const bool warm : {true, false}) {
      const double expected = truth().time(call, testing::machine(), warm).seconds;
      EXPECT_NEAR(found.time(call, testing::machine(), warm).seconds / expected, 1, 0.1) << tokens;
    }
  }
}

TEST(MoeFit, TheKernelWithMostRowsIsFitted) {
  std::vector<MoeSample> all = rows();
  const std::size_t count = all.size();
  MoeSample other = all.front();
  other.kernel = "cutlass";
  all.push_back(other);
  EXPECT_EQ(of_main_kernel(all).size(), count);
  EXPECT_TRUE(of_main_kernel({}).empty());
}

TEST(MoeFit, WhatIsWrittenLoadsAndPredictsTheSame) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("h100-sxm");
  Readings readings;
  readings.samples.moe = rows();
  CalibrationOptions options;
  options.profile = "written";
  const Calibration fitted = calibrate(readings, gpu, {}, {}, options);
  ASSERT_EQ(fitted.operators.size(), 1U);
  EXPECT_LT(fitted.operators[0].shapes.median, 0.05);
  Catalogue again;
  const schema::ConfigNode document = schema::read_yaml(catalogue_yaml(fitted, gpu), "written.yaml");
  again.add({&document, 1});
  const KernelProfile profile = again.profile("written");
  ASSERT_EQ(profile.fitted.moe.size(), 1U);
  EXPECT_EQ(profile.fitted.moe[0].valid_to, 16384);
  EXPECT_NE(profile.fitted.moe[0].source.reference.find("routed experts by triton"), std::string::npos);
  const ExpertLayer layer{2048, 768, 8, 128, 1, 2, true};
  for (const double tokens : {1.0, 100.0, 10000.0}) {
    const MoeCall call{layer, tokens, routed_at_random(layer, tokens)};
    const double before = fitted.profile.fitted.moe[0].time(call, Machine::of(gpu), false).seconds;
    EXPECT_NEAR(profile.fitted.moe[0].time(call, Machine::of(gpu), false).seconds / before, 1, 1e-3);
  }
}

TEST(MoeTables, RowsAreReadAndRefusedByLine) {
  const fs::path path = fs::path(::testing::TempDir()) / "kvsim-moe-tables.csv";
  const std::string start = "h100_sxm,vllm,0.24.0,triton,bfloat16,";
  std::ofstream(path) << "gpu,framework,version,kernel,dtype,m_tokens,hidden,intermediate,top_k,experts,moe_tp,moe_ep,"
                         "distribution,measured_ms\n"
                      << start << "64,2048,768,8,128,2,1,balanced,0.4\n"        // 2
                      << start << "64,2688,1856,6,128,1,4,power_law_1.2,0.4\n"  // 3
                      << "h100_sxm,vllm,0.24.0,triton,int2,64,2048,768,8,128,1,1,balanced,0.4\n"
                      << start << "64,2048,768,8,128,1,1,zipf,0.4\n"         // 5
                      << start << "64,2048,768,8,128,1,1,power_law_1,0.4\n"  // 6
                      << "a100_sxm,vllm,0.14.0,fused_moe,bfloat16,64,2048,768,8,128,1,4,power_law_1.2,0.4\n"
                      << start << "64,2048,768,200,128,1,1,balanced,0.4\n"      // 8
                      << start << "64,2048,768,8,128,1,3,balanced,0.4\n"        // 9
                      << start << "64,2048,768,8,128,1,1,balanced,0.0000001\n"  // 10
                      << start << "16384,2048,768,8,128,1,1,balanced,0.1\n";    // 11: 1.2 PFLOP/s of 0.99
  Readings readings;
  read_samples(path.string(), nullptr, true, readings);
  fs::remove(path);
  ASSERT_EQ(readings.samples.moe.size(), 6U);
  EXPECT_EQ(readings.samples.moe[0].layer.tensor_parallel, 2);
  EXPECT_TRUE(readings.samples.moe[0].layer.gated);
  EXPECT_EQ(readings.samples.moe[0].alpha, 0);
  EXPECT_FALSE(readings.samples.moe[1].layer.gated);
  EXPECT_EQ(readings.samples.moe[1].alpha, 1.2);
  EXPECT_DOUBLE_EQ(readings.samples.moe[1].seconds, 0.4e-3);
  std::vector<int> lines;
  for (const RefusedRow& row : readings.refused) lines.push_back(static_cast<int>(row.origin.line()));
  EXPECT_EQ(lines, (std::vector<int>{4, 5, 6, 7}));
  lines.clear();
  for (const RefusedRow& row : refuse_impossible(readings.samples, testing::machine())) {
    lines.push_back(static_cast<int>(row.origin.line()));
  }
  EXPECT_EQ(lines, (std::vector<int>{8, 9, 10, 11}));
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
