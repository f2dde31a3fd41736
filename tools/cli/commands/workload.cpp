// kvsim workload: traces of requests, described, fitted, made and compared; and how they are read.
#include "tools/cli/commands/workload.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "tools/cli/command.h"
#include "tools/cli/simulating.h"

namespace kvsim::cli {
namespace workload_internal {
namespace {

using models::TimeForm;
using models::TraceColumns;
using schema::InputError;

constexpr std::array<std::pair<std::string_view, std::string TraceColumns::*>, 7> kNames{
    {{"arrival", &TraceColumns::arrival},
     {"prompt", &TraceColumns::prompt},
     {"output", &TraceColumns::output},
     {"session", &TraceColumns::session},
     {"end", &TraceColumns::end},
     {"parent", &TraceColumns::parent},
     {"blocks", &TraceColumns::blocks}}};
constexpr std::array<std::pair<std::string_view, TimeForm>, 6> kForms{{{"found", TimeForm::found},
                                                                       {"date", TimeForm::date},
                                                                       {"s", TimeForm::seconds},
                                                                       {"ms", TimeForm::milliseconds},
                                                                       {"us", TimeForm::microseconds},
                                                                       {"ns", TimeForm::nanoseconds}}};

template <class Table>
std::vector<std::string> words_of(const Table& table) {
  std::vector<std::string> words;
  for (const auto& entry : table) words.emplace_back(entry.first);
  return words;
}

TimeForm time_form(const std::string& word) {
  for (const auto& [name, form] : kForms) {
    if (name == word) return form;
  }
  throw InputError(fmt::format("--columns: unknown time \"{}\"{}", word, schema::suggest(word, words_of(kForms))));
}

void set_column(TraceColumns& columns, const std::string& name, const std::string& value) {
  if (name == "time") {
    columns.time = time_form(value);
    return;
  }
  if (name == "block_size") {
    const char* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, columns.block_tokens);
    if (error != std::errc() || rest != end) {
      throw InputError(fmt::format("--columns: block_size is \"{}\", expected a whole number of tokens", value));
    }
    return;
  }
  for (const auto& [known, member] : kNames) {
    if (known != name) continue;
    if (!(columns.*member).empty()) throw InputError(fmt::format("--columns: \"{}\" is named twice", name));
    columns.*member = value;
    return;
  }
  std::vector<std::string> names = words_of(kNames);
  names.insert(names.end(), {"block_size", "time"});
  throw InputError(fmt::format("--columns: unknown name \"{}\"{}", name, schema::suggest(name, names)));
}

std::function<void(Console&)> declare(CLI::App& app) {
  app.require_subcommand(1);
  std::vector<std::pair<const CLI::App*, std::function<void(Console&)>>> commands;
  for (const auto& declare_one :
       {declare_workload_info, declare_workload_fit, declare_workload_generate, declare_workload_compare}) {
    std::function<void(Console&)> run = declare_one(app);
    commands.emplace_back(subcommands_of(app).back(), std::move(run));
  }
  return [commands](Console& console) {
    for (const auto& [sub, run] : commands) {
      if (sub->parsed()) run(console);
    }
  };
}

}  // namespace
}  // namespace workload_internal

models::TraceColumns parse_columns(const std::string& text) {
  models::TraceColumns columns;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string pair = text.substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals + 1 == pair.size()) {
      throw schema::InputError(
          fmt::format("--columns: found \"{}\", expected names such as arrival=ts,prompt=in,output=out", pair));
    }
    workload_internal::set_column(columns, pair.substr(0, equals), pair.substr(equals + 1));
    begin = end + 1;
  }
  if (const std::string problem = problem_with(columns); !problem.empty()) {
    throw schema::InputError("--columns: " + problem);
  }
  return columns;
}

models::TraceFormat TraceArguments::trace_format() const {
  if (!format.empty()) return models::find_trace_format(format);
  if (columns.empty()) {
    throw schema::InputError("--format: expected one of `kvsim list traces`, or --columns with the names of columns");
  }
  models::TraceFormat named = models::find_trace_format("columns");
  named.block_tokens = parse_columns(columns).block_tokens;
  return named;
}

models::TraceOptions TraceArguments::options() const {
  models::TraceOptions options;
  options.max_requests = max_requests;
  options.skip_invalid = skip_invalid;
  options.sort = sort;
  if (!columns.empty()) options.columns = parse_columns(columns);
  const bool named = trace_format().name == "columns";
  if (named && columns.empty()) {
    throw schema::InputError("--format columns: give --columns arrival=NAME,prompt=NAME,output=NAME");
  }
  if (!named && !columns.empty()) {
    throw schema::InputError(fmt::format("--columns: format {} has its own", trace_format().name));
  }
  return options;
}

void declare_trace(CLI::App& app, TraceArguments& arguments) {
  app.add_option("--format", arguments.format, "One of `kvsim list traces`; columns where --columns is given")
      ->type_name("F");
  app.add_option(
         "--columns", arguments.columns,
         "Names of a log's columns, or members of its JSON objects: arrival, prompt, output, and where there are "
         "such session, end, parent and blocks with block_size; time=s, ms, us, ns or date says how times are written")
      ->type_name("arrival=NAME,prompt=NAME,output=NAME,...");
  app.add_flag("--skip-invalid", arguments.skip_invalid,
               "Leave out lines that are no request (aborted, without tokens or a time), and say how many");
  app.add_flag("--sort", arguments.sort, "Requests are in any order: sort them by arrival");
  add_whole_number(
      app, "--max-requests", 0, std::numeric_limits<std::int64_t>::max(),
      [&arguments](std::int64_t n) { arguments.max_requests = static_cast<std::uint64_t>(n); },
      "Only the first so many; 0: all");
}

extern const Command workload_command;
const Command workload_command{"workload", "Describe, fit, make and compare traces of requests",
                               "kvsim workload info trace.jsonl --format mooncake", workload_internal::declare};

}  // namespace kvsim::cli
