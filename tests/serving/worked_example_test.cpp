// The published worked example (Mistral-24B on RTX PRO 6000), figure by figure, within 5 %.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/recording_trace.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing {
namespace {

struct Example {
  RecordingTrace trace;
  serving::Measurements measured;
};

void run(const std::string& policy, Example& example) {
  const auto base = scenario::load_scenario(source_path("scenarios/long_context/worked_example.yaml"));
  planner::ExperimentOptions options;
  options.trace = &example.trace;
  example.measured = planner::run_experiment(planner::with_policy(base, policy), options).measured;
}

/// Mean length of the slices of this name that began after `from`.
double mean_length(const std::vector<RecordedSlice>& slices, const std::string& name, double from = 4) {
  double sum = 0;
  int count = 0;
  for (const RecordedSlice& s : slices) {
    if (s.name != name || s.begin_s < from) continue;
    sum += s.length_s();
    ++count;
  }
  return sum / count;
}

constexpr double kTolerance = 0.05;
#define EXPECT_WITHIN(value, expected) EXPECT_NEAR(value, expected, kTolerance*(expected))

TEST(WorkedExample, ADraftOnlyIterationTakes35Milliseconds) {
  Example e;
  run("draft_verify:staggered", e);
  EXPECT_WITHIN(mean_length(e.trace.track("GPU"), "draft"), 0.035);
}

TEST(WorkedExample, AnIterationWithOneVerificationTakes37Milliseconds) {
  Example e;
  run("draft_verify:staggered", e);
  EXPECT_WITHIN(mean_length(e.trace.track("GPU"), "draft+verify"), 0.037);
}

TEST(WorkedExample, AReloadTakes80Milliseconds) {
  Example e;
  run("draft_verify:staggered", e);
  EXPECT_WITHIN(mean_length(e.trace.track("host_to_gpu"), "reload"), 0.080);
}

TEST(WorkedExample, StaggeredVerifiesOnceEveryThreeIterations) {
  Example e;
  run("draft_verify:staggered", e);
  EXPECT_WITHIN(static_cast<double>(e.measured.iteration_s.count()) / static_cast<double>(e.measured.rounds), 3.0);
}

TEST(WorkedExample, StaggeredHidesEveryReload) {
  Example e;
  run("draft_verify:staggered", e);
  EXPECT_EQ(e.measured.late_reloads, 0U);
  EXPECT_DOUBLE_EQ(e.measured.link_bound_s, 0);
}

TEST(WorkedExample, StaggeredPeaksAt64GigabytesOfMemory) {
  Example e;
  run("draft_verify:staggered", e);
  EXPECT_WITHIN(static_cast<double>(e.measured.hbm_peak_bytes), 64e9);
}

TEST(WorkedExample, LockStepStopsFor800MillisecondsOfReloads) {
  Example e;
  run("draft_verify:lock_step", e);
  // The longest pause of the GPU between two iterations, after the first loads.
  const auto& gpu = e.trace.track("GPU");
  double pause = 0;
  for (std::size_t i = 1; i < gpu.size(); ++i) {
    if (gpu[i - 1].end_s > 4) pause = std::max(pause, gpu[i].begin_s - gpu[i - 1].end_s);
  }
  EXPECT_WITHIN(pause, 0.800);
}

TEST(WorkedExample, LockStepPeaksAt90GigabytesOfMemory) {
  Example e;
  run("draft_verify:lock_step", e);
  EXPECT_WITHIN(static_cast<double>(e.measured.hbm_peak_bytes), 90e9);
}

TEST(WorkedExample, SequentialVerifyTakesTheSame800MillisecondsWithoutThePeak) {
  Example e;
  run("draft_verify:sequential_verify", e);
  // Ten reloads of 80 ms per round of ten verifications, back to back.
  const auto& link = e.trace.track("host_to_gpu");
  double begin = -1, end = 0;
  int reloads = 0;
  for (const RecordedSlice& s : link) {
    const bool first_of_a_round = s.begin_s - end > 0.5;
    if (reloads > 0 && first_of_a_round) break;
    if (s.name == "reload" && (reloads > 0 || (s.begin_s > 4 && first_of_a_round))) {
      if (reloads++ == 0) begin = s.begin_s;
    }
    end = s.end_s;
  }
  EXPECT_EQ(reloads, 10);
  EXPECT_WITHIN(end - begin, 0.800);
  EXPECT_LT(e.measured.hbm_peak_bytes, 72e9);
}

}  // namespace
}  // namespace kvsim::testing
