// kvsim workload fit and compare: the laws of a scenario that fit a recorded trace; two traces beside each other.
#include <optional>

#include <CLI/CLI.hpp>

#include "tools/cli/commands/workload.h"
#include "tools/cli/output_files.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/results/section.h"
#include "tools/results/traffic.h"

namespace kvsim::cli {
namespace workload_fit_internal {
namespace {

namespace traffic = planner::traffic;

struct FitOptions {
  std::string trace;
  TraceArguments reading;
  std::string out;
  bool sessions = false;
  bool json = false;
};

constexpr const char* kFragment = "workload.yaml";
constexpr const char* kDocument = "fit.json";

void fit(Console& console, const FitOptions& options) {
  const models::TraceFormat format = options.reading.trace_format();
  models::TraceOptions reading = options.reading.options();
  std::uint64_t left_out = 0;
  std::string first_invalid;
  reading.left_out = &left_out;
  reading.first_invalid = &first_invalid;
  std::optional<OutputFolder> folder;
  if (!options.out.empty()) {
    std::vector<std::string> names{kFragment, kDocument};
    for (const std::string& name : results::fit_chart_names()) names.push_back(name);
    folder.emplace(options.out, names, std::vector<std::string>{options.trace});
  }
  std::optional<StatusLine> line("reading and fitting");
  std::optional<EndsAtOnce> reading_and_fitting(folder ? folder->made() : std::span<const std::string>());
  const traffic::TrafficSample sample = traffic::read_sample(format, options.trace, reading);
  results::FitOutcome outcome{traffic::fit_traffic(sample, options.sessions), options.trace, std::string(format.name)};
  if (!first_invalid.empty()) outcome.lost.push_back(models::lines_left_out(left_out, first_invalid));
  reading_and_fitting.reset();
  line.reset();
  const std::string document = results::json_text(results::fit_document(outcome));
  if (folder) {
    std::vector<std::pair<std::string, std::string>> files{{kFragment, results::fit_yaml(outcome, true)},
                                                           {kDocument, document}};
    for (auto& chart : results::fit_charts(outcome, sample)) files.push_back(std::move(chart));
    folder->write(files);
  }
  console.print(options.json ? document : results::fit_yaml(outcome, false));
}

struct CompareOptions {
  std::string a, b;
  TraceArguments reading;
  TraceArguments other;  ///< of B, where it differs
  bool json = false;
};

void compare(Console& console, const CompareOptions& options) {
  TraceArguments other = options.other;
  other.max_requests = options.reading.max_requests;
  other.skip_invalid = options.reading.skip_invalid;
  other.sort = options.reading.sort;
  if (other.format.empty() && other.columns.empty()) other = options.reading;
  const auto sample = [](const std::string& trace, const TraceArguments& reading) {
    return traffic::read_sample(reading.trace_format(), trace, reading.options());
  };
  (void)other.options();  // before the first is read
  const traffic::TrafficSample a = sample(options.a, options.reading), b = sample(options.b, other);
  const results::TraceComparison outcome{traffic::compare_traffic(a, b), options.a, options.b};
  if (options.json) {
    console.print(results::json_text(results::trace_comparison_document(outcome)));
  } else {
    console.print(results::trace_comparison_page(outcome));
  }
}

}  // namespace
}  // namespace workload_fit_internal

std::function<void(Console&)> declare_workload_fit(CLI::App& app) {
  using namespace workload_fit_internal;
  auto options = std::make_shared<FitOptions>();
  CLI::App* sub = app.add_subcommand("fit", "Fit the laws of a scenario's workload to a trace");
  sub->footer(
      "Prints the key `workload` of a scenario, below comments that say how well it fits and what it loses.\n\n"
      "Examples:\n  kvsim workload fit trace.jsonl --format mooncake --out fitted\n"
      "  kvsim workload fit log.csv --columns arrival=ts,prompt=in,output=out");
  sub->add_option("TRACE", options->trace, "The trace")->required()->type_name("FILE");
  declare_trace(*sub, options->reading);
  sub->add_flag("--sessions", options->sessions, "Fit sessions, whose turns wait for each other");
  sub->add_option("--out", options->out,
                  "Write workload.yaml, fit.json and plots of lengths and arrivals into this folder")
      ->type_name("DIR");
  sub->add_flag("--json", options->json, "Print one JSON document");
  return [options](Console& console) { fit(console, *options); };
}

std::function<void(Console&)> declare_workload_compare(CLI::App& app) {
  using namespace workload_fit_internal;
  auto options = std::make_shared<CompareOptions>();
  CLI::App* sub = app.add_subcommand("compare", "Two traces beside each other");
  sub->footer(
      "Examples:\n  kvsim workload compare monday.jsonl tuesday.jsonl --format mooncake\n"
      "  kvsim workload compare trace.jsonl made.csv --format mooncake --format-b csv");
  sub->add_option("A", options->a, "A trace")->required()->type_name("FILE");
  sub->add_option("B", options->b, "Another")->required()->type_name("FILE");
  declare_trace(*sub, options->reading);
  sub->add_option("--format-b", options->other.format, "Format of B, where it is another")->type_name("F");
  sub->add_option("--columns-b", options->other.columns, "Names of B's columns, where they are others")
      ->type_name("arrival=NAME,...");
  sub->add_flag("--json", options->json, "Print one JSON document");
  return [options](Console& console) { compare(console, *options); };
}

}  // namespace kvsim::cli
