// Row of the table of metrics: everything there is to know about one figure of a result. The rows lie in
// the files beside this one, a file a subject; tools/results/metrics.h puts them together.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/results/numbers.h"
#include "tools/results/outcome.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// A value of a result, or null and why there is none.
struct Figure {
  Json value;
  std::string reason = {};
};

/// Whether the scenario, or one of its classes, limits a latency, so that requests can meet objectives or miss them.
[[nodiscard]] bool has_objectives(const scenario::Scenario& scenario);
inline constexpr std::string_view kNoObjective = "no latency objective is set";

/// `part`, or `whole` where it is above that by no more than rounding: the sum of a time's parts.
double at_most_whole(double part, double whole);

/// Finite, or null for `reason`.
Figure number(double value, std::string_view reason);
/// Null for `reason` where the denominator is 0.
Figure ratio(double numerator, double denominator, std::string_view reason);
Figure missing(std::string_view reason);
Figure count(std::integral auto value) {
  return {value};
}

/// Source of a figure.
struct View {
  const Outcome& outcome;
  bool timing = false;                         ///< with figures of the wall clock
  std::string name = {};                       ///< that the * of the key stands for
  const Outcome* baseline = nullptr;           ///< of a comparison
  const models::PriceTable* prices = nullptr;  ///< of a comparison; null: the built-in one

  [[nodiscard]] const serving::Measurements& measured() const { return outcome.result.measured; }
  [[nodiscard]] const serving::ServingConfig& config() const { return outcome.scenario.serving; }
};

/// When results have a figure.
struct Condition {
  std::string_view words;  ///< "where KV is fetched"; empty: always
  bool (*holds)(const scenario::Scenario&) = nullptr;
};

/// Names that the * of keys may stand for.
struct Names {
  std::string_view words;                                           ///< "link"
  std::vector<std::string> (*of)(const Outcome&);                   ///< in this result
  std::vector<std::string> (*possible)(const scenario::Scenario&);  ///< in any result of the scenario
};

struct Metric {
  std::string key;  ///< path in the JSON document; * stands for one of `names`
  Unit unit;
  Better better = Better::neither;
  std::string sentence;
  std::function<Figure(const View&)> figure;
  const Condition* when = nullptr;  ///< null: always
  const Names* names = nullptr;
  bool only_timed = false;     ///< left out of results without the wall clock
  std::string_view each = {};  ///< between the key and its numbers, where it has several: "[]", ".*", ".*[]"
  std::string statistic = {};  ///< of a sample that the sentence is about: "p99"

  [[nodiscard]] bool exists(const scenario::Scenario& scenario) const {
    return when == nullptr || when->holds(scenario);
  }
  /// The key with `name` in place of the *.
  [[nodiscard]] std::string path(std::string_view name) const;
};

using Metrics = std::vector<Metric>;

/// These rows, there only where the condition holds.
Metrics when(const Condition& condition, Metrics rows);
/// These rows, one for every name.
Metrics for_each(const Names& names, Metrics rows);
/// These rows, each a list of figures or figures by name: `between` as Metric::each.
Metrics several(std::string_view between, Metrics rows);
void append(Metrics& all, Metrics more);

/// Why a figure of the wall clock is not there unless it was asked for.
inline constexpr std::string_view kNotTimed =
    "a wall-clock figure differs between equal runs: ask for it with --timing";
/// `amount` a second of the wall clock.
Figure wall_rate(const View& view, double amount);

/// mean, p50, p90, p95, p99, max of a sample under `key`; null for `reason` where it is empty.
Metrics sample_metrics(const std::string& key, const std::string& sentence,
                       engine::Sample serving::Measurements::*sample, std::string_view reason);

// The rows by subject, in the order of the document.
Metrics request_metrics();
Metrics traffic_metrics();
Metrics speculation_metrics();
Metrics drafter_metrics();
Metrics machine_metrics();
/// The first of the machine's: fidelity of answers, and complexity.
Metrics quality_metrics();
/// Behind the objectives: by how much floors of quality are missed.
Metrics floor_metrics();
Metrics pools_metrics();
Metrics fetch_metrics();
Metrics placement_metrics();
Metrics reuse_metrics();
Metrics run_metrics();
Metrics timeline_metrics();
Metrics detail_metrics();
Metrics stated_error_metrics();
/// Those of these metrics that are of the simulation's speed by the wall clock.
Metrics speed_metrics();

/// Whether the scenario, or a class of its requests, has a floor of quality.
bool has_floor(const scenario::Scenario& scenario);

/// The keys of a map, in their order.
template <class T>
std::vector<std::string> keys_of(const std::map<std::string, T>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// Rows of several lines.
Figure policies(const View& view);
Figure pools_configuration(const View& view);

extern const Condition kPools, kPlaces, kSessions, kTokenises;
extern const Names kLinks, kTiers;

}  // namespace kvsim::results
