// One request at a time through two pools: the simulator beside the closed form.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/experiment.h"
#include "planner/paths/scenario_problem.h"
#include "tests/planner/paths/request_time.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

using Overrides = std::vector<std::string>;

constexpr double kTolerance = 0.02;

/// The published set-up with requests that come one after the other.
scenario::Scenario one_by_one(Path path, int requests, const Overrides& overrides) {
  Overrides all{"workload.closed.concurrency=1", fmt::format("workload.requests={}", requests), "run.warmup=0 s",
                "run.duration=300 h", fmt::format("dispatch={{policy: online, paths: [{}]}}", path_name(path))};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return scenario::load_scenario(kvsim::testing::source_path("scenarios/remote_prefix/published.yaml"), all);
}

double simulated_s(const scenario::Scenario& s) {
  return run_experiment(s).measured.e2e_s.mean();
}

PathProblem alone(const scenario::Scenario& s) {
  return path_problem(s, StepsOf::one_request);
}

void expect_close(double simulated, double expected, Path path, const Overrides& overrides) {
  EXPECT_NEAR(simulated / expected, 1, kTolerance) << path_name(path) << " " << fmt::format("{}", overrides);
}

/// Drafting hides behind loads and loads behind drafting, loads cross each link slowly, outputs end within a round and
/// after many, messages take long, the compressor quantises and drops.
const std::vector<Overrides> kMachines{
    {},
    {"decode.draft_length=10"},
    {"decode.draft_length=20", "workload.output=400 tokens"},
    {"workload.context=32k tokens"},
    {"workload.output=16 tokens"},
    {"cluster.pools.remote.link.read=0.3 GB/s"},
    {"cluster.pools.remote.link.read=20 GB/s", "cluster.pools.message_latency=20 ms"},
    {"cluster.pools.local.link.read=1 GB/s"},
    {"decode.compressor=kvzip", "decode.keep_ratio=0.25"},
};

TEST(RequestTimeAgainstTheSimulator, OfARequestAloneWhoseDraftsAllAgree) {
  for (Overrides overrides : kMachines) {
    overrides.emplace_back("decode.acceptance.agreement=1");
    for (const Path path : models::kAllPaths) {
      const scenario::Scenario s = one_by_one(path, 1, overrides);
      expect_close(simulated_s(s), testing::request_time(alone(s), path).total_s, path, overrides);
    }
  }
}

TEST(RequestTimeAgainstTheSimulator, OfManyRequestsOneAfterTheOtherOnAverage) {
  constexpr int kRequests = 2000;
  for (Overrides overrides : kMachines) {
    overrides.emplace_back("decode.acceptance.agreement=0.97");
    for (const Path path : {Path::P1_cached, Path::P1_stateless, Path::P2_cached, Path::P2_stateless}) {
      const scenario::Scenario s = one_by_one(path, kRequests, overrides);
      expect_close(simulated_s(s), testing::request_time(alone(s), path).total_s, path, overrides);
    }
  }
}

// As printed the closed form leaves out
// - the verifier's own token of each round, 1/(g x) of the tokens: small where x is large;
// - that the last round ends with the request: small where rounds are many, or K a multiple of what they yield;
// - latencies of links and messages, and decompression: milliseconds, small beside drafts of 40 and more;
// - the generated tokens' KV in reloads, which shows only where those are longer than the drafting, and outputs not
//   much shorter than contexts.
TEST(RequestTimeAsPrintedAgainstTheSimulator, IsCloseWhereWhatItLeavesOutIsSmall) {
  const std::string all_agree = "decode.acceptance.agreement=1", most_agree = "decode.acceptance.agreement=0.999";
  const std::string many_tokens = "workload.output=4000 tokens", slow_local = "cluster.pools.local.link.read=1 GB/s";
  const std::vector<Overrides> cases{
      {all_agree},                                                            // two rounds
      {all_agree, slow_local},                                                // KV/BW_h the longer
      {all_agree, "workload.context=32k tokens"},                             //
      {all_agree, many_tokens, "decode.draft_length=200"},                    // 1/(g x) = 0.5 %
      {all_agree, many_tokens, "decode.draft_length=100"},                    // 1 %
      {most_agree, many_tokens, "decode.draft_length=100"},                   // 1.1 %, g = 0.95
      {most_agree, "workload.output=2000 tokens", "decode.draft_length=80"},  // 1.3 %
      {all_agree, "cluster.pools.remote.link.read=0.3 GB/s", "decode.draft_length=60", "workload.output=300 tokens"},
  };
  for (const Overrides& overrides : cases) {
    const int requests = overrides.front() == all_agree ? 1 : 300;
    const scenario::Scenario s = one_by_one(Path::P1_stateless, requests, overrides);
    expect_close(simulated_s(s), testing::request_time_as_printed(alone(s)).total_s, Path::P1_stateless, overrides);
  }
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
