// The report of a calibration: text and Markdown from one page, and JSON.
#pragma once

#include "models/calibration/calibrate.h"
#include "tools/results/fields.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Statistics of |predicted / measured - 1|.
const Fields<models::ErrorSummary>& fit_error_fields();

Page calibration_page(const models::Calibration& calibration);
/// Without reasons: errors of what was not held out are null.
Json calibration_json(const models::Calibration& calibration);
KeyList calibration_keys();

}  // namespace kvsim::results
