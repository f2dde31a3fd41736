// Fits to a recorded trace, and two traces beside each other, for people and as JSON documents.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/traffic/traffic_comparison.h"
#include "planner/traffic/traffic_fit.h"
#include "tools/results/fields.h"

namespace kvsim::results {

struct FitOutcome : planner::traffic::TrafficFit {
  std::string trace;  ///< its file
  std::string format;
};

Json fit_document(const FitOutcome& outcome);
KeyList fit_keys();
/// The fragment, YAML that stands in a scenario, below comments that say how well it fits and what is lost. Without
/// `all_values` lengths that no law is near are few values, with what that changes.
std::string fit_yaml(FitOutcome outcome, bool all_values);
/// {file name, contents}: shares of gaps and lengths up to each value, of the trace and of the law, and the rate over
/// time, as SVG.
std::vector<std::pair<std::string, std::string>> fit_charts(const FitOutcome& outcome,
                                                            const planner::traffic::TrafficSample& sample);
/// The names of those files.
std::vector<std::string> fit_chart_names();

struct TraceComparison : planner::traffic::TrafficComparison {
  std::string trace_a, trace_b;  ///< files
};

Json trace_comparison_document(const TraceComparison& outcome);
KeyList trace_comparison_keys();
Page trace_comparison_page(const TraceComparison& outcome);

}  // namespace kvsim::results
