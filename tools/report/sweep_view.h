// A sweep as sections show it: its points, and which of them may be called the best. Internal to the maps.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/best_policy.h"
#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/results/sweep.h"

namespace kvsim::report {

/// The plot of a map, whose data are a row a y label; `corner` heads the labels.
[[nodiscard]] Plot mapped(Plot p, plot::HeatMap map, const std::string& corner);

/// Whether none of an axis' values is a choice, however requests arrive.
[[nodiscard]] inline bool is_given(std::string_view path) {
  return results::is_given(path, true);
}

[[nodiscard]] inline bool is_lossy(const Json& point) {
  return !results::quality_of(at(point, {"result"})).lossless;
}

/// " (its output differs from that of full-KV decoding: ...)"; empty where it does not.
[[nodiscard]] inline std::string lossy_words(const Json* point) {
  if (point == nullptr || !is_lossy(*point)) return {};
  return fmt::format(" ({})", output_words(at(*point, {"result"})));
}

struct SweepView {
  const Json& sweep;
  SweepRule rule;
  std::string metric;
  bool less;  ///< is better
  std::vector<const Json*> points;
  Contest contest;
  std::optional<results::Choice> choice;
  const Json* best = nullptr;  ///< the chosen one; null: none has the metric

  explicit SweepView(const Json& document)
      : sweep(document), rule(rule_of(document)), metric(rule.metric), less(rule.order.less) {
    for (const Json& point : at(sweep, {"points"})) points.push_back(&point);
    contest = contest_of(rule, points);
    if (has(document, {"best"})) choice = contest.choice();
    if (choice) best = points[choice->best.chosen];
  }
  /// Whether a point may be called the best: none where all are in no steady state, or even.
  [[nodiscard]] bool marked() const { return best != nullptr && !behind(*best).unsteady && !all_even(); }
  [[nodiscard]] bool all_even() const {
    const auto ranked = std::count_if(points.begin(), points.end(),
                                      [this](const Json* point) { return std::isfinite(figure(*point)); });
    return choice && results::none_chosen(choice->best, static_cast<std::size_t>(ranked));
  }
  [[nodiscard]] results::Shortfall behind(const Json& point) const {
    return results::shortfall_of(at(point, {"result"}), rule.asked);
  }
  /// Words for a point that comes first by this rule.
  [[nodiscard]] std::string first_words(const Json& point, const results::Best& by) const {
    return behind(point).nothing() ? "the " + results::rule_words(by) : "the nearest to what is asked for";
  }
  [[nodiscard]] double figure(const Json& point) const { return swept_figure(at(point, {"result"}), metric); }
  /// The chosen one of some points, and by which rule; null: none has the figure, or none is in a steady state.
  [[nodiscard]] std::pair<const Json*, results::Best> best_of(const std::vector<const Json*>& some) const {
    const auto chosen = contest_of(rule, some).choice();
    if (!chosen || behind(*some[chosen->best.chosen]).unsteady) return {};
    return {some[chosen->best.chosen], chosen->best};
  }
  /// "the best, decode.keep_ratio = 0.1: 102 (its output differs ...)", or why no point is.
  [[nodiscard]] std::string best_text() const {
    if (best == nullptr) return "no point, for none has the figure";
    if (all_even()) return "no point, for their differences may be chance";
    if (!marked()) return "no point, for none is in a steady state";
    std::string said;
    for (const auto& [path, value] : at(*best, {"set"}).items()) {
      said += fmt::format("{}{} = {}", said.empty() ? "" : ", ", path, scalar_text(value));
    }
    return fmt::format("{}, {}: {}{}", first_words(*best, choice->best), said, printed(metric, figure(*best)),
                       lossy_words(best));
  }
};

/// Adds a plot of one axis or two, and of more a map a value, or a scatter plot. `index`: of the sweep.
void add_sweep_maps(Section& s, const SweepView& view, std::size_t index);

/// Adds the points, at most so many, and why others cannot be simulated (sweep_tables.cpp).
void add_sweep_tables(Section& s, const SweepView& view);

}  // namespace kvsim::report
