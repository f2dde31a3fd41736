// kvsim show: one named thing in full, with the source of every figure; or one step of a scenario, operator by
// operator.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/not_modelled.h"
#include "models/schema/spelling.h"
#include "planner/command_keys.h"
#include "tools/cli/command.h"
#include "tools/cli/entry_text.h"
#include "tools/cli/named_things.h"
#include "tools/cli/simulating.h"
#include "tools/results/section.h"
#include "tools/results/step_page.h"

namespace kvsim::cli {
namespace show_internal {
namespace {

struct Options {
  std::string name;
  std::vector<std::string> include;
  std::string scenario;
  std::vector<std::string> set;
  results::StepQuestion step;
  bool json = false;
};

/// Figures derived from an entry, as comments above it.
std::string derived(const ThingKind& kind, const std::string& name, const models::Catalogue& catalogue) {
  if (kind.catalogue == models::EntryKind::model) return model_facts(catalogue.model(name));
  if (kind.catalogue == models::EntryKind::compressor) {
    const models::CompressorSpec c = catalogue.compressor(name);
    if (c.kind != models::CompressionKind::token_dropping) {
      return fmt::format("# keep ratio by bits and groups: {:.6g}\n", c.quantised_ratio());
    }
  }
  return {};
}

std::string text_of(const ThingKind& kind, const NamedThing& thing, const models::Catalogue& catalogue) {
  if (kind.catalogue) {
    return derived(kind, thing.name, catalogue) +
           entry_text(*kind.catalogue, thing.name, catalogue.find(*kind.catalogue, thing.name));
  }
  return fmt::format("{} {}: {}\n", kind.singular, thing.name, thing.description);
}

/// The kind in front of a name; null for the owner of a hub's model. Throws schema::InputError for a misspelt kind.
const ThingKind* kind_or_owner(const std::string& word) {
  std::vector<std::string> kinds;
  for (const ThingKind& kind : thing_kinds()) {
    kinds.emplace_back(kind.plural);
    kinds.emplace_back(kind.singular);
  }
  const bool known = std::find(kinds.begin(), kinds.end(), word) != kinds.end();
  return known || !schema::nearest(word, kinds).empty() ? &find_thing_kind(word) : nullptr;
}

void show(Console& console, const Options& options) {
  const models::Catalogue catalogue = catalogue_with(options.include);
  const std::size_t slash = options.name.find('/');
  const std::string name = slash == std::string::npos ? options.name : options.name.substr(slash + 1);
  const ThingKind* only = slash == std::string::npos ? nullptr : kind_or_owner(options.name.substr(0, slash));
  std::string text;
  std::vector<std::string> names;
  for (const ThingKind& kind : thing_kinds()) {
    if (only != nullptr && only != &kind) continue;
    for (const NamedThing& thing : things_of(kind, catalogue)) {
      names.push_back(thing.name);
      if (thing.name != name) continue;
      if (!text.empty()) text += "\n";
      text += text_of(kind, thing, catalogue);
    }
  }
  if (text.empty()) {
    const std::string meant = schema::meant_entry(name, names);
    throw schema::InputError(fmt::format("nothing is called \"{}\"; {}", options.name,
                                         meant.empty() ? "`kvsim list` names everything" : meant));
  }
  console.print(text);
}

/// Refuses keys of the command line that this question does not ask about.
void refuse_unread(const scenario::Scenario& scenario, const results::StepQuestion& step) {
  planner::refuse_unread_by("show step", scenario);
  if (step.batch) planner::refuse_unread_by("show step --batch", scenario);
  if (step.context) planner::refuse_unread_by("show step --context", scenario);
  if (step.verifying == 0) planner::refuse_unread_by("show step without --verify", scenario);
}

void declare_step(CLI::App& app, Options& o) {
  app.add_option("SCENARIO", o.scenario, "Scenario file (YAML)")->required()->type_name("FILE");
  declare_set(app, o.set);
  const auto count = [&app](const char* name, auto& value, const char* what, std::int64_t least = 0) {
    app.add_option(name, value, what)->check(CLI::Range(least, std::int64_t{100'000'000}))->type_name("N");
  };
  count("--batch", o.step.batch, "Requests that decode or draft. Default: as many as have places and memory");
  count("--context", o.step.context, "Tokens of KV of each. Default: the mean of workload.context", 1);
  count("--verify", o.step.verifying, "Further requests that verify decode.draft_length tokens each");
  count("--chunk", o.step.chunk, "Tokens of a prompt that is computed beside them");
  app.add_flag("--json", o.json, "Print the step as one JSON document");
  app.footer("Example:\n  kvsim show step scenarios/long_context/headline.yaml --batch 24 --context 32768 --verify 1");
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("NAME", options->name, "A name from `kvsim list`, or KIND/NAME where several kinds have it")
      ->type_name("");
  CLI::App* step = app.add_subcommand("step", "One step of a scenario's GPUs, operator by operator");
  declare_step(*step, *options);
  app.add_option("--include", options->include, "A file with further catalogue entries; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  return [options, step](Console& console) {
    if (step->parsed()) {
      scenario::Scenario scenario = scenario::load_scenario(options->scenario, options->set);
      remark_on_keys({&scenario});
      refuse_unread(scenario, options->step);
      const results::StepReport report = results::step_report(scenario, options->step);
      if (options->json) {
        console.print(results::json_text(results::step_json(report)));
      } else {
        console.print(results::step_page(report));
      }
    } else if (options->name.empty()) {
      throw schema::InputError("NAME is required; `kvsim list` names everything");
    } else {
      show(console, *options);
    }
  };
}

}  // namespace
}  // namespace show_internal

extern const Command show_command;
const Command show_command{"show", "Print a catalogue entry with its sources", "kvsim show llama-3.1-70b",
                           show_internal::declare};

}  // namespace kvsim::cli
