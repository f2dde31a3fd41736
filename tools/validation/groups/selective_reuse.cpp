// Computing a few tokens of reused chunks again (SpecCache): time to first token beside its baselines, what choosing
// the tokens costs, and goodput.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "planner/experiment.h"
#include "tools/validation/groups/figure_rows.h"
#include "tools/validation/groups/groups.h"
#include "tools/validation/groups/published_scenarios.h"

namespace kvsim::validation {
namespace {

constexpr const char* kScenario = "scenarios/selective_reuse/published.yaml";
constexpr const char* kPublished = "SpecCache: 2 x A100 40 GB, Llama-3.2-1B choosing tokens, rho 0.15";
constexpr const char* kOrder =
    "published is only which is smaller; expected is the other one, simulated (seconds, requests/s)";

using Settings = std::vector<std::string>;
using serving::Measurements;

Measurements run_of(const char* policy, const Settings& settings) {
  return planner::run_experiment(planner::with_policy(carried_scenario(kScenario, settings), policy)).measured;
}

double ttft_s(const char* policy, const Settings& settings) {
  return run_of(policy, settings).ttft_s.mean();
}

/// Few enough arrivals that hardly anybody waits for another.
const Settings& unhurried() {
  static const Settings settings{"workload.arrivals.rate=0.2/s", "workload.requests=400"};
  return settings;
}

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

double mean_s(double sum, const Measurements& m) {
  return m.reuse.prompts > 0 ? sum / static_cast<double>(m.reuse.prompts) : 0;
}

void add_gains(FigureRows& rows) {
  struct Model {
    const char* name;
    Settings settings;
  };
  // Mistral's and Yi's tokenizers are not that of the small model.
  for (const Model& m : {Model{"mistral-7b", {"prefill.speculative.own_tokenizer=true"}}, Model{"llama-3-8b", {}},
                         Model{"yi-coder-9b", {"prefill.speculative.own_tokenizer=true"}}}) {
    const Settings settings = with(with(unhurried(), {fmt::format("model={}", m.name)}), m.settings);
    rows.within(fmt::format("ttft.{}", m.name), "TTFT of full_recompute / selective", 2.17, 3.95,
                ttft_s("full_recompute", settings) / ttft_s("selective", settings));
  }
}

void add_order(FigureRows& rows) {
  const double epic_s = ttft_s("epic", unhurried()), blend_s = ttft_s("cacheblend", unhurried());
  const double selective_s = ttft_s("selective", unhurried()), whole_s = ttft_s("full_recompute", unhurried());
  rows.less("order.epic", "TTFT of EPIC, below CacheBlend", blend_s, epic_s).unit = "s";
  Figure& alike = rows.add("order.alike", "TTFT of selective / CacheBlend", 1, selective_s / blend_s);
  alike.tolerance = 0.25;
  alike.assumptions.emplace_back("published is only that they are about the same");
  rows.less("order.recompute", "TTFT of selective, below half of all", whole_s / 2, selective_s).unit = "s";
}

void add_selection(FigureRows& rows) {
  const Measurements fast = run_of("selective", unhurried());
  const Measurements whole = run_of("selective:1", unhurried());
  rows.prediction("selection.share", "score + align / prefill of all",
                  mean_s(fast.reuse.select_s, fast) / mean_s(whole.reuse.prefill_s, whole))
      .assumptions.emplace_back(
          "published is about 0.05; Llama-3.2-1B does 14 % of the multiplications of an 8B model "
          "(docs/findings.md, 13)");
  // Loading takes 27 ms over the A100's own link, and 135 ms over this one.
  const Settings slow = with(unhurried(), {"cluster.host.link.read=5 GB/s"});
  const Measurements slow_selective = run_of("selective", slow);
  Figure& hidden = rows.add("selection.hidden", "added by choosing, 5 GB/s link", 0,
                            mean_s(slow_selective.reuse.assemble_s - slow_selective.reuse.load_s, slow_selective));
  hidden.measure = Measure::absolute;
  hidden.tolerance = 1e-3;
  hidden.unit = "s";
  rows.less("selection.visible", "loading, below both, 25 GB/s link", mean_s(fast.reuse.assemble_s, fast),
            mean_s(fast.reuse.load_s, fast))
      .unit = "s";
}

void add_goodput(FigureRows& rows) {
  for (const char* rate : {"1", "4", "12"}) {
    const Settings settings{fmt::format("workload.arrivals.rate={}/s", rate), "workload.requests=3000"};
    const auto goodput = [&](const char* policy) {
      const Measurements m = run_of(policy, with(settings, {"run.warmup=0 s"}));
      return static_cast<double>(m.good) / m.measured_s;
    };
    const double selective = goodput("selective");
    for (const char* faster : {"epic", "cacheblend"}) {
      rows.less(fmt::format("goodput.{}.{}", faster, rate), fmt::format("goodput at {}/s, below selective", rate),
                selective, goodput(faster))
          .unit = "/s";
    }
  }
}

}  // namespace

std::vector<Figure> selective_reuse_figures(const Inputs&) {
  std::vector<std::string> assumptions = carried_scenario(kScenario).assumptions;
  assumptions.emplace_back(
      "which answers count depends on scores that are generated in part, and on their assumed spread: "
      "docs/selective_reuse.md");
  FigureRows rows("selective-reuse", kPublished, std::move(assumptions), kOrder);
  add_gains(rows);
  add_order(rows);
  add_selection(rows);
  add_goodput(rows);
  return rows.take();
}

}  // namespace kvsim::validation
