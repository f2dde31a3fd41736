// Placement policies side by side.
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/compare_columns.h"
#include "tools/results/placement_results.h"

namespace kvsim::results {
namespace {

double hits(const Outcome& o, const std::string& tier) {
  const auto found = o.result.measured.tiers.find(tier);
  if (found == o.result.measured.tiers.end()) return kNone;
  const auto hits = static_cast<double>(found->second.hits);
  return share(hits, hits + static_cast<double>(found->second.misses));
}

double computed_share_of_prompts(const Outcome& o) {
  const serving::PlacementMeasurement& p = o.result.measured.placement;
  const auto tokens = static_cast<double>(p.computed_tokens);
  return share(tokens, tokens + static_cast<double>(p.loaded_tokens));
}

}  // namespace

std::optional<double> ttft_speedup(const planner::ExperimentResult& result, const planner::ExperimentResult& baseline) {
  const double own = result.measured.ttft_s.mean(), base = baseline.measured.ttft_s.mean();
  if (!(own > 0) || !(base > 0)) return std::nullopt;
  return base / own;
}

std::vector<Column> first_token_columns(const std::vector<Outcome>& all) {
  std::vector<Column> columns;
  columns.push_back(seconds_column("TTFT\n", "ttft_mean_s",
                                   values_of(all, [](const Outcome& o) { return o.result.measured.ttft_s.mean(); })));
  columns.push_back(speedup_column(
      values_of(all, [&all](const Outcome& o) { return ttft_speedup(o.result, all.front().result).value_or(kNone); })));
  columns.push_back(seconds_column("TTFT\np99 ", "ttft_p99_s", values_of(all, [](const Outcome& o) {
                                     return o.result.measured.ttft_s.quantile(0.99);
                                   })));
  return columns;
}

bool decodes_differently(const std::vector<Outcome>& all) {
  return std::any_of(all.begin(), all.end(),
                     [](const Outcome& o) { return o.scenario.serving.decode.policy != "full_kv"; });
}

std::vector<Column> placement_columns(const Comparison& comparison) {
  const std::vector<Outcome>& all = comparison.outcomes;
  std::vector<Column> columns = first_token_columns(all);
  if (decodes_differently(all)) columns.push_back(tpot_column(all));
  columns.push_back(fidelity_column("quality", all));
  for (const std::string& tier : tier_names(all.front().scenario)) {
    columns.push_back(percent_column(tier, "", values_of(all, [&tier](const Outcome& o) { return hits(o, tier); })));
  }
  columns.push_back(percent_column("computed", "", values_of(all, computed_share_of_prompts)));
  columns.push_back(link_column(all));
  if (!decodes_differently(all)) {
    columns.push_back(percent_column("GPU", "", values_of(all, [](const Outcome& o) {
                                       return share(o.result.measured.busy_s, o.result.measured.capacity_s);
                                     })));
  }
  columns.push_back(cost_column(comparison));
  return columns;
}

std::vector<std::string> placement_notes(const std::vector<Outcome>& outcomes) {
  return {
      fmt::format("TTFT: mean time to the first token; speedup: that of {} over it", outcomes.front().policy),
      "quality: lossless, or mean task score relative to full KV",
      fmt::format("{}: share of lookups that were found there", fmt::join(tier_names(outcomes.front().scenario), ", ")),
      decodes_differently(outcomes) ? "TPOT: mean over requests; computed: share of prompt tokens; link: the busiest"
                                    : "computed: share of prompt tokens; link: the busiest; GPU: share of time busy"};
}

}  // namespace kvsim::results
