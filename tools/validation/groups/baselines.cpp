// Drafting on compressed KV beside its alternatives on one machine (an EAGLE-3 head, sparse reads of a KV that stays,
// both together), and accepted lengths as published for drafters.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/acceptance/acceptance.h"
#include "planner/experiment.h"
#include "tools/validation/groups/figure_rows.h"
#include "tools/validation/groups/groups.h"
#include "tools/validation/groups/published_scenarios.h"

namespace kvsim::validation {
namespace {

using Settings = std::vector<std::string>;

constexpr const char* kOrder =
    "published is only the order; expected is the other figure, simulated (factors of tokens/s over full_kv; both: "
    "draft_verify+drafter)";
constexpr const char* kSource = "VeriCache: what limits drafters, sparse self-speculation and drafts on compressed KV";

/// Factors of tokens/s over full_kv.
struct Gains {
  double sparse_self = 0, drafter = 0, draft_verify = 0, both = 0;
};

double tokens_per_s(const scenario::Scenario& scenario, const char* policy) {
  const serving::Measurements m = planner::run_experiment(planner::with_policy(scenario, policy)).measured;
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

Gains gains_of(const std::string& model, Settings settings) {
  settings.insert(settings.end(), {"run.duration=8 min", "run.warmup=2 min"});
  const scenario::Scenario s = carried_scenario(fmt::format("scenarios/baselines/{}.yaml", model), settings);
  const double whole = tokens_per_s(s, "full_kv");
  return {tokens_per_s(s, "sparse_self") / whole, tokens_per_s(s, "drafter") / whole,
          tokens_per_s(s, "draft_verify") / whole, tokens_per_s(s, "draft_verify+drafter") / whole};
}

class Rows : public FigureRows {
 public:
  Rows()
      : FigureRows("baselines", kSource, carried_scenario("scenarios/baselines/qwen3-32b.yaml").assumptions, kOrder) {}
};

void add_models(Rows& rows) {
  const std::vector<std::pair<const char*, const char*>> models = {
      {"llama-3.1-8b", "8B"}, {"qwen3-32b", "32B"}, {"llama-3.1-70b", "70B"}};
  std::vector<Gains> gains;
  for (const auto& [model, size] : models) {
    const Gains g = gains_of(model, {});
    const auto name = [size = size](const char* what) { return fmt::format("{}.{}", what, size); };
    rows.prediction(name("sparse_self"), fmt::format("sparse_self / full_kv, {}", size), g.sparse_self);
    rows.prediction(name("drafter"), fmt::format("drafter / full_kv, {}", size), g.drafter);
    rows.prediction(name("draft_verify"), fmt::format("draft_verify / full_kv, {}", size), g.draft_verify);
    rows.less(name("both_sparse"), fmt::format("sparse_self, beside both, {}", size), g.both, g.sparse_self);
    rows.less(name("both_drafter"), fmt::format("drafter, beside both, {}", size), g.both, g.drafter);
    gains.push_back(g);
  }
  rows.less("sparse_self.32B_8B", "sparse_self at 32B, beside 8B", gains[0].sparse_self, gains[1].sparse_self);
  rows.less("sparse_self.70B_32B", "sparse_self at 70B, beside 32B", gains[1].sparse_self, gains[2].sparse_self);
}

/// The same model with less and less of the GPUs' memory; draft and keep ratio stay.
void add_budgets(Rows& rows) {
  const std::vector<double> fractions = {0.95, 0.65, 0.48};
  std::vector<Gains> gains;
  for (const double fraction : fractions) {
    gains.push_back(gains_of("qwen3-32b", {fmt::format("cluster.gpu.memory_fraction={}", fraction),
                                           "decode.keep_ratio=0.3", "decode.draft_length=30", "decode.offloaded=all"}));
  }
  for (std::size_t i = 1; i < fractions.size(); ++i) {
    const auto name = [&](const char* what) { return fmt::format("{}.{:.0f}%", what, fractions[i] * 100); };
    const std::string beside = fmt::format("{:.0f} % ({:.0f})", fractions[i] * 100, fractions[i - 1] * 100);
    rows.less(name("sparse_self"), "sparse_self / full_kv, " + beside, gains[i - 1].sparse_self, gains[i].sparse_self);
    rows.less(name("draft_verify"), "full_kv / draft_verify, " + beside, 1 / gains[i - 1].draft_verify,
              1 / gains[i].draft_verify);
  }
  Figure& bounded =
      rows.add("drafter.bounded", "drafter, 48 % of memory / 95 %", 1, gains[2].drafter / gains[0].drafter);
  bounded.tolerance = 0.1;
  bounded.assumptions = {"published: a drafter leaves the KV as large as it is, so that its gain does not grow"};
}

/// Easy and hard requests together: adaptive lengths beside the best fixed one.
void add_lengths(Rows& rows) {
  const std::string mixed = "{model: heterogeneous, agreement: 0.9, concentration: 2}";
  struct Case {
    const char* name;
    const char* policy;
    Settings settings;
    const char* length;  // the key of its fixed draft length
    std::vector<int> lengths;
  };
  const std::vector<Case> cases = {
      {"verify", "draft_verify", {"decode.acceptance=" + mixed}, "decode.draft_length", {3, 5, 8, 12, 20, 30, 45}},
      {"sparse",
       "sparse_self",
       {"decode.sparse={selection: pillar-attention, keep_ratio: 0.05, acceptance: " + mixed + "}"},
       "decode.sparse.draft_length",
       {1, 2, 3, 5, 8, 12}},
      {"drafter",
       "drafter",
       {"decode.drafter={type: eagle3-llama-3.1-70b, acceptance: {model: heterogeneous, agreement: 0.6, "
        "concentration: 1.5}}"},
       "decode.drafter.draft_length",
       {1, 2, 3, 5, 8}}};
  for (const Case& c : cases) {
    const auto run = [&](const std::string& how) {
      Settings all = c.settings;
      all.insert(all.end(), {how, "run.duration=30 min", "workload.output.mean=1024 tokens"});
      const scenario::Scenario s = carried_scenario("scenarios/baselines/llama-3.1-70b.yaml", all);
      return planner::run_experiment(planner::with_policy(s, c.policy)).measured;
    };
    const auto rate = [](const serving::Measurements& m) {
      return static_cast<double>(m.output_tokens) / m.measured_s;
    };
    double best = 0;
    int at = 0;
    for (const int x : c.lengths) {
      const double fixed = rate(run(fmt::format("{}={}", c.length, x)));
      if (fixed > best) at = x;
      best = std::max(best, fixed);
    }
    const serving::Measurements adaptive = run("decode.draft_lengths={policy: adaptive}");
    Figure& f = rows.less(fmt::format("adaptive.{}", c.name), fmt::format("{}, best fixed length", c.policy),
                          rate(adaptive), best);
    f.unit = "tokens/s";
    f.source = "VeriCache names adaptive draft lengths as future work: expected of any adaptive policy";
    f.assumptions = {fmt::format(
        "best of {} is {}; expected is what adaptive lengths reach; agreement differs by request, Beta distributed",
        fmt::join(c.lengths, ", "), at)};
    const serving::DraftLengthMeasurement& lengths = adaptive.draft_lengths;
    rows.prediction(fmt::format("regret.{}", c.name), fmt::format("{}, adaptive regret", c.policy),
                    1 - lengths.expected_tokens / lengths.best_tokens);
  }
}

/// A published acceptance by position, and the mean accepted length that was published beside it.
struct Published {
  const char* name;
  const char* what;
  const char* source;
  double mean_length;             ///< with the token of the model's own
  std::vector<double> positions;  ///< empty: `lengths`
  std::vector<std::pair<int, double>> lengths;
};

std::string law_of(const Published& p) {
  if (!p.positions.empty()) return fmt::format("{{model: positions, positions: [{}]}}", fmt::join(p.positions, ", "));
  std::string points;
  for (const auto& [x, accepted] : p.lengths) {
    points += fmt::format("{}{{draft_length: {}, accepted: {}}}", points.empty() ? "" : ", ", x, accepted);
  }
  return fmt::format("{{model: curve, points: [{}]}}", points);
}

/// Standard deviation of a round's accepted length: E[n^2] = sum of (2 i - 1) S(i).
double deviation(const models::AcceptanceSpec& law, int drafted) {
  const models::AcceptanceModel model(law, 1, drafted);
  double squares = 0;
  for (int i = 1; i <= drafted; ++i) squares += (2 * i - 1) * model.survival(i);
  const double mean = model.expected_accepted(drafted);
  return std::sqrt(squares - mean * mean);
}

void add_acceptance(std::vector<Figure>& figures) {
  const char* eagle3 = "vLLM pull request 26498";
  const char* gpt_oss = "vLLM pull request 42764";
  const char* eagle = "vLLM pull request 16035";
  const std::vector<Published> all = {
      {"mtbench",
       "EAGLE-3, MT-Bench, 10 drafted",
       eagle3,
       3.64,
       {0.74, 0.54, 0.41, 0.3, 0.22, 0.16, 0.12, 0.08, 0.05, 0.02},
       {}},
      {"specbench",
       "EAGLE-3, SpecBench, 10 drafted",
       eagle3,
       3.36,
       {0.71, 0.5, 0.36, 0.26, 0.18, 0.13, 0.1, 0.07, 0.04, 0.02},
       {}},
      {"gptoss", "EAGLE-3, gpt-oss, 5 drafted", gpt_oss, 2.359, {0.622, 0.356, 0.203, 0.119, 0.06}, {}},
      {"postnorm", "EAGLE-3 post-norm, 5 drafted", gpt_oss, 2.346, {0.61, 0.342, 0.202, 0.12, 0.072}, {}},
      {"eagle.2", "EAGLE, MT-Bench, 2 drafted", eagle, 1.89, {}, {{2, 0.89}, {4, 1.08}}},
      {"eagle.4", "EAGLE, MT-Bench, 4 drafted", eagle, 2.08, {}, {{2, 0.89}, {4, 1.08}}}};
  for (const Published& p : all) {
    const int drafted =
        p.positions.empty() ? (std::string(p.name) == "eagle.2" ? 2 : 4) : static_cast<int>(p.positions.size());
    const scenario::Scenario s = carried_scenario(
        "scenarios/baselines/llama-3.1-70b.yaml",
        {fmt::format("decode.drafter.draft_length={}", drafted), "decode.drafter.acceptance=" + law_of(p),
         "workload.output=3000 tokens", "run.duration=40 min"});
    const serving::Measurements m = planner::run_experiment(planner::with_policy(s, "drafter")).measured;
    const auto rounds = static_cast<double>(m.drafter.steps);
    const double half_width = 1.96 * deviation(s.serving.decode.drafter->law(), drafted) / std::sqrt(rounds);
    Figure f;
    f.id = fmt::format("baselines/accepted.{}", p.name);
    f.what = fmt::format("{}", p.what);
    f.unit = "tokens";
    f.expected = p.mean_length;
    f.simulated = 1 + static_cast<double>(m.drafter.accepted_tokens) / rounds;
    f.measure = Measure::absolute;
    f.tolerance = std::floor((half_width + 0.005) * 1e4) * 1e-4;
    f.source = p.source;
    f.assumptions = {
        "mean length of a round, the model's own token included; judged within the 95 % interval of the mean (over "
        "200,000 "
        "rounds and more, drawn by the published positions) and 0.005 of rounding"};
    figures.push_back(std::move(f));
  }
}

}  // namespace

std::vector<Figure> baselines_figures(const Inputs&) {
  Rows rows;
  add_models(rows);
  add_budgets(rows);
  add_lengths(rows);
  std::vector<Figure> figures = rows.take();
  add_acceptance(figures);
  return figures;
}

}  // namespace kvsim::validation
