// The published rows that the profile of an eager framework was fitted to (SpeCache, arXiv:2503.16163: Mistral-7B on an
// RTX A6000, context 2k).
#include <gtest/gtest.h>

#include <cmath>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_time.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr double kContext = 2048;      // the output's length is not published; a few tokens more change nothing
constexpr double kFetched = 64;        // top-k pairs in 16 bit
constexpr double kResidual = 64;       // recent tokens in 16 bit
constexpr double kFetchRate = 5.02e9;  // scattered rows over PCIe 4 x16: a fifth of 25.1 GB/s
constexpr double kFasterFetchRate = 8.77e9;
constexpr double kTolerance = 0.1;

class EagerProfile : public ::testing::Test {
 protected:
  struct Row {
    double bits;
    double batch;
    double step_s;
  };
  static constexpr Row kFull{16, 44, 44 / 190.3};
  static constexpr Row kTwoBit{2, 272, 272 / 418.5};
  static constexpr Row kOneBit{1, 410, 410 / 526.3};

  [[nodiscard]] double full_bytes() const { return kContext * static_cast<double>(model_.kv_bytes_per_token()); }
  /// bits/16 + 2/g + R/L of a 16-bit cache, g = 64 and R = 128 (spec: residual and prefetched).
  [[nodiscard]] double resident_bytes(double bits) const {
    return full_bytes() * (bits / 16 + 2.0 / 64 + (kFetched + kResidual) / kContext);
  }
  /// Bytes of whole KV that take as long to attend to: the copy's by bytes and elements, and the rows in 16 bit.
  [[nodiscard]] double low_bit_bytes(double bits) const {
    const double share = bits / 16 + 2.0 / 64;
    const double rate = profile_.attention_bandwidth_efficiency.value * gpu_.memory_bytes_per_s.value;
    const double factor = profile_.low_bit.time_factor(2 * share, rate, gpu_.multiprocessors.value);
    return full_bytes() * (share * factor + (kFetched + kResidual) / kContext);
  }
  /// Seconds on the GPU of a step with `queries` query tokens a request.
  [[nodiscard]] double gpu_s(const Row& row, double queries) const {
    StepWork w;
    w.decode.requests = row.batch;
    w.decode.query_tokens = row.batch * queries;
    w.decode.pairs = w.decode.query_tokens * kContext;
    w.decode.kv_bytes = row.batch * (row.bits == 16 ? full_bytes() : low_bit_bytes(row.bits));
    w.logit_tokens = w.decode.query_tokens;
    return timer_.time(w).total_s;
  }
  [[nodiscard]] double fetch_s(const Row& row) const {
    return row.batch * kFetched * static_cast<double>(model_.kv_bytes_per_token()) / kFetchRate;
  }
  /// Requests that fit beside weights and workspace when all memory is usable.
  [[nodiscard]] double batch(double bytes_per_request) const {
    const auto memory = static_cast<double>(gpu_.memory_bytes.value);
    const auto workspace = static_cast<double>(profile_.framework->workspace_bytes.value);
    return std::floor((memory - workspace - static_cast<double>(model_.weight_bytes())) / bytes_per_request);
  }
  static void expect_near(double predicted, double published) {
    EXPECT_NEAR(predicted / published, 1, kTolerance) << predicted << " for " << published;
  }

  Catalogue catalogue_ = Catalogue::built_in();
  LlmSpec model_ = catalogue_.model("mistral-7b");
  GpuSpec gpu_ = catalogue_.gpu("a6000");
  KernelProfile profile_ = catalogue_.profile("a6000-pytorch-eager");
  StepTimer timer_{gpu_, {}, profile_, model_, 1};
};

TEST_F(EagerProfile, FullKvTakesThePublishedStep) {
  expect_near(gpu_s(kFull, 1), kFull.step_s);
}

TEST_F(EagerProfile, TwoTokensOverTwoBitsTakeThePublishedStep) {
  const double step_s = std::max(gpu_s(kTwoBit, 2), fetch_s(kTwoBit));
  expect_near(step_s, kTwoBit.step_s);
  expect_near(step_s, 0.643);
}

TEST_F(EagerProfile, TwoTokensOverOneBitTakeThePublishedStep) {
  expect_near(std::max(gpu_s(kOneBit, 2), fetch_s(kOneBit)), kOneBit.step_s);
}

TEST_F(EagerProfile, FetchingOnDemandTakesThePublishedSteps) {
  // One query token; its scores choose the pairs, their fetch follows, layer by layer: nothing overlaps.
  const auto on_demand_s = [&](const Row& row, double attentions, double fetch_s) {
    StepWork w;
    w.decode = {row.batch, row.batch * low_bit_bytes(row.bits), row.batch * kContext, row.batch, 0};
    const double scores = row.batch * kContext * static_cast<double>(model_.layers * model_.kv_heads);
    const double choice_s = timer_.selection_s(scores, row.batch * static_cast<double>(model_.kv_heads),
                                               static_cast<double>(model_.layers));
    EXPECT_GT(choice_s, 0);
    return gpu_s(row, 1) + choice_s + fetch_s + (attentions - 1) * timer_.time(w).attention_s;
  };
  // Attention computed once, with copies a fifth as fast as contiguous ones.
  expect_near(on_demand_s(kTwoBit, 1, fetch_s(kTwoBit)), 0.877);
  expect_near(on_demand_s(kOneBit, 1, fetch_s(kOneBit)), 1.144);
  // Computed again, as published: with copies of 8.77 GB/s. The 1-bit row was not looked at for them.
  const double faster = kFetchRate / kFasterFetchRate;
  expect_near(on_demand_s(kTwoBit, 2, faster * fetch_s(kTwoBit)), 0.877);
  expect_near(on_demand_s(kOneBit, 2, faster * fetch_s(kOneBit)), 1.144);
  EXPECT_GT(on_demand_s(kTwoBit, 2, fetch_s(kTwoBit)), 1.15 * 0.877) << "both at once are not what was measured";
}

TEST_F(EagerProfile, SpeculationHidesTheFetchBehindTheGpu) {
  EXPECT_GT(gpu_s(kTwoBit, 2), fetch_s(kTwoBit));
}

TEST_F(EagerProfile, ThePublishedBatchesFit) {
  expect_near(batch(full_bytes() * profile_.framework->full_kv_factor.value), kFull.batch);
  expect_near(batch(resident_bytes(2)), kTwoBit.batch);
  expect_near(batch(resident_bytes(1)), kOneBit.batch);
}

TEST_F(EagerProfile, HeadAndSamplerAreNegligible) {
  StepWork w;
  w.decode = {544, 272 * resident_bytes(2), 544 * kContext, 272, 0};
  w.logit_tokens = 544;
  const StepTime t = timer_.time(w);
  EXPECT_LT(t.head_s, 0.01 * t.total_s);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
