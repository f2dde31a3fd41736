// A measured replay simulated by hand: two requests of one layer, a profile of nothing but bandwidth.
#include "planner/replay/replay.h"

#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_time.h"
#include "models/schema/error.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

using models::ReplayRow;
using models::ReplayRun;

class Replayed : public ::testing::Test {
 protected:
  Replayed() {
    const models::Catalogue catalogue = models::Catalogue::built_in();
    machine_.gpu = catalogue.gpu("h100-sxm");
    machine_.profile = catalogue.profile("datasheet-generic");
    machine_.host_link = catalogue.link("pcie5-x16");
    machine_.host_link.latency_s.value = machine_.host_link.setup_s.value = 0;
    machine_.model = catalogue.model("llama-3.1-8b");
    run_.model = "llama-3.1-8b";
    run_.model_layers = 32;
    run_.layers = 1;
    run_.requests = 2;
    run_.draft_length = 2;
    run_.reload_iterations = 1;
    run_.rounds = 1;
    run_.context_tokens = 8192;
    run_.kv_bits = 2;
    run_.full_kv_bytes = 2 * 8 * 128 * 2 * 8192;
    run_.compressed_kv_bytes = run_.full_kv_bytes / 4;
    // draft; draft, and the reloads of both; verify
    for (const std::int64_t i : {0, 1, 2}) {
      ReplayRow row;
      row.schedule = "lock_step";
      row.run = 1;
      row.iteration = i;
      (i == 2 ? row.verifying : row.drafting) = 2;
      row.reloads = i == 1 ? 2 : 0;
      row.begin_s = static_cast<double>(i) * 1e-3;
      row.end_s = row.begin_s + 1e-3;
      rows_.push_back(row);
    }
  }

  [[nodiscard]] double draft_s() const {
    models::LlmSpec layer = machine_.model;
    layer.layers = 1;
    models::KernelProfile kernels = machine_.profile;
    kernels.iteration_overhead_s.value = 0;
    kernels.launch = {};
    const models::StepTimer timer(machine_.gpu, {}, kernels, layer, 1);
    models::StepWork work;
    work.decode.requests = work.decode.query_tokens = work.logit_tokens = 2;
    work.decode.kv_bytes = 2 * static_cast<double>(run_.compressed_kv_bytes);
    work.decode.pairs = 2 * 8192;
    return timer.time(work).total_s;
  }
  [[nodiscard]] double reload_s() const {
    return 2 * static_cast<double>(run_.full_kv_bytes) / machine_.host_link.read_bytes_per_s.value;
  }
  [[nodiscard]] ReplayComparison compared() const { return compare_replay(machine_, run_, rows_); }

  ReplayMachine machine_;
  ReplayRun run_;
  std::vector<ReplayRow> rows_;
};

constexpr double kNs = 2e-9;

TEST_F(Replayed, DraftsTakeTheirKernelsAndNoEngineAround) {
  machine_.profile.iteration_overhead_s.value = 1;
  machine_.profile.launch.graph_s.value = 1;
  const ReplayComparison c = compared();
  ASSERT_EQ(c.iterations.size(), 3U);
  EXPECT_NEAR(c.iterations[0].simulated_s, draft_s(), kNs);
  EXPECT_NEAR(c.iterations[0].error(), draft_s() / 1e-3 - 1, 1e-4);
  EXPECT_EQ(c.iterations[2].kind(), "lock_step verify");
  EXPECT_EQ(c.kinds.size(), 2U);
}

TEST_F(Replayed, AVerificationWaitsForItsReloadThatBeganAfterTheIterationBefore) {
  ASSERT_GT(reload_s(), draft_s());
  const ReplayComparison c = compared();
  EXPECT_EQ(c.iterations[1].simulated_wait_s, 0);
  EXPECT_NEAR(c.iterations[2].simulated_wait_s, reload_s() - draft_s(), 2 * kNs);
}

TEST_F(Replayed, CopiesSlowWhatMemoryDecidesOfAnIterationWhileTheyLast) {
  const ReplayComparison plain = compared();
  machine_.profile.interference.kernels_to_gpu.value = 0.5;
  const ReplayComparison slowed = compared();
  EXPECT_EQ(slowed.iterations[0].simulated_s, plain.iterations[0].simulated_s) << "nothing is copied yet";
  // The reload goes on until after the second: all of it is slowed, but for the fixed times of its kernels.
  EXPECT_GT(slowed.iterations[1].simulated_s, 1.2 * plain.iterations[1].simulated_s);
  EXPECT_LT(slowed.iterations[1].simulated_s, 1.5 * plain.iterations[1].simulated_s + kNs);
  EXPECT_NEAR(slowed.iterations[2].simulated_s - slowed.iterations[2].simulated_wait_s,
              plain.iterations[2].simulated_s - plain.iterations[2].simulated_wait_s, kNs);
}

TEST_F(Replayed, StepsSlowCopiesWhileTheyRun) {
  const ReplayComparison plain = compared();
  machine_.profile.interference.copies_to_gpu.value = 1;
  const ReplayComparison slowed = compared();
  // Half of what the second iteration lasts is lost to the reload.
  EXPECT_NEAR(slowed.iterations[2].simulated_wait_s - plain.iterations[2].simulated_wait_s, draft_s() / 2, 4 * kNs);
}

TEST_F(Replayed, RunsThatDidDifferentThingsAreRefused) {
  std::vector<ReplayRow> again = rows_;
  for (ReplayRow& row : again) row.run = 2;
  again[1].reloads = 1;
  rows_.insert(rows_.end(), again.begin(), again.end());
  EXPECT_THROW((void)compared(), schema::InputError);
}

TEST_F(Replayed, TimesAreMediansOverTheRuns) {
  for (const double longer : {2e-3, 9e-3}) {
    for (std::size_t i = 0; i < 3; ++i) {
      ReplayRow row = rows_[i];
      row.run = longer > 5e-3 ? 3 : 2;
      row.end_s += longer;
      row.begin_s += i == 0 ? 0 : longer;
      rows_.push_back(row);
    }
  }
  EXPECT_NEAR(compared().iterations[0].measured_s, 3e-3, 1e-12);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
