// What a step of steady decoding costs kvsim as the batch grows: full_kv, lossy, and draft_verify, whose requests
// verify every 200 tokens each; nobody comes and nobody goes. It is what further tokens cost a run, so that the coming
// and going of requests is not counted. `to_batch_1` is its wall time over that of a batch of one, measured in the same
// run; `times_faster` that of a step which is an event of its own (run.stretches false) over it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "planner/experiment.h"
#include "sim/scenario/scenario.h"

namespace {

using namespace kvsim;

constexpr const char* kScenario = R"(
name: steady decoding
model: llama-3.1-8b
cluster:
  gpu: {type: {base: h100-sxm, memory: 10 TB}}
  host: {memory: 10 TB, link: pcie5-x16}
workload:
  context: 64 tokens
  output: 1000 tokens
prefill: recompute
decode: {policy: full_kv}
schedule: {max_requests: 4096, max_batched_tokens: 300000}
)";

/// Wall time and steps of `batch` requests that decode together.
struct Run {
  double s = 0;
  double steps = 0;
};

constexpr const char* kFullKv = "decode={policy: full_kv}";
constexpr const char* kTokenDropping = "decode={policy: lossy, compressor: fast-kvzip, keep_ratio: 0.25}";
constexpr const char* kQuantised = "decode={policy: lossy, compressor: kivi-2bit}";
constexpr const char* kDrafts =
    "decode={policy: draft_verify, compressor: fast-kvzip, keep_ratio: 0.25, draft_length: 200, "
    "acceptance: {model: constant, agreement: 1}}";

Run run(const char* decode, std::int64_t batch, std::int64_t tokens, bool stretches) {
  const std::string n = std::to_string(batch);
  scenario::Scenario s =
      scenario::load_scenario_text(kScenario, "steady.yaml",
                                   {decode, "workload.closed.concurrency=" + n, "workload.requests=" + n,
                                    "workload.output=" + std::to_string(tokens) + " tokens"});
  s.serving.run.stretches = stretches;
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome = planner::simulate_replication(s, 0, {});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return {spent.count(), static_cast<double>(outcome.measured.iteration_s.count())};
}

/// Seconds a further step takes; of three tries the shortest.
double step_s(const char* decode, std::int64_t batch, std::int64_t tokens, bool stretches) {
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const Run few = run(decode, batch, 1000, stretches), many = run(decode, batch, 1000 + tokens, stretches);
    shortest = std::min(shortest, (many.s - few.s) / (many.steps - few.steps));
  }
  return shortest;
}

void steady_decoding(benchmark::State& state, const char* decode, std::int64_t tokens) {
  const double one = step_s(decode, 1, tokens, true), alone = step_s(decode, state.range(0), tokens, false);
  double sum = 0;
  for (auto _ : state) {
    const double s = step_s(decode, state.range(0), tokens, true);
    state.SetIterationTime(s);
    sum += s;
  }
  const double mean = sum / static_cast<double>(state.iterations());
  state.counters["to_batch_1"] = mean / one;
  state.counters["times_faster"] = alone / mean;
}
void batches(benchmark::internal::Benchmark* b) {
  b->Arg(1)->Arg(16)->Arg(256)->Arg(4096)->UseManualTime()->Iterations(3)->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(steady_decoding, full_kv, kFullKv, 16'000)->Apply(batches);
BENCHMARK_CAPTURE(steady_decoding, lossy_token_dropping, kTokenDropping, 16'000)->Apply(batches);
BENCHMARK_CAPTURE(steady_decoding, lossy_quantised, kQuantised, 16'000)->Apply(batches);
BENCHMARK_CAPTURE(steady_decoding, draft_verify, kDrafts, 4'000)->Apply(batches);

}  // namespace
