#include "planner/plan/changing_rate.h"

#include <fmt/format.h>

#include <algorithm>

namespace kvsim::planner {
namespace {

double mean_rate(const models::ArrivalSpec& arrivals) {
  return arrivals.rate_per_s > 0 ? arrivals.rate_per_s : arrivals.over_time->mean_rate();
}

/// In requests per second.
double highest_rate(const models::ArrivalSpec& arrivals) {
  const models::RateOverTime& rates = *arrivals.over_time;
  if (rates.table.empty()) return mean_rate(arrivals) * (1 + rates.amplitude);
  const auto highest = std::max_element(rates.table.begin(), rates.table.end(),
                                        [](const auto& a, const auto& b) { return a.rate_per_s < b.rate_per_s; });
  return highest->rate_per_s * mean_rate(arrivals) / rates.mean_rate();
}

}  // namespace

std::string sized_for_the_highest(const models::ArrivalSpec& arrivals) {
  const std::string process = arrivals.kind == models::ArrivalKind::gamma
                                  ? fmt::format("{}, cv: {:.6g}", word(arrivals.kind), arrivals.cv)
                                  : std::string(word(arrivals.kind));
  const double highest = highest_rate(arrivals);
  return fmt::format(
      "the highest of this one is {0:.6g}/s. --set \"workload.arrivals={{process: {1}, rate: {0:.6g}/s}}\" is of that "
      "rate alone: what holds at it holds at all others, and where R/s is the most that does, all rates may be "
      "multiplied by R / {0:.6g}. How it goes as they change says run, or sweep over workload.arrivals.rate",
      highest, process);
}

}  // namespace kvsim::planner
