// The result of a run as a JSON document: the figures of the table of metrics, and what is said beside them. Keys,
// their order and their nesting are fixed; what is not in the fixed set is under "details". Equal scenario, seed and
// version give equal bytes: figures of the wall clock are null unless asked for.
#pragma once

#include <vector>

#include "tools/results/documents.h"
#include "tools/results/outcome.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// One run. `timing`: with the figures of the wall clock.
Json result_document(const Outcome& outcome, bool timing);

/// One run without what belongs to it alone: the fixed keys up to "confidence", no timeline, no details.
Json figures_document(const Outcome& outcome);

/// Several runs.
Json results_document(const std::vector<Outcome>& outcomes, bool timing);
KeyList results_keys();

/// The figures of the wall clock alone, for a file beside the results.
Json timing_document(const std::vector<Outcome>& outcomes);

/// Sentences by word or key, those that this result has.
Json definitions_of(const Outcome& outcome);

}  // namespace kvsim::results
