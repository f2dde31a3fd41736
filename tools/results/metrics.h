// The table of metrics: every figure of a result in one row, with its unit, which direction is better, a sentence, when
// it exists and how it is worked out (tools/results/metrics/metric.h). Documents, pages, comparisons, sweeps, `kvsim
// list metrics`, the JSON Schema of results and their reference page are made from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/results/metrics/metric.h"

namespace kvsim::results {

/// All rows, in the order of the document of a run.
const Metrics& all_metrics();

/// The row of a path as results have it ("links.host_to_gpu.bytes", "latency_s.ttft.mean.half_width_95"); null where
/// there is none.
const Metric* find_metric(std::string_view path);

/// Which keys of a document.
enum class Keys { figures, timeline, details };

/// Sets the figures of `view`; reasons of those that are null go to `reasons`, by path.
void add_figures(Json& document, Json& reasons, const View& view, Keys keys);

/// The figures of one outcome, by key: what pages are written from.
class Figures {
 public:
  explicit Figures(const Outcome& outcome, bool timing = false) : view_{outcome, timing} {}

  /// kNone where there is no figure. `name` stands for the * of the key.
  [[nodiscard]] double at(std::string_view key, std::string name = {}) const;
  /// As its unit is printed; "-" where there is none.
  [[nodiscard]] std::string text(std::string_view key, std::string name = {}) const;

 private:
  View view_;
};

/// As its unit is printed. `path` as find_metric takes it.
std::string printed_figure(std::string_view path, double value);

/// The metric as sweeps call it ("throughput.requests_per_s.half_width_95" for what documents have under confidence).
/// Refuses, with schema::InputError, one that cannot rank points: that no result can have (with the nearest names),
/// that points do not keep, or of which neither more nor less is better.
std::string checked_metric(const std::string& path);
/// Whether a result of the scenario may have it.
bool may_have(const scenario::Scenario& scenario, const std::string& path);
/// Refuses, with schema::InputError, a metric that no result of these points has; `scenario` is one of them.
[[noreturn]] void refuse_metric_of_others(const scenario::Scenario& scenario, const std::string& path);

/// Names that can be given for ranking, those that do not depend on the scenario.
std::vector<std::string> metric_names();

/// Whether less of a figure is better; false for what is not in the table.
bool less_is_better(std::string_view path);

/// The rows as keys, and those of a result of kvsim run.
KeyList keys_of(const Metrics& rows);
KeyList run_keys();

}  // namespace kvsim::results
