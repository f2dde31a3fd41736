#include "tools/cli/completion.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "planner/backtest/serving_points.h"
#include "planner/policy_words.h"
#include "planner/traffic/trace_writer.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "tools/cli/capacity_options.h"
#include "tools/cli/command.h"
#include "tools/cli/named_things.h"
#include "tools/cli/plan/plan.h"
#include "tools/results/metrics.h"
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

const schema::FieldInfo* field_at(const schema::ObjectInfo& info, std::string_view key) {
  const std::size_t dot = key.find('.');
  const schema::FieldInfo* field = info.find(key.substr(0, dot));
  if (!field || dot == std::string_view::npos) return field;
  return field->object ? field_at(*field->object, key.substr(dot + 1)) : nullptr;
}

/// Values that may be written for a key of a scenario, where that is one of a set.
Words values_of(std::string_view key) {
  const schema::FieldInfo* field = field_at(scenario::scenario_schema().info(), key);
  if (field && field->form == schema::Form::object) field = field->object->find(field->object->shorthand);
  if (!field || field->list) return {};
  if (field->form == schema::Form::reference) return things(field->catalogue);
  if (field->scalar.kind() == schema::ScalarSpec::Kind::boolean) return undescribed({"true", "false"});
  return described(field->scalar.words());
}

Words shell_words() {
  Words words;
  for (const Shell& shell : shells()) words.push_back({std::string(shell.name), std::string(shell.use)});
  return words;
}

enum class Shape {
  none,        ///< a number, a text
  word,        ///< one of a set
  list,        ///< some of a set, with commas between
  assignment,  ///< one of a set, an equals sign, and more
  file,
  folder
};

/// Values that an option may have.
struct Values {
  std::string_view command;  ///< empty: of any
  std::string_view option;
  Shape shape = Shape::none;
  Words (*words)() = nullptr;
};

constexpr std::array<Values, 23> kTable{
    {{"", "--set", Shape::assignment, keys},
     {"", "--vary", Shape::assignment, keys},
     {"backtest", "--given", Shape::assignment,
      [] {
        Words words;
        for (const std::string_view column : planner::backtest::point_columns())
          words.push_back({std::string(column), ""});
        return words;
      }},
     {"calibrate fit", "--cross-validate", Shape::list,
      [] {
        return undescribed({"shapes", "models", "machines", "none"});
      }},
     {"calibrate fit", "--gpu", Shape::word, [] { return things("gpus"); }},
     {"calibrate fit", "--model", Shape::word, [] { return things("models"); }},
     {"capacity", "--machines", Shape::list, [] { return things("gpus"); }},
     {"capacity", "--policies", Shape::list, [] { return undescribed(planner::policies_of_every_kind()); }},
     {"capacity", "--slo", Shape::assignment, [] { return undescribed(objective_names()); }},
     {"compare", "--policies", Shape::list, [] { return undescribed(planner::policies_of_every_kind()); }},
     {"completion", "SHELL", Shape::word, shell_words},
     {"list", "KIND", Shape::word, kinds},
     {"plan", "--link", Shape::word, [] { return things("links"); }},
     {"show", "NAME", Shape::word, all_things},
     {"sweep", "--metric", Shape::word, [] { return undescribed(results::metric_names()); }},
     {"validate", "--group", Shape::word, [] { return described(validation::groups()); }},
     {"workload compare", "--format", Shape::word, [] { return things("traces"); }},
     {"workload compare", "--format-b", Shape::word, [] { return things("traces"); }},
     {"workload fit", "--format", Shape::word, [] { return things("traces"); }},
     {"workload generate", "--format", Shape::word,
      [] {
        Words words;
        for (const std::string_view name : planner::traffic::TraceWriter::written_formats())
          words.push_back({std::string(name), ""});
        return words;
      }},
     {"workload info", "--format", Shape::word, [] { return things("traces"); }},
     {"workload info", "--model", Shape::word, [] { return things("models"); }},
     {"workload info", "--policies", Shape::list, [] { return described(cache::eviction_policies()); }}}};

std::string name_of(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : names_of(option).back();
}

const Values* find_values(const CLI::App& command, const CLI::Option& option) {
  const auto* found = std::find_if(kTable.begin(), kTable.end(), [&](const Values& v) {
    return v.option == name_of(option) && (v.command.empty() || v.command == path_of(command));
  });
  return found == kTable.end() ? nullptr : found;
}

/// The first clause of a description, which has room beside a word.
std::string first_clause(const std::string& description) {
  const std::string text = on_one_line(description);
  std::size_t end = std::min(text.find("; "), text.size());
  for (std::size_t at = text.find(". "); at < end; at = text.find(". ", at + 1)) {
    if (at + 2 < text.size() && text[at + 2] >= 'A' && text[at + 2] <= 'Z') end = at;  // not "seed + 1, ... (run.x)"
  }
  return text.substr(0, end);
}

/// A command line as far as it is typed: which command, and what the word under the cursor belongs to.
struct Line {
  const CLI::App* command;
  const CLI::Option* awaits = nullptr;  ///< the option whose value comes next
  std::size_t positionals = 0;          ///< given so far
  std::set<const CLI::Option*> given{};
};

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : named_options_of(command)) {
    const std::vector<std::string> names = names_of(*option);
    if (std::find(names.begin(), names.end(), name) != names.end()) return option;
  }
  return nullptr;
}

Line read_line(const CLI::App& app, std::span<const std::string> words) {
  Line line{&app};
  for (const std::string& word : words) {
    if (line.awaits) {
      line.awaits = nullptr;
    } else if (word.starts_with('-')) {
      const std::size_t equals = word.find('=');
      const CLI::Option* option = find_option(*line.command, word.substr(0, equals));
      if (option) line.given.insert(option);
      if (option && takes_value(*option) && equals == std::string::npos) line.awaits = option;
    } else {
      const std::vector<const CLI::App*> below = subcommands_of(*line.command);
      const auto sub = std::find_if(below.begin(), below.end(), [&](const auto* c) { return c->get_name() == word; });
      if (sub != below.end()) {
        line = Line{*sub};
      } else {
        ++line.positionals;
      }
    }
  }
  return line;
}

/// Whether an option means something beside what is given: options of `kvsim plan` do so in some of its modes.
bool may_be_given(const Line& line, const CLI::Option& option) {
  if (path_of(*line.command) != "plan") return true;
  std::set<std::string> given;
  for (const CLI::Option* other : line.given) given.insert(name_of(*other));
  if (line.positionals > 0) given.insert(name_of(*positionals_of(*line.command).front()));
  return may_follow(name_of(option), given);
}

class Candidates {
 public:
  Candidates(const Shell& shell, std::string word) : shell_(shell), word_(std::move(word)) {}

  /// Offers a word that begins as the one under the cursor does.
  void add(const std::string& word, const std::string& description) {
    if (!word.starts_with(word_)) return;
    if (shell_.name == "bash") {
      // readline replaces only what follows the last = or : that is typed.
      out_ += word.substr(word_.find_last_of("=:") + 1) + "\n";
      return;
    }
    const bool zsh = shell_.name == "zsh";
    for (const char c : word) out_ += zsh && (c == ':' || c == '\\') ? std::string{'\\', c} : std::string{c};
    if (const std::string what = first_clause(description); !what.empty()) out_ += (zsh ? ":" : "\t") + what;
    out_ += "\n";
  }
  void direct(std::string_view what) { out_ += fmt::format(":{}\n", what); }

  void add_options(const Line& line) {
    for (const CLI::Option* option : named_options_of(*line.command)) {
      if ((line.given.contains(option) && !repeatable(*option)) || !may_be_given(line, *option)) continue;
      for (const std::string& name : names_of(*option)) {
        if (name.starts_with("--")) add(name, option->get_description());
      }
    }
  }

  /// Offers values of `option`, which stand after `before` in the word; false where nothing is known of them.
  bool add_values(const CLI::App& command, const CLI::Option& option, std::string before = "") {
    const std::vector<std::string> choices = choices_of(option);
    const std::string type = type_of(option);
    if (const Values* known = find_values(command, option)) {
      const std::size_t equals = word_.find('=', before.size());
      if (known->shape == Shape::assignment && equals != std::string::npos) {
        const std::string typed = word_.substr(0, word_.find_last_of("=,") + 1);
        for (const NamedThing& value : values_of(word_.substr(before.size(), equals - before.size()))) {
          add(typed + value.name, value.description);
        }
        return true;
      }
      if (known->shape == Shape::list) before = word_.substr(0, std::max(before.size(), word_.rfind(',') + 1));
      if (known->shape != Shape::word) direct("nospace");
      for (const NamedThing& value : known->words()) {
        add(before + value.name + (known->shape == Shape::assignment ? "=" : ""), value.description);
      }
    } else if (!choices.empty()) {
      for (const std::string& choice : choices) add(before + choice, "");
    } else if (type.starts_with("FILE")) {
      direct("files");
    } else if (type == "DIR") {
      direct("folders");
    } else {
      return false;
    }
    return true;
  }

  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  const Shell& shell_;
  std::string word_;
  std::string out_;
};

}  // namespace

std::vector<std::string> scenario_keys() {
  std::vector<std::string> names;
  for (NamedThing& key : keys()) names.push_back(std::move(key.name));
  return names;
}

std::string completions(const CLI::App& app, const Shell& shell, std::span<const std::string> words) {
  const std::string word = words.empty() ? "" : words.back();
  const Line line = read_line(app, words.first(words.empty() ? 0 : words.size() - 1));
  Candidates out(shell, word);
  if (line.awaits) {
    out.add_values(*line.command, *line.awaits);
    return out.text();
  }
  if (const std::size_t equals = word.find('='); word.starts_with("--") && equals != std::string::npos) {
    const CLI::Option* option = find_option(*line.command, word.substr(0, equals));
    if (option) out.add_values(*line.command, *option, word.substr(0, equals + 1));
    return out.text();
  }
  if (!word.starts_with('-')) {
    const std::vector<const CLI::App*> commands = subcommands_of(*line.command);
    const std::vector<const CLI::Option*> places = positionals_of(*line.command);
    if (line.positionals == 0 || places.empty()) {  // beside a word of its own a command has none below it
      for (const CLI::App* command : commands) out.add(command->get_name(), command->get_description());
    }
    if (!commands.empty() && places.empty()) return out.text();
    const std::size_t place = std::min(line.positionals, places.empty() ? 0 : places.size() - 1);
    const bool open = place < places.size() && (place == line.positionals || repeatable(*places[place])) &&
                      may_be_given(line, *places[place]);
    if (open && out.add_values(*line.command, *places[place])) return out.text();
  }
  out.add_options(line);
  return out.text();
}

void check_values(const CLI::App& app) {
  std::set<const Values*> used;
  const std::function<void(const CLI::App&)> visit = [&](const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) used.insert(find_values(command, *option));
    for (const CLI::App* below : subcommands_of(command)) visit(*below);
  };
  visit(app);
  for (const Values& values : kTable) {
    if (used.contains(&values)) continue;
    throw std::logic_error(fmt::format("no command has the option {}, whose values are known", values.option));
  }
}

}  // namespace kvsim::cli
