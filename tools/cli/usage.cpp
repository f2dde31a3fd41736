#include "tools/cli/usage.h"

#include <vector>

#include <fmt/format.h>

#include "models/schema/spelling.h"

namespace kvsim::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string about_leftover(const CLI::App& app, const std::string& word) {
  if (word.starts_with("-")) {
    const std::string name = word.substr(0, word.find('='));
    const std::string near = schema::nearest(name, option_names(app));
    return fmt::format("unknown option \"{}\"{}", name,
                       near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  }
  const std::vector<std::string> commands = command_names(app);
  if (commands.empty()) return fmt::format("unexpected argument \"{}\"", word);
  return fmt::format("unknown command \"{}\"{}", word, schema::suggest(word, commands));
}

/// What CLI11 says, where that is not clear enough in other words.
std::string reworded(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> commands = command_names(app);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !commands.empty()) {
    return "a command is missing" + schema::suggest("", commands);
  }
  const std::string message = error.what();
  constexpr std::string_view lacks = ": 1 required ";  // "--seed: 1 required N missing"
  const std::size_t at = message.find(lacks);
  return at == std::string::npos ? message : message.substr(0, at) + ": a value is missing";
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().back();
    path += " " + at->get_name();
  }
  const std::vector<std::string> left = at->remaining();
  const std::string message = left.empty() ? reworded(*at, error) : about_leftover(*at, left.front());
  return fmt::format("{} ({} --help says more)", message, path);
}

}  // namespace kvsim::cli
