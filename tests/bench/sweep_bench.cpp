// Points per second of a sweep with its journal, on one thread and on two, side by side so that both see the same
// machine. The ratio is that of the best repetitions: other work on the machine only ever slows things down.
#include <benchmark/benchmark.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include "planner/sweep/runner.h"
#include "tests/support/small_scenario.h"
#include "tools/results/sweep.h"

namespace {

using namespace kvsim;
namespace sweep = planner::sweep;

struct Speed {
  double points_per_s = 0;
  double cpu_s = 0;  ///< of all threads: what threads cost each other, whatever else the machine does
};

Speed measure_sweep(const scenario::ScenarioFile& file, const sweep::Plan& plan, int jobs) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("kvsim-sweep-bench-" + std::to_string(::getpid()))).string();
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  const std::unique_ptr<sweep::Journal> journal = sweep::Journal::open(path);
  journal->begin(plan);
  sweep::RunnerOptions options;
  options.jobs = jobs;
  options.encode = results::encoded_figures;
  const auto result = run_sweep(file, plan, {}, journal.get(), options);
  journal->close();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double cpu_s = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  std::filesystem::remove(path);
  return {static_cast<double>(result.points.size()) / seconds, cpu_s};
}

/// The best of both figures.
void keep_best(Speed& best, const Speed& speed) {
  best.points_per_s = std::max(best.points_per_s, speed.points_per_s);
  best.cpu_s = best.cpu_s > 0 ? std::min(best.cpu_s, speed.cpu_s) : speed.cpu_s;
}

void sweep_scaling(benchmark::State& state, const std::string& draft_lengths) {
  const scenario::ScenarioFile file = scenario::ScenarioFile::from_text(testing::kSmallScenario, "small.yaml");
  const sweep::Plan plan = make_plan(file.load(),
                                     sweep::Design::grid({sweep::parse_axis("decode.draft_length=" + draft_lengths),
                                                          sweep::parse_axis("decode.keep_ratio=0.1,0.2,0.3,0.4,0.5")}),
                                     {}, "bench");
  Speed one, two;
  for (auto _ : state) {
    keep_best(one, measure_sweep(file, plan, 1));
    keep_best(two, measure_sweep(file, plan, 2));
  }
  state.counters["points"] = static_cast<double>(plan.design.size());
  state.counters["points/s_1_job"] = one.points_per_s;
  state.counters["points/s_2_jobs"] = two.points_per_s;
  state.counters["ratio"] = two.points_per_s / one.points_per_s;
  state.counters["cpu_2_jobs/1_job"] = two.cpu_s / one.cpu_s;
}

BENCHMARK_CAPTURE(sweep_scaling, points_200, "1:40:1")->UseRealTime()->Iterations(10)->Unit(benchmark::kMillisecond);

}  // namespace
