// kvsim list: names with a line each.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/named_things.h"
#include "tools/results/result_document.h"
#include "tools/results/section.h"

namespace kvsim::cli {
namespace list_internal {
namespace {

struct Options {
  std::string kind;
  std::vector<std::string> include;
  bool json = false;
};

/// `list policies` means every axis along which a policy decides.
std::vector<const ThingKind*> kinds_of(const std::string& word) {
  const ThingKind& asked = find_thing_kind(word);
  if (asked.plural == "policies")
    return {&asked, &find_thing_kind("schedules"), &find_thing_kind("routers"), &find_thing_kind("dispatchers"),
            &find_thing_kind("placements")};
  return {&asked};
}

results::Json as_json(const std::vector<const ThingKind*>& kinds, const models::Catalogue& catalogue) {
  results::Json doc{{"schema_version", results::kSchemaVersion}, {"kvsim_version", results::kvsim_version()}};
  doc["entries"] = results::Json::array();
  for (const ThingKind* kind : kinds) {
    for (const NamedThing& thing : things_of(*kind, catalogue)) {
      results::Json entry{{"kind", kind->singular}, {"name", thing.name}, {"description", thing.description}};
      for (const auto& [key, value] : thing.more) entry[std::string(key)] = value;
      doc["entries"].push_back(std::move(entry));
    }
  }
  return doc;
}

std::string as_text(const std::vector<const ThingKind*>& kinds, const models::Catalogue& catalogue) {
  std::size_t width = 0;
  for (const ThingKind* kind : kinds) {
    for (const NamedThing& thing : things_of(*kind, catalogue)) width = std::max(width, thing.name.size());
  }
  std::string text;
  for (const ThingKind* kind : kinds) {
    if (kinds.size() > 1) text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", kind->description);
    for (const NamedThing& thing : things_of(*kind, catalogue)) {
      text += fmt::format("{}{:<{}}  {}\n", kinds.size() > 1 ? "  " : "", thing.name, width, thing.description);
    }
  }
  return text;
}

void list(Console& console, const Options& options) {
  const models::Catalogue catalogue = catalogue_with(options.include);
  std::vector<const ThingKind*> kinds;
  if (options.kind.empty()) {
    for (const ThingKind& kind : thing_kinds()) kinds.push_back(&kind);
  } else {
    kinds = kinds_of(options.kind);
  }
  console.print(options.json ? results::json_text(as_json(kinds, catalogue)) : as_text(kinds, catalogue));
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  std::string words;
  for (const ThingKind& kind : thing_kinds()) words += fmt::format("{}{}", words.empty() ? "" : ", ", kind.plural);
  app.add_option("KIND", options->kind, "What to list; by default everything")->type_name("");
  app.footer(fmt::format("{}\n\nKinds: {}", app.get_footer(), words));
  app.add_option("--include", options->include, "A file with further catalogue entries; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_flag("--json", options->json, "Print one JSON document");
  return [options](Console& console) { list(console, *options); };
}

}  // namespace
}  // namespace list_internal

extern const Command list_command;
const Command list_command{"list", "List models, GPUs, links, compressors, policies and more", "kvsim list models",
                           list_internal::declare};

}  // namespace kvsim::cli
