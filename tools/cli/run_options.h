// What commands that simulate have in common: their options, and where the results of `run` and `compare` go.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sim/engine/chrome_trace.h"
#include "tools/cli/console.h"
#include "tools/cli/output_files.h"
#include "tools/results/result_document.h"

namespace kvsim::cli {

/// What every command that simulates has.
struct SimulationOptions {
  std::vector<std::string> set;  ///< --set a.b.c=v
  std::optional<std::int64_t> seed;
  std::optional<std::int64_t> replications;
  int jobs = 1;
};

struct RunOptions : SimulationOptions {
  std::string out;
  std::string trace_out;
  bool json = false;
  bool timing = false;
};

/// Declares `--set`, alone: every command that reads a scenario has it.
void declare_set(CLI::App& app, std::vector<std::string>& set);

/// Declares `--set`, `--seed`, `--replications` and `--jobs`. `options` must outlive the parsing.
void declare_simulation_options(CLI::App& app, SimulationOptions& options);

/// Declares all of them. `options` must outlive the parsing.
void declare_run_options(CLI::App& app, RunOptions& options);

/// Reads a scenario with the options' changes to it.
scenario::Scenario load(const std::string& file, const RunOptions& options);

/// The results as a user gets them.
struct Presentation {
  results::Json document;
  std::vector<results::Page> pages;           ///< for the terminal
  std::vector<results::Page> markdown_pages;  ///< for result.md
};

/// The files of a run. Checked before the simulation starts, there when it has ended.
class RunFiles {
 public:
  /// `labels` tell the timelines of several runs apart ("trace.json" becomes "trace.LABEL.json"); an empty one adds
  /// nothing. Throws OutputError.
  RunFiles(const RunOptions& options, const std::vector<std::string>& labels);

  /// Where the timeline of run `i` goes; null where none was asked for.
  [[nodiscard]] engine::TraceSink* trace(std::size_t i) const;

  /// Completes and names all files. Throws OutputError.
  void finish(const Presentation& presentation, const std::vector<results::Outcome>& outcomes);

 private:
  std::optional<OutputFolder> folder_;
  std::vector<PendingFile> trace_files_;
  std::vector<std::unique_ptr<engine::ChromeTrace>> traces_;
};

/// Completes the files and prints the results.
void deliver(Console& console, const RunOptions& options, RunFiles& files, const Presentation& presentation,
             const std::vector<results::Outcome>& outcomes);

}  // namespace kvsim::cli
