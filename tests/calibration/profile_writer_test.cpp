// A written profile loads, and predicts what the fit did.
#include "models/calibration/calibrate.h"

#include <gtest/gtest.h>

#include "models/calibration/operator_report.h"
#include "models/calibration/yaml_lines.h"
#include "models/catalogue/catalogue.h"
#include "models/schema/yaml.h"
#include "tests/calibration/synthetic.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

TEST(ProfileWriter, WhatIsWrittenLoadsAndPredictsTheSame) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("h100-sxm");
  Readings readings;
  readings.samples.decode = testing::decode_rows(testing::decode_truth(), true);
  for (DecodeSample& row : readings.samples.decode) row.from.framework = "sglang";
  CalibrationOptions options;
  options.profile = "written";
  options.tables = true;
  options.leave_out_models = false;
  const Calibration fitted = calibrate(readings, gpu, {}, {}, options);

  Catalogue again;
  const schema::ConfigNode document = schema::read_yaml(catalogue_yaml(fitted, gpu), "written.yaml");
  again.add({&document, 1});
  const KernelProfile profile = again.profile("written");
  ASSERT_EQ(profile.fitted.decode_attention.size(), 1U);
  const Machine machine = Machine::of(gpu);
  for (const double kv : {1000.0, 30000.0, 200000.0}) {
    const DecodeCall call{8, 32, 2 * 2 * 8 * 128 * 8 * kv, kv, 2 * kv};
    for (const bool warm : {false, true}) {
      const double before = fitted.profile.fitted.decode_attention[0].time(call, machine, warm).seconds;
      EXPECT_NEAR(profile.fitted.decode_attention[0].time(call, machine, warm).seconds / before, 1, 1e-3);
    }
  }
  ASSERT_EQ(profile.tables.decode_attention.size(), 4U);  // four shapes of heads
  EXPECT_NEAR(profile.tables.decode_attention[0].at(8, 5000) / fitted.profile.tables.decode_attention[0].at(8, 5000), 1,
              1e-3);
  ASSERT_TRUE(profile.fitted.decode_attention[0].error.has_value());
  EXPECT_TRUE(profile.fitted.decode_attention[0].error->held_out);
  EXPECT_NEAR(profile.fitted.decode_attention[0].error->p90, fitted.operators[0].shapes.p90, 1e-4);
  EXPECT_EQ(profile.fitted.decode_attention[0].kernels, "sglang");
}

TEST(ProfileWriter, WhatModelsLeftOutSayIsWrittenBesideWhatShapesSay) {
  OperatorReport report;
  report.in_sample = {9, 0.01, 0.02, 0.03, 0};
  EXPECT_EQ(error_of(report), (FormError{0.01, 0.02, false}));
  report.shapes = {9, 0.02, 0.04, 0.06, 0};
  report.models = {9, 0.03, 0.08, 0.09, 0};
  const FormError both{0.02, 0.04, true, 0.03, 0.08};
  EXPECT_EQ(error_of(report), both);

  const Catalogue catalogue = Catalogue::built_in();
  Calibration fitted;
  fitted.profile = catalogue.profile("h100-trtllm");
  fitted.profile.name = "written";
  fitted.profile.fitted.linear[0].error = both;
  Catalogue again;
  const schema::ConfigNode document = schema::read_yaml(profile_yaml(fitted.profile), "written.yaml");
  again.add({&document, 1});
  const FittedForms forms = again.profile("written").fitted;
  EXPECT_EQ(forms.linear[0].error, both);
  EXPECT_EQ(forms.linear[0].kernels, "trtllm");
  EXPECT_EQ(forms.prefill_attention[0].kernels, "trtllm");
}

TEST(ProfileWriter, WhichStepsAMixedLaunchServesIsWrittenWithItsForm) {
  const Catalogue catalogue = Catalogue::built_in();
  const auto written = [&catalogue](const char* gpu) {
    Calibration fitted;
    fitted.profile = catalogue.profile(catalogue.gpu(gpu).profile);
    fitted.profile.name = "written";
    fitted.profile.fitted.linear.clear();
    fitted.profile.fitted.decode_attention.clear();
    fitted.profile.tables = {};
    fitted.operators.resize(1);
    Catalogue again;
    const schema::ConfigNode document = schema::read_yaml(catalogue_yaml(fitted, catalogue.gpu(gpu)), "written.yaml");
    again.add({&document, 1});
    return again.profile("written").launches;
  };
  const AttentionLaunches shared = written("rtx-pro-6000");
  EXPECT_EQ(shared.prefill, Launch::mixed);
  EXPECT_EQ(shared.mixed, Launch::mixed);
  EXPECT_EQ(shared.several_queries, Launch::once) << "no row has a verification";
  EXPECT_NE(shared.source.reference.find("vLLM 0.19"), std::string::npos);
  EXPECT_FALSE(written("h100-sxm").uses_mixed());
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
