// Selecting the tokens of prompts of 4k, 16k and 100k tokens that are computed again. The baseline is what one would
// write first: an argsort of the importances, the first K of it in order, without spans. Each benchmark times both in
// turn in the same run and reports their ratio. Then whole simulations: requests/s under selective reuse, beside those
// under full_recompute of the same arrivals.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "models/reuse/importance_signal.h"
#include "models/reuse/span_completion.h"
#include "models/workload/distributions.h"
#include "planner/experiment.h"
#include "planner/policy_words.h"
#include "sim/engine/random.h"

namespace {

using namespace kvsim;

constexpr double kRho = 0.15;

template <class Action>
double seconds_of(Action action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<std::uint32_t> first_by_argsort(const std::vector<float>& importance) {
  std::vector<std::uint32_t> order(importance.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return importance[a] > importance[b]; });
  order.resize(static_cast<std::size_t>(models::selection_budget(kRho, static_cast<std::int64_t>(importance.size()))));
  std::sort(order.begin(), order.end());
  return order;
}

void select(benchmark::State& state) {
  models::RandomSourceOf<engine::RandomStream> random(engine::RandomStream(1, "importance"));
  const std::vector<float> importance = models::generated_importance(state.range(0), {}, random);
  double ours_s = 0, argsort_s = 0;
  for (auto _ : state) {
    ours_s += seconds_of([&] { benchmark::DoNotOptimize(models::select_tokens(importance, kRho, {})); });
    argsort_s += seconds_of([&] { benchmark::DoNotOptimize(first_by_argsort(importance)); });
  }
  const auto tokens = static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
  state.counters["ns_per_token"] = ours_s / tokens * 1e9;
  state.counters["times_argsort"] = argsort_s / ours_s;
}
BENCHMARK(select)->Arg(4096)->Arg(16384)->Arg(100000);

void simulate(benchmark::State& state) {
  const scenario::ScenarioFile file(KVSIM_SOURCE_DIR "/scenarios/selective_reuse/published.yaml");
  const auto selective = planner::with_policy(file, "selective");
  const auto whole = planner::with_policy(file, "full_recompute");
  double selective_s = 0, whole_s = 0;
  for (auto _ : state) {
    selective_s += seconds_of([&] { benchmark::DoNotOptimize(planner::run_experiment(selective)); });
    whole_s += seconds_of([&] { benchmark::DoNotOptimize(planner::run_experiment(whole)); });
  }
  const auto requests = static_cast<double>(state.iterations()) * static_cast<double>(whole.workload.requests);
  state.counters["requests_per_s"] = requests / selective_s;
  state.counters["times_full_recompute"] = whole_s / selective_s;
}
BENCHMARK(simulate)->Unit(benchmark::kMillisecond);

}  // namespace
