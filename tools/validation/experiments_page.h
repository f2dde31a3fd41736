// Experiments as people read them, as one JSON document, and as a page with their figures.
#pragma once

#include <vector>

#include "tools/results/numbers.h"
#include "tools/results/section.h"
#include "tools/results/table.h"
#include "tools/validation/experiment.h"

namespace kvsim::validation {

/// List of the experiments, without simulating them.
results::Page experiments_list(const std::vector<ExperimentFile>& files);
/// A table of verdicts, then of each experiment its points, and what explains a miss.
results::Page experiments_text(const std::vector<Reproduced>& all);
/// A section a figure: chart with the published points on it, table, claims, assumptions. For page::to_html.
results::Page experiments_page(const std::vector<Reproduced>& all);

results::Json experiments_document(const std::vector<Reproduced>& all);
results::KeyList experiments_keys();

}  // namespace kvsim::validation
