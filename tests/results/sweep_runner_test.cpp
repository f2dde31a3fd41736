// The runner: every point as if it were run alone, whatever the number of threads, interruptions and earlier sittings.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/sweep/runner.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/small_scenario.h"
#include "tools/results/result_document.h"
#include "tools/results/sweep.h"

namespace kvsim::planner::sweep::KVSIM_FILE {
namespace {

const std::vector<std::string> kAxes{"decode.draft_length=10,20", "model=llama-3.1-8b,llama-3.1-70b",
                                     "decode.keep_ratio=0.25,0.5"};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SweepRunner : public ::testing::Test {
 protected:
  SweepRunner() {
    std::vector<AxisSpec> specs;
    for (const std::string& axis : kAxes) specs.push_back(parse_axis(axis));
    plan_ = make_plan(file_.load(), Design::grid(specs), {}, "test");
    options_.encode = results::encoded_figures;
  }

  SweepResult run(std::vector<PointResult> before = {}) {
    return run_sweep(file_, plan_, std::move(before), nullptr, options_);
  }

  scenario::ScenarioFile file_ =
      scenario::ScenarioFile::from_text(testing::kSmallScenario, "small.yaml", {"workload.requests=20"});
  Plan plan_;
  RunnerOptions options_;
};

TEST_F(SweepRunner, APointIsTheRunOfItsScenario) {
  const SweepResult result = run();
  ASSERT_EQ(result.points.size(), 8U);
  for (const PointResult& point : result.points) {
    EXPECT_EQ(point.simulated(), plan_.design.value(point.point, 1) == "llama-3.1-8b");
    if (!point.simulated()) {
      EXPECT_TRUE(point.reason.starts_with("cluster.gpu: llama-3.1-70b does not fit")) << point.reason;
      continue;
    }
    std::vector<std::string> set{"workload.requests=20"};
    for (const auto& change : plan_.design.changes(point.point))
      set.push_back(change.path + "=" + change.value.value());
    scenario::Scenario alone = testing::small_scenario(set);
    ExperimentResult expected = run_experiment(alone);
    EXPECT_EQ(point.result, results::encoded_figures(std::move(alone), std::move(expected)));
  }
}

TEST_F(SweepRunner, IsTheSameWithOneTwoThreeAndSixteenJobs) {
  const std::vector<PointResult> one = run().points;
  for (const int jobs : {2, 3, 16}) {
    options_.jobs = jobs;
    EXPECT_EQ(run().points, one) << jobs;
  }
}

TEST_F(SweepRunner, RunsOnlyWhatLacks) {
  const std::vector<PointResult> all = run().points;
  std::vector<PointResult> before{all[6], all[0], all[3]};
  std::atomic<int> finished{0};
  options_.finished = [&finished] { ++finished; };
  EXPECT_EQ(run(before).points, all);
  EXPECT_EQ(finished, 5);
  EXPECT_EQ(run(all).points, all);
  EXPECT_EQ(finished, 5);
}

TEST_F(SweepRunner, AJournalCutAtAnyByteOfItsLastTwoLinesGivesTheSameFiles) {
  // Short lines, so that there are not too many bytes.
  options_.encode = [](const scenario::Scenario&, const ExperimentResult& result) {
    return fmt::format(R"({{"throughput":{{"output_tokens_per_s":{}}},"confidence":{{}}}})",
                       results::output_tokens_per_s(result));
  };
  testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/points.jsonl";
  auto journal = Journal::open(path);
  journal->begin(plan_);
  const std::vector<PointResult> all = run_sweep(file_, plan_, {}, journal.get(), options_).points;
  journal->close();
  journal.reset();
  const std::string json = results::sweep_json({plan_, all}), csv = results::sweep_csv({plan_, all});
  const std::string whole = text_of(path);
  const std::size_t last = whole.rfind('\n', whole.size() - 2);
  for (std::size_t size = whole.rfind('\n', last - 1) + 1; size <= whole.size(); ++size) {
    folder.write("points.jsonl", whole.substr(0, size));
    const JournalContents contents = *read_journal(path);
    const auto again = Journal::open(path);
    again->keep(contents.bytes);
    const std::vector<PointResult> points = run_sweep(file_, plan_, contents.points, again.get(), options_).points;
    again->close();
    ASSERT_EQ(results::sweep_json({contents.plan, points}), json) << size;
    ASSERT_EQ(results::sweep_csv({contents.plan, points}), csv) << size;
    ASSERT_EQ(text_of(path), whole) << size;
  }
}

TEST_F(SweepRunner, RunsThePointsOfItsShard) {
  plan_.shard = {2, 3};
  std::vector<std::size_t> numbers;
  for (const PointResult& point : run().points) numbers.push_back(point.point);
  EXPECT_EQ(numbers, (std::vector<std::size_t>{1, 4, 7}));
}

TEST_F(SweepRunner, AnInterruptionKeepsWhatIsFinishedAndGoingOnGivesTheSame) {
  const std::vector<PointResult> all = run().points;
  testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/points.jsonl";
  std::atomic<int> finished{0};
  options_.finished = [&finished] { ++finished; };
  options_.proceed = [&finished] { return finished < 3; };
  const auto journal = Journal::open(path);
  journal->begin(plan_);
  const SweepResult part = run_sweep(file_, plan_, {}, journal.get(), options_);
  journal->close();
  EXPECT_TRUE(part.interrupted);
  EXPECT_EQ(part.points.size(), 3U);
  const auto contents = read_journal(path);
  ASSERT_EQ(contents->points.size(), 3U);
  options_.proceed = nullptr;
  EXPECT_EQ(run(contents->points).points, all);
}

TEST_F(SweepRunner, AMistakeInAnyPointIsFoundBeforeAnythingRuns) {
  const auto refusal = [this](const std::vector<std::string>& axes) {
    std::vector<AxisSpec> specs;
    for (const std::string& axis : axes) specs.push_back(parse_axis(axis));
    plan_.design = Design::grid(specs);
    try {
      check_points(file_, plan_.design, plan_.points(), options_);
    } catch (const schema::InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal(kAxes), "accepted");  // a model that does not fit is a result
  EXPECT_EQ(
      refusal({"decode.draft_lenght=1,2"}),
      "--vary decode.draft_lenght: decode: unknown key \"draft_lenght\" of decode; did you mean \"draft_length\"?");
  EXPECT_EQ(refusal({"decode.draft_length=1:2:0.5"}),
            "--vary decode.draft_length: expected a whole number, found \"1.5\"");
  EXPECT_EQ(refusal({"decode.draft_length=5,6", "decode.keep_ratio=0.5,1.5"}),
            "--vary decode.keep_ratio: must be > 0 and <= 1, found 1.5 (point 1: decode.draft_length=5, "
            "decode.keep_ratio=1.5)");
}

TEST(SweepTraces, PointsShareATraceAndACatalogue) {
  testing::TemporaryFolder folder;
  folder.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,1000,10\n1,1000,10\n");
  folder.write("s.yaml", fmt::format("{}", R"(name: t
model: llama-3.1-8b
cluster: {gpu: {type: h100-sxm, activations: 0 B}, host: {memory: 256 GiB}}
workload: {trace: {format: csv, path: t.csv}}
decode: {policy: full_kv}
schedule: {policy: fcfs}
)"));
  const scenario::ScenarioFile file(folder.path() + "/s.yaml");
  const auto load = [&file](const std::string& path, const std::string& value) {
    return file.load({{path, value, schema::Origin("--vary " + path)}});
  };
  const auto base = file.load().trace;
  EXPECT_EQ(load("run.seed", "5").trace, base);
  EXPECT_EQ(load("cluster.gpu.type", "h200").trace, base);
  EXPECT_NE(load("workload.trace.time_scale", "0.5").trace, base);
  EXPECT_EQ(load("workload.trace.max_requests", "1").trace->size(), 1U);
}

}  // namespace
}  // namespace kvsim::planner::sweep::KVSIM_FILE
