// Figures that are planted in a device's tables come back through the fit, and change simulated steps.
#include "tests/calibrate/planted_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/hardware/collectives.h"
#include "models/kernels/operators/linear.h"
#include "models/kernels/step_time.h"
#include "planner/experiment.h"
#include "tests/support/small_scenario.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

class Planted : public PlantedDevice {
 protected:
  [[nodiscard]] models::StepTimer timer(const models::Catalogue& catalogue, const models::LlmSpec& model) const {
    return {catalogue.gpu("h100-sxm"), catalogue.link("nvlink4"), catalogue.profile("fake"), model, 1};
  }
  /// Attention of one layer.
  static double layer_s(const models::StepTimer& timer, const models::LlmSpec& model, const models::StepWork& work) {
    return timer.time(work).attention_s / static_cast<double>(model.layers);
  }
  static models::StepWork prompt(const models::LlmSpec& model, double tokens) {
    models::StepWork work;
    work.prefill = {tokens, tokens * static_cast<double>(model.kv_bytes_per_token()), tokens * (tokens + 1) / 2, 1,
                    tokens};
    return work;
  }
  static models::StepWork decoding(const models::LlmSpec& model, double requests, double kv) {
    models::StepWork work;
    work.decode = {requests, requests * kv * static_cast<double>(model.kv_bytes_per_token()), requests * kv, requests,
                   kv};
    return work;
  }
};

TEST_F(Planted, HeadsOfOtherWidthsAreMeasuredAndFittedByThemselves) {
  const auto fit_of = [&](const std::vector<std::string>& names) {
    const auto models = catalogue_models(names);
    const OutputFolder folder(path_.string(), true);
    std::vector<AttentionCase> decode = decode_cases(models, false);
    std::erase_if(decode, [](const AttentionCase& c) {
      const bool kept = c.kv_len == 4096 || c.kv_len == 32768 || c.kv_len == 131072;
      return !kept || (c.batch != 1 && c.batch != 16 && c.batch != 128);
    });
    folder.write("decode_attention.csv", attention(decode, false));
    folder.write("prefill_attention.csv", prefill(models));
    folder.write("launch.csv", launch());
    models::Catalogue catalogue = models::Catalogue::built_in();
    fit_into(catalogue);
    return catalogue;
  };
  const models::Catalogue wide = fit_of({"llama-3.1-8b", "llama-3.2-1b", "gemma-3-12b"});
  const models::Catalogue narrow = fit_of({"llama-3.1-8b"});
  models::LlmSpec model = wide.model("llama-3.1-8b");
  const auto said = [&](const models::Catalogue& catalogue) {
    const models::StepTimer of(timer(catalogue, model));
    return std::ranges::count_if(of.fallbacks(), [](const std::string& text) {
      return text.find("attention was measured with heads of width") != std::string::npos;
    });
  };
  constexpr double kTokens = 8192, kRequests = 32, kKv = 16384;
  for (const std::int64_t dim : kHeadDims) {
    model.head_dim = dim;
    const auto heads = static_cast<double>(model.heads);
    const double prefill_s = FakeDevice::prefill(heads, kTokens, static_cast<double>(dim));
    EXPECT_NEAR(layer_s(timer(wide, model), model, prompt(model, kTokens)) / prefill_s, 1, 0.05) << dim;
    const models::StepWork step = decoding(model, kRequests, kKv);
    const double decode_s = FakeDevice::attention(step.decode.kv_bytes / static_cast<double>(model.layers));
    EXPECT_NEAR(layer_s(timer(wide, model), model, step) / decode_s, 1, 0.05) << dim;
    EXPECT_EQ(said(wide), 0) << dim;
    EXPECT_EQ(said(narrow), dim == 128 ? 0 : 1) << dim;
    const double unmeasured_s = layer_s(timer(narrow, model), model, prompt(model, kTokens));
    if (dim == 64) {
      EXPECT_LT(unmeasured_s, 0.8 * prefill_s) << "as if narrow heads reached as much as wide ones";
    }
  }
  model.head_dim = 512;
  EXPECT_EQ(said(wide), 1);
}

TEST_F(Planted, LatentsComeBackAndChangeTheStepsOfAModelThatHasThem) {
  models::Catalogue catalogue = models::Catalogue::built_in();
  const models::LlmSpec model = catalogue.model("deepseek-v3");
  const auto attention_s = [&](const models::StepWork& work) {
    const models::StepTimer timer(catalogue.gpu("h100-sxm"), catalogue.link("nvlink4"), catalogue.profile("fake"),
                                  model, 8);
    return layer_s(timer, model, work);
  };
  constexpr double kRequests = 32, kKv = 16384, kHeads = 16, kTokens = 8192;
  std::vector<double> decoding_s;
  for (const double slower : {1.0, 2.0}) {
    const auto models = catalogue_models(std::vector<std::string>{"deepseek-v3"});
    const OutputFolder folder(path_.string(), true);
    folder.write("latent_attention.csv", latents(models, slower));
    folder.write("launch.csv", launch());
    catalogue = models::Catalogue::built_in();
    fit_into(catalogue);
    decoding_s.push_back(attention_s(decoding(model, kRequests, kKv)));
    EXPECT_NEAR(decoding_s.back() / FakeDevice::latent(kRequests, kKv, kHeads, slower), 1, 0.05) << slower;
    EXPECT_NEAR(attention_s(prompt(model, kTokens)) / FakeDevice::expanded(kHeads, kTokens), 1, 0.05) << slower;
  }
  EXPECT_GT(decoding_s[1], 1.8 * decoding_s[0]);
}

TEST_F(Planted, RoutedExpertsComeBackAndChangeTheStepsOfAMixture) {
  constexpr double kTokens = 32;
  models::Catalogue catalogue = models::Catalogue::built_in();
  const models::LlmSpec model = catalogue.model("qwen3-30b-a3b");
  const auto models = catalogue_models(std::vector<std::string>{"qwen3-30b-a3b"});
  const models::MoeCall call = models::experts_call(model, {}, kTokens);
  std::vector<double> linear_s;
  for (const double slower : {1.0, 2.0}) {
    const OutputFolder folder(path_.string(), true);
    folder.write("experts.csv", experts(models, slower));
    folder.write("linear.csv", linear(models));
    folder.write("launch.csv", launch());
    catalogue = models::Catalogue::built_in();
    fit_into(catalogue);
    const models::KernelProfile profile = catalogue.profile("fake");
    ASSERT_EQ(profile.fitted.moe.size(), 1U);
    const models::Machine machine = models::Machine::of(catalogue.gpu("h100-sxm"));
    EXPECT_NEAR(profile.fitted.moe[0].time(call, machine, false).seconds / FakeDevice::experts(call, slower), 1, 0.05)
        << slower;
    linear_s.push_back(timer(catalogue, model).time(decoding(model, kTokens, 1024)).linear_s);
  }
  const double more_s =
      static_cast<double>(model.routed_layers()) * (FakeDevice::experts(call, 2) - FakeDevice::experts(call, 1));
  EXPECT_NEAR((linear_s[1] - linear_s[0]) / more_s, 1, 0.1);
}

TEST_F(Planted, HostMemoryComesBackAndBoundsTheReloadsThatCrossIt) {
  std::vector<double> tokens_per_s;
  for (const double rate : {10e9, 40e9}) {
    OutputFolder(path_.string(), true).write("host_memory.csv", host_memory(rate));
    models::Catalogue catalogue = models::Catalogue::built_in();
    fit_into(catalogue);
    const models::LinkSpec memory = catalogue.link("fake-memory");
    EXPECT_NEAR(memory.read_bytes_per_s.value / rate, 1, 0.02);
    EXPECT_NEAR(memory.write_bytes_per_s.value / rate, 0.5, 0.02);
    EXPECT_NEAR(memory.both_ways_bytes_per_s.value / rate, 0.7, 0.02) << "a copied byte is read and written";
    scenario::Scenario s = testing::small_scenario({"workload.requests=20", "workload.output=60 tokens"});
    s.serving.cluster.groups.front().host_link = memory;
    tokens_per_s.push_back(planner::run_experiment(s).confidence.at("throughput.output_tokens_per_s").mean);
  }
  EXPECT_GT(tokens_per_s[1], 1.2 * tokens_per_s[0]);
}

TEST_F(Planted, CollectivesComeBackAndChangeTheStepsOfAGroup) {
  std::vector<double> step_s;
  for (const double slower : {1.0, 3.0}) {
    OutputFolder(path_.string(), true).write("collectives.csv", collectives(slower));
    models::Catalogue catalogue = models::Catalogue::built_in();
    fit_into(catalogue);
    const models::LinkSpec peers = catalogue.link("fake-peers");
    for (const auto operation : {models::Collective::all_reduce, models::Collective::all_gather,
                                 models::Collective::reduce_scatter, models::Collective::all_to_all}) {
      for (const std::int64_t gpus : {2, 4, 8}) {
        for (const double bytes : {4096.0, 3e6, 2e8}) {
          const double seconds = models::CollectiveTimes(peers, operation, "nccl", gpus).seconds(bytes);
          EXPECT_NEAR(seconds / collective(bytes, slower), 1, 0.03) << models::word(operation) << " " << bytes;
        }
      }
    }
    const models::LlmSpec model = catalogue.model("llama-3.1-8b");
    const models::StepTimer timer(catalogue.gpu("h100-sxm"), peers, catalogue.profile("h100-vllm"), model, 4);
    step_s.push_back(timer.time(decoding(model, 64, 1024)).collectives_s);
  }
  EXPECT_NEAR(step_s[1] / step_s[0], 3, 0.1);
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
