// Figures as people read them, and as one JSON document.
#pragma once

#include <string>
#include <vector>

#include "tools/results/numbers.h"
#include "tools/results/section.h"
#include "tools/results/table.h"
#include "tools/validation/group.h"

namespace kvsim::validation {

/// A table a group, in the order in which groups first occur, then numbered notes: sources, assumptions and reasons.
/// Skipped figures that were not simulated are counted under their reasons instead of having rows. `measured`: the
/// folder of measured data, empty where there was none.
results::Page figures_page(const std::vector<Figure>& figures, const std::string& measured = {});

/// `measured` as above. Numbers that are none become null.
results::Json figures_document(const std::vector<Figure>& figures, const std::string& measured);
results::KeyList figures_keys();

/// "41 passed, 2 outside, 17 skipped", and "; 9 predictions" where there are any.
std::string summary_line(const Tally& tally);

}  // namespace kvsim::validation
