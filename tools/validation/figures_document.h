// Figures as one JSON document.
#pragma once

#include <string>
#include <vector>

#include "tools/results/section.h"
#include "tools/validation/figure.h"

namespace kvsim::validation {

/// `measured`: the folder of measured data, empty where there was none. Numbers that are none become null.
results::Json figures_document(const std::vector<Figure>& figures, const std::string& measured);

}  // namespace kvsim::validation
