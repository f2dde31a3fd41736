// Words change a scenario that has been loaded, its trace read, and may be changed again: they are no overrides of its
// file
// (`--set`), which would lose what was changed since and would have to be read anew. What a key of the file would
// derive is derived by the same functions (scenario::set_prefill, option_pool) and checked by the same
// check_configuration.
#include "planner/policy_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/schemas.h"
#include "sim/cache/placements.h"
#include "sim/pools/simulation.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner {
namespace {

using models::CompressionKind;
using models::Path;
using models::PlacementSpec;
using scenario::Scenario;
using serving::PrefillKind;
using Names = std::vector<std::string>;

[[noreturn]] void refuse(const std::string& policy, const std::string& why) {
  throw schema::InputError(fmt::format("--policies {}: {}", policy, why));
}

/// `where` follows the word: "", or such as " between pools".
[[noreturn]] void unknown(const std::string& kind, const std::string& name, const std::string& where,
                          const Names& names) {
  const std::string near = schema::nearest(name, names);
  throw schema::InputError(fmt::format("--policies: unknown {} \"{}\"{}, expected {}{}", kind, name, where,
                                       near.empty() ? "one of " : fmt::format("{} or another of ", near),
                                       fmt::join(names, ", ")));
}

template <class Registry>
Names names_in(const Registry& registry) {
  Names names;
  for (const auto& entry : registry) names.emplace_back(entry.name);
  return names;
}

/// The scenario, if it can be simulated.
Scenario checked(Scenario changed, const std::string& policy) {
  try {
    scenario::check_configuration(changed.serving);
  } catch (const serving::ConfigurationError& e) {
    refuse(policy, e.what());
  }
  return changed;
}

template <class Number>
std::optional<Number> number_in(const std::string& word) {
  Number number{};
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || rest != word.data() + word.size()) return std::nullopt;
  return number;
}

// Decode policies of replicas.

Scenario with_decode_policy(const Scenario& scenario, const std::string& policy) {
  const std::size_t colon = policy.find(':');
  const std::string name = policy.substr(0, colon);
  const serving::DecodePolicy* decode = serving::find_decode_policy(name);
  if (!decode) unknown("decode policy", name, "", names_in(serving::decode_policies()));
  Scenario changed = scenario;
  changed.serving.decode.policy = name;
  std::string& schedule = changed.serving.schedule.policy;
  if (colon != std::string::npos) {
    schedule = policy.substr(colon + 1);
    if (!serving::find_schedule_policy(schedule)) {
      unknown("schedule policy", schedule, "", names_in(serving::schedule_policies()));
    }
  } else if (!decode->verifies) {
    schedule = "fcfs";
  } else if (!serving::find_decode_policy(scenario.serving.decode.policy)->verifies) {
    schedule = "staggered";  // the scenario's own schedule was not chosen for verifying
  }
  return checked(std::move(changed), policy);
}

// Paths between pools.

const std::string kFullKv = "full_kv";
const std::string kDraftVerify = "draft_verify";
const char* const kBetween = " between pools";

std::vector<Path> paths_of(const Scenario& scenario, const std::string& decode, const std::string& word) {
  if (decode == kFullKv) {
    if (word == "local") return {Path::B1};
    if (word == "remote") return {Path::B2};
    if (word == "mix") return {Path::B1, Path::B2};
    unknown("way to serve full_kv", word, kBetween, {"local", "remote", "mix"});
  }
  if (word == "mix") return scenario.serving.cluster.pools->dispatch.paths;
  Names words{"mix"};
  for (const Path path : models::kAllPaths) {
    if (models::path_name(path) == word) return {path};
    words.emplace_back(models::path_name(path));
  }
  unknown("path", word, kBetween, words);
}

Scenario with_pool_policy(const Scenario& scenario, const std::string& policy) {
  const std::size_t colon = policy.find(':');
  const std::string decode = policy.substr(0, colon);
  const std::string word = colon == std::string::npos ? "mix" : policy.substr(colon + 1);
  if (decode != kFullKv && decode != kDraftVerify) unknown("decode policy", decode, kBetween, {kFullKv, kDraftVerify});
  Scenario changed = scenario;
  changed.serving.decode.policy = decode;
  serving::DispatchConfig& dispatch = changed.serving.cluster.pools->dispatch;
  dispatch.paths = paths_of(scenario, decode, word);
  if (dispatch.policy == "weighted" && pools::usable_paths(changed.serving) != pools::usable_paths(scenario.serving)) {
    // Only stored contexts can be planned for.
    dispatch.policy = changed.serving.prefill == PrefillKind::stored ? "planned" : "online";
  }
  return checked(std::move(changed), policy);
}

// Placement policies of prompts that are stored in tiers.

constexpr std::array<std::pair<const char*, models::UtilityVariant>, 3> kVariants{{
    {"least_drop", models::UtilityVariant::least_drop},
    {"least_drop_per_byte", models::UtilityVariant::least_drop_per_byte},
    {"least_drop_for_need", models::UtilityVariant::least_drop_for_need},
}};

Names words_of(const std::string& policy) {
  Names words;
  for (std::size_t begin = 0; begin <= policy.size();) {
    const std::size_t end = std::min(policy.find(':', begin), policy.size());
    words.push_back(policy.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

[[noreturn]] void refuse(const Names& words, const std::string& why) {
  refuse(fmt::format("{}", fmt::join(words, ":")), why);
}

/// The word as a share of the tokens, above 0 and below `end` or equal to it.
double share_of(const Names& words, const std::string& word, bool end_too) {
  const auto share = number_in<double>(word);
  if (!share || !(*share > 0) || !(end_too ? *share <= 1 : *share < 1)) {
    refuse(words, fmt::format("expected a number above 0 and {} 1, not \"{}\"", end_too ? "at most" : "below", word));
  }
  return *share;
}

void take_at_most(const Names& words, std::size_t count, const char* expected) {
  if (words.size() > count) refuse(words, fmt::format("expected {}", expected));
}

void set_variant(PlacementSpec& placement, const Names& words) {
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
  unknown("variant", words[1], " of utility", names);
}

void set_importance(PlacementSpec& placement, const Names& words) {
  take_at_most(words, 2, "importance_chunks, or with the share of the tokens such as importance_chunks:0.25");
  if (words.size() == 2) placement.importance.share = share_of(words, words[1], false);
}

void set_compressor(PlacementSpec& placement, const Names& words, const Scenario& scenario) {
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
void read_curves(Scenario& scenario) {
  serving::ServingConfig& c = scenario.serving;
  if (!c.context_curves) return;
  const models::QualityFile file = models::QualityFile::read(c.placement->quality.path);
  c.context_curves = std::make_shared<const models::QualityTable>(
      file.curves(c.context_sensitivities.size(), models::option_pool(*c.placement)));
}

Scenario with_placement_policy(const Scenario& scenario, const std::string& policy) {
  const Names words = words_of(policy);
  const cache::PlacementEntry* entry = cache::find_placement(words[0]);
  if (!entry) {
    unknown("placement policy", words[0], "", names_in(cache::placements()));
  }
  if (entry->needs_future && !scenario.workload.trace && scenario.workload.requests == 0) {
    refuse(words, "it must know all requests beforehand: give workload.requests, or use a trace");
  }
  Scenario changed = scenario;
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
  const bool chooses = words[0] == models::utility_policy || words[0] == models::importance_policy;
  set_compressor(placement, chooses ? Names{words[0]} : words, scenario);
  if (words[0] == models::utility_policy) set_variant(placement, words);
  if (words[0] == models::importance_policy) set_importance(placement, words);
  read_curves(changed);
  return checked(std::move(changed), policy);
}

// Prefill policies of prompts that are made of chunks.

struct PrefillWord {
  const char* name;
  PrefillKind prefill;
};
constexpr std::array<PrefillWord, 7> kPrefills{{{"full_recompute", PrefillKind::recompute},
                                                {"recompute", PrefillKind::recompute},
                                                {"prefix_cache", PrefillKind::prefix_cache},
                                                {"full_reuse", PrefillKind::full_reuse},
                                                {"selective", PrefillKind::selective},
                                                {"cacheblend", PrefillKind::cacheblend},
                                                {"epic", PrefillKind::epic}}};

const PrefillWord& prefill_of(const std::string& name) {
  const auto* at =
      std::find_if(kPrefills.begin(), kPrefills.end(), [&](const PrefillWord& e) { return name == e.name; });
  if (at != kPrefills.end()) return *at;
  unknown("prefill policy", name, " of prompts made of chunks", names_in(kPrefills));
}

void set_prefill_number(models::ReuseSpec& reuse, PrefillKind prefill, const std::string& policy,
                        const std::string& word) {
  if (prefill == PrefillKind::selective || prefill == PrefillKind::cacheblend) {
    const auto rho = number_in<double>(word);
    if (!rho || !(*rho >= 0 && *rho <= 1)) {
      refuse(policy, fmt::format("expected a share of the tokens from 0 to 1 after the colon, not \"{}\"", word));
    }
    reuse.rho = *rho;
  } else if (prefill == PrefillKind::epic) {
    const auto tokens = number_in<std::int64_t>(word);
    if (!tokens || *tokens < 0) {
      refuse(policy, fmt::format("expected a number of tokens of every chunk after the colon, not \"{}\"", word));
    }
    reuse.link_tokens = *tokens;
  } else {
    refuse(policy, "it has no number: selective and cacheblend have rho (selective:0.25), epic its tokens (epic:16)");
  }
}

Scenario with_reuse_policy(const Scenario& scenario, const std::string& policy) {
  const std::size_t colon = policy.find(':');
  const PrefillKind prefill = prefill_of(policy.substr(0, colon)).prefill;
  Scenario changed = scenario;
  if (colon != std::string::npos) set_prefill_number(changed.reuse, prefill, policy, policy.substr(colon + 1));
  scenario::set_prefill(changed, prefill);
  return checked(std::move(changed), policy);
}

// Prompts that are stored, in either way.

/// Placement policies are told from prefill policies by their names; they keep the prefill policy.
Scenario with_chunk_policy(const Scenario& scenario, const std::string& policy) {
  const bool places = cache::find_placement(policy.substr(0, policy.find(':'))) != nullptr;
  return places && scenario.serving.placement ? with_placement_policy(scenario, policy)
                                              : with_reuse_policy(scenario, policy);
}

/// Of prompts that are stored: how (a placement or prefill policy), how they are decoded, or both: "utility",
/// "draft_verify", "utility/draft_verify".
Scenario with_stored_prompts(const Scenario& scenario, const std::string& policy) {
  const std::size_t slash = policy.find('/');
  const std::string last = slash == std::string::npos ? policy : policy.substr(slash + 1);
  const serving::DecodePolicy* decode = serving::find_decode_policy(last);
  if (!decode && slash != std::string::npos && last.find(':') != std::string::npos) {
    refuse(policy, "stored prompts are decoded under fcfs: leave the schedule out");
  }
  if (!decode && slash != std::string::npos) {
    unknown("decode policy", last, "", names_in(serving::decode_policies()));
  }
  Scenario changed = scenario;
  if (decode) {
    changed.serving.decode.policy = last;
    changed.serving.schedule.policy = "fcfs";
  }
  if (decode && slash == std::string::npos) {
    return checked(std::move(changed), policy);
  }
  const std::string stored = policy.substr(0, slash);
  return changed.workload.chunks ? with_chunk_policy(changed, stored) : with_placement_policy(changed, stored);
}

bool stores_prompts(const Scenario& scenario) {
  return scenario.workload.chunks || scenario.serving.placement;
}

}  // namespace

scenario::Scenario with_policy(const scenario::Scenario& scenario, const std::string& policy) {
  if (scenario.serving.cluster.pools) return with_pool_policy(scenario, policy);
  return stores_prompts(scenario) ? with_stored_prompts(scenario, policy) : with_decode_policy(scenario, policy);
}

std::string reuse_policy_name(PrefillKind prefill) {
  const auto* at =
      std::find_if(kPrefills.begin(), kPrefills.end(), [&](const PrefillWord& e) { return prefill == e.prefill; });
  return at == kPrefills.end() ? "stored" : at->name;
}

}  // namespace kvsim::planner
