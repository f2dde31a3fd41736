// A device that is only formulas writes the calibrator's folder; a profile and a link are fitted to it, and its replay
// is simulated with them: calibrate, fit, replay.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/calibration/replay_files.h"
#include "models/catalogue/catalogue.h"
#include "models/kernels/step_time.h"
#include "planner/experiment.h"
#include "planner/plan/scenario_plan.h"
#include "planner/replay/replay.h"
#include "tests/calibrate/planted_device.h"
#include "tests/support/small_scenario.h"
#include "tools/calibrate/host/output.h"
#include "tools/calibrate/host/plan.h"
#include "tools/calibrate/host/replay.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

class RoundTrip : public PlantedDevice {
 protected:
  RoundTrip() {
    const OutputFolder folder(path_.string(), true);
    folder.write("linear.csv", linear(models_));
    folder.write("decode_attention.csv", attention(decode_cases(models_, false), false));
    folder.write("quantised_attention.csv", attention(quantised_cases(models_, false), true));
    folder.write("prefill_attention.csv", prefill(models_));
    folder.write("verify_attention.csv", verify(1));
    folder.write("launch.csv", launch());
    folder.write("transfer.csv", transfer());
    folder.write("replay.csv", replay());
    folder.write("replay.yaml", replay_yaml(size_, parameters_, 12, 12));
  }

  std::string verify(double slower) const {
    CsvFile file(with({"gpu", "framework", "version", "kernel", "num_heads", "num_kv_heads", "head_dim", "kv_dtype",
                       "batch", "kv_len"},
                      {"query_tokens"}));
    for (const AttentionCase& c : verify_cases(models_, false)) {
      if (c.kv_bits == 8) continue;
      const double mean_kv = c.kv_len - (c.query_tokens - 1) / 2.0;
      CsvRow row(
          kGpu, "kvsim", kVersion, "x", c.shape.heads, c.shape.kv_heads, kHeadDim, kv_dtype_of(c), c.batch, c.kv_len,
          kernel(FakeDevice::verify(static_cast<double>(kv_bytes_read(c)),
                                    static_cast<double>(c.batch) * c.query_tokens * c.shape.heads, mean_kv, slower)));
      row.add(c.query_tokens);
      file.add(row);
    }
    return file.text(true);
  }

  static std::string transfer() {
    CsvFile file(with({"gpu", "version", "direction", "host_memory", "bytes"}));
    for (const std::int64_t bytes : sizes_between(4096, 1 << 30, false)) {
      for (const char* direction : {"h2d", "d2h"}) {
        file.add(CsvRow(kGpu, kVersion, direction, "pinned", bytes,
                        plain(kEvents + FakeDevice::copy(static_cast<double>(bytes)))));
      }
    }
    return file.text(true);
  }

  double iteration_s(const ReplayIteration& now) const {
    const auto m = static_cast<double>(now.tokens(parameters_.draft_length));
    const auto product = [m](const LinearShape& s) {
      return FakeDevice::linear(m, static_cast<double>(s.n), static_cast<double>(s.k));
    };
    const auto layers = static_cast<double>(size_.layers);
    double layer = product(size_.shapes.qkv) + product(size_.shapes.output) + product(size_.shapes.gate_up) +
                   product(size_.shapes.down);
    const auto of_layer = [&](std::int64_t bytes, std::size_t requests) {
      return static_cast<double>(requests) * static_cast<double>(bytes) / layers;
    };
    if (!now.drafting.empty()) {
      layer += FakeDevice::attention(1.3 * of_layer(size_.compressed_kv_bytes(), now.drafting.size()));
    }
    if (!now.verifying.empty()) {
      layer += FakeDevice::attention(of_layer(size_.full_kv_bytes(), now.verifying.size()));
    }
    return layers * layer + product(size_.lm_head);
  }

  /// The recurrence of docs/calibrator.md: a reload begins when the iteration before has ended and the copies before it
  /// are over; the iteration that verifies begins when its reload is over.
  std::string replay() const {
    CsvFile file({"gpu", "version", "schedule", "run", "iteration", "begin_ms", "end_ms", "drafting", "verifying",
                  "linear_tokens", "reload_bytes", "reload_begin_ms", "reload_end_ms"});
    for (const ReplayKind kind : {ReplayKind::lock_step, ReplayKind::staggered}) {
      ReplayParameters p = parameters_;
      p.kind = kind;
      const ReplaySchedule schedule = replay_schedule(p);
      for (int run = 1; run <= 3; ++run) {
        double end = 0, copied = 0;
        std::vector<double> reloaded;
        for (std::size_t t = 0; t < schedule.iterations.size(); ++t) {
          const ReplayIteration& now = schedule.iterations[t];
          const auto bytes = size_.full_kv_bytes() * static_cast<std::int64_t>(now.reloads.size());
          const double reload_begin = std::max(copied, end);
          if (bytes > 0) copied = reload_begin + FakeDevice::copy(static_cast<double>(bytes));
          reloaded.push_back(copied);
          double begin = end;
          if (!now.verifying.empty()) {
            begin = std::max(begin, reloaded[t - static_cast<std::size_t>(p.reload_iterations)]);
          }
          end = begin + iteration_s(now);
          file.add(CsvRow(kGpu, kVersion, name_of(kind), run, t, begin * 1e3, end * 1e3, now.drafting.size(),
                          now.verifying.size(), now.tokens(p.draft_length), bytes, reload_begin * 1e3, copied * 1e3));
        }
      }
    }
    return file.text(false);
  }

  std::vector<models::LlmSpec> models_ = catalogue_models(std::vector<std::string>{"llama-3.1-8b"});
  ReplayParameters parameters_{};
  ReplaySize size_ = replay_size(models_, true);
};

TEST_F(RoundTrip, WhatWasFittedRedoesTheReplay) {
  models::Catalogue catalogue = models::Catalogue::built_in();
  fit_into(catalogue, {file("replay.csv")});
  const models::GpuSpec gpu = catalogue.gpu("h100-sxm");

  const models::ReplayRun run = models::read_replay_run(file("replay.yaml"));
  const auto rows = models::read_replay_rows(file("replay.csv"), run);
  EXPECT_EQ(rows.size(), 2U * 3 * 24);
  const planner::ReplayComparison c = planner::compare_replay(
      {gpu, catalogue.profile("fake"), catalogue.link("fake-host"), catalogue.model(run.model)}, run, rows);
  ASSERT_EQ(c.iterations.size(), 48U);
  EXPECT_LT(c.errors.median, 0.02);
  EXPECT_LT(c.errors.p90, 0.06);
  EXPECT_EQ(c.kinds.size(), 4U) << "lock-step drafts and verifies apart, staggered together after its first iterations";
  for (const planner::ReplayTotal& total : c.totals) EXPECT_NEAR(total.error(), 0, 0.02) << total.schedule;
  double waited = 0, simulated = 0;
  for (const planner::ReplayIteration& i : c.iterations) {
    waited += i.measured_wait_s;
    simulated += i.simulated_wait_s;
  }
  EXPECT_GT(waited, 0) << "the link is too slow for lock-step";
  EXPECT_NEAR(simulated / waited, 1, 0.05);
  // Another machine's profile does not.
  const planner::ReplayComparison other =
      planner::compare_replay({catalogue.gpu("h100-sxm"), catalogue.profile("a6000-pytorch-eager"),
                               catalogue.link("fake-host"), catalogue.model(run.model)},
                              run, rows);
  EXPECT_GT(other.errors.median, 3 * c.errors.median);
}

TEST_F(RoundTrip, VerificationFiveTimesSlowerReachesThePlanAndTheSimulator) {
  struct Answer {
    double attention_s = 0;  ///< of a layer, sixteen requests verifying 26 drafts each
    planner::OperatingPoint plan;
    double simulated_tokens_per_s = 0;
  };
  const auto answer = [&](double slower) {
    OutputFolder(path_.string(), true).write("verify_attention.csv", verify(slower));
    models::Catalogue catalogue = models::Catalogue::built_in();
    fit_into(catalogue, {file("replay.csv")});
    scenario::Scenario s = testing::small_scenario({"workload.requests=20", "workload.output=60 tokens"});
    s.serving.cluster.groups.front().profile = catalogue.profile("fake");
    Answer a;
    constexpr double kRequests = 16, kQueries = 26, kKv = 16384;
    const models::LlmSpec& model = s.serving.model;
    models::StepWork work;
    work.verify = {kRequests * kQueries, kRequests * kKv * static_cast<double>(model.kv_bytes_per_token()),
                   kRequests * kQueries * (kKv - (kQueries - 1) / 2), kRequests, 0};
    const models::StepTimer timer(s.serving.cluster.groups.front().gpu, catalogue.link("nvlink4"),
                                  s.serving.cluster.groups.front().profile, model, 1);
    a.attention_s = timer.time(work).attention_s / static_cast<double>(model.layers);
    const double truth_s =
        FakeDevice::verify(work.verify.kv_bytes / static_cast<double>(model.layers),
                           kRequests * kQueries * static_cast<double>(model.heads), kKv - (kQueries - 1) / 2, slower);
    EXPECT_NEAR(a.attention_s / truth_s, 1, 0.03) << slower << " times slower";
    a.plan = planner::plan(s, {}).optimum;
    a.simulated_tokens_per_s = planner::run_experiment(s).confidence.at("throughput.output_tokens_per_s").mean;
    return a;
  };
  const Answer once = answer(1), slow = answer(5);
  EXPECT_NEAR(slow.attention_s / once.attention_s, 5, 0.25);
  EXPECT_LT(slow.plan.throughput_tokens_per_s, 0.9 * once.plan.throughput_tokens_per_s);
  EXPECT_GT(slow.plan.x, once.plan.x) << "more drafts for each verification";
  EXPECT_LT(slow.simulated_tokens_per_s, 0.97 * once.simulated_tokens_per_s) << "reloads hide a part of it";
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
