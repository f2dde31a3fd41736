#include "tools/cli/command.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace kvsim::cli {

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> named_options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  const std::string above = path_of(*app.get_parent());
  return above.empty() ? app.get_name() : above + " " + app.get_name();
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

bool repeatable(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

// CLI11 keeps a type and what validates it as one text, "NAME:{vllm,lmcache}".
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(":{"));
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || !type.ends_with('}')) return {};
  return CLI::detail::split(type.substr(begin + 2, type.size() - begin - 3), ',');
}

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace kvsim::cli
