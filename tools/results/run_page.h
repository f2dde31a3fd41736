// The result of one run, for people, and the tables about what not every run has.
#pragma once

#include <vector>

#include "tools/results/outcome.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// `timing`: with the speed of the simulator, which differs between equal runs.
Page run_page(const Outcome& outcome, bool timing);

/// Model, machines and policies in one line: "llama-3.1-70b on 2 x h100-nvl, draft_verify ...".
std::string setup_line(const scenario::Scenario& scenario);

/// Facts that a reader should know before believing the numbers: assumptions, fall-backs, refusals.
std::vector<List> caveats(const std::vector<Outcome>& outcomes);

/// Draft lengths as rows of a table of key figures; none where nothing was drafted on replicas.
void add_draft_length_rows(Table& table, const Outcome& outcome);

/// An auxiliary drafter.
Table drafter_table(const Outcome& outcome);

/// A low-bit copy on the GPU, and what was fetched beside it.
Table fetch_table(const Outcome& outcome);

/// Two pools of nodes: nodes, paths, and where prompts' KV came from.
std::vector<Table> pools_tables(const Outcome& outcome);

/// Where the KV of prompts came from: of two pools, or of replicas whose requests share blocks in GPU memory.
Table prefix_table(const Outcome& outcome);

/// Stored prompts: what became of them, tiers, representations.
std::vector<Table> placement_tables(const Outcome& outcome);

/// How prompts were put together from chunks, and what answers scored; none for prompts that are not made of chunks.
std::vector<Table> reuse_tables(const Outcome& outcome);

}  // namespace kvsim::results
