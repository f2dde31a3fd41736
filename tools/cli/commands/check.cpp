// kvsim check: reads a scenario as run would, and shows it as kvsim understood it.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "planner/experiment.h"
#include "tools/cli/command.h"
#include "tools/cli/simulating.h"
#include "tools/results/numbers.h"
#include "tools/results/run_page.h"
#include "tools/results/scenario_words.h"

namespace kvsim::cli {
namespace check_internal {
namespace {

struct Options {
  std::string scenario;
  std::vector<std::string> set;
};

void check(Console& console, const Options& options) {
  const scenario::Scenario scenario = scenario::load_scenario(options.scenario, options.set);
  const serving::KvCapacity k = serving::kv_capacity(scenario.serving);
  std::string setup = results::setup_line(scenario);
  std::replace(setup.begin(), setup.end(), '\n', ' ');
  // Comments, so that the whole is a scenario again.
  console.print(
      fmt::format("# OK: {}\n"
                  "# {}\n"
                  "# KV capacity of a {}: {} {} in {} blocks of {} ({} bytes), beside {} bytes of weights\n",
                  options.scenario, setup, results::group_word(scenario.serving.cluster), k.tokens,
                  results::capacity_word(scenario.serving.model), k.blocks, k.block_tokens, k.bytes, k.weights_bytes));
  if (scenario.serving.placement) {
    console.print(fmt::format("# Prompts are stored in {}\n", results::tiers_text(scenario.serving)));
  }
  if (scenario.trace) console.print(fmt::format("# Trace: {}\n", results::counted(scenario.trace->size(), "request")));
  console.print(scenario::resolved_yaml(scenario));
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->required()->type_name("FILE");
  declare_set(app, options->set);
  return [options](Console& console) { check(console, *options); };
}

}  // namespace
}  // namespace check_internal

extern const Command check_command;
const Command check_command{"check", "Check a scenario and print it with every default and entry resolved",
                            "kvsim check scenarios/long_context/headline.yaml --set decode.keep_ratio=0.1",
                            check_internal::declare};

}  // namespace kvsim::cli
