// The result of one run, for people.
#pragma once

#include "tools/results/outcome.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// `timing`: with the speed of the simulator, which differs between equal runs.
Page run_page(const Outcome& outcome, bool timing);

/// Model, machines and policies in one line: "llama-3.1-70b on 2 x h100-nvl, draft_verify ...".
std::string setup_line(const scenario::Scenario& scenario);

/// What a reader should know before believing the numbers: assumptions, fall-backs, refusals.
std::vector<List> caveats(const std::vector<Outcome>& outcomes);

}  // namespace kvsim::results
