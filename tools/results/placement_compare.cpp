// Placement policies side by side.
#include <limits>

#include <fmt/format.h>

#include "tools/results/numbers.h"
#include "tools/results/placement_results.h"

namespace kvsim::results {
namespace {

std::string whole_percent(double part, double of) {
  return of > 0 ? fmt::format("{:.0f} %", part / of * 100) : "-";
}

std::vector<std::string> row(std::string label, const Outcome& o, const Outcome& baseline, const PlacementRow& rest) {
  const serving::Measurements& m = o.result.measured;
  const double speedup = ttft_speedup(o.result, baseline.result).value_or(std::numeric_limits<double>::quiet_NaN());
  std::vector<std::string> cells{std::move(label), seconds(m.ttft_s.mean()), factor(speedup),
                                 seconds(m.ttft_s.quantile(0.99)), rest.output};
  for (const std::string& name : tier_names(o.scenario)) {
    const auto found = m.tiers.find(name);
    const serving::TierMeasurement tier = found == m.tiers.end() ? serving::TierMeasurement{} : found->second;
    cells.push_back(whole_percent(static_cast<double>(tier.hits), static_cast<double>(tier.hits + tier.misses)));
  }
  const auto computed = static_cast<double>(m.placement.computed_tokens);
  cells.push_back(whole_percent(computed, computed + static_cast<double>(m.placement.loaded_tokens)));
  cells.push_back(rest.link_use);
  cells.push_back(whole_percent(m.busy_s, m.capacity_s));
  return cells;
}

}  // namespace

std::optional<double> ttft_speedup(const planner::ExperimentResult& result, const planner::ExperimentResult& baseline) {
  const double own = result.measured.ttft_s.mean(), base = baseline.measured.ttft_s.mean();
  if (!(own > 0) || !(base > 0)) return std::nullopt;
  return base / own;
}

Table placement_table(const std::vector<Outcome>& outcomes, const std::vector<PlacementRow>& rows, Labels labels) {
  Table t;
  t.header = {"policy", "TTFT", "speedup", "TTFT p99", "quality"};
  for (std::string& name : tier_names(outcomes.front().scenario)) t.header.push_back(std::move(name));
  for (const char* name : {"computed", "link", "GPU"}) t.header.emplace_back(name);
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  std::string group;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& o = outcomes[i];
    const std::size_t colon = o.policy.find(':');
    std::string label = o.policy;
    // "utility:least_drop_per_byte" beside the figures of three tiers would be wider than a terminal.
    if (labels == Labels::grouped && colon != std::string::npos) {
      const std::string policy = o.policy.substr(0, colon);
      if (policy != group) t.rows.push_back({policy + ":"});
      group = policy;
      label = "  " + o.policy.substr(colon + 1);
    } else {
      group.clear();
    }
    t.rows.push_back(row(std::move(label), o, outcomes.front(), rows[i]));
  }
  return t;
}

List placement_columns(const std::vector<Outcome>& outcomes) {
  std::string tiers;
  for (const std::string& name : tier_names(outcomes.front().scenario)) tiers += (tiers.empty() ? "" : ", ") + name;
  return {"Columns",
          {fmt::format("TTFT: mean time to the first token; speedup: that of {} over it", outcomes.front().policy),
           "quality: lossless, or mean task score relative to full KV",
           fmt::format("{}: share of lookups that were found there", tiers),
           "computed: share of prompt tokens; link: the busiest; GPU: share of time busy"}};
}

}  // namespace kvsim::results
