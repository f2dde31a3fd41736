// kvsim report: results, as a page that leaves the engineer's desk.
#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "tools/cli/command.h"
#include "tools/cli/output_files.h"
#include "tools/report/documents.h"
#include "tools/report/report.h"
#include "tools/results/numbers.h"

namespace kvsim::cli {
namespace report_internal {
namespace {

struct Options {
  std::vector<std::string> results;
  std::string out;
  std::string format;  ///< empty: as the ending of `out` says
};

/// Endings by which pages of a format are named, and no other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kEndings{
    {{".html", "html"}, {".htm", "html"}, {".md", "md"}}};

/// Throws schema::InputError where the file is called what its contents are not, or what nobody knows contents of.
std::string format_of(const Options& options) {
  for (const auto& [ending, format] : kEndings) {
    if (!options.out.ends_with(ending) || options.format == format) continue;
    if (options.format.empty()) return std::string(format);
    throw schema::InputError(
        fmt::format("--out: {} is called {}, and --format {} writes {}: expected another name or "
                    "format",
                    options.out, ending, options.format, options.format == "csv" ? "a folder" : options.format));
  }
  if (!options.format.empty()) return options.format;
  const std::string other = std::filesystem::path(options.out).extension().string();
  if (other.empty()) return "html";
  throw schema::InputError(fmt::format(
      "--out: a page called {} would be neither HTML nor Markdown: expected a name that ends in .html, .htm "
      "or .md, or --format",
      options.out));
}

void write_file(const std::string& path, const std::string& text) {
  PendingFile file(path);
  file.write(text);
  file.commit();
}

/// Throws schema::InputError where the file is one of those that lie beside a result that is read, and no page.
void refuse_file_of_result(const std::string& out, const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool page =
      std::any_of(kEndings.begin(), kEndings.end(), [&out](const auto& ending) { return out.ends_with(ending.first); });
  if (page || !fs::is_regular_file(out, error)) return;
  const fs::path folder = fs::canonical(out, error).parent_path();
  for (const std::string& input : inputs) {
    if (!fs::equivalent(folder, fs::absolute(input, error).parent_path(), error)) continue;
    throw schema::InputError(fmt::format("--out: {} belongs to {}, which is read: expected another name", out, input));
  }
}

void write_report(Console& console, const Options& options) {
  const std::vector<std::string> inputs = report::files_of(options.results);
  const std::string out = options.out.empty() ? "report.html" : options.out;
  refuse_input("--out", out, inputs);
  refuse_file_of_result(out, inputs);
  const std::string format = format_of(options);
  if (format == "csv" && options.out.empty()) {
    throw schema::InputError("report --format csv: a file a plot, so it needs a folder: --out DIR");
  }
  const page::Page report = report::make_report(report::read_inputs(options.results));
  if (format == "csv") {
    const auto files = page::to_csv(report);
    OutputFolder folder(options.out, {files.empty() ? "plot.csv" : files.front().first}, inputs);
    folder.write(files);
    console.print(fmt::format("{}: the data of {}\n", options.out, results::counted(files.size(), "plot")));
    return;
  }
  if (format == "md") {
    const std::string text = page::to_markdown(report);
    if (options.out.empty()) {
      console.print(text);
    } else {
      write_file(options.out, text);
    }
    return;
  }
  const std::string html = page::to_html(report);
  write_file(out, html);
  console.print(page::summary(report));
  console.print(fmt::format("\nThe report, to open in a browser: {} ({})\n", out,
                            results::bytes(static_cast<double>(html.size()))));
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("RESULTS", options->results,
                 "JSON results of run, compare, sweep, plan and capacity, or folders\n"
                 "that these wrote with --out, or folders of such folders")
      ->required()
      ->type_name("FILE|DIR");
  app.add_option("--out", options->out,
                 "The file; report.html by default, md goes to standard output.\n"
                 "Of csv the folder")
      ->type_name("FILE");
  app.add_option("--format", options->format,
                 "html: one page that needs nothing else; md: for a pull request;\ncsv: the data of every plot. "
                 "Default: what the ending of --out says, else html")
      ->check(CLI::IsMember({"html", "md", "csv"}))
      ->type_name("NAME");
  return [options](Console& console) { write_report(console, *options); };
}

}  // namespace
}  // namespace report_internal

extern const Command report_command;
const Command report_command{
    "report", "Write a report of results: one HTML page, Markdown or CSV",
    "kvsim compare scenarios/long_context/headline.yaml --out results/compare\n"
    "  kvsim plan scenarios/long_context/headline.yaml --simulate --explain --out results/plan\n"
    "  kvsim report results --out report.html",
    report_internal::declare};

}  // namespace kvsim::cli
