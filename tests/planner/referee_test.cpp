// The simulator as referee between the three models: their optima on 15 configurations of three machines, simulated.
// Prints the table of docs/planner.md.
#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "planner/experiment.h"
#include "planner/parallel.h"
#include "planner/plan/scenario_plan.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

/// A steady state: more clients than places, one context length, outputs of different lengths so that requests do not
/// end together.
constexpr const char* kSteady = R"(
name: referee
model: llama-3.1-70b
cluster:
  gpu: {type: h100-nvl, memory_fraction: 0.9, activations: 1 GB}
  host: {memory: 4 TiB, link: pcie5-x16}
workload:
  closed: {concurrency: 256}
  context: 32k tokens
  output: {distribution: lognormal, mean: 2k tokens, cv: 0.5, max: 6k tokens}
prefill: stored
decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.2, draft_length: 25}
schedule: {policy: staggered}
run: {duration: 12 min, warmup: 3 min}
)";

struct Configuration {
  const char* gpu;
  int gpus;
  const char* model;
  int context_k;
  const char* link;
  const char* compressor;
};

constexpr Configuration kConfigurations[] = {
    {"h100-nvl", 2, "llama-3.1-70b", 16, "pcie5-x16", "kvzip"},
    {"h100-nvl", 2, "llama-3.1-70b", 32, "pcie5-x16", "kvzip"},
    {"h100-nvl", 2, "llama-3.1-70b", 64, "pcie5-x16", "kvzip"},
    {"h100-nvl", 1, "qwen3-32b", 16, "pcie5-x16", "kvzip-qwen"},
    {"h100-nvl", 1, "qwen3-32b", 32, "pcie5-x16", "kvzip-qwen"},
    {"h100-nvl", 1, "qwen3-32b", 32, "pcie5-x16", "kivi-2bit"},
    {"rtx-pro-6000", 1, "mistral-24b", 16, "pcie5-x16", "kvzip"},
    {"rtx-pro-6000", 1, "mistral-24b", 30, "pcie5-x16", "kvzip"},
    {"rtx-pro-6000", 1, "llama-3.1-8b", 32, "pcie5-x16", "kvzip"},
    {"rtx-pro-6000", 1, "llama-3.1-8b", 100, "pcie5-x16", "kvzip"},
    {"a100", 1, "qwen2.5-14b", 16, "pcie4-x16", "kvzip"},
    {"a100", 1, "llama-3.1-8b", 64, "pcie4-x16", "kvzip"},
    {"a100", 1, "llama-3.1-8b", 120, "pcie4-x16", "kvzip"},
    {"a100", 2, "qwen3-32b", 32, "pcie4-x16", "kvzip-qwen"},
    {"a100", 4, "llama-3.1-70b", 32, "pcie4-x16", "kvzip"},
};

/// Used for nothing while the models were made: other machines, models, contexts, compressors.
constexpr Configuration kHeldOut[] = {
    {"h200", 2, "llama-3.1-70b", 48, "pcie5-x16", "kvzip"},
    {"h100-sxm", 1, "qwen3-32b", 24, "pcie5-x16", "kvzip"},
    {"l40s", 1, "llama-3.1-8b", 24, "pcie4-x16", "kvzip"},
    {"b200", 1, "qwen2.5-14b", 32, "pcie5-x16", "kvzip-qwen"},
    {"a100", 1, "mistral-24b", 24, "pcie4-x16", "kvzip"},
    {"h100-pcie", 1, "llama-3.1-8b", 48, "pcie5-x16", "snapkv"},
    {"gh200", 1, "mistral-24b", 20, "c2c", "kvzip"},
    {"rtx-pro-6000", 1, "qwen3-32b", 30, "pcie5-x16", "kvzip-qwen"},
    {"h100-nvl", 2, "llama-3.1-70b", 100, "pcie5-x16", "kvzip"},
};

scenario::Scenario scenario_of(const Configuration& c) {
  const bool quantiser = std::string_view(c.compressor).starts_with("kivi");
  std::string text = kSteady;
  if (quantiser) text.replace(text.find("keep_ratio: 0.2, "), std::string_view("keep_ratio: 0.2, ").size(), "");
  return scenario::load_scenario_text(
      text, "referee.yaml",
      {fmt::format("cluster.gpu.type={}", c.gpu), fmt::format("cluster.gpu.tensor_parallel={}", c.gpus),
       fmt::format("model={}", c.model), fmt::format("workload.context={}k tokens", c.context_k),
       fmt::format("cluster.host.link={}", c.link), fmt::format("decode.compressor={}", c.compressor)});
}

struct Verdict {
  OperatingPoint point;
  double simulated = 0;
  [[nodiscard]] double error() const { return point.throughput_tokens_per_s / simulated - 1; }
};

/// "rings" with reloads in whole iterations (the default), and with their average number, as printed.
struct Reading {
  const char* name;
  TransferModel model;
  bool iterations;
};
constexpr Reading kReadings[] = {
    {"published", TransferModel::published, false},
    {"conserving", TransferModel::conserving, false},
    {"rings", TransferModel::rings, false},
    {"rings, whole iterations", TransferModel::rings, true},
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

using Verdicts = std::vector<std::vector<Verdict>>;  // by reading, by configuration

Verdicts judge(std::span<const Configuration> configurations) {
  Verdicts result(std::size(kReadings), std::vector<Verdict>(configurations.size()));
  for_each_index(configurations.size(), 2, [&](std::size_t i) {
    const scenario::Scenario s = scenario_of(configurations[i]);
    for (std::size_t r = 0; r < std::size(kReadings); ++r) {
      PlanRequest request;
      request.model = kReadings[r].model;
      request.refinements.iterations = kReadings[r].iterations;
      Verdict& v = result[r][i];
      v.point = plan(s, request).optimum;
      const serving::Measurements m = run_experiment(with_plan(s, v.point)).measured;
      v.simulated = static_cast<double>(m.output_tokens) / m.measured_s;
    }
  });
  return result;
}

const Verdicts& verdicts() {
  static const Verdicts all = judge(kConfigurations);
  return all;
}

std::vector<double> errors(std::size_t reading) {
  std::vector<double> sizes;
  for (const Verdict& v : verdicts()[reading]) sizes.push_back(std::abs(v.error()));
  return sizes;
}

TEST(Referee, PredictedAgainstSimulated) {
  for (std::size_t i = 0; i < std::size(kConfigurations); ++i) {
    const Configuration& c = kConfigurations[i];
    fmt::print("{} x {}, {}, {}k tokens, {}\n", c.gpus, c.gpu, c.model, c.context_k, c.compressor);
    for (std::size_t r = 0; r < std::size(kReadings); ++r) {
      const Verdict& v = verdicts()[r][i];
      fmt::print("  {:24} x {:2} c {:.2f} B_c {:2} B_g {:2} l {:2}  {:7.1f} predicted {:7.1f} simulated {:+6.1f} %\n",
                 kReadings[r].name, v.point.x, v.point.c, v.point.batch.B_c, v.point.batch.B_g, v.point.batch.l,
                 v.point.throughput_tokens_per_s, v.simulated, 100 * v.error());
      EXPECT_GT(v.simulated, 0);
    }
  }
  for (std::size_t r = 0; r < std::size(kReadings); ++r) {
    const std::vector<double> sizes = errors(r);
    fmt::print("{:24} median {:.1f} %, largest {:.1f} %\n", kReadings[r].name, 100 * median(sizes),
               100 * *std::max_element(sizes.begin(), sizes.end()));
  }
}

TEST(Referee, RingsAreWithinFivePerCentInTheMedian) {
  EXPECT_LE(median(errors(3)), 0.05);
}

TEST(Referee, TheSimulatorSidesWithRings) {
  EXPECT_LT(median(errors(3)), median(errors(2)));
  EXPECT_LT(median(errors(2)), median(errors(1)));
  EXPECT_LT(median(errors(1)), median(errors(0)));
}

TEST(Referee, ConfigurationsThatNothingWasFittedToSayTheSame) {
  const Verdicts held_out = judge(kHeldOut);
  for (std::size_t r = 0; r < std::size(kReadings); ++r) {
    std::vector<double> sizes;
    for (const Verdict& v : held_out[r]) sizes.push_back(std::abs(v.error()));
    fmt::print("held out: {:24} median {:.1f} %, largest {:.1f} %\n", kReadings[r].name, 100 * median(sizes),
               100 * *std::max_element(sizes.begin(), sizes.end()));
    if (r + 1 == std::size(kReadings)) {
      EXPECT_LE(median(sizes), 0.05);
    }
  }
}

/// Where the printed plan has l > 1, its link carries l times what it can: the throughput it promises is not there.
TEST(Referee, ThePrintedTransferTimePromisesTooMuchWhereReloadsAreSpread) {
  std::vector<double> spread;
  for (const Verdict& v : verdicts()[0]) {
    if (v.point.batch.l > 1 && v.point.batch.B_c > 0) spread.push_back(v.error());
  }
  ASSERT_GE(spread.size(), 4U);
  fmt::print("published, {} plans with l > 1: predicted throughput {:+.0f} % in the median\n", spread.size(),
             100 * median(spread));
  EXPECT_GT(median(spread), 0.2);
}

/// The plan that rings recommends is the better one to run.
TEST(Referee, ThePlanOfRingsServesMoreThanThePublishedOne) {
  std::size_t better = 0;
  for (std::size_t i = 0; i < std::size(kConfigurations); ++i) {
    if (verdicts()[3][i].simulated >= verdicts()[0][i].simulated) ++better;
  }
  fmt::print("simulated throughput of the plan by rings >= of the published one: {} of {}\n", better,
             std::size(kConfigurations));
  EXPECT_GT(2 * better, std::size(kConfigurations));
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
