#include "tools/cli/completion/values.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "planner/policy_words.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "tools/cli/capacity_options.h"
#include "tools/cli/command_tree.h"
#include "tools/cli/completion/shells.h"
#include "tools/results/sweep_figures.h"
#include "tools/validation/group.h"

namespace kvsim::cli {
namespace {

using Words = std::vector<NamedThing>;

Words undescribed(const std::vector<std::string>& names) {
  Words words;
  for (const std::string& name : names) words.push_back({name, ""});
  return words;
}

template <class Registry>
Words described(const Registry& registry) {
  Words words;
  for (const auto& entry : registry) words.push_back({std::string(entry.name), std::string(entry.description)});
  return words;
}

Words things(std::string_view kind) {
  return things_of(find_thing_kind(kind), models::Catalogue::built_in());
}

Words all_things() {
  Words words;
  std::set<std::string> seen;
  for (const ThingKind& kind : thing_kinds()) {
    for (NamedThing& thing : things(kind.plural)) {
      if (seen.insert(thing.name).second) words.push_back(std::move(thing));
    }
  }
  return words;
}

Words kinds() {
  Words words;
  for (const ThingKind& kind : thing_kinds()) {
    words.push_back({std::string(kind.plural), std::string(kind.description)});
  }
  return words;
}

/// Keys of a scenario. Not those within catalogue entries, which are many and seldom changed, nor within lists.
void add_keys(const schema::ObjectInfo& info, const std::string& above, Words& words) {
  for (const schema::FieldInfo& field : info.fields) {
    const std::string path = above + field.name;
    const bool below = field.form == schema::Form::object && !field.list;
    if (!below || !field.object->shorthand.empty()) words.push_back({path, field.description});
    if (below) add_keys(*field.object, path + ".", words);
  }
}

Words keys() {
  Words words;
  add_keys(scenario::scenario_schema().info(), "", words);
  return words;
}

struct Entry {
  std::string_view command;  ///< empty: of any
  std::string_view option;
  Shape shape;
  std::string_view set;
};

constexpr std::array<Entry, 18> kTable{{{"", "--set", Shape::assignment, "keys"},
                                        {"", "--vary", Shape::assignment, "keys"},
                                        {"calibrate fit", "--cross-validate", Shape::list, "held out"},
                                        {"calibrate fit", "--gpu", Shape::word, "gpus"},
                                        {"calibrate fit", "--model", Shape::word, "models"},
                                        {"capacity", "--machines", Shape::list, "gpus"},
                                        {"capacity", "--policies", Shape::list, "policies"},
                                        {"capacity", "--slo", Shape::assignment, "objectives"},
                                        {"compare", "--policies", Shape::list, "policies"},
                                        {"completion", "SHELL", Shape::word, "shells"},
                                        {"list", "KIND", Shape::word, "kinds"},
                                        {"plan", "--link", Shape::word, "links"},
                                        {"show", "NAME", Shape::word, "names"},
                                        {"sweep", "--metric", Shape::word, "metrics"},
                                        {"validate", "--group", Shape::word, "groups"},
                                        {"workload info", "--format", Shape::word, "traces"},
                                        {"workload info", "--model", Shape::word, "models"},
                                        {"workload info", "--policies", Shape::list, "eviction policies"}}};

Words words_of(const std::string& set) {
  if (set == "keys") return keys();
  if (set == "kinds") return kinds();
  if (set == "names") return all_things();
  if (set == "policies") return undescribed(planner::policies_of_every_kind());
  if (set == "eviction policies") return described(cache::eviction_policies());
  if (set == "groups") return described(validation::groups());
  if (set == "metrics") return undescribed(results::metric_names());
  if (set == "objectives") return undescribed(objective_names());
  if (set == "shells") return described(shells());
  if (set == "held out") return undescribed({"shapes", "models", "machines", "none"});
  return things(set);
}

std::string name_of(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : names_of(option).back();
}

bool is_about(const Entry& entry, const CLI::App& command, const CLI::Option& option) {
  return entry.option == name_of(option) && (entry.command.empty() || entry.command == path_of(command));
}

void visit(const CLI::App& app, const std::function<void(const CLI::App&, const CLI::Option&)>& use) {
  for (const CLI::Option* option : app.get_options()) use(app, *option);
  for (const CLI::App* command : subcommands_of(app)) visit(*command, use);
}

}  // namespace

Values values_of(const CLI::App& command, const CLI::Option& option) {
  for (const Entry& entry : kTable) {
    if (is_about(entry, command, option)) return {entry.shape, std::string(entry.set)};
  }
  if (!choices_of(option).empty()) return {Shape::word, path_of(command) + " " + name_of(option)};
  const std::string type = type_of(option);
  if (type == "FILE") return {Shape::file, ""};
  if (type == "DIR") return {Shape::folder, ""};
  return {};
}

std::vector<ValueSet> value_sets(const CLI::App& app) {
  std::vector<ValueSet> sets;
  std::array<bool, kTable.size()> used{};
  visit(app, [&](const CLI::App& command, const CLI::Option& option) {
    for (std::size_t i = 0; i < kTable.size(); ++i) used[i] = used[i] || is_about(kTable[i], command, option);
    const std::string set = values_of(command, option).set;
    const bool known = std::any_of(sets.begin(), sets.end(), [&set](const ValueSet& s) { return s.name == set; });
    if (set.empty() || known) return;
    const std::vector<std::string> choices = choices_of(option);
    sets.push_back({set, choices.empty() ? words_of(set) : undescribed(choices)});
  });
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (!used[i])
      throw std::logic_error(fmt::format("no command has the option {}, whose values are known", kTable[i].option));
  }
  return sets;
}

}  // namespace kvsim::cli
