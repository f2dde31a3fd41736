// What whole loads cost kvsim: seconds of wall time for one replication, iterations a second, and how many times faster
// that is than with every step as an event of its own (`run.stretches: false`), both timed in turn in the same run, the
// shortest of three. Loads of the Mooncake trace are there where KVSIM_MOONCAKE_TRACE names it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "planner/experiment.h"
#include "planner/planned_dispatch.h"
#include "planner/policy_words.h"
#include "sim/scenario/scenario.h"

namespace {

using namespace kvsim;

/// A scenario of the repository, or the benchmarks' chat load (no file), with settings; and its policy, where another
/// than its own.
struct Load {
  const char* name;
  std::string file;
  std::vector<std::string> settings;
  std::string policy{};
};

scenario::Scenario scenario_of(const Load& load, bool stretches) {
  std::vector<std::string> settings = load.settings;
  settings.emplace_back(stretches ? "run.stretches=true" : "run.stretches=false");
  const scenario::ScenarioFile file(
      KVSIM_SOURCE_DIR + (load.file.empty() ? "/tests/bench/chat.yaml" : "/scenarios/" + load.file), settings);
  return planner::with_best_planned_weights(load.policy.empty() ? file.load()
                                                                : planner::with_policy(file, load.policy));
}

struct Run {
  double s = std::numeric_limits<double>::infinity();
  double iterations = 0;
};

void simulate(const scenario::Scenario& s, Run& shortest) {
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome = planner::simulate_replication(s, 0, {});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  shortest.s = std::min(shortest.s, spent.count());
  shortest.iterations = static_cast<double>(outcome.measured.iteration_s.count());
}

void load(benchmark::State& state, const Load& load) {
  const scenario::Scenario with = scenario_of(load, true), without = scenario_of(load, false);
  Run stretches, steps;
  for (auto _ : state) {
    for (int i = 0; i < 3; ++i) {
      simulate(with, stretches);
      simulate(without, steps);
    }
    state.SetIterationTime(stretches.s);
  }
  state.counters["iterations_per_s"] = stretches.iterations / stretches.s;
  state.counters["times_faster"] = steps.s / stretches.s;
}

const bool kRegistered = [] {
  const std::string headline = "long_context/headline.yaml";
  std::vector<Load> loads{
      {"chat, 10,000 requests", "", {}},
      {"chat, 100,000 requests", "", {"workload.requests=100000"}},
      {"chat, 256 at once",
       "",
       {"workload={closed: {concurrency: 256}, context: {distribution: lognormal, mean: 1147 tokens, cv: 1.2, max: 32k "
        "tokens}, "
        "output: {distribution: lognormal, mean: 211 tokens, cv: 0.8, max: 8k tokens}, requests: 10000}"}},
      {"headline, full_kv", headline, {}, "full_kv"},
      {"headline, lossy", headline, {}, "lossy"},
      {"headline, draft_verify", headline, {}},
      {"remote_prefix", "remote_prefix/published.yaml", {}},
      {"tiered_eviction", "tiered_eviction/published.yaml", {}},
      {"selective_reuse", "selective_reuse/published.yaml", {}},
      {"speculative_prefetch", "speculative_prefetch/published.yaml", {}},
  };
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
  if (const char* trace = std::getenv("KVSIM_MOONCAKE_TRACE")) {
    const std::string path = std::string("workload.trace.path=") + trace;
    loads.push_back({"Mooncake, long_context", "long_context/mooncake.yaml", {path}});
    loads.push_back({"Mooncake, tiered_eviction", "tiered_eviction/mooncake.yaml", {path}});
    loads.push_back({"Mooncake, remote_prefix", "remote_prefix/mooncake.yaml", {path}});
  }
  for (const Load& each : loads) {
    benchmark::RegisterBenchmark(each.name, [each](benchmark::State& state) { load(state, each); })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
