#include "sim/serving/slo.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace kvsim::serving {
namespace {

std::size_t number_of(SloMetric metric) {
  return static_cast<std::size_t>(metric);
}

std::string either(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return list;
}

}  // namespace

std::string percentile_name(std::size_t percentile) {
  return fmt::format("p{}", kSloPercentiles.at(percentile));
}

std::optional<double>& SloConfig::limit(SloMetric metric, int percentile) {
  const auto* found = std::find(kSloPercentiles.begin(), kSloPercentiles.end(), percentile);
  if (found == kSloPercentiles.end()) throw std::out_of_range(fmt::format("no objective is of p{}", percentile));
  return limits_s.at(number_of(metric)).at(static_cast<std::size_t>(found - kSloPercentiles.begin()));
}

std::vector<SloObjective> SloConfig::objectives() const {
  std::vector<SloObjective> all;
  for (const SloMetricEntry& entry : kSloMetrics) {
    for (std::size_t p = 0; p < kSloPercentiles.size(); ++p) {
      if (const auto& limit = limits_s.at(number_of(entry.metric)).at(p)) all.push_back({entry.metric, p, *limit});
    }
  }
  return all;
}

bool SloConfig::any() const {
  bool any = false;
  for (std::size_t p = 0; p < kSloPercentiles.size(); ++p) any = any || asks(p);
  return any;
}

std::optional<double> SloConfig::longest_s(SloMetric metric) const {
  std::optional<double> longest;
  for (const auto& limit : limits_s.at(number_of(metric))) {
    if (limit) longest = std::max(longest.value_or(0), *limit);
  }
  return longest;
}

bool SloConfig::asks(std::size_t percentile) const {
  return std::any_of(limits_s.begin(), limits_s.end(),
                     [percentile](const auto& limits) { return limits.at(percentile).has_value(); });
}

std::string slo_key(SloMetric metric, std::size_t percentile) {
  return fmt::format("{}_{}", kSloMetrics.at(number_of(metric)).key, percentile_name(percentile));
}

std::string slo_name(const SloObjective& objective, char between) {
  return kSloMetrics.at(static_cast<std::size_t>(objective.metric)).name +
         (between + percentile_name(objective.percentile));
}

std::vector<std::string> slo_keys() {
  std::vector<std::string> keys;
  for (const SloMetricEntry& entry : kSloMetrics) {
    for (std::size_t p = 0; p < kSloPercentiles.size(); ++p) keys.push_back(slo_key(entry.metric, p));
  }
  return keys;
}

std::string expected_slo_keys() {
  std::vector<std::string> metrics, percentiles;
  for (const SloMetricEntry& entry : kSloMetrics) metrics.emplace_back(entry.key);
  for (std::size_t p = 0; p < kSloPercentiles.size(); ++p) percentiles.push_back("_" + percentile_name(p));
  return fmt::format("{} with {}, such as {}", either(metrics), either(percentiles), slo_key(SloMetric::ttft, 2));
}

}  // namespace kvsim::serving
