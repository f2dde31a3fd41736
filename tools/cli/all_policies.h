// Every policy that a scenario could be compared under, by what it compares.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "tools/results/comparison.h"

namespace kvsim::cli {

/// Names as planner::with_policy takes them, the baseline first: prefill policies of prompts made of chunks, placement
/// policies of stored prompts, sets of paths between pools; else decode policies, those that verify under every
/// schedule that needs it. Some may not be able to run.
[[nodiscard]] std::vector<std::string> all_policies(const scenario::Scenario& scenario);

/// The names of every scenario's kind, each once.
[[nodiscard]] std::vector<std::string> policies_of_every_kind();

/// The same names, each with full-KV decoding, and the scenario's own; unchanged where the scenario decodes stored
/// prompts with the full KV itself, or stores none.
[[nodiscard]] std::vector<std::string> with_own_decoding(const scenario::Scenario& scenario,
                                                         std::vector<std::string> names);

/// A scenario under a policy.
struct UnderPolicy {
  std::string policy;
  scenario::Scenario scenario;
};

/// Those of all_policies() that can run on the scenario, and why the others cannot. Throws schema::InputError where
/// none can.
struct Runnable {
  std::vector<UnderPolicy> policies;
  std::vector<results::LeftOut> left_out;
};
[[nodiscard]] Runnable runnable_policies(const scenario::Scenario& scenario);

}  // namespace kvsim::cli
