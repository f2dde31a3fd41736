// The exact search against trying every candidate, on a typical machine: 60 draft lengths, 100 keep ratios, all B_c,
// B_g and l. Both find the same optimum (asserted).
#include <benchmark/benchmark.h>

#include <cmath>

#include "planner/closed_form/symbols.h"
#include "tests/planner/brute_force.h"

namespace kvsim::planner {
namespace {

/// A 24B model on one GPU of 96 GB with contexts of about 8k tokens.
SymbolsProblem typical(TransferModel model) {
  SymbolsProblem p;
  p.symbols = {48'000'000'000, 1'300'000'000, 96'000'000'000, 1.792e12, 55e9};
  p.model = model;
  for (int i = 1; i <= 100; ++i) {
    const double c = static_cast<double>(i) / 101;
    p.keep_ratios.push_back(c);
    p.agreement.push_back({c, std::exp(-0.006 * (1 / c - 1))});
  }
  return p;
}

void exact_search(benchmark::State& state) {
  const SymbolsProblem p = typical(kTransferModels[static_cast<std::size_t>(state.range(0))].model);
  std::uint64_t evaluated = 0;
  for (auto _ : state) {
    const SymbolsPlan found = plan(p);
    evaluated = found.evaluated;
    benchmark::DoNotOptimize(found);
  }
  state.counters["batches worked out"] = static_cast<double>(evaluated);
}

void brute_force_search(benchmark::State& state) {
  const SymbolsProblem p = typical(kTransferModels[static_cast<std::size_t>(state.range(0))].model);
  const auto agreement = [](double c) { return std::exp(-0.006 * (1 / c - 1)); };
  std::optional<Candidate> best;
  for (auto _ : state) {
    best = brute_force(p, agreement);
    benchmark::DoNotOptimize(best);
  }
  const OperatingPoint found = plan(p).optimum;
  if (!best || best->x != found.x || best->c != found.c || best->B_c != found.batch.B_c ||
      best->B_g != found.batch.B_g) {
    state.SkipWithError("the search and the brute force disagree");
  }
}

BENCHMARK(exact_search)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(brute_force_search)->DenseRange(0, 2)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace kvsim::planner
