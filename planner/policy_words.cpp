// Changes by words of --policies. A word is a list of overrides of the scenario's file, which are applied, read and
// checked as those of --set and of sweeps are. Which words there are depends on what the scenario simulates.
#include "planner/policy_words.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/placement/placement_spec.h"
#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "sim/cache/placement/placements.h"
#include "sim/pools/configuration.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::planner {
namespace {

using models::Path;
using scenario::Scenario;
using serving::PrefillKind;
using Changes = std::vector<schema::Assignment>;
using Names = std::vector<std::string>;

/// A key that takes what follows a colon.
struct ValueKey {
  std::string key;
  std::string unit{};  ///< behind a plain number
};

/// NAME, or NAME:VALUE:..., and what it changes.
struct PolicyWord {
  std::string name;
  Changes changes;
  std::vector<ValueKey> values;
};
using PolicyWords = std::vector<PolicyWord>;

/// `where` follows the word: "", or such as " between pools".
[[noreturn]] void unknown(const std::string& kind, const std::string& name, const std::string& where,
                          const PolicyWords& words) {
  Names names;
  for (const PolicyWord& word : words) names.push_back(word.name);
  const Names near = schema::nearest(name, names);
  throw schema::InputError(fmt::format(
      "--policies: unknown {} \"{}\"{}, expected {}{}", kind, name, where,
      near.empty() ? "one of " : fmt::format("{} or another of ", fmt::join(near, ", ")), fmt::join(names, ", ")));
}

std::string name_in(const std::string& policy) {
  return policy.substr(0, policy.find(':'));
}

PolicyWords::const_iterator find(const PolicyWords& words, const std::string& name) {
  return std::find_if(words.begin(), words.end(), [&](const PolicyWord& word) { return word.name == name; });
}

/// NAME or NAME:VALUE:... of these words; `kind` and `where` as for `unknown`.
Changes changes_of(const PolicyWords& words, const std::string& policy, const std::string& kind,
                   const std::string& where = "") {
  const auto word = find(words, name_in(policy));
  if (word == words.end()) unknown(kind, name_in(policy), where, words);
  Changes changes = word->changes;
  auto value = word->values.begin();
  for (std::size_t colon = policy.find(':'); colon != std::string::npos; ++value) {
    if (value == word->values.end()) {
      Names keys;
      for (const ValueKey& taken : word->values) keys.push_back(taken.key);
      throw schema::InputError(fmt::format("--policies {}: too many values: {} takes {}", policy, word->name,
                                           keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", then "))));
    }
    const std::size_t begin = colon + 1;
    colon = policy.find(':', begin);
    std::string written = policy.substr(begin, colon - begin);
    if (written.find_first_not_of("+-.0123456789") == std::string::npos) written += value->unit;
    changes.push_back({value->key, std::move(written)});
  }
  return changes;
}

void add(Changes& changes, Changes more) {
  std::move(more.begin(), more.end(), std::back_inserter(changes));
}

/// Verifications keep the scenario's schedule if it was chosen for some. Stored prompts are decoded under fcfs.
PolicyWords words_of_decoding(const Scenario& scenario) {
  const bool verified = serving::find_decode_policy(scenario.serving.decode.policy)->verifies;
  PolicyWords words;
  for (const serving::DecodePolicy& policy : serving::decode_policies()) {
    const std::string name(policy.name);
    Changes changes{{"decode.policy", name}};
    const bool verifies = policy.verifies && !has_stored_prompts(scenario);
    if (!verifies || !verified) changes.push_back({"schedule.policy", verifies ? "staggered" : "fcfs"});
    words.push_back({name, std::move(changes), {{"schedule.policy"}}});
  }
  return words;
}

Changes path_changes(const Scenario& scenario, const std::string& decode, const std::vector<Path>& paths) {
  serving::ServingConfig changed = scenario.serving;
  serving::DispatchConfig& dispatch = changed.cluster.pools->dispatch;
  changed.decode.policy = decode;
  dispatch.paths = paths;
  Names names;
  for (const Path path : paths) names.emplace_back(models::path_name(path));
  Changes changes{{"decode.policy", decode}, {"dispatch.paths", fmt::format("[{}]", fmt::join(names, ", "))}};
  const serving::DecodePolicy& policy = *serving::find_decode_policy(decode);
  const bool planned = pools::has_path_plans(policy);
  if (!planned && dispatch.policy == "planned") changes.push_back({"dispatch.policy", "online"});  // not planned for
  if (dispatch.policy == "weighted" && pools::usable_paths(changed) != pools::usable_paths(scenario.serving)) {
    // Weights mean nothing for other paths. Only stored contexts can be planned for.
    changes.push_back({"dispatch.policy", planned && changed.prefill == PrefillKind::stored ? "planned" : "online"});
    changes.push_back({"dispatch.weights", std::nullopt});
  }
  return changes;
}

/// Changes of what decodes, and by which paths. No values: the whole word is a name.
Changes pool_changes(const Scenario& scenario, const std::string& policy) {
  PolicyWords words;
  for (const PoolWord& word : pool_words()) {
    const std::vector<Path>& all = scenario.serving.cluster.topology().dispatcher->paths;
    words.push_back({word.name, path_changes(scenario, word.decode, word.paths.empty() ? all : word.paths), {}});
  }
  const auto word = find(words, policy.find(':') == std::string::npos ? policy + ":mix" : policy);
  if (word == words.end()) unknown("policy", policy, " between pools", words);
  return word->changes;
}

/// Placement policies. A word says the representation, too, in place of the scenario's own.
PolicyWords words_of_placement() {
  PolicyWords words;
  for (const cache::PlacementEntry& entry : cache::placements()) {
    const std::string name(entry.name);
    Changes changes{
        {"placement.policy", name}, {"placement.compressor", std::nullopt}, {"placement.keep_ratio", std::nullopt}};
    std::vector<ValueKey> values{{"placement.compressor"}, {"placement.keep_ratio"}};
    if (name == models::utility_policy) values = {{"placement.utility.variant"}};
    if (name == models::importance_policy) values = {{"placement.importance.share"}};
    words.push_back({name, std::move(changes), std::move(values)});
  }
  return words;
}

struct PrefillEntry {
  const char* name;
  PrefillKind prefill;
  ValueKey value;
};

/// Prefill policies of prompts that are made of chunks.
const std::vector<PrefillEntry>& prefill_entries() {
  static const std::vector<PrefillEntry> entries{{"full_recompute", PrefillKind::recompute, {}},
                                                 {"recompute", PrefillKind::recompute, {}},
                                                 {"prefix_cache", PrefillKind::prefix_cache, {}},
                                                 {"full_reuse", PrefillKind::full_reuse, {}},
                                                 {"selective", PrefillKind::selective, {"prefill.rho"}},
                                                 {"cacheblend", PrefillKind::cacheblend, {"prefill.rho"}},
                                                 {"epic", PrefillKind::epic, {"prefill.link_tokens", " tokens"}}};
  return entries;
}

PolicyWords words_of_prefill() {
  PolicyWords words;
  for (const auto& [name, prefill, value] : prefill_entries()) {
    words.push_back({name, prefill_changes(prefill), {}});
    if (!value.key.empty()) words.back().values.push_back(value);
  }
  return words;
}

/// Changes for stored prompts: how they are stored (a placement or prefill policy), decoded, or both: "utility",
/// "draft_verify", "utility/draft_verify".
Changes stored_changes(const Scenario& scenario, const std::string& policy) {
  const PolicyWords decode = words_of_decoding(scenario), placements = words_of_placement();
  const std::size_t slash = policy.find('/');
  Changes changes;
  if (slash != std::string::npos) {
    changes = changes_of(decode, policy.substr(slash + 1), "decode policy");
  } else if (find(decode, name_in(policy)) != decode.end()) {
    return changes_of(decode, policy, "decode policy");
  }
  const std::string stored = policy.substr(0, slash);
  const bool places = scenario.serving.placement && find(placements, name_in(stored)) != placements.end();
  add(changes, places || !scenario.workload.chunks
                   ? changes_of(placements, stored, "placement policy")
                   : changes_of(words_of_prefill(), stored, "prefill policy", " of prompts made of chunks"));
  return changes;
}

Changes changes_of(const Scenario& scenario, const std::string& policy) {
  if (takes_paths(scenario)) return pool_changes(scenario, policy);
  if (has_stored_prompts(scenario)) return stored_changes(scenario, policy);
  const PolicyWords decoding = words_of_decoding(scenario), placements = words_of_placement();
  if (find(decoding, name_in(policy)) == decoding.end() && find(placements, name_in(policy)) != placements.end()) {
    throw schema::InputError(
        fmt::format("--policies: {} is a placement policy, and this scenario stores no prompts: give prefill: "
                    "prefix_cache, and placement",
                    name_in(policy)));
  }
  return changes_of(decoding, policy, "decode policy");
}

}  // namespace

std::vector<PoolWord> pool_words() {
  std::vector<PoolWord> words;
  for (const serving::DecodePolicy& decode : serving::decode_policies()) {
    if (!pools::has_paths(decode)) continue;
    const std::string name(decode.name);
    const auto add_word = [&](std::string_view by, std::vector<Path> paths) {
      words.push_back({fmt::format("{}:{}", name, by), name, std::move(paths)});
    };
    if (!decode.verifies) {
      add_word("mix", {Path::B1, Path::B2});
      add_word("local", {Path::B1});
      add_word("remote", {Path::B2});
      continue;
    }
    add_word("mix", {});
    for (const Path path : models::kAllPaths) add_word(models::path_name(path), {path});
  }
  return words;
}

bool takes_paths(const scenario::Scenario& scenario) {
  return scenario.serving.cluster.topology().dispatcher != nullptr;
}

bool has_stored_prompts(const scenario::Scenario& scenario) {
  return scenario.workload.chunks || scenario.serving.placement;
}

scenario::Scenario with_policy(const scenario::ScenarioFile& file, const std::string& policy) {
  Changes changes = changes_of(file.load(), policy);
  const std::string option = "--policies " + policy;
  for (schema::Assignment& change : changes) change.origin = schema::Origin(option);
  try {
    return file.load(changes);
  } catch (const scenario::UnworkableScenario& e) {
    throw schema::InputError(fmt::format("{}: {}", option, e.why()));
  } catch (const schema::InputError& e) {
    if (e.origin().source() == option) throw;
    std::string_view message(e.what());  // the line of the file is not at fault
    if (e.origin().line() > 0) message.remove_prefix(e.origin().str().size() + 2);
    throw schema::InputError(fmt::format("{}: {}", option, message));
  }
}

std::string reuse_policy_name(PrefillKind prefill) {
  for (const PrefillEntry& entry : prefill_entries()) {
    if (entry.prefill == prefill) return entry.name;
  }
  return "stored";
}

Changes prefill_changes(PrefillKind prefill) {
  return {{"prefill.policy", reuse_policy_name(prefill)}, {"placement.granularity", std::nullopt}};
}

}  // namespace kvsim::planner
