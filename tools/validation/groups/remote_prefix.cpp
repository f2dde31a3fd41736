// Remote prefix caching: the published set-up, and how its speedup depends on the pools and on the outputs.
#include <algorithm>

#include <fmt/format.h>

#include "planner/experiment.h"
#include "planner/paths/planned_weights.h"
#include "planner/paths/scenario_problem.h"
#include "tools/validation/groups/groups.h"
#include "tools/validation/groups/published_scenarios.h"

namespace kvsim::validation {
namespace {

constexpr const char* kScenario = "scenarios/remote_prefix/published.yaml";
constexpr const char* kPublished = "VeriCache, Llama-70B, KIVI 4 bit, x = 40, 1 local and 4 remote nodes";
constexpr std::string_view kLabel = "speedup, ";
constexpr const char* kLp = "the path LP (kvsim plan)";

/// Tokens/s, simulated and as the path LP has it.
struct Rates {
  double simulated = 0, predicted = 0;
};

Rates rates_of(const scenario::Scenario& scenario, const std::string& policy) {
  scenario::Scenario s = planner::with_policy(scenario, policy);
  const planner::PathPlan plan = planner::plan_paths(planner::path_problem(s));
  if (planner::needs_planned_weights(s)) s = planner::with_weights(s, plan.n);
  const serving::Measurements m = planner::run_experiment(s).measured;
  return {static_cast<double>(m.output_tokens) / m.measured_s, plan.tokens_per_s};
}

/// The best mix of paths with drafting over the best mix without.
struct Speedup {
  std::vector<std::string> assumptions;
  Rates full_kv, draft_verify;

  explicit Speedup(const std::vector<std::string>& overrides) {
    const scenario::Scenario s = carried_scenario(kScenario, overrides);
    assumptions = s.assumptions;
    full_kv = rates_of(s, "full_kv:mix");
    draft_verify = rates_of(s, "draft_verify:mix");
  }
  [[nodiscard]] double simulated() const { return draft_verify.simulated / full_kv.simulated; }
  [[nodiscard]] double predicted() const { return draft_verify.predicted / full_kv.predicted; }
};

Figure figure(const std::string& name, std::string what, double expected, double simulated) {
  Figure f;
  f.id = "remote-prefix/" + name;
  f.what = std::move(what);
  f.expected = expected;
  f.simulated = simulated;
  f.source = kPublished;
  return f;
}

std::vector<Figure> published_figures() {
  constexpr double kSpeedup = 2.0, kFullKv = 240, kDraftVerify = 485;
  const Speedup s({"run.duration=10 min"});
  std::vector<Figure> figures{figure("speedup", "draft/verify over full KV", kSpeedup, s.simulated()),
                              figure("full_kv", "full KV, best mix of paths", kFullKv, s.full_kv.simulated),
                              figure("draft_verify", "draft/verify, best mix", kDraftVerify, s.draft_verify.simulated)};
  figures[0].source += fmt::format(": {} to {} tokens/s, about twice", kFullKv, kDraftVerify);
  for (Figure& f : figures) {
    f.tolerance = 0.2;
    f.assumptions = s.assumptions;
    if (&f == figures.data()) {
      const double ratio = kDraftVerify / kFullKv;
      f.assumptions.push_back(fmt::format("taken as {:.1f}; from {:.2f}, what the figures come to, it is {:+.1f} %",
                                          kSpeedup, ratio, 100 * (s.simulated() / ratio - 1)));
      continue;
    }
    f.unit = "tokens/s";
    f.skipped = "the published lengths, load and memory settings are not public; both figures depend on them";
  }
  return figures;
}

/// Values of a key of the scenario.
struct Sweep {
  const char* name;
  const char* what;  ///< with the value in front of it
  std::vector<int> values;
  std::vector<std::string> (*overrides)(int value);
  const char* assumption;
};

/// A row for each value, beside what the LP predicts; then both ends against the best value between them.
std::vector<Figure> swept(const Sweep& sweep) {
  std::vector<Figure> figures;
  for (const int value : sweep.values) {
    const Speedup s(sweep.overrides(value));
    Figure& f =
        figures.emplace_back(figure(fmt::format("{}.{}", sweep.name, value),
                                    fmt::format("{}{} {}", kLabel, value, sweep.what), s.predicted(), s.simulated()));
    f.tolerance = 0.15;
    f.source = kLp;
    f.assumptions = {sweep.assumption};
    f.skipped = "nothing is published of it: what is expected is the LP's prediction";
  }
  const auto better = [](const Figure& a, const Figure& b) { return a.simulated < b.simulated; };
  const Figure peak = *std::max_element(figures.begin() + 1, figures.end() - 1, better);
  for (const auto& [name, end] : {std::pair{"first", figures.front()}, std::pair{"last", figures.back()}}) {
    Figure& f = figures.emplace_back(figure(fmt::format("{}.{}", sweep.name, name),
                                            fmt::format("{}/peak, at most", end.what.substr(kLabel.size())), 1,
                                            end.simulated / peak.simulated));
    f.claim = Claim::at_most;
    f.source =
        "VeriCache, remote prefix caching: the speedup peaks at a ratio of remote to local GPUs, and falls as "
        "decoding outweighs the first transfer";
    f.assumptions = {sweep.assumption};
  }
  return figures;
}

std::vector<Figure> ratio_figures() {
  return swept({"nodes",
                "remote",
                {1, 2, 4, 8, 16, 32},
                [](int nodes) -> std::vector<std::string> {
                  return {fmt::format("cluster.pools.remote.nodes={}", nodes),
                          fmt::format("workload.closed.concurrency={}", 32 * nodes), "run.duration=6 min"};
                },
                "32 requests in the system for every remote node, so that all of them are busy"});
}

std::vector<Figure> output_figures() {
  std::vector<Figure> figures =
      swept({"output",
             "tokens",
             {40, 80, 160, 320, 1280},
             [](int tokens) -> std::vector<std::string> {
               return {fmt::format("workload.output={} tokens", tokens), "run.duration=12 min"};
             },
             "128 requests in the system"});
  const auto longest =
      std::find_if(figures.begin(), figures.end(), [](const Figure& f) { return f.id == "remote-prefix/output.1280"; });
  Figure limit = figure("output.limit", "speedup, long outputs", 1, longest->simulated);
  limit.tolerance = 0.05;
  limit.source = figures.back().source;
  limit.assumptions = longest->assumptions;
  figures.push_back(std::move(limit));
  return figures;
}

}  // namespace

std::vector<Figure> remote_prefix_figures(const Inputs&) {
  std::vector<Figure> figures = published_figures();
  for (const auto& more : {ratio_figures(), output_figures()}) figures.insert(figures.end(), more.begin(), more.end());
  return figures;
}

}  // namespace kvsim::validation
