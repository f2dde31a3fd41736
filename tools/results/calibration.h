// The report of a calibration: text and Markdown from one page, and JSON.
#pragma once

#include "models/calibration/calibrate.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

Page calibration_page(const models::Calibration& calibration);
Json calibration_json(const models::Calibration& calibration);

}  // namespace kvsim::results
