// kvsim man: the man page kvsim(1), from the same definitions as --help.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "sim/scenario/scenario.h"
#include "tools/cli/command.h"
#include "tools/cli/roff.h"
#include "tools/cli/signals.h"
#include "tools/results/result_document.h"

namespace kvsim::cli {
namespace man_internal {
namespace {

using roff::bold;
using roff::italic;
using roff::prose;

constexpr std::size_t kExampleWidth = 62;  // 80 columns less the indents of a command's example

std::string section(std::string_view name) {
  return fmt::format(".SH {}\n", name);
}

/// A term with what it means, indented below.
std::string item(std::string_view term, std::string_view meaning) {
  return fmt::format(".TP\n{}\n{}\n", term, meaning);
}

std::string paragraph(std::string_view text) {
  return ".PP\n" + prose(text) + "\n";
}

std::string value_word(const CLI::Option& option) {
  const std::string type = type_of(option);
  return type.empty() ? std::string() : " " + italic(type);
}

std::string positional_word(const CLI::Option& option) {
  std::string word = italic(option.get_name(true)) + (repeatable(option) ? "..." : "");
  return option.get_required() ? word : "[" + word + "]";
}

std::string synopsis_of(const CLI::App& app) {
  const std::string path = path_of(app);
  std::string line = bold(path.empty() ? app.get_name() : "kvsim " + path);
  if (!subcommands_of(app).empty() && positionals_of(app).empty()) return line + " " + italic("COMMAND") + " ...";
  for (const CLI::Option* option : positionals_of(app)) line += " " + positional_word(*option);
  for (const CLI::Option* option : named_options_of(app)) {
    if (option->get_required()) line += " " + bold(names_of(*option).back()) + value_word(*option);
  }
  return line + " [" + italic("OPTIONS") + "]";
}

std::string meaning_of(const CLI::Option& option) {
  std::string text = prose(on_one_line(option.get_description())) + ".";
  if (const std::vector<std::string> choices = choices_of(option); !choices.empty()) {
    text += fmt::format(" One of {}.", roff::literal(fmt::format("{}", fmt::join(choices, ", "))));
  }
  if (!option.get_default_str().empty()) text += fmt::format(" Default: {}.", bold(option.get_default_str()));
  if (option.get_required() && !option.get_positional()) text += " Required.";
  return text;
}

std::string options_of(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : positionals_of(app)) {
    out += item(italic(option->get_name(true)) + (repeatable(*option) ? "..." : ""), meaning_of(*option));
  }
  for (const CLI::Option* option : named_options_of(app)) {
    std::string names;
    for (const std::string& name : names_of(*option)) names += (names.empty() ? "" : ", ") + bold(name);
    out += item(names + (takes_value(*option) ? value_word(*option) : ""), meaning_of(*option));
  }
  return out;
}

/// A footer of the help: indented lines are examples.
std::string footer_of(const CLI::App& app) {
  std::string out, lines;
  const std::vector<std::string> footer = CLI::detail::split(app.get_footer(), '\n');
  for (std::size_t i = 0; i < footer.size(); ++i) {
    const std::string& line = footer[i];
    if (line.starts_with("  ")) lines += line.substr(2) + "\n";
    const bool more = i + 1 < footer.size() && footer[i + 1].starts_with("  ");
    if (!lines.empty() && !more) out += roff::example(lines, kExampleWidth);
    if (!more) lines.clear();
    if (!line.empty() && !line.starts_with("  ")) out += paragraph(line);
  }
  return out;
}

std::string commands_of(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : subcommands_of(app)) {
    out += fmt::format(".SS {}\n", roff::literal(path_of(*command)));
    out += prose(command->get_description() + ".") + "\n.PP\n" + synopsis_of(*command) + "\n";
    out += options_of(*command) + footer_of(*command) + commands_of(*command);
  }
  return out;
}

std::string exit_status() {
  std::string out = section("EXIT STATUS");
  for (const StatusMeaning& s : kStatusMeanings) {
    out += item(bold(std::to_string(static_cast<int>(s.status))), prose(s.meaning));
  }
  return out;
}

std::string environment() {
  return section("ENVIRONMENT") + item(bold("NO_COLOR"), prose("Where it is set and not empty, nothing is coloured.")) +
         item(bold("TERM"),
              prose("`dumb`, or nothing: no colour, and no line on standard error that shows how far things have "
                    "come. Neither is there where the output is no terminal.")) +
         item(bold("KVSIM_PROGRESS"),
              prose("Where standard error is no terminal, commands that simulate, search or fit say every so many "
                    "seconds how far they have come; 0: never. 30 by default.")) +
         item(bold("KVSIM_MEASURED"), prose("Folder of measured data for `kvsim validate`."));
}

std::string files() {
  return section("FILES") + item(italic("SCENARIO"), prose("A YAML file; see SCENARIO below.")) +
         item("result.json, result.md, resolved.yaml, timing.json",
              prose(
                  "In the folder of --out of run and compare: all figures, the printed tables, the scenario with every "
                  "default, and what differs between equal runs.")) +
         item("sweep.csv, sweep.json, points.jsonl",
              prose(
                  "In the folder of --out of sweep. Points are saved in the last as they finish; --resume reads it.")) +
         item(italic("PREFIX") + "/share/kvsim/scenarios",
              prose("Scenarios to begin with, where kvsim is installed.")) +
         item(italic("PREFIX") + "/share/doc/kvsim", prose("How to read the results, and what the models rest on."));
}

std::string scenario() {
  const schema::ObjectInfo& info = scenario::scenario_schema().info();
  std::string out = section("SCENARIO") +
                    prose(
                        "What is simulated is a YAML file. Quantities carry units (64 GB/s, 25 ms, 32k tokens), names "
                        "come from the catalogue (`kvsim list`), and a misspelt key is refused. Its keys:") +
                    "\n";
  for (const schema::FieldInfo& field : info.fields) out += item(bold(field.name), prose(field.description));
  return out + paragraph(
                   "`kvsim schema --markdown` describes every key below these, with unit, range and default; `kvsim "
                   "schema` is a JSON Schema for editors. `kvsim check` shows a scenario with all of its defaults.");
}

struct Example {
  const char* what;
  const char* line;
};

std::string examples() {
  constexpr std::array<Example, 6> kExamples{{
      {"What does drafting on compressed KV bring on two H100 NVL?",
       "kvsim compare scenarios/long_context/headline.yaml"},
      {"Which draft length and keep ratio are best there, and does the simulator agree?",
       "kvsim plan scenarios/long_context/headline.yaml --simulate"},
      {"A grid of points, saved as they finish; the same line with --resume goes on after an interruption:",
       "kvsim sweep scenarios/long_context/headline.yaml --vary decode.draft_length=10:40:10 --vary "
       "decode.keep_ratio=0.1,0.2,0.4 --out results"},
      {"A timeline of two minutes for Perfetto:",
       "kvsim run scenarios/long_context/headline.yaml --set run.duration=\"2 min\" --set run.warmup=\"10 s\" "
       "--trace-out timeline.json.gz"},
      {"How many machines does it take, and what do they cost?",
       "kvsim capacity scenarios/capacity/chat.yaml --machines h100-sxm,a100 --rate 100/s"},
      {"All of it as one page that opens in any browser:", "kvsim report results --out report.html"},
  }};
  std::string out = section("EXAMPLES");
  for (const Example& e : kExamples) out += paragraph(e.what) + roff::example(e.line, kExampleWidth);
  return out;
}

/// In roff with the man macros: every command below `app`, every option with its type, choices and default.
std::string man_page(const CLI::App& app) {
  std::string out = ".\\\" Generated by kvsim man; do not edit.\n";
  out += ".nr HY 0\n";  // names are not to be hyphenated
  out += fmt::format(".TH KVSIM 1 \"\" \"kvsim {}\" \"User Commands\"\n", roff::literal(results::kvsim_version()));
  out += ".ad l\n";
  out += section("NAME") + "kvsim \\- discrete\\-event simulator and capacity planner for LLM serving\n";
  out += section("SYNOPSIS");
  for (const CLI::App* command : subcommands_of(app)) {
    out += synopsis_of(*command) + "\n.br\n";
  }
  out += section("DESCRIPTION") + prose(app.get_description()) + "\n";
  out += paragraph(
      "It steps through every iteration, transfer and block of memory of a serving system, from a scenario that "
      "names GPUs, links, memories, a model, the traffic and how tokens are decoded, and says how fast it is, what "
      "binds, and what that costs. No GPU is needed. Results go to standard output, everything else to standard "
      "error; what was assumed is printed below every result. The same scenario and seed give the same bytes.");
  out += options_of(app);
  out += section("COMMANDS") + commands_of(app);
  out += exit_status() + environment() + files() + scenario() + examples();
  out += section("SEE ALSO") + prose("`kvsim COMMAND --help`; `kvsim completion` for bash, zsh and fish.") + "\n.PP\n" +
         prose("Timelines open in https://ui.perfetto.dev.") + "\n";
  return out;
}

std::function<void(Console&)> declare(CLI::App& app) {
  return [&app](Console& console) { console.print(man_page(*app.get_parent())); };
}

}  // namespace
}  // namespace man_internal

extern const Command man_command;
const Command man_command{"man", "Print the man page kvsim(1) in roff", "kvsim man | man -l -", man_internal::declare};

}  // namespace kvsim::cli
