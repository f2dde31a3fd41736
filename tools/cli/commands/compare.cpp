// kvsim compare: one scenario under several policies, with equal arrivals.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "planner/policy_words.h"
#include "tools/cli/command.h"
#include "tools/cli/named_things.h"
#include "tools/cli/simulating.h"
#include "tools/results/comparison.h"

namespace kvsim::cli {
namespace compare_internal {
namespace {

struct Options : RunOptions {
  std::string scenario;
  std::optional<std::string> policies;
  std::string prices;
};

constexpr const char* kAll = "all";

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  for (auto item = items.begin(); item != items.end(); ++item) {
    if (item->empty()) {
      throw schema::InputError(
          fmt::format("--policies {}: a name is empty, expected a list such as full_kv,lossy", list));
    }
    if (std::find(items.begin(), item, *item) != item) {
      throw schema::InputError(fmt::format("--policies: {} is there twice", *item));
    }
    if (*item == kAll && items.size() > 1) {
      throw schema::InputError(fmt::format("--policies {}: all stands alone", list));
    }
  }
  return items;
}

/// Reason of an error, without the option and the words that it begins with.
std::string reason(const std::string& what) {
  if (!what.starts_with("--policies ")) return what;
  const std::size_t end = what.find(": ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

/// Those of all_policies that can run on the scenario, and why the others cannot.
struct Runnable {
  std::vector<planner::UnderPolicy> policies;
  std::vector<results::LeftOut> left_out;
};
/// Throws schema::InputError where none can.
Runnable runnable_policies(const scenario::ScenarioFile& file) {
  Runnable runnable;
  for (const std::string& policy : planner::all_policies(file.load())) {
    try {
      runnable.policies.push_back({policy, planner::with_policy(file, policy)});
    } catch (const schema::InputError& e) {
      runnable.left_out.push_back({policy, reason(e.what())});
    }
  }
  if (runnable.policies.empty()) {
    const results::LeftOut& first = runnable.left_out.front();
    throw schema::InputError(
        fmt::format("--policies all: no policy can run on this scenario, {} not: {}", first.policy, first.reason));
  }
  return runnable;
}

Runnable runnable(const scenario::ScenarioFile& file, const std::vector<std::string>& policies) {
  if (policies.front() == kAll) return runnable_policies(file);
  Runnable all;
  for (const std::string& policy : policies) all.policies.push_back({policy, planner::with_policy(file, policy)});
  return all;
}

/// Policies that are compared where none are named. Throws schema::InputError where one of them cannot run.
Runnable default_runnable(const scenario::ScenarioFile& file, const scenario::Scenario& scenario,
                          const std::string& name) {
  const std::vector<std::string> policies = planner::default_policies(scenario);
  Runnable all;
  for (const std::string& policy : policies) {
    try {
      all.policies.push_back({policy, planner::with_policy(file, policy)});
    } catch (const schema::InputError& e) {
      throw schema::InputError(fmt::format(
          "{}: compared by default are {}, and {} cannot run on this scenario: {}; --policies says what to compare, "
          "--policies all takes every policy that can run",
          name, fmt::join(policies, ", "), policy, reason(e.what())));
    }
  }
  return all;
}

void compare(Console& console, const Options& options) {
  std::vector<std::string> policies;
  if (options.policies) policies = split(*options.policies);  // what is wrong with it is said before reading files
  const scenario::ScenarioFile file = scenario_file(options.scenario, options);
  const scenario::Scenario scenario = file.load();
  results::Comparison comparison;
  if (!options.prices.empty()) comparison.prices.change_by_file(options.prices, names_of_gpus(scenario));
  Runnable compared = options.policies ? runnable(file, policies) : default_runnable(file, scenario, options.scenario);
  comparison.left_out = std::move(compared.left_out);
  std::vector<std::string> labels;
  std::vector<Planned> planned;
  for (planner::UnderPolicy& under : compared.policies) {
    labels.push_back(under.policy);
    planned.push_back({std::move(under.scenario), std::move(under.policy), nullptr, true});
  }
  std::vector<std::string> inputs = files_read(scenario.file, scenario);
  inputs.push_back(options.prices);
  remark_on_keys(planned);
  RunFiles files(options, labels, inputs);
  for (std::size_t i = 0; i < planned.size(); ++i) files.give_to(planned[i], i);
  comparison.outcomes = run_experiments(std::move(planned), options.jobs);
  Presentation p;
  p.document = results::compare_document(comparison, options.timing);
  p.pages = {results::compare_page(comparison, true, results::Labels::grouped)};
  p.markdown_pages = {results::compare_page(comparison, false, results::Labels::full)};
  deliver(console, options, files, p, comparison.outcomes);
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->required()->type_name("FILE");
  app.add_option("--policies", options->policies,
                 "Decode policies, with a schedule after a colon if need be; the\n"
                 "first is the baseline. By default full_kv, lossy and draft_verify\n"
                 "under lock_step, sequential_verify and staggered; of one with\n"
                 "decode.drafter or decode.sparse, what drafts with them; of one that\n"
                 "fetches KV or keeps a low-bit copy, the policies that do. Between pools,\n"
                 "paths after the colon: full_kv:mix, full_kv:local, full_kv:remote\n"
                 "and draft_verify:mix, by default, or draft_verify:P1_stateless, lossy:mix. Of\n"
                 "prompts stored in tiers, placement policies, with a compressor and its\n"
                 "keep ratio after colons: none, lru, sieve, lru:keydiff:0.3,\n"
                 "importance_chunks and utility, by default, or utility:least_drop_for_need.\n"
                 "Of prompts made of chunks, prefill policies: full_recompute, prefix_cache,\n"
                 "full_reuse, epic, cacheblend and selective, by default, or selective:0.25,\n"
                 "epic:16; or placement policies, under the scenario's prefill policy.\n"
                 "all: every policy of the scenario's kind; those that cannot run on\n"
                 "it are left out, with the reason")
      ->type_name("P,P:S,...|all");
  app.add_option("--prices", options->prices, "Price table (YAML) that changes the built-in one")->type_name("FILE");
  declare_run_options(app, *options);
  return [options](Console& console) { compare(console, *options); };
}

}  // namespace
}  // namespace compare_internal

extern const Command compare_command;
const Command compare_command{"compare", "Simulate a scenario under several policies",
                              "kvsim compare scenarios/long_context/headline.yaml --policies full_kv,lossy --json",
                              compare_internal::declare};

}  // namespace kvsim::cli
