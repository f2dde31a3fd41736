// Forms of another engine's kernels in place of a profile's: which are taken, what is said of them, and of those that
// are not.
#include "models/kernels/engine_kernels.h"

#include <gtest/gtest.h>

namespace kvsim::models::KVSIM_FILE {
namespace {

template <class Form>
Form form_of(NumberFormat Form::*format, NumberFormat is, double t0_s, const std::string& kernels = "") {
  Form f;
  f.*format = is;
  f.t0_s = t0_s;
  f.kernels = kernels;
  f.error = FormError{0.03, 0.1, true};
  f.source = {schema::SourceKind::measurement, "rows"};
  return f;
}

/// bf16 and fp8 of everything, 1 s each.
KernelProfile general() {
  KernelProfile p;
  p.measured_on = "here";
  for (const NumberFormat format : {NumberFormat::bf16, NumberFormat::fp8}) {
    p.fitted.linear.push_back(form_of(&LinearForm::weights, format, 1));
    p.fitted.decode_attention.push_back(form_of(&DecodeForm::kv, format, 1));
    p.fitted.prefill_attention.push_back(form_of(&TiledForm::kv, format, 1));
    p.tables.linear.push_back({format, 8, 8, {}, {}});
    p.tables.decode_attention.push_back({});
    p.tables.decode_attention.back().kv = format;
  }
  return p;
}

/// bf16 linear layers and prefill, fp8 decoding, 2 s each.
KernelProfile part(const std::string& measured_on = "here") {
  KernelProfile p;
  p.measured_on = measured_on;
  p.fitted.linear = {form_of(&LinearForm::weights, NumberFormat::bf16, 2, "trtllm")};
  p.fitted.decode_attention = {form_of(&DecodeForm::kv, NumberFormat::fp8, 2, "trtllm")};
  p.fitted.prefill_attention = {form_of(&TiledForm::kv, NumberFormat::bf16, 2, "trtllm")};
  return p;
}

LlmSpec model() {
  LlmSpec m;
  m.heads = 8;
  m.kv_heads = 2;
  m.head_dim = 128;
  return m;
}

TEST(EngineKernels, TakeThePlaceOfFormsInTheSameFormat) {
  KernelProfile p = general();
  use_kernels(part(), model(), p);
  const auto t0 = [](const auto& forms) { return std::pair{forms[0].t0_s, forms[1].t0_s}; };
  EXPECT_EQ(t0(p.fitted.linear), std::pair(2.0, 1.0));
  EXPECT_EQ(t0(p.fitted.decode_attention), std::pair(1.0, 2.0));
  EXPECT_EQ(t0(p.fitted.prefill_attention), std::pair(2.0, 1.0));
  EXPECT_EQ(p.fitted.linear[0].kernels, "trtllm");
  EXPECT_EQ(p.fitted.linear[0].source.kind, schema::SourceKind::measurement);
  EXPECT_TRUE(p.fitted.linear[0].error.has_value());
  // Tables of what was replaced would go before it.
  ASSERT_EQ(p.tables.linear.size(), 1U);
  EXPECT_EQ(p.tables.linear[0].weights, NumberFormat::fp8);
  ASSERT_EQ(p.tables.decode_attention.size(), 1U);
  EXPECT_EQ(p.tables.decode_attention[0].kv, NumberFormat::bf16);
}

TEST(EngineKernels, OfAnotherGpuAreScaledFromThere) {
  KernelProfile p = general();
  use_kernels(part("there"), model(), p);
  for (const auto& [error, source] : {std::pair{p.fitted.linear[0].error, p.fitted.linear[0].source},
                                      {p.fitted.decode_attention[1].error, p.fitted.decode_attention[1].source},
                                      {p.fitted.prefill_attention[0].error, p.fitted.prefill_attention[0].source}}) {
    EXPECT_FALSE(error.has_value());
    EXPECT_EQ(source.kind, schema::SourceKind::derived);
    EXPECT_EQ(source.reference, "scaled by datasheet from there: rows");
  }
  EXPECT_TRUE(p.fitted.linear[1].error.has_value());
}

TEST(EngineKernels, OfAttentionServeHeadsLikeThoseTheyWereFittedTo) {
  for (const auto& [width, kv_heads] : {std::pair{64, 2}, {256, 2}, {128, 8}}) {
    LlmSpec m = model();
    m.head_dim = width;
    m.kv_heads = kv_heads;
    KernelProfile p = general();
    use_kernels(part(), m, p);
    EXPECT_EQ(p.fitted.linear[0].t0_s, 2) << width;
    EXPECT_EQ(p.fitted.decode_attention[1].t0_s, 1) << width << " " << kv_heads;
    EXPECT_EQ(p.fitted.prefill_attention[0].t0_s, 1) << width << " " << kv_heads;
  }
  Correction wide;
  wide.axes = {std::vector<double>{1}, {1}, {64, 256}, {1, 32}};
  wide.factors = {1, 1, 1, 1};
  LlmSpec m = model();
  for (const auto& [width, fits] : {std::pair{64, true}, {256, true}, {32, false}, {512, false}}) {
    m.head_dim = width;
    EXPECT_EQ(fitted_to_heads(wide, m), fits) << width;
  }
}

TEST(EngineKernels, ThoseThatAreAnotherEnginesAreNamed) {
  KernelProfile p = general();
  EXPECT_TRUE(kernels_of_others(p, model()).empty());  // nobody said whose run
  p.engine_kernels = "vllm";
  EXPECT_TRUE(kernels_of_others(p, model()).empty());
  p.engine_kernels = "trtllm";
  EXPECT_EQ(kernels_of_others(p, model()), (std::vector<std::string>{"linear layers in bf16", "attention"}));
  use_kernels(part(), model(), p);
  EXPECT_EQ(kernels_of_others(p, model()), std::vector<std::string>{"attention of decoding"});
  LlmSpec narrow = model();
  narrow.weight_bytes_per_parameter = 1;
  narrow.kv_bytes_per_element = 1;
  EXPECT_EQ(kernels_of_others(p, narrow), (std::vector<std::string>{"linear layers in fp8", "attention of prompts"}));
  p.engine_kernels = "vllm";
  EXPECT_EQ(kernels_of_others(p, model()), (std::vector<std::string>{"linear layers in bf16", "attention of prompts"}));
}

TEST(EngineKernels, NoFormNoComplaint) {
  KernelProfile p;
  p.engine_kernels = "trtllm";
  EXPECT_TRUE(kernels_of_others(p, model()).empty());
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
