// What the search with the simulator in the loop found.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "tools/results/plan_parts.h"

namespace kvsim::results {
namespace {

using planner::SimulatedCandidate;
using planner::SimulatedPlan;

double half_width_of_mean(const SimulatedCandidate& c) {
  return engine::confidence_95(c.tokens_per_s).half_width_95;
}

/// How many of a batch that was tried, or "open": as many as fit.
auto tried(std::int64_t planner::Batch::*requests) {
  return
      [requests](const SimulatedCandidate& c) { return c.open_batch ? Json("open") : Json(c.point.batch.*requests); };
}

Fields<SimulatedCandidate> tried_fields() {
  using C = SimulatedCandidate;
  return {{"x", {kTokens, "draft length that was tried"}, "x", [](const C& c) { return c.point.x; }},
          {"c", {kPlain, "keep ratio that was tried"}, "c", [](const C& c) { return c.point.c; }, keep_ratio_text},
          {"B_c",
           {kRequestsOrWord, "requests with their full KV in host memory, or open: as many as fit"},
           "B_c",
           tried(&planner::Batch::B_c)},
          {"B_g",
           {kRequestsOrWord, "requests with their full KV in GPU memory, or open: as many as fit"},
           "B_g",
           tried(&planner::Batch::B_g),
           [](const C& c) { return c.open_batch ? std::string() : whole(c.point.batch.B_g); }}};
}

Fields<SimulatedCandidate> candidate_fields() {
  using C = SimulatedCandidate;
  using F = Field<C>;
  Fields<C> fields{{"origin", {kText, "why the plan was tried"}, "why tried", &C::origin, Align::left},
                   F::part("plan", "what was tried", std::identity{}, tried_fields())};
  for (F field : tried_fields()) {
    field.key.clear();
    fields.push_back(std::move(field));
  }
  append(fields,
         {{"predicted_tokens_per_s",
           {kTokensPerS, kHigher, "what the closed form said; null: infeasible"},
           "predicted",
           &C::predicted,
           [](const C& c) { return c.predicted ? figure(*c.predicted) : "infeasible"; }},
          {"simulated_tokens_per_s",
           {kTokensPerS, kHigher, "what the simulation came to, mean over seeds"},
           "simulated",
           &C::mean},
          {"half_width_95",
           {kTokensPerS, kLower, "half the 95 % confidence interval of the simulated mean"},
           "",
           half_width_of_mean,
           [](const C& c) { return plus_minus(half_width_of_mean(c)); }},
          {"replications",
           {kCount, "seeds that were simulated"},
           "seeds",
           [](const C& c) { return c.tokens_per_s.size(); },
           [](const C& c) { return fmt::format("{}{}", c.tokens_per_s.size(), c.stopped ? ", stopped" : ""); }},
          {"stopped_early", {kTruth, "given up before all seeds: clearly worse than the best so far"}, &C::stopped}});
  return fields;
}

using engine::ConfidenceInterval;

Fields<ConfidenceInterval> interval_fields(const Unit& unit, const std::string& what) {
  return {{"mean", {unit, kHigher, what + ", mean over seeds"}, &ConfidenceInterval::mean},
          {"half_width_95",
           {unit, kLower, what + ", half the 95 % confidence interval"},
           &ConfidenceInterval::half_width_95},
          {"replications", {kCount, "seeds behind the interval"}, &ConfidenceInterval::observations}};
}

}  // namespace

Fields<SimulatedPlan> simulated_fields() {
  using S = SimulatedPlan;
  using F = Field<S>;
  return {F::part("best", "the plan that won", &S::best, tried_fields()),
          {"origin", {kText, "why the plan that won was tried"}, [](const S& s) { return s.best().origin; }},
          F::part("throughput_tokens_per_s", "of the plan that won, on seeds that did not choose it", &S::throughput,
                  interval_fields(kTokensPerS, "output tokens a second of the plan that won")),
          F::part("full_kv_tokens_per_s", "of decoding with the full KV, on the same seeds", &S::full_kv,
                  interval_fields(kTokensPerS, "output tokens a second of full-KV decoding")),
          F::part("speedup", "of the plan that won over full-KV decoding", &S::speedup,
                  interval_fields(kFactor, "speedup over full-KV decoding")),
          {"predicted_over_simulated",
           {kPlain, "what the closed form said over what was simulated"},
           [](const S& s) {
             const auto gap = s.gap();
             return gap ? std::optional(*gap + 1) : std::nullopt;
           }},
          {"simulations", {kCount, "simulations that the search took"}, &S::simulations},
          F::list("candidates", "plans that were simulated, best first", &S::candidates, candidate_fields()),
          {"remark", {kText, "which seeds the intervals are from"}, [](const S&) {
             return "per replica; the intervals are from seeds that were not used to choose, those of the candidates "
                    "from seeds that were";
           }}};
}

std::string simulated_verdict(const SimulatedPlan& found) {
  const SimulatedCandidate& best = found.best();
  const std::string chosen = !best.open_batch ? in_words(best.point)
                             : best.point.x == 0
                                 ? "decode with the full KV, as many requests as fit"
                                 : fmt::format("draft {} tokens on KV kept to {}, as many requests as fit",
                                               best.point.x, keep_ratio_text(best.point.c));
  std::string text = fmt::format("Simulated: {}: {} {} tokens/s", chosen, figure(found.throughput.mean),
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
  Table t = table_of(fmt::format("Simulated candidates, best first ({} simulations)", whole(found.simulations)),
                     candidate_fields(), found.candidates);
  t.rows.resize(std::min(t.rows.size(), kShown));
  return t;
}

}  // namespace kvsim::results
