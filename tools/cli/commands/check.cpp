// kvsim check: reads a scenario as run would, and shows it as kvsim understood it; or checks the files of a folder of
// results.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "planner/experiment.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "tools/cli/command.h"
#include "tools/cli/simulating.h"
#include "tools/output/results_folder.h"
#include "tools/results/numbers.h"
#include "tools/results/run_page.h"
#include "tools/results/scenario_words.h"

namespace kvsim::cli {
namespace check_internal {
namespace {

using schema::ConfigNode;

struct Options {
  std::string scenario;
  std::vector<std::string> set;
  bool full = false;
};

/// Throws schema::InputError where a set of files is not whole, or nothing lists what belongs to the folder.
void check_results(Console& console, const std::string& folder) {
  const std::optional<output::Manifest> manifest = output::checked_folder(folder);
  if (!manifest) {
    throw schema::InputError(fmt::format(
        "{}: there is no list of what belongs to it, which kvsim writes beside results of option --out", folder));
  }
  for (const output::FileSet& set : manifest->sets) {
    std::vector<std::string> names;
    for (const output::FileSet::File& file : set.files) names.push_back(file.name);
    console.print(fmt::format("{}: {}: {}\n", set.interrupted.empty() ? "complete" : "interrupted", folder,
                              fmt::join(names, ", ")));
    if (!set.interrupted.empty()) console.print(fmt::format("  {}\n", set.interrupted));
  }
}

/// The keys of a map that are written and are not at their defaults. `resolved`: the same map with every key, for the
/// way in which values are written; null: there is none.
ConfigNode keys_set(const ConfigNode& written, const schema::ObjectInfo& info, const ConfigNode* resolved) {
  constexpr std::size_t kListWidth = 100;
  ConfigNode set = ConfigNode::map(written.origin());
  for (const ConfigNode::Entry& entry : written.entries()) {
    const schema::FieldInfo* field = info.find(entry.key);
    const ConfigNode* full = resolved != nullptr && resolved->is_map() ? resolved->find(entry.key) : nullptr;
    ConfigNode value = entry.value;
    if (field != nullptr && !value.is_map() && !value.is_sequence()) {
      const std::string text = schema::to_flow_yaml(full != nullptr && full->is_scalar() ? *full : value);
      if (!field->default_text.empty() && text == field->default_text) continue;
    } else if (value.is_map() && field != nullptr && field->form == schema::Form::reference &&
               value.find("base") == nullptr && value.find("name") != nullptr) {
      value = *value.find("name");  // of an entry that is written out
    } else if (value.is_map() && field != nullptr && field->object) {
      value = keys_set(value, *field->object, full);
      if (value.entries().empty()) continue;
    } else if (value.is_sequence() && schema::to_flow_yaml(value).size() > kListWidth) {
      value = ConfigNode::scalar(fmt::format("{} items", value.items().size()), false, value.origin());
    }
    set.append(entry.key, std::move(value), entry.key_origin);
  }
  return set;
}

/// A map on one line, or else a line for each of its keys, by their path.
void add_lines(const std::string& path, const ConfigNode& node, std::vector<std::string>& lines) {
  constexpr std::size_t kWidth = 120;
  std::string line = fmt::format("{}: {}", path, schema::to_flow_yaml(node));
  if (line.size() > kWidth && node.is_map()) {
    for (const ConfigNode::Entry& entry : node.entries()) add_lines(path + "." + entry.key, entry.value, lines);
    return;
  }
  lines.push_back(std::move(line));
}

std::string heading(const Options& options, const scenario::Scenario& scenario) {
  const serving::ClusterConfig& cluster = scenario.serving.cluster;
  const std::vector<const serving::GroupConfig*> kinds = serving::kinds(cluster);
  std::string setup = results::setup_line(scenario);
  std::replace(setup.begin(), setup.end(), '\n', ' ');
  // Comments, so that the whole is a scenario again.
  std::string text = fmt::format("# OK: {}\n# {}\n", options.scenario, setup);
  for (const serving::GroupConfig* group : kinds) {
    const serving::KvCapacity k = serving::kv_capacity(scenario.serving, *group);
    text += fmt::format(
        "# KV capacity of a {}{}: {} tokens in {} blocks of {} ({} bytes), beside {} bytes of weights\n"
        "# Maximum concurrency for {} tokens per request: {:.2f}x; decided by {}\n",
        kinds.size() > 1 ? group->name + " " : "", results::group_word(cluster), k.tokens, k.blocks, k.block_tokens,
        k.bytes, k.weights_bytes, k.longest, k.concurrency, k.decided_by);
    if (serving::find_decode_policy(scenario.serving.decode.policy)->holds_part()) {
      text += fmt::format("# As decode policy {} holds KV: {:.0f} tokens, {:.2f}x\n", scenario.serving.decode.policy,
                          k.stored_concurrency * static_cast<double>(k.longest), k.stored_concurrency);
    }
  }
  if (scenario.serving.placement) {
    text += fmt::format("# Prompts are stored in {}\n", results::tiers_text(scenario.serving));
  }
  if (scenario.trace) text += fmt::format("# Trace: {}\n", results::counted(scenario.trace->size(), "request"));
  return text;
}

/// The keys that the scenario sets, a map a line, in so many lines at most.
std::string summary(const ConfigNode& document, const std::string& resolved, std::size_t most_lines) {
  const ConfigNode whole = schema::read_yaml(resolved, "resolved");
  ConfigNode set = keys_set(document, scenario::scenario_schema().info(), &whole);
  for (const char* words : {"name", "description", "assumptions"}) set.erase(words);
  std::vector<std::string> lines;
  for (const ConfigNode::Entry& entry : set.entries()) add_lines(entry.key, entry.value, lines);
  const auto keys = static_cast<std::size_t>(std::count(resolved.begin(), resolved.end(), '\n'));
  std::string text = "# Keys that are not at their defaults:\n";
  const std::size_t shown = lines.size() <= most_lines - 2 ? lines.size() : most_lines - 3;
  for (std::size_t i = 0; i < shown; ++i) text += lines[i] + "\n";
  if (shown < lines.size()) text += fmt::format("# and {} more\n", lines.size() - shown);
  return text + fmt::format("# --full prints all {} lines of the scenario, with every default and entry\n", keys);
}

void check(Console& console, const Options& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(options.scenario, ignored)) {
    if (!options.set.empty()) throw schema::InputError("--set: changes a scenario, which a folder of results is not");
    return check_results(console, options.scenario);
  }
  constexpr std::size_t kMostLines = 25;
  const scenario::ScenarioFile file(options.scenario, options.set);
  scenario::Scenario scenario = file.load();
  remark_on_keys({&scenario});
  const std::string head = heading(options, scenario), resolved = scenario::resolved_yaml(scenario);
  console.print(head);
  if (options.full) return console.print(resolved);
  const auto above = static_cast<std::size_t>(std::count(head.begin(), head.end(), '\n'));
  console.print(summary(file.document(), resolved, kMostLines - above));
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("SCENARIO", options->scenario, "Scenario file (YAML), or a folder of results, whose files are checked")
      ->required()
      ->type_name("FILE|DIR");
  app.add_flag("--full", options->full, "Print the whole scenario, with every default and catalogue entry: a scenario");
  declare_set(app, options->set);
  return [options](Console& console) { check(console, *options); };
}

}  // namespace
}  // namespace check_internal

extern const Command check_command;
const Command check_command{"check", "Check a scenario, and print what it sets or all that it comes to",
                            "kvsim check scenarios/long_context/headline.yaml --set decode.keep_ratio=0.1",
                            check_internal::declare};

}  // namespace kvsim::cli
