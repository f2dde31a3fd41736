#include "tools/results/sweep_words.h"

#include <map>

#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

std::string last_step(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

}  // namespace

std::vector<std::string> axis_labels(const std::vector<planner::sweep::Axis>& axes) {
  std::map<std::string, int> times;
  for (const planner::sweep::Axis& axis : axes) ++times[last_step(axis.path)];
  std::vector<std::string> result;
  for (const planner::sweep::Axis& axis : axes) {
    const std::string step = last_step(axis.path);
    result.push_back(times[step] == 1 ? step : axis.path);
  }
  return result;
}

std::string printed_figure(std::string_view metric, double value) {
  if (metric.starts_with("latency_s.") || metric.ends_with("_s.mean") || metric.ends_with("wait_s") ||
      metric.ends_with("mean_s") || metric.ends_with("p99_s")) {
    return seconds(value);
  }
  if (metric.ends_with("bytes") || metric.ends_with("bytes_peak")) return bytes(value);
  if (metric.starts_with("gpu.bound_by.") || metric == "slo.attainment") return percent(value);
  return figure(value);
}

}  // namespace kvsim::results
