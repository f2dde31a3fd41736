// What becomes of GPU memory: the parts of a replica's.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tests/results/outcome_of.h"
#include "tests/support/pools_scenario.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;
using serving::MemorySplit;
constexpr std::int64_t kBlock = 16 * 131'072;

MemorySplit split(const Sets& sets) {
  const serving::ServingConfig c = small_scenario(sets).serving;
  return serving::memory_split(c, c.cluster.groups.front(), serving::configured_geometry(c, c.cluster.groups.front()));
}

Json measured(const Sets& sets) {
  const scenario::Scenario s = small_scenario(sets);
  return results::result_document({s, planner::run_experiment(s), ""}, false);
}

TEST(MemorySplit, OfOneGpuByHand) {
  // 80 GB, of which half may be used, 1 GB of it for activations; KV takes whole blocks of what the weights leave.
  const MemorySplit m = split({"cluster.gpu.activations=1 GB"});
  EXPECT_EQ(m.gpu, small_scenario().serving.cluster.groups.front().gpu.memory_bytes.value);
  EXPECT_EQ(m.kept_free, m.gpu - m.gpu / 2);
  EXPECT_EQ(m.activations, 1'000'000'000);
  EXPECT_EQ(m.weights, small_scenario().serving.model.weight_bytes());
  EXPECT_EQ(m.kv % kBlock, 0);
  EXPECT_EQ(m.kv + m.other, m.gpu / 2 - m.activations - m.weights);
  EXPECT_GE(m.other, 0);
  EXPECT_LT(m.other, kBlock);
}

TEST(MemorySplit, PutsADraftersWeightsUnderOther) {
  const Sets drafter{"decode.policy=drafter", "decode.drafter={type: eagle3-llama-3.1-8b}", "schedule.policy=fcfs"};
  const std::int64_t weights = small_scenario(drafter).serving.decode.drafter->spec.own_weight_bytes();
  ASSERT_GT(weights, 0);
  const auto s = small_scenario(drafter);
  const std::int64_t block = serving::configured_geometry(s.serving, s.serving.cluster.uniform()).block_bytes();
  EXPECT_GE(split(drafter).other, weights);
  EXPECT_LT(split(drafter).other, weights + block);
}

TEST(MemoryDocument, AddsUpExactlyToTheGpusMemory) {
  for (const Sets& sets :
       {Sets{}, Sets{"cluster.gpu.tensor_parallel=2", "cluster.gpu.memory_fraction=0.77"},
        Sets{"decode={policy: full_kv}", "schedule={}", "prefill=prefix_cache",
             "placement={policy: lru, gpu_memory: 5 GB}", "workload.prefixes={count: 2, tokens: 1k tokens}"}}) {
    const Json details = measured(sets)["details"];
    const Json& m = details["memory"];
    EXPECT_EQ(m["per"], "replica");
    EXPECT_EQ(m["kept_free_bytes"].get<std::int64_t>() + m["weights_bytes"].get<std::int64_t>() +
                  m["activations_bytes"].get<std::int64_t>() + m["other_bytes"].get<std::int64_t>() +
                  m["kv_capacity_bytes"].get<std::int64_t>(),
              m["gpu_bytes"].get<std::int64_t>());
    EXPECT_GE(m["other_bytes"], 0);
    EXPECT_EQ(m["kv_capacity_bytes"], details["kv_capacity"]["bytes"]);
  }
}

TEST(MemoryDocument, SplitsTheKvCapacityByWhatItHeldOnAverage) {
  const Json doc = measured({"cluster.replicas=2", "run.warmup=2 s", "run.replications=2"});
  const Json& m = doc["details"]["memory"];
  const Json& kv = m["kv"];
  const double resident = kv["resident_mean_bytes"], streaming = kv["streaming_mean_bytes"];
  EXPECT_NEAR(resident + streaming + kv["unused_mean_bytes"].get<double>(), m["kv_capacity_bytes"].get<double>(), 1);
  EXPECT_GT(resident, 0);
  EXPECT_GT(streaming, 0);
  EXPECT_LE(kv["streaming_peak_bytes"], kv["reserved_peak_bytes"]);
  EXPECT_LE(resident + streaming, kv["reserved_peak_bytes"].get<double>());
  EXPECT_LE(kv["reserved_peak_bytes"], m["kv_capacity_bytes"]);
}

TEST(MemoryDocument, HasTheMeansOfAFineTimeline) {
  // 30 s at 10 ms: the rectangle rule over 3,000 samples.
  const scenario::Scenario s =
      small_scenario({"workload.requests=100000", "run.warmup=10 s", "run.duration=40 s", "run.sample_every=10 ms"});
  planner::ExperimentOptions options;
  options.timeline = true;
  const Json doc = results::result_document({s, planner::run_experiment(s, options), ""}, false);
  const Json& parts = doc["timeline"]["kv_parts_bytes"];
  double resident = 0, streaming = 0;
  for (std::size_t i = 1000; i < 4000; ++i) {
    resident += parts["resident"][i].get<double>() / 3000;
    streaming += parts["streaming"][i].get<double>() / 3000;
  }
  const Json& kv = doc["details"]["memory"]["kv"];
  EXPECT_NEAR(streaming / kv["streaming_mean_bytes"].get<double>(), 1, 0.02);
  EXPECT_NEAR(resident / kv["resident_mean_bytes"].get<double>(), 1, 0.02);
}

TEST(MemoryDocument, OfOneRequestAtATimeStreamsOneReload) {
  const Sets alone{"workload.closed.concurrency=1", "workload.requests=3"};
  const scenario::Scenario s = small_scenario(alone);
  const serving::KvGeometry geometry = serving::configured_geometry(s.serving, s.serving.cluster.groups.front());
  const Json kv = measured(alone)["details"]["memory"]["kv"];
  EXPECT_GE(kv["streaming_peak_bytes"], geometry.reload_reservation(16000, 0));
  EXPECT_LE(kv["streaming_peak_bytes"], geometry.reload_reservation(16000, 200));
}

TEST(MemoryDocument, IsLeftOutForPoolsAndNullWithoutMeasuredTime) {
  EXPECT_FALSE(result_document(outcome_of(pools_scenario(), {}), false)["details"].contains("memory"));
  const Json doc = result_document(outcome_of(small_scenario(), {}), false);
  EXPECT_TRUE(doc["details"]["memory"]["kv"]["unused_mean_bytes"].is_null());
  EXPECT_TRUE(doc["details"]["reasons"].contains("details.memory.kv.unused_mean_bytes"));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
