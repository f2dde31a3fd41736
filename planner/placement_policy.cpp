#include "planner/placement_policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/placement/option_building.h"
#include "models/placement/placement_schema.h"
#include "models/placement/quality_file.h"
#include "models/schema/error.h"
#include "planner/unknown_policy.h"
#include "sim/cache/placements.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner {
namespace {

using models::CompressionKind;
using models::PlacementSpec;
using Words = std::vector<std::string>;

constexpr std::array<std::pair<const char*, models::UtilityVariant>, 3> kVariants{{
    {"least_drop", models::UtilityVariant::least_drop},
    {"least_drop_per_byte", models::UtilityVariant::least_drop_per_byte},
    {"least_drop_for_need", models::UtilityVariant::least_drop_for_need},
}};

Words words_of(const std::string& policy) {
  Words words;
  for (std::size_t begin = 0; begin <= policy.size();) {
    const std::size_t end = std::min(policy.find(':', begin), policy.size());
    words.push_back(policy.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

[[noreturn]] void refuse(const Words& words, const std::string& why) {
  throw schema::InputError(fmt::format("--policies {}: {}", fmt::join(words, ":"), why));
}

/// The word as a share of the tokens, above 0 and below `end` or equal to it.
double share_of(const Words& words, const std::string& word, bool end_too) {
  double share = 0;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), share);
  const bool is_number = error == std::errc() && rest == word.data() + word.size();
  if (!is_number || !(share > 0) || !(end_too ? share <= 1 : share < 1)) {
    refuse(words, fmt::format("expected a number above 0 and {} 1, not \"{}\"", end_too ? "at most" : "below", word));
  }
  return share;
}

void take_at_most(const Words& words, std::size_t count, const char* expected) {
  if (words.size() > count) refuse(words, fmt::format("expected {}", expected));
}

void set_variant(PlacementSpec& placement, const Words& words) {
  take_at_most(words, 2, "utility, or a variant of it such as utility:least_drop_for_need");
  if (words.size() < 2) return;
  std::vector<std::string> names;
  for (const auto& [name, variant] : kVariants) {
    if (words[1] == name) {
      placement.utility.variant = variant;
      return;
    }
    names.emplace_back(name);
  }
  unknown_policy("variant", words[1], " of utility", names);
}

void set_importance(PlacementSpec& placement, const Words& words) {
  take_at_most(words, 2, "importance_chunks, or with the share of the tokens such as importance_chunks:0.25");
  if (words.size() == 2) placement.importance.share = share_of(words, words[1], false);
}

void set_compressor(PlacementSpec& placement, const Words& words, const scenario::Scenario& scenario) {
  placement.compressor.reset();
  placement.keep_ratio.reset();
  take_at_most(words, 3, "a policy, a compressor and a keep ratio such as lru:keydiff:0.3");
  if (words.size() == 1) return;
  if (placement.policy == models::no_store_policy)
    refuse(words, "nothing is stored that could be compressed: use none");
  models::CompressorSpec compressor;
  try {
    compressor = scenario::catalogue_of(scenario).compressor(words[1]);
  } catch (const schema::InputError& e) {
    refuse(words, e.what());
  }
  if (compressor.kind == CompressionKind::both) {
    refuse(words, fmt::format("{} drops tokens and narrows elements: stored objects take one that does one of both",
                              compressor.name));
  }
  if (compressor.kind == CompressionKind::token_dropping) {
    if (words.size() < 3) {
      refuse(words, fmt::format("{} needs a keep ratio such as {}:{}:0.3", compressor.name, words[0], words[1]));
    }
    placement.keep_ratio = share_of(words, words[2], true);
  } else {
    const double ratio = compressor.quantised_ratio();
    if (words.size() == 3)
      refuse(words, fmt::format("{} keeps {:.6g} by its bits and groups: use {}:{}", compressor.name, ratio, words[0],
                                words[1]));
    if (std::isnan(compressor.quality_at(ratio))) {
      refuse(words, fmt::format("{} has no quality curve, which stored objects need", compressor.name));
    }
  }
  placement.compressor = std::move(compressor);
}

/// Measured curves are of the options that there are.
void read_curves(scenario::Scenario& scenario) {
  serving::ServingConfig& c = scenario.serving;
  if (!c.context_curves) return;
  const models::QualityFile file = models::QualityFile::read(c.placement->quality.path);
  c.context_curves = std::make_shared<const models::QualityTable>(
      file.curves(c.context_sensitivities.size(), models::option_pool(*c.placement)));
}

}  // namespace

scenario::Scenario with_placement_policy(const scenario::Scenario& scenario, const std::string& policy) {
  const Words words = words_of(policy);
  const cache::PlacementEntry* entry = cache::find_placement(words[0]);
  if (!entry) {
    std::vector<std::string> names;
    for (const cache::PlacementEntry& known : cache::placements()) names.emplace_back(known.name);
    unknown_policy("placement policy", words[0], "", names);
  }
  if (entry->needs_future && !scenario.workload.trace && scenario.workload.requests == 0) {
    refuse(words, "it must know all requests beforehand: give workload.requests, or use a trace");
  }
  scenario::Scenario changed = scenario;
  PlacementSpec& placement = *changed.serving.placement;
  placement.policy = words[0];
  if (words[0] != models::utility_policy) {
    placement.utility = {};
    const models::OptionsSpec usual;
    placement.options.keep_ratios = usual.keep_ratios;
    placement.options.quantisers = usual.quantisers;
    placement.options.combine = usual.combine;
    placement.profiling = {};
  }
  if (words[0] != models::importance_policy) placement.importance = {};
  if (words[0] == models::utility_policy) {
    set_compressor(placement, {words[0]}, scenario);
    set_variant(placement, words);
  } else if (words[0] == models::importance_policy) {
    set_compressor(placement, {words[0]}, scenario);
    set_importance(placement, words);
  } else {
    set_compressor(placement, words, scenario);
  }
  try {
    read_curves(changed);
    scenario::check_configuration(changed.serving);
  } catch (const serving::ConfigurationError& e) {
    refuse(words, e.what());
  }
  return changed;
}

std::string placement_words(const PlacementSpec& placement) {
  std::string words = placement.policy;
  if (placement.compressor) words += ":" + placement.compressor->name;
  if (placement.keep_ratio) words += fmt::format(":{}", *placement.keep_ratio);
  return words;
}

std::vector<std::string> default_placement_policies() {
  return {"none", "lru", "sieve", "lru:keydiff:0.3", "importance_chunks", "utility"};
}

}  // namespace kvsim::planner
