// The keys of placement in a result document, and what they mean.
#include <array>
#include <limits>

#include "sim/cache/prompt_cache.h"
#include "tools/results/placement_results.h"

namespace kvsim::results {
namespace {

using serving::PlacementMeasurement;
using serving::TierContents;

constexpr std::string_view kNothingStored = "nothing is stored there at the end of the run";

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kPlacementDefinitions{{
    {"tiers",
     "hits: objects of prompts (contexts, blocks or chunks) that were found in the tier and loaded; misses: all the "
     "others "
     "that were looked for, wherever they were found; each prompt counts once"},
    {"placement.loaded_tokens",
     "tokens of prompts that continued from what was stored; computed_tokens: the others; each prompt counts once"},
    {"placement.loads",
     "objects that crossed links for a request; joined_loads: those that were on their way to the replica for another "
     "request already"},
    {"placement.stores",
     "objects that were stored; unstored: those that were not, for lack of room while their KV was on the GPU, or "
     "because they were not worth it"},
    {"placement.promotions",
     "objects that moved up a tier after they were loaded; demotions: down, for lack of room; recompressions: made "
     "smaller after they were stored; drops: given up"},
    {"placement.moved_bytes", "written to a tier for a store or a demotion"},
    {"placement.whole_loads",
     "objects of which a verification read what their compressed copy lacks; whole_load_bytes: of these"},
    {"placement.profiled",
     "contexts that were profiled again; profiled_tokens: decoded for that, beside the requests' own"},
    {"placement.quality",
     "of a finished request: the score of what it loaded, relative to the whole KV, 1 where nothing was loaded; p10: a "
     "tenth of the requests got less"},
    {"placement.contents",
     "at the end of the run, tiers of all replicas and replications added; bytes: as stored, full_bytes: of the same "
     "objects whole; options: objects by representation; whole_bytes: of copies kept whole beside them, to verify "
     "against"},
    {"placement.contents.mean_keep_ratio", "stored bytes / full bytes of all that is in the tier"},
}};

std::string_view granularity_word(const models::PlacementSpec& spec) {
  if (spec.granularity == models::Granularity::chunks) return "chunks";
  return spec.granularity == models::Granularity::blocks ? "blocks" : "contexts";
}

Section contents_section(Section s, const TierContents& contents, bool verified) {
  s.count("objects", contents.objects).count("bytes", contents.bytes).count("full_bytes", contents.full_bytes);
  s.number("mean_keep_ratio", mean_keep_ratio(contents), kNothingStored);
  Json options = Json::object();
  for (const auto& [name, objects] : contents.options) options[name] = objects;
  if (verified) s.count("whole_bytes", contents.whole_bytes);
  return s.set("options", std::move(options));
}

Section quality_section(Section s, const engine::Sample& quality) {
  s.number("mean", quality.mean(), kNothingFinished);
  s.number("p10", quality.quantile(0.10), kNothingFinished);
  s.number("p1", quality.quantile(0.01), kNothingFinished);
  return s.number("min", quality.quantile(0), kNothingFinished);
}

}  // namespace

std::vector<std::string> tier_names(const scenario::Scenario& scenario) {
  std::vector<std::string> names;
  for (const cache::StoreTier& tier : cache::store_config(scenario.serving).tiers) names.push_back(tier.name);
  return names;
}

double mean_keep_ratio(const TierContents& contents) {
  if (contents.full_bytes <= 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(contents.bytes) / static_cast<double>(contents.full_bytes);
}

void add_placement(Section& document, const Outcome& outcome) {
  const auto& spec = outcome.scenario.serving.placement;
  if (!spec) return;
  const PlacementMeasurement& m = outcome.result.measured.placement;
  const bool verified = cache::verifies_stored(outcome.scenario.serving);
  Section s = document.child("placement");
  s.set("policy", spec->policy);
  s.set("granularity", granularity_word(*spec));
  s.count("loaded_tokens", m.loaded_tokens).count("computed_tokens", m.computed_tokens);
  s.count("loads", m.loads).count("joined_loads", m.joined_loads);
  s.count("stores", m.stores).count("unstored", m.unstored);
  s.count("promotions", m.promotions).count("demotions", m.demotions).count("recompressions", m.recompressions);
  s.count("drops", m.drops).count("moved_bytes", m.moved_bytes);
  if (verified) s.count("whole_loads", m.whole_loads).count("whole_load_bytes", m.whole_bytes);
  s.count("profiled", m.profiled).count("profiled_tokens", m.profiled_tokens);
  s.set("quality", quality_section(s.child("quality"), m.quality));
  Section tiers = s.child("contents");
  for (const std::string& name : tier_names(outcome.scenario)) {
    const auto found = m.contents.find(name);
    const TierContents contents = found == m.contents.end() ? TierContents{} : found->second;
    tiers.set(name, contents_section(tiers.child(name), contents, verified));
  }
  s.set("contents", std::move(tiers));
  document.set("placement", std::move(s));
}

std::span<const std::pair<std::string_view, std::string_view>> placement_definitions() {
  return kPlacementDefinitions;
}

}  // namespace kvsim::results
