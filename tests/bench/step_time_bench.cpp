// One step-time query, which every simulated iteration makes, against the roofline of the same step.
#include <benchmark/benchmark.h>

#include <string>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_time.h"
#include "models/kernels/step_times.h"

namespace {

using namespace kvsim::models;

StepWork work_of(std::int64_t requests, bool chunk) {
  const auto n = static_cast<double>(requests);
  StepWork w;
  w.decode = {n, n * 1500 * 131072, n * 1500, n, 4000};
  w.logit_tokens = n;
  if (chunk) {
    w.prefill = {512, 512.0 * 131072, 512 * 513 / 2.0, 1, 0};
    w.chunks = {{512, 0}};
  }
  return w;
}

void query(benchmark::State& state, const std::string& gpu_name, const std::string& profile, bool chunk,
           const std::string& model = "llama-3.1-8b") {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu(gpu_name);
  const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile(profile.empty() ? gpu.profile : profile),
                        catalogue.model(model), 1);
  // Another size each time, so that nothing is predicted.
  std::vector<StepWork> steps;
  for (std::int64_t i = 1; i <= 256; ++i) steps.push_back(work_of((i * 37) % 256 + 1, chunk));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(timer.time(steps[next]));
    next = (next + 1) % steps.size();
  }
}

/// Steps as a run asks for them: contexts grow by a token a step, and another request is there every 20.
void growing(benchmark::State& state, const std::string& gpu_name, const std::string& model) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu(gpu_name);
  const LlmSpec llm = catalogue.model(model);
  const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile(gpu.profile), llm, 1);
  StepTimes times(timer);
  const auto token_bytes = static_cast<double>(llm.kv_bytes_per_token());
  StepWork w;
  std::int64_t step = 0;
  for (auto _ : state) {
    const auto n = static_cast<double>(1 + step / 20 % 64);
    const double pairs = n * static_cast<double>(500 + step % 2000);
    w.decode = {n, pairs * token_bytes, pairs, n, 4000};
    w.logit_tokens = n;
    benchmark::DoNotOptimize(times.time(w));
    ++step;
  }
}
BENCHMARK_CAPTURE(growing, h100_decode, "h100-sxm", "llama-3.1-8b");
BENCHMARK_CAPTURE(growing, h200_decode, "h200", "llama-3.1-8b");
BENCHMARK_CAPTURE(growing, h200_latent_decode, "h200", "deepseek-v3");

BENCHMARK_CAPTURE(query, roofline, "h100-sxm", "datasheet-generic", false);
BENCHMARK_CAPTURE(query, fitted_h100_decode, "h100-sxm", "", false);
BENCHMARK_CAPTURE(query, fitted_h200_decode, "h200", "", false);  // walks and a correction
BENCHMARK_CAPTURE(query, fitted_h200_chunk, "h200", "", true);
BENCHMARK_CAPTURE(query, fitted_h100_chunk, "h100-sxm", "", true);
BENCHMARK_CAPTURE(query, fitted_h100_mixture_decode, "h100-sxm", "", false, "qwen3-30b-a3b");
BENCHMARK_CAPTURE(query, fitted_h100_mixture_chunk, "h100-sxm", "", true, "qwen3-30b-a3b");
BENCHMARK_CAPTURE(query, fitted_h200_latent_decode, "h200", "", false, "deepseek-v3");
BENCHMARK_CAPTURE(query, fitted_h200_latent_chunk, "h200", "", true, "deepseek-v3");  // absorbed
BENCHMARK_CAPTURE(query, fitted_b200_latent_chunk, "b200", "", true, "deepseek-v3");  // expanded
BENCHMARK_CAPTURE(query, tables_rtx_decode, "rtx-pro-6000", "", false);
BENCHMARK_CAPTURE(query, tables_rtx_chunk, "rtx-pro-6000", "", true);

}  // namespace
