#include "tools/results/simulated_plan.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tools/results/numbers.h"
#include "tools/results/plan_document.h"
#include "tools/results/plan_page.h"

namespace kvsim::results {
namespace {

using planner::SimulatedCandidate;
using planner::SimulatedPlan;

Json interval(const engine::ConfidenceInterval& i) {
  return {{"mean", i.mean},
          {"half_width_95", std::isfinite(i.half_width_95) ? Json(i.half_width_95) : Json(nullptr)},
          {"replications", i.observations}};
}

template <class T, class Write>
Json maybe(const std::optional<T>& value, Write write) {
  return value ? Json(write(*value)) : Json(nullptr);
}

Json planned(const SimulatedCandidate& c) {
  Json plan = {{"x", c.point.x}, {"c", c.point.c}};
  plan["B_c"] = c.open_batch ? Json("open") : Json(c.point.batch.B_c);
  plan["B_g"] = c.open_batch ? Json("open") : Json(c.point.batch.B_g);
  return plan;
}

std::string in_words(const SimulatedCandidate& c) {
  if (!c.open_batch) return plan_in_words(c.point);
  if (c.point.x == 0) return "decode with the full KV, as many requests as fit";
  return fmt::format("draft {} tokens on KV kept to {:.4g}, as many requests as fit", c.point.x, c.point.c);
}

double half_width(const SimulatedCandidate& c) {
  return engine::confidence_95(c.tokens_per_s).half_width_95;
}

}  // namespace

Json simulated_plan(const SimulatedPlan& found) {
  Json candidates = Json::array();
  for (const SimulatedCandidate& c : found.candidates) {
    candidates.push_back({{"origin", c.origin},
                          {"plan", planned(c)},
                          {"predicted_tokens_per_s", maybe(c.predicted, [](double v) { return v; })},
                          {"simulated_tokens_per_s", c.mean()},
                          {"half_width_95", std::isfinite(half_width(c)) ? Json(half_width(c)) : Json(nullptr)},
                          {"replications", c.tokens_per_s.size()},
                          {"stopped_early", c.stopped}});
  }
  return {{"best", planned(found.best())},
          {"origin", found.best().origin},
          {"throughput_tokens_per_s", interval(found.throughput)},
          {"full_kv_tokens_per_s", maybe(found.full_kv, interval)},
          {"speedup", maybe(found.speedup, interval)},
          {"predicted_over_simulated", maybe(found.gap(), [](double gap) { return gap + 1; })},
          {"simulations", found.simulations},
          {"candidates", std::move(candidates)},
          {"remark",
           "per replica; the intervals are from seeds that were not used to choose, those of the candidates from seeds "
           "that were"}};
}

std::string simulated_verdict(const SimulatedPlan& found) {
  const SimulatedCandidate& best = found.best();
  std::string text = fmt::format("Simulated: {}: {} {} tokens/s", in_words(best), figure(found.throughput.mean),
                                 plus_minus(found.throughput.half_width_95));
  if (found.speedup) {
    text += fmt::format(", {} {} of full-KV decoding", factor(found.speedup->mean),
                        plus_minus(found.speedup->half_width_95, factor));
  }
  if (const auto gap = found.gap()) {
    text += fmt::format("; the closed form said {} ({:+.1f} %)", figure(*best.predicted), *gap * 100);
  }
  return text + ".";
}

Table simulated_table(const SimulatedPlan& found) {
  constexpr std::size_t kShown = 20;
  Table t;
  t.title = fmt::format("Simulated candidates, best first ({} simulations)", whole(found.simulations));
  t.header = {"why tried", "x", "c", "B_c", "B_g", "predicted", "simulated", "", "seeds"};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  for (const SimulatedCandidate& c : found.candidates) {
    if (t.rows.size() == kShown) break;
    const std::string predicted = c.predicted ? figure(*c.predicted) : "infeasible";
    t.rows.push_back({c.origin, whole(c.point.x), fmt::format("{:.4g}", c.point.c),
                      c.open_batch ? "open" : whole(c.point.batch.B_c), c.open_batch ? "" : whole(c.point.batch.B_g),
                      predicted, figure(c.mean()), plus_minus(half_width(c)),
                      fmt::format("{}{}", c.tokens_per_s.size(), c.stopped ? ", stopped" : "")});
  }
  return t;
}

}  // namespace kvsim::results
