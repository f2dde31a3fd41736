// What cannot be had together: tokens/s of a GPU and tokens/s of a user.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "tools/report/choice.h"
#include "tools/report/report.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

constexpr const char* kPerUser = "tokens/s per user";
constexpr const char* kPerGpu = "tokens/s per GPU";

plot::Chart chart(std::string title, std::string description) {
  plot::Chart c;
  c.title = std::move(title);
  c.description = std::move(description);
  c.x_title = kPerUser;
  c.y_title = kPerGpu;
  c.shape = plot::Shape::points;
  return c;
}

/// A point a policy: 1 / mean TPOT against tokens/s per GPU.
void add_policies(Section& s, const Inputs::Compared& compared, std::size_t index) {
  Plot p;
  p.id = numbered("policies", index);
  p.title = "Policies: throughput against the speed of a user";
  p.caption =
      "Up and to the right is better. Tokens/s per user: 1 / mean time per output token (TPOT). Simulated, at the load "
      "of the scenario.";
  p.data = table(p.title, {{"policy"}, {kPerUser, true}, {kPerGpu, true}, {"output", true}});
  plot::Chart c = chart(p.title, "A point a policy.");
  for (const Simulated& run : compared.results) {
    const double tpot = number_or_nan(run.result, {"latency_s", "tpot", "mean"});
    const double per_gpu = number_or_nan(run.result, {"throughput", "output_tokens_per_s_per_gpu"});
    if (!(tpot > 0) || !std::isfinite(per_gpu)) continue;
    const bool lossless = is_lossless(run.result);
    p.data.rows.push_back({run.policy, cell(1 / tpot, results::figure), cell(per_gpu, results::figure),
                           lossless ? Cell{"lossless", 1.0}
                                    : cell(number_or_nan(run.result, {"quality", "mean_score"}), results::figure)});
    plot::Series series{run.policy + (lossless || run.policy == "lossy" ? "" : " (lossy)"), {{1 / tpot, per_gpu}}};
    series.tips.push_back(tip_of(p.data, p.data.rows.size() - 1));
    p.legend.push_back(series.label);
    c.series.push_back(std::move(series));
  }
  if (c.series.size() < 2) return;
  p.drawing = std::move(c);
  s.blocks.emplace_back(std::move(p));
}

/// The planner's front, a series a policy.
void add_front(Section& s, const Json& plan, std::size_t index) {
  const Json& points = at(plan, {"pareto", "points"});
  if (!points.is_array() || points.empty()) return;
  Plot p;
  p.id = numbered("pareto", index);
  p.title = "Pareto front: throughput, speed of a user and quality";
  p.caption =
      "Nothing else of these policies gives more of all three. By the closed forms; on one machine, cost and energy "
      "per "
      "token follow from tokens/s per GPU.";
  p.data = table(p.title, {{"policy"},
                           {kPerUser, true},
                           {kPerGpu, true},
                           {"quality", true},
                           {"$ per 1M output tokens", true},
                           {"J per token, at most", true},
                           {"plan"}});
  plot::Chart c = chart(p.title, "Points that no other plan beats, by policy.");
  std::map<std::string, std::size_t> series_of;
  std::vector<const Json*> ordered;  // what loses nothing first
  for (const Json& point : points) ordered.push_back(&point);
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const Json* one) { return number(*one, {"quality"}).value_or(0) >= 1; });
  for (const Json* found : ordered) {
    const Json& point = *found;
    const std::string policy = text(point, {"policy"});
    const double x = number_or_nan(point, {"tokens_per_s_per_user"}),
                 y = number_or_nan(point, {"tokens_per_s_per_gpu"});
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    p.data.rows.push_back({policy, cell(x, results::figure), cell(y, results::figure),
                           cell(number_or_nan(point, {"quality"}), results::percent),
                           cell(number_or_nan(point, {"usd_per_1m_output_tokens"}), usd),
                           cell(number_or_nan(point, {"joules_per_output_token_at_most"}), results::figure),
                           plan_text(at(point, {"plan"}))});
    const auto [entry, fresh] = series_of.try_emplace(policy, c.series.size());
    if (fresh) {
      c.series.push_back({policy, {}});
      p.legend.push_back(policy);
    }
    plot::Series& series = c.series[entry->second];
    series.points.push_back({x, y});
    series.tips.push_back(tip_of(p.data, p.data.rows.size() - 1));
  }
  p.drawing = std::move(c);
  s.blocks.emplace_back(std::move(p));
}

}  // namespace

Section trade_off(const Inputs& inputs) {
  Section s{"trade-off", "Throughput against the speed of a user", {}};
  for (std::size_t i = 0; i < inputs.compares.size(); ++i) add_policies(s, inputs.compares[i], i);
  for (std::size_t i = 0; i < inputs.plans.size(); ++i) add_front(s, inputs.plans[i], i);
  return s;
}

}  // namespace kvsim::report
