// Stored prompts in the page of a run.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/cache/prompt_cache.h"
#include "tools/results/drafting_results.h"
#include "tools/results/numbers.h"
#include "tools/results/placement_results.h"

namespace kvsim::results {
namespace {

using serving::Measurements;
using serving::PlacementMeasurement;

template <class T>
T found_or_none(const std::map<std::string, T>& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? T{} : found->second;
}

Table tiers(const Outcome& outcome) {
  const Measurements& m = outcome.result.measured;
  const bool verified = cache::verifies_stored(outcome.scenario.serving);
  Table t = with_columns("Tiers", {"", "hits", "of lookups", "evictions", "peak", "objects", "stored", "keep ratio"});
  if (verified) {
    t.header.emplace_back("kept whole");
    t.align.push_back(Align::right);
  }
  std::uint64_t hits = 0, lookups = 0;
  for (const std::string& name : tier_names(outcome.scenario)) {
    const auto tier = found_or_none(m.tiers, name);
    const auto contents = found_or_none(m.placement.contents, name);
    lookups = tier.hits + tier.misses;
    hits += tier.hits;
    t.rows.push_back({name, whole(tier.hits),
                      percent(share(static_cast<double>(tier.hits), static_cast<double>(lookups))),
                      whole(tier.evictions), bytes(static_cast<double>(tier.bytes_peak)), whole(contents.objects),
                      bytes(static_cast<double>(contents.bytes)), figure(mean_keep_ratio(contents))});
    if (verified) t.rows.back().push_back(bytes(static_cast<double>(contents.whole_bytes)));
  }
  const std::uint64_t computed = lookups - hits;
  t.rows.push_back(
      {"computed", whole(computed), percent(share(static_cast<double>(computed), static_cast<double>(lookups)))});
  return t;
}

/// Objects by representation, one tier a column; the most used first.
Table representations(const Outcome& outcome) {
  const auto& all = outcome.result.measured.placement.contents;
  const std::vector<std::string> names = tier_names(outcome.scenario);
  std::map<std::string, std::uint64_t> totals;
  for (const auto& [name, contents] : all) {
    for (const auto& [option, objects] : contents.options) totals[option] += objects;
  }
  std::vector<std::pair<std::string, std::uint64_t>> order(totals.begin(), totals.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> header{"objects"};
  header.insert(header.end(), names.begin(), names.end());
  Table t = with_columns("Representations at the end", std::move(header));
  for (const auto& [option, total] : order) {
    std::vector<Cell> row{option};
    for (const std::string& name : names) row.push_back(whole(found_or_none(found_or_none(all, name).options, option)));
    t.rows.push_back(std::move(row));
  }
  return t;
}

const char* granularity_text(const models::PlacementSpec& spec) {
  if (spec.granularity == models::Granularity::chunks) return "chunk by chunk";
  return spec.granularity == models::Granularity::blocks ? "block by block" : "each context as a whole";
}

Table prompts(const Outcome& outcome) {
  const PlacementMeasurement& p = outcome.result.measured.placement;
  const models::PlacementSpec& spec = *outcome.scenario.serving.placement;
  const auto loaded = static_cast<double>(p.loaded_tokens);
  const double all = loaded + static_cast<double>(p.computed_tokens);
  Table t = key_figures(fmt::format("Stored prompts: {}, {}", spec.policy, granularity_text(spec)));
  t.rows.push_back({"prompt tokens loaded", percent(share(loaded, all)), "",
                    fmt::format("{} loaded, {} computed", whole(p.loaded_tokens), whole(p.computed_tokens))});
  t.rows.push_back(
      {"loads", whole(p.loads), "", fmt::format("objects; {} more were on their way", whole(p.joined_loads))});
  t.rows.push_back({"stores", whole(p.stores), "", fmt::format("objects; {} were not", whole(p.unstored))});
  t.rows.push_back({"promotions", whole(p.promotions)});
  t.rows.push_back({"demotions", whole(p.demotions), "", fmt::format("{} objects were given up", whole(p.drops))});
  t.rows.push_back({"recompressions", whole(p.recompressions), "", "made smaller after they were stored"});
  t.rows.push_back({"moved", bytes(static_cast<double>(p.moved_bytes)), "", "written for stores and demotions"});
  if (cache::verifies_stored(outcome.scenario.serving)) {
    t.rows.push_back({"read to verify", bytes(static_cast<double>(p.whole_bytes)), "",
                      fmt::format("what compressed copies lack, of {} objects", whole(p.whole_loads))});
  }
  if (spec.profiling.online) {
    t.rows.push_back(
        {"profiled", whole(p.profiled), "", fmt::format("contexts, {} tokens decoded", whole(p.profiled_tokens))});
  }
  t.rows.push_back({"quality, mean", figure(p.quality.mean()), "",
                    drafts_until_computed(outcome.scenario.serving)
                        ? "of what requests would go on from without verification"
                        : "of requests, relative to the whole KV"});
  t.rows.push_back(
      {"quality, 10 % below", figure(p.quality.quantile(0.10)), "",
       fmt::format("1 % below {}, the least {}", figure(p.quality.quantile(0.01)), figure(p.quality.quantile(0)))});
  return t;
}

}  // namespace

std::vector<Table> placement_tables(const Outcome& outcome) {
  std::vector<Table> tables{prompts(outcome), tiers(outcome), representations(outcome)};
  if (tables.back().rows.empty()) tables.pop_back();
  return tables;
}

}  // namespace kvsim::results
