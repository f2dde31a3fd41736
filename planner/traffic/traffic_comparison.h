// Two traces side by side: what describes them, and how far their laws are apart.
#pragma once

#include "planner/traffic/traffic_sample.h"

namespace kvsim::planner::traffic {

/// The distance between two samples (Kolmogorov and Smirnov), and what chance does to samples of their sizes.
struct Apart {
  double distance = 0;
  double by_chance = 0;  ///< samples of one law are farther apart with a chance of 5 %

  [[nodiscard]] bool beyond_chance() const { return distance > by_chance; }
};

struct TrafficComparison {
  models::TraceStatistics a, b;
  double length_correlation_a = 0, length_correlation_b = 0;  ///< Spearman's, of prompt and output
  Apart gaps, prompts, outputs;
};

/// Both with at least one request.
TrafficComparison compare_traffic(const TrafficSample& a, const TrafficSample& b);

}  // namespace kvsim::planner::traffic
