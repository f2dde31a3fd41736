// Replications: independent of the number of threads, of who watches, and added up without loss.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "tests/scenario/summary.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using planner::ExperimentOptions;
using planner::ExperimentResult;
using planner::run_experiment;
/// Random arrivals, lengths and acceptance, so that seeds matter.
scenario::Scenario random_scenario(int replications, const Sets& more = {}) {
  Sets sets = {
      "workload={arrivals: {rate: 4/s}, requests: 25, context: {distribution: lognormal, mean: 8k tokens, cv: "
      "0.5}, output: {distribution: lognormal, mean: 120 tokens, cv: 0.5}}",
      "run.replications=" + std::to_string(replications)};
  sets.insert(sets.end(), more.begin(), more.end());
  return small_scenario(sets);
}

TEST(Experiment, IsTheSameWithOneTwoAndFourJobs) {
  const auto with_jobs = [](int jobs) {
    ExperimentOptions options;
    options.jobs = jobs;
    return summary(run_experiment(random_scenario(6), options));
  };
  const std::string one = with_jobs(1);
  EXPECT_EQ(with_jobs(2), one);
  EXPECT_EQ(with_jobs(4), one);
  EXPECT_EQ(with_jobs(64), one);
}

TEST(Experiment, RunsReplicationsWithConsecutiveSeeds) {
  serving::Measurements sum;
  for (const char* seed : {"run.seed=5", "run.seed=6", "run.seed=7"}) {
    serving::merge(sum, run_experiment(random_scenario(1, {seed})).measured);
  }
  const ExperimentResult three = run_experiment(random_scenario(3, {"run.seed=5"}));
  EXPECT_EQ(summary(three.measured), summary(sum));
  EXPECT_EQ(three.replications, 3U);
}

TEST(Experiment, AveragesOverReplicationsInItsIntervals) {
  double rates = 0;
  for (const char* seed : {"run.seed=1", "run.seed=2"}) {
    const serving::Measurements m = run_experiment(random_scenario(1, {seed})).measured;
    rates += static_cast<double>(m.output_tokens) / m.measured_s;
  }
  const auto interval = run_experiment(random_scenario(2)).confidence.at("throughput.output_tokens_per_s");
  EXPECT_DOUBLE_EQ(interval.mean, rates / 2);
  EXPECT_EQ(interval.observations, 2U);
}

TEST(Experiment, IntervalsShrinkWithReplications) {
  // Half-width t s/sqrt(n): from 4 to 36 replications by about 3 x 3.18/2.03 = 4.7.
  const auto few = run_experiment(random_scenario(4)).confidence;
  const auto many = run_experiment(random_scenario(36)).confidence;
  for (const auto& [name, interval] : few) {
    EXPECT_LT(many.at(name).half_width_95, 0.6 * interval.half_width_95) << name;
    EXPECT_NEAR(many.at(name).mean, interval.mean, 2 * interval.half_width_95) << name;
  }
}

TEST(Experiment, OfOneReplicationHasIntervalsByBatches) {
  const auto r = run_experiment(small_scenario({"workload.requests=200"}));
  EXPECT_EQ(r.confidence.at("latency_s.ttft.mean").observations, 20U);
  EXPECT_GT(r.confidence.at("latency_s.ttft.mean").half_width_95, 0);
}

/// Counts what is drawn.
class CountingTrace final : public engine::TraceSink {
 public:
  int add_track(std::string_view, std::string_view) override { return tracks++; }
  int add_counter(std::string_view, std::string_view) override { return 0; }
  void slice(int, std::string_view, engine::SimTime, engine::SimTime, std::uint64_t, double) override { ++slices; }
  void counter(int, engine::SimTime, double) override {}
  int tracks = 0, slices = 0;
};

TEST(Experiment, ATimelineChangesNothingAndShowsTheFirstReplication) {
  CountingTrace of_three, of_one;
  ExperimentOptions options;
  options.trace = &of_three;
  options.jobs = 2;
  EXPECT_EQ(summary(run_experiment(random_scenario(3), options)), summary(run_experiment(random_scenario(3))));
  options.trace = &of_one;
  run_experiment(random_scenario(1), options);
  EXPECT_GT(of_one.slices, 0);
  EXPECT_EQ(of_three.slices, of_one.slices);
  EXPECT_EQ(of_three.tracks, of_one.tracks);
}

TEST(Experiment, WatchingItsProgressChangesNothing) {
  for (const Sets& more : {Sets{}, Sets{"run.duration=5 s"}, Sets{"workload.requests=600"}}) {
    std::atomic<int> looks = 0;
    ExperimentOptions options;
    options.jobs = 2;
    options.progress = [&](std::size_t replication, double simulated_s) {
      EXPECT_LT(replication, 2U);
      EXPECT_GE(simulated_s, 0);
      ++looks;
      return true;
    };
    const ExperimentResult watched = run_experiment(random_scenario(2, more), options);
    EXPECT_EQ(summary(watched), summary(run_experiment(random_scenario(2, more))));
    EXPECT_FALSE(watched.interrupted);
    if (!more.empty()) {
      EXPECT_GT(looks, 0) << more.front();
    }
  }
}

TEST(Experiment, ThatIsInterruptedSaysSoAndKeepsTheFirstReplicationsThatAreWhole) {
  for (const int jobs : {1, 2}) {
    ExperimentOptions options;
    options.jobs = jobs;
    // The third one does not end, and what comes after it does not count, whether it has ended or not.
    options.progress = [](std::size_t replication, double simulated_s) { return replication != 2 || simulated_s < 3; };
    ExperimentResult r = run_experiment(random_scenario(4, {"run.duration=10 s"}), options);
    EXPECT_TRUE(r.interrupted);
    r.interrupted = false;  // the one difference
    EXPECT_EQ(r.replications, 2U);
    EXPECT_EQ(summary(r), summary(run_experiment(random_scenario(2, {"run.duration=10 s"}))));
  }
}

TEST(Experiment, ThatRunsToItsLastRequestCanBeInterruptedToo) {
  ExperimentOptions options;
  options.progress = [](std::size_t, double simulated_s) { return simulated_s == 0; };
  const ExperimentResult r = run_experiment(random_scenario(1, {"workload.requests=3000"}), options);
  EXPECT_TRUE(r.interrupted);
  EXPECT_EQ(r.replications, 0U);
  EXPECT_EQ(r.measured.arrived, 0U);
}

TEST(Experiment, ThatIsInterruptedBeginsNoFurtherReplication) {
  int looks = 0;
  ExperimentOptions options;
  options.progress = [&looks](std::size_t, double) { return ++looks < 2; };  // within the first
  const ExperimentResult r = run_experiment(random_scenario(1000, {"run.duration=100 s"}), options);
  EXPECT_TRUE(r.interrupted);
  EXPECT_EQ(looks, 3);  // the second asks, and does not begin
}

TEST(Experiment, ThatIsInterruptedAcceptsNoFurtherRequests) {
  serving::SimulationOptions options;
  options.progress = [](engine::SimTime) { return false; };
  for (const char* workload :
       {"{closed: {concurrency: 20000}, context: 8k tokens, output: 100 tokens}",
        "{arrivals: {process: constant, rate: 1000000/s}, context: 8k tokens, output: 100 tokens}"}) {
    const scenario::Scenario s = small_scenario({std::string("workload=") + workload, "run.duration=100 s"});
    const serving::SimulationOutcome outcome = planner::simulate_replication(s, 0, options);
    EXPECT_TRUE(outcome.interrupted);
    EXPECT_EQ(outcome.measured.arrived, 1024U) << workload;
  }
}

TEST(Experiment, OfMoreRequestsInFlightThanItsLimitIsRefused) {
  const scenario::Scenario s = small_scenario(
      {"workload={arrivals: {process: constant, rate: 100000/s}, context: 8k tokens, output: 100 tokens}",
       "run.duration=100 s", "run.most_in_flight=500"});
  try {
    planner::simulate_replication(s, 0);
    FAIL() << "accepted";
  } catch (const serving::ConfigurationError& error) {
    EXPECT_EQ(error.key(), "run.most_in_flight");
    EXPECT_EQ(std::string(error.what()),
              "500 requests are in the system at 0.00501 s, and one more comes: expected fewer, more replicas, or a "
              "higher limit "
              "(each takes some 500 bytes of memory)");
  }
}

// Ten iterations of 32 years: no time lies before the one that came before it, and none is made up.
TEST(Experiment, ThatLastsBeyondTheClockIsRefused) {
  scenario::Scenario s = random_scenario(1);
  s.serving.cluster.groups.front().profile.iteration_overhead_s.value = 1e9;
  try {
    run_experiment(s);
    FAIL() << "accepted";
  } catch (const serving::ConfigurationError& error) {
    EXPECT_EQ(error.key(), "run.duration");
    EXPECT_EQ(std::string(error.what()),
              "the run lasts beyond the 292 years that the clock counts: expected a duration, or "
              "less time between its events");
  }
}

TEST(Experiment, ThrowsWhatAReplicationThrows) {
  ExperimentOptions options;
  options.jobs = 3;
  EXPECT_THROW(run_experiment(random_scenario(3, {"run.warmup=1000 s"}), options), serving::ConfigurationError);
}

TEST(Experiment, WhoseMeasuredTimeIsThatOfADrainingQueueSaysSo) {
  const auto said = [](const char* warmup) {
    const ExperimentResult r = run_experiment(random_scenario(1, {"workload.requests=200", warmup}));
    return planner::unsteady_state(r.measured).find("a queue that drains") != std::string::npos;
  };
  const double end_s = run_experiment(random_scenario(1, {"workload.requests=200"})).measured.measured_s;
  EXPECT_FALSE(said("run.warmup=0 s"));
  EXPECT_TRUE(said(fmt::format("run.warmup={} s", end_s * 0.99).c_str()));
}

TEST(Experiment, WhyNothingSteadyWasMeasured) {
  serving::Measurements m;
  m.measured_s = 100;
  m.arrived_measured = 1000;
  EXPECT_EQ(planner::unsteady_state(m),
            "no request finished in the measured time of 100 s: it has no latencies; give a longer run.duration, or a "
            "shorter run.warmup");
  m.completed_measured = 900;
  m.waiting_before = 30;
  m.waiting_after = 80;
  EXPECT_EQ(planner::unsteady_state(m), "") << "a twentieth more may be chance";
  m.waiting_after = 230;
  EXPECT_EQ(planner::unsteady_state(m, 4), "") << "as may four times as many of bursts";
  EXPECT_NE(planner::unsteady_state(m, 3), "");
  m.waiting_after = 81;
  EXPECT_NE(planner::unsteady_state(m, 0.5), "");
  EXPECT_EQ(
      planner::unsteady_state(m),
      "30 requests waited for admission when measuring began and 81 when it ended, while 1000 arrived: the queue "
      "grows, and latencies are those of a run of this length, not of a service; where a longer run sees it grow on, "
      "more requests arrive than can be served");
  const auto when = [&m] {
    const std::string why = planner::unsteady_state(m);
    return why.substr(0, why.find(": the queue grows"));
  };
  m.waiting_before = 1;
  EXPECT_TRUE(when().starts_with("1 request waited ")) << when();
  m.waiting_before = 30;
  m.runs_past_arrivals = 2;
  EXPECT_EQ(when(),
            "30 requests waited for admission when measuring began and 81 when the last request arrived, while 1000 "
            "arrived");
  m.verdicts.assign(900, 0);
  EXPECT_EQ(when(),
            "30 requests waited for admission when measuring began and 81 when the last judged request arrived, while "
            "900 arrived");
  m.verdicts.clear();
  m.runs_past_arrivals = 0;
  m.arrived_measured = 100'000;
  m.waiting_after = 30 + 1264;
  EXPECT_EQ(planner::unsteady_state(m), "");
  m.waiting_after = 30 + 1265;
  EXPECT_NE(planner::unsteady_state(m).find("the queue grows"), std::string::npos) << "no chance, in a long run";
  m.waiting_after = 10;
  EXPECT_EQ(planner::unsteady_state(m), "");
}

/// Replies of 1000 tokens, 4 at a time: some 0.5 a second are served.
scenario::Scenario four_at_a_time(const std::string& ends, const std::string& rate,
                                  const std::vector<std::string>& settings = {}) {
  std::vector<std::string> all{ends, "workload.arrivals.rate=" + rate};
  all.insert(all.end(), settings.begin(), settings.end());
  return scenario::load_scenario_text(
      "name: t\nmodel: llama-3.1-8b\ncluster: {gpu: {type: h100-sxm, activations: 0 B}}\n"
      "workload: {arrivals: {rate: 1/s}, context: {mean: 100 tokens}, output: {mean: 1000 tokens}}\n"
      "prefill: recompute\ndecode: {policy: full_kv}\nschedule: {max_requests: 4}\n"
      "run: {warmup: 60 s, seed: 1}\n",
      "t.yaml", all);
}

TEST(Experiment, AnOverloadedOpenLoopSaysThatItsQueueGrows) {
  const auto grows = [](const char* rate) {
    const ExperimentResult r = run_experiment(four_at_a_time("run.duration=300 s", rate));
    EXPECT_EQ(r.measured.waiting_after >= r.measured.waiting_before, true);
    EXPECT_EQ(r.measured.runs_past_arrivals, 0U);
    return planner::unsteady_state(r.measured).find("the queue grows") != std::string::npos;
  };
  EXPECT_TRUE(grows("2/s"));
  EXPECT_FALSE(grows("0.1/s"));
}

// Such a run ends when all are served: nobody waits at its end.
TEST(Experiment, AnOverloadedOpenLoopOfSoManyRequestsSaysThatItsQueueGrew) {
  const auto grows = [](const char* rate) {
    const ExperimentResult r =
        run_experiment(four_at_a_time("run.replications=2", rate, {"run.warmup=30 s", "workload.requests=400"}));
    EXPECT_EQ(r.measured.running, 0U);
    EXPECT_EQ(r.measured.runs_past_arrivals, 2U);
    return planner::unsteady_state(r.measured).find("when the last request arrived") != std::string::npos;
  };
  EXPECT_TRUE(grows("2/s"));
  EXPECT_FALSE(grows("0.1/s"));
}

TEST(Experiment, OnlyArrivalsOverTimeHaveAQueueThatGrows) {
  const auto past_arrivals = [](const std::vector<std::string>& settings) {
    const ExperimentResult r = run_experiment(four_at_a_time("run.warmup=0 s", "2/s", settings));
    EXPECT_EQ(planner::unsteady_state(r.measured), "");
    return r.measured.runs_past_arrivals;
  };
  EXPECT_EQ(past_arrivals({"workload={closed: {concurrency: 64}, context: 100 tokens, output: 100 tokens}",
                           "workload.requests=200"}),
            0U)
      << "a closed loop";
  const TemporaryFolder folder;
  std::string at_once = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 200; ++i) at_once += "0,100,100\n";
  const std::string trace = folder.write("t.csv", at_once);
  EXPECT_EQ(past_arrivals({"workload={trace: {format: csv, path: " + trace + "}}"}), 0U) << "all at once";
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
