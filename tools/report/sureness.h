// How sure the answers of a report are.
#pragma once

#include "tools/report/input.h"
#include "tools/report/report.h"

namespace kvsim::report {

/// Intervals of what the results are chosen by, confidence of fleets, and how many figures are assumptions.
[[nodiscard]] Fact how_sure(const Inputs& inputs);

}  // namespace kvsim::report
