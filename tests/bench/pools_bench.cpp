// What a completed request of two pools costs kvsim as nodes grow: each a closed loop with more clients than the nodes
// have room for, so that every end of a request is a choice among all nodes. `to_ten_nodes` is wall time per completed
// request of a simulated minute over that with ten nodes, measured in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "planner/experiment.h"
#include "sim/scenario/scenario.h"

namespace {

using namespace kvsim;

constexpr const char* kScenario = R"(
name: many nodes
model: llama-3.1-70b
cluster:
  gpu: {type: h100-nvl, tensor_parallel: 2, memory_fraction: 0.85, activations: 7.5 GB}
  pools:
    local: {nodes: 3, link: storage-node-fast}
    remote: {nodes: 7, link: storage-node-slow}
    message_latency: 1 ms
workload:
  closed: {concurrency: 80}
  context: {distribution: lognormal, mean: 8k tokens, cv: 0.2, max: 16k tokens}
  output: {distribution: lognormal, mean: 80 tokens, cv: 0.5}
prefill: stored
decode:
  policy: draft_verify
  compressor: kivi-4bit
  draft_length: 40
  acceptance: {model: constant, agreement: 0.995}
dispatch: {policy: online}
run: {duration: 1 min}
)";

const char* const kWeighted = "dispatch={policy: weighted, weights: {B1: 5, P1_stateless: 7, B2: 1}}";

/// Seconds of wall time per completed request; of three tries the shortest.
double request_s(std::int64_t tens, bool weighted) {
  std::vector<std::string> set{"cluster.pools.local.nodes=" + std::to_string(3 * tens),
                               "cluster.pools.remote.nodes=" + std::to_string(7 * tens),
                               "workload.closed.concurrency=" + std::to_string(80 * tens)};
  if (weighted) set.emplace_back(kWeighted);
  const scenario::Scenario s = scenario::load_scenario_text(kScenario, "pools.yaml", set);
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto outcome = planner::simulate_replication(s, 0, {});
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    shortest = std::min(shortest, spent.count() / static_cast<double>(outcome.measured.completed));
  }
  return shortest;
}

void pools(benchmark::State& state) {
  const bool weighted = state.range(1) != 0;
  const double ten = request_s(1, weighted);
  double sum = 0;
  for (auto _ : state) {
    const double s = request_s(state.range(0) / 10, weighted);
    state.SetIterationTime(s);
    sum += s;
  }
  state.counters["to_ten_nodes"] = sum / static_cast<double>(state.iterations()) / ten;
}

BENCHMARK(pools)
    ->ArgNames({"nodes", "weighted"})
    ->ArgsProduct({{100, 1000}, {0, 1}})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
