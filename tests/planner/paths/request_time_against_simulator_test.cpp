// One request at a time through two pools: the simulator beside the closed form.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/experiment.h"
#include "planner/paths/request_time.h"
#include "planner/paths/scenario_problem.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner {
namespace {

using Overrides = std::vector<std::string>;

constexpr double kTolerance = 0.02;

/// The published set-up with requests that come one after the other.
scenario::Scenario one_by_one(Path path, int requests, const Overrides& overrides) {
  Overrides all{"workload.closed.concurrency=1", fmt::format("workload.requests={}", requests), "run.warmup=0 s",
                "run.duration=30 d", fmt::format("dispatch={{policy: online, paths: [{}]}}", path_name(path))};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return scenario::load_scenario(testing::source_path("scenarios/remote_prefix/published.yaml"), all);
}

double simulated_s(const scenario::Scenario& s) {
  return run_experiment(s).measured.e2e_s.mean();
}

PathProblem alone(const scenario::Scenario& s) {
  return path_problem(s, StepsOf::one_request);
}

std::vector<Overrides> machines() {
  return {
      {},
      {"decode.draft_length=10"},
      {"decode.draft_length=20", "workload.output=400 tokens"},
      {"workload.context=32k tokens"},
      {"workload.output=16 tokens"},
      {"workload.output=1000 tokens"},
      {"cluster.pools.remote.link.read=0.3 GB/s"},
      {"cluster.pools.remote.link.read=20 GB/s", "cluster.pools.message_latency=20 ms"},
      {"cluster.pools.local.link.read=1 GB/s"},
      {"workload.context=64k tokens", "cluster.pools.local.link.read=10 GB/s", "workload.output=200 tokens"},
      {"decode.compressor=kvzip", "decode.keep_ratio=0.25"},
  };
}

TEST(X, Table) {
  for (const char* agreement : {"1", "0.97"})
    for (auto o : machines()) {
      const int n = std::string(agreement) == "1" ? 1 : 400;
      std::string line = fmt::format("{:70} {:5}", fmt::join(o, " "), agreement);
      o.push_back(fmt::format("decode.acceptance.agreement={}", agreement));
      for (const Path path : models::kAllPaths) {
        const auto s = one_by_one(path, n, o);
        const double t = request_time(alone(s), path).total_s, sim = simulated_s(s);
        line += fmt::format(" {} {:6.2f}s {:+6.2f}%", path_name(path), sim, 100 * (sim / t - 1));
      }
      const auto s = one_by_one(Path::P1_stateless, n, o);
      line += fmt::format(" printed {:+6.2f}%", 100 * (simulated_s(s) / request_time_as_printed(alone(s)).total_s - 1));
      std::puts(line.c_str());
    }
}

}  // namespace
}  // namespace kvsim::planner
