#include "tools/results/metrics/metric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace kvsim::results {

Figure number(double value, std::string_view reason) {
  return std::isfinite(value) ? Figure{value} : missing(reason);
}

double at_most_whole(double part, double whole) {
  constexpr double kRounding = 1e-9;
  return part > whole && part <= whole * (1 + kRounding) ? whole : part;
}

bool has_objectives(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  if (c.classes.empty()) return c.slo.any();
  return std::any_of(c.classes.begin(), c.classes.end(),
                     [&c](const serving::ClassConfig& one) { return one.slo.value_or(c.slo).any(); });
}

Figure ratio(double numerator, double denominator, std::string_view reason) {
  return denominator == 0 ? missing(reason) : number(numerator / denominator, reason);
}

Figure missing(std::string_view reason) {
  return {nullptr, std::string(reason)};
}

Figure wall_rate(const View& view, double amount) {
  if (!view.timing) return missing(kNotTimed);
  return ratio(amount, view.outcome.result.wall_s, "the run was too short for the wall clock");
}

std::string Metric::path(std::string_view name) const {
  std::string text = key;
  const std::size_t star = text.find('*');
  return star == std::string::npos ? text : text.replace(star, 1, name);
}

Metrics when(const Condition& condition, Metrics rows) {
  for (Metric& row : rows) row.when = &condition;
  return rows;
}

Metrics for_each(const Names& names, Metrics rows) {
  for (Metric& row : rows) row.names = &names;
  return rows;
}

Metrics several(std::string_view between, Metrics rows) {
  for (Metric& row : rows) row.each = between;
  return rows;
}

void append(Metrics& all, Metrics more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

Metrics sample_metrics(const std::string& key, const std::string& sentence,
                       engine::Sample serving::Measurements::*sample, std::string_view reason) {
  const auto row = [&](std::string_view statistic, auto value) {
    return Metric{fmt::format("{}.{}", key, statistic),
                  kSeconds,
                  Better::less,
                  sentence,
                  [=](const View& v) { return number(value(v.measured().*sample), reason); },
                  nullptr,
                  nullptr,
                  false,
                  {},
                  std::string(statistic)};
  };
  Metrics rows{row("mean", [](const engine::Sample& s) { return s.mean(); })};
  constexpr std::array<std::pair<std::string_view, double>, 4> quantiles{
      {{"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}}};
  for (const auto& [name, q] : quantiles) {
    rows.push_back(row(name, [q = q](const engine::Sample& s) { return s.quantile(q); }));
  }
  rows.push_back(row("max", [](const engine::Sample& s) { return s.max(); }));
  return rows;
}

}  // namespace kvsim::results
