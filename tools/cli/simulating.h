// Common parts of commands that simulate: their options, how they run scenarios, where results go.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/chrome_trace.h"
#include "tools/cli/console.h"
#include "tools/cli/output_files.h"
#include "tools/cli/request_table.h"
#include "tools/results/result_document.h"

namespace CLI {
class App;
}

namespace kvsim::cli {

/// Options of every command that simulates.
struct SimulationOptions {
  std::vector<std::string> set;  ///< --set a.b.c=v
  std::optional<std::int64_t> seed;
  std::optional<std::int64_t> replications;
  int jobs = 1;
};

struct RunOptions : SimulationOptions {
  std::string out;
  std::string trace_out;
  std::string requests;
  bool json = false;
  bool csv = false;
  bool timing = false;
  bool details = false;
};

/// Declares an option whose value is a whole number in [least, most]; `use` gets it.
void add_whole_number(CLI::App& app, const std::string& name, std::int64_t least, std::int64_t most,
                      const std::function<void(std::int64_t)>& use, const std::string& description);

/// Declares `--set`, alone: every command that reads a scenario has it.
void declare_set(CLI::App& app, std::vector<std::string>& set);

/// Declares `--set`, `--seed`, `--replications` and `--jobs`. `options` must outlive the parsing.
void declare_simulation_options(CLI::App& app, SimulationOptions& options);

/// Declares all of them. `options` must outlive the parsing.
void declare_run_options(CLI::App& app, RunOptions& options);

/// The overrides of a scenario that `--seed` and `--replications` stand for.
std::vector<std::string> seeds_of(const SimulationOptions& options);

/// The files that a scenario was read from: its own, its trace, what it includes.
std::vector<std::string> files_read(const std::string& file, const scenario::Settings& scenario);

/// Reads a scenario's file with the options' changes to it.
scenario::ScenarioFile scenario_file(const std::string& file, const SimulationOptions& options);

/// Refuses keys of the command line that have an effect on none of these scenarios (schema::InputError). Of keys of a
/// file without effect on any of its scenarios it warns, and puts a remark into each of them.
void remark_on_keys(const std::vector<scenario::Scenario*>& scenarios);

/// A scenario to run.
struct Planned {
  scenario::Scenario scenario;
  std::string policy;                           ///< of a comparison; else empty
  engine::TraceSink* trace = nullptr;           ///< of its first replication
  bool timeline = false;                        ///< keep its first replication's load over time
  serving::RequestWatcher* requests = nullptr;  ///< of its first replication
};

void remark_on_keys(std::vector<Planned>& planned);

/// Outcome of replications that had finished when SIGINT or SIGTERM came.
enum class WhenInterrupted {
  drop_all,
  /// Where each scenario has some: the outcomes are those of that many (run.replications says how many).
  keep_finished
};

/// Runs scenarios side by side; results come by index, whatever the number of threads.
/// Throws schema::InputError for scenarios that turn out not to make sense, Interrupted after SIGINT or SIGTERM where
/// nothing is kept, and what planner::run_experiment throws.
std::vector<results::Outcome> run_experiments(std::vector<Planned> planned, int jobs,
                                              WhenInterrupted when = WhenInterrupted::drop_all);

/// The results as a user gets them.
struct Presentation {
  results::Json document;
  std::vector<results::Page> pages;           ///< for the terminal
  std::vector<results::Page> markdown_pages;  ///< for result.md
  std::string interrupted = {};               ///< what the results are of, where the command was interrupted
};

/// The files of a run. Checked before the simulation starts, there when it has ended.
class RunFiles {
 public:
  /// `labels` tell the timelines and requests of several runs apart ("trace.json" becomes "trace.LABEL.json"); an empty
  /// one adds nothing. Throws OutputError, and schema::InputError where a file would be one of `inputs`, or two one.
  RunFiles(const RunOptions& options, const std::vector<std::string>& labels, const std::vector<std::string>& inputs);

  /// Lets run `i` write its timeline and its requests, where these were asked for.
  void give_to(Planned& planned, std::size_t i) const;

  /// Completes and names all files. Throws OutputError.
  void finish(const Presentation& presentation, const std::vector<results::Outcome>& outcomes);

 private:
  std::optional<OutputFolder> folder_;
  std::vector<PendingStream> trace_files_, request_files_;
  std::vector<std::unique_ptr<engine::ChromeTrace>> traces_;
  std::vector<std::unique_ptr<RequestTable>> requests_;
};

/// Completes the files and prints the results.
void deliver(Console& console, const RunOptions& options, RunFiles& files, const Presentation& presentation,
             const std::vector<results::Outcome>& outcomes);

}  // namespace kvsim::cli
