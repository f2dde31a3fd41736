// The accuracy that the fitted forms are held to, on published kernel tables. Skips where they are not there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "models/calibration/calibrate.h"
#include "models/calibration/physics.h"
#include "models/catalogue/catalogue.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;

fs::path kernels() {
  const char* const variable = std::getenv("KVSIM_MEASURED");
  return fs::path(variable != nullptr && *variable != '\0' ? variable : KVSIM_MEASURED_DEFAULT) / "kernels";
}

Readings read(const std::string& folder, const LlmSpec* model) {
  Readings readings;
  for (const std::string& file : csv_files(folder)) read_samples(file, model, false, readings);
  return readings;
}

class MeasuredTimes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kernels())) {
      GTEST_SKIP() << "no measured kernel tables in " << kernels() << "; $KVSIM_MEASURED names their folder";
    }
  }
  const Catalogue catalogue_ = Catalogue::built_in();
};

class MeasuredKernels : public MeasuredTimes, public ::testing::WithParamInterface<const char*> {};

TEST_P(MeasuredKernels, HeldOutShapesArePredictedWithin5Percent) {
  CalibrationOptions options;
  options.leave_out_models = options.other_machines = false;
  const Calibration c = calibrate(read(kernels().string(), nullptr), catalogue_.gpu(GetParam()), {}, {}, options);
  EXPECT_GE(c.operators.size(), 3U);
  for (const OperatorReport& op : c.operators) {
    ASSERT_GT(op.shapes.count, 0U) << op.name;
    EXPECT_LE(op.shapes.median, 0.05) << op.name << " " << op.format;
    EXPECT_LE(op.shapes.p90, 0.15) << op.name << " " << op.format;
  }
}

// Within a line of kernels: both run FlashAttention 3. Between lines another kernel runs (docs/kernel_timing.md).
TEST_F(MeasuredTimes, AHeldOutMachineOfTheSameKernelsIsPredictedWithin10Percent) {
  const fs::path second = kernels().parent_path() / "kernels2";
  if (!fs::exists(second)) GTEST_SKIP() << "no second set of kernel tables in " << second;
  Readings all;
  for (const char* file : {"linear.csv", "decode_attention.csv", "prefill_attention.csv"}) {
    read_samples((second / file).string(), nullptr, true, all);
  }
  Readings readings;
  readings.samples.linear = of_format(all.samples.linear, NumberFormat::bf16);
  readings.samples.decode = of_format(all.samples.decode, NumberFormat::bf16);
  readings.samples.prefill = of_format(all.samples.prefill, NumberFormat::bf16);
  CalibrationOptions options;
  options.leave_out_models = options.leave_out_shapes = false;
  const GpuSpec h100 = catalogue_.gpu("h100-sxm");
  const Calibration c = calibrate(readings, h100, {h100, catalogue_.gpu("h200")}, {}, options);
  ASSERT_EQ(c.operators.size(), 3U);
  for (const OperatorReport& op : c.operators) {
    ASSERT_EQ(op.machines.size(), 1U) << op.name;
    EXPECT_LE(op.machines[0].errors.median, 0.10) << op.name;
    EXPECT_LE(op.machines[0].errors.p90, 0.27) << op.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, MeasuredKernels, ::testing::Values("a100", "h100-sxm"),
                         [](const auto& p) { return std::string(p.param).substr(0, 4); });

TEST_F(MeasuredTimes, TablesOfAServingGpuFollowTheirRows) {
  const LlmSpec model = catalogue_.model("llama-3.1-8b");
  CalibrationOptions options;
  options.tables = true;
  options.leave_out_shapes = options.leave_out_models = options.other_machines = false;
  const Calibration c = calibrate(read((kernels() / "rtx-pro-6000_llama-3.1-8b").string(), &model),
                                  catalogue_.gpu("rtx-pro-6000"), {}, {}, options);
  EXPECT_EQ(c.profile.launches.mixed, Launch::mixed) << "rows of chunks beside decoding requests are one launch";
  EXPECT_EQ(c.profile.launches.prefill, Launch::mixed);
  ASSERT_EQ(c.tables.size(), 7U);
  for (const TableReport& t : c.tables) EXPECT_LE(t.errors.median, 0.01) << t.name;
  for (const OperatorReport& op : c.operators) {
    if (op.name != "mixed attention") continue;
    EXPECT_LE(op.in_sample.median, 0.06);
    EXPECT_LE(op.in_sample.p90, 0.2);
  }
}

TEST_F(MeasuredTimes, RoutedExpertsOfHeldOutShapesArePredictedWithin8Percent) {
  const fs::path table = kernels().parent_path() / "kernels2" / "moe.csv";
  if (!fs::exists(table)) GTEST_SKIP() << "no " << table;
  Readings readings;
  read_samples(table.string(), nullptr, true, readings);
  CalibrationOptions options;
  options.leave_out_models = options.other_machines = false;
  for (const char* gpu : {"h100-sxm", "h200", "l40s", "b200", "rtx-pro-6000"}) {
    for (const OperatorReport& op : calibrate(readings, catalogue_.gpu(gpu), {}, {}, options).operators) {
      if (op.format != "bf16") continue;
      EXPECT_LE(op.shapes.median, 0.08) << gpu;
      EXPECT_LE(op.shapes.p90, 0.20) << gpu;
    }
  }
}

TEST_F(MeasuredTimes, BlocksOverLatentsWithHeldOutHeadsArePredictedWithin8Percent) {
  const fs::path table = kernels().parent_path() / "kernels2" / "mla_module.csv";
  if (!fs::exists(table)) GTEST_SKIP() << "no " << table;
  Readings readings;
  read_samples(table.string(), nullptr, true, readings);
  CalibrationOptions options;
  options.leave_out_models = options.other_machines = false;
  for (const char* name : {"h100-sxm", "h200", "b200", "gb200", "rtx-pro-6000"}) {
    const GpuSpec gpu = catalogue_.gpu(name);
    options.known[gpu.name] = catalogue_.profile(gpu.profile).fitted;
    for (const OperatorReport& op : calibrate(readings, gpu, {}, {}, options).operators) {
      if (op.shapes.count == 0) continue;  // the RTX PRO 6000 has fp8 KV for one head alone
      EXPECT_LE(op.shapes.median, 0.08) << name << " " << op.name << " " << op.format;
      EXPECT_LE(op.shapes.p90, 0.20) << name << " " << op.name << " " << op.format;
    }
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
