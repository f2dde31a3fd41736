// How wrong the times of a result may be.
#include "tools/results/stated_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/metrics/metric.h"

namespace kvsim::results {
namespace {

using planner::ErrorInterval;
using planner::StatedError;

/// A number of the stated error.
template <class Get>
auto stated(Get get) {
  return [get](const View& v) { return Figure{get(error_of(v.outcome))}; };
}

Metrics interval_metrics(const std::string& name, const std::string& of, ErrorInterval StatedError::*interval) {
  const std::string key = "details.model_error." + name;
  const auto bound = [interval](double ErrorInterval::*which) {
    return stated([interval, which](const StatedError& e) { return e.*interval.*which; });
  };
  return {{key + ".low", kFactor, kNeither, "measured / predicted " + of + ", lower end", bound(&ErrorInterval::low)},
          {key + ".middle", kFactor, kNeither, "the same, in the middle", bound(&ErrorInterval::middle)},
          {key + ".high", kFactor, kNeither, "the same, upper end", bound(&ErrorInterval::high)}};
}

}  // namespace

Metrics stated_error_metrics() {
  Metrics rows{
      {"details.model_error.confidence", kShare, kNeither, "with which what an engine measures lies in these intervals",
       stated([](const StatedError& e) { return e.confidence; })},
      {"details.model_error.group", kText, kNeither, "whose measured points they are of: the nearest that have enough",
       stated([](const StatedError& e) { return e.group; })},
      {"details.model_error.groups", kCount, kNeither, "models, GPUs and engines among them",
       stated([](const StatedError& e) { return e.groups; })},
      {"details.model_error.points", kCount, kNeither, "measured points among them",
       stated([](const StatedError& e) { return e.points; })},
      {"details.model_error.not_measured", kText, kNeither,
       "what no measured point has of this scenario, whose error is not known; empty: nothing",
       [](const View& v) { return Figure{fmt::format("{}", fmt::join(not_measured(v.outcome.scenario), ", "))}; }}};
  append(rows, interval_metrics("tpot", "time per output token", &StatedError::tpot));
  append(rows, interval_metrics("ttft", "time to first token", &StatedError::ttft));
  append(rows, interval_metrics("e2e", "time of a request, of which throughput in a closed loop is the reciprocal",
                                &StatedError::e2e));
  return rows;
}

}  // namespace kvsim::results
