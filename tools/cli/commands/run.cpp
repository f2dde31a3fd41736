// kvsim run: simulates scenarios and prints what they came to.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/signals.h"
#include "tools/cli/simulating.h"
#include "tools/results/result_document.h"
#include "tools/results/run_page.h"

namespace kvsim::cli {
namespace run_internal {
namespace {

struct Options : RunOptions {
  std::vector<std::string> scenarios;
};

Presentation present(const std::vector<results::Outcome>& outcomes, bool timing, const std::string& interrupted) {
  Presentation p;
  p.interrupted = interrupted;
  p.document = outcomes.size() == 1 ? results::result_document(outcomes.front(), timing)
                                    : results::results_document(outcomes, timing);
  for (const results::Outcome& outcome : outcomes) {
    p.pages.push_back(results::run_page(outcome, true));
    p.markdown_pages.push_back(results::run_page(outcome, false));
  }
  return p;
}

std::vector<std::int64_t> replications_of(const std::vector<Planned>& planned) {
  std::vector<std::int64_t> counts;
  for (const Planned& p : planned) counts.push_back(p.scenario.replications);
  return counts;
}

/// Replications that the results are of where not all had finished; else empty.
std::string kept_of(const std::vector<std::int64_t>& asked, const std::vector<results::Outcome>& outcomes) {
  std::vector<std::string> kept;
  bool all = true;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const std::int64_t finished = outcomes[i].scenario.replications;
    kept.push_back(fmt::format("{} of {}", finished, asked[i]));
    all = all && finished == asked[i];
  }
  if (all) return {};
  return fmt::format("results are of the first {} replications", fmt::join(kept, ", "));
}

void run(Console& console, const Options& options) {
  std::vector<Planned> planned;
  std::vector<std::string> labels, inputs;
  for (const std::string& file : options.scenarios) {
    planned.push_back({scenario_file(file, options).load(), "", nullptr, true});
    const scenario::Scenario& last = planned.back().scenario;
    for (std::string& read : files_read(last.file, last)) inputs.push_back(std::move(read));
    labels.push_back(options.scenarios.size() == 1 ? "" : std::to_string(planned.size()));
  }
  remark_on_keys(planned);
  RunFiles files(options, labels, inputs);
  for (std::size_t i = 0; i < planned.size(); ++i) files.give_to(planned[i], i);
  const std::vector<std::int64_t> asked = replications_of(planned);
  const std::vector<results::Outcome> outcomes =
      run_experiments(std::move(planned), options.jobs, WhenInterrupted::keep_finished);
  const std::string kept = kept_of(asked, outcomes);
  deliver(console, options, files, present(outcomes, options.timing, kept), outcomes);
  if (!kept.empty()) throw Interrupted(kept);
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("SCENARIO", options->scenarios, "Scenario files (YAML)")->required()->type_name("FILE");
  declare_run_options(app, *options);
  return [options](Console& console) { run(console, *options); };
}

}  // namespace
}  // namespace run_internal

extern const Command run_command;
const Command run_command{"run", "Simulate scenarios",
                          "kvsim run scenarios/long_context/headline.yaml --set decode.draft_length=30 --out results",
                          run_internal::declare};

}  // namespace kvsim::cli
