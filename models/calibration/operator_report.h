// One operator's fit with what is known of its errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/calibration/calibration.h"

namespace kvsim::models {

/// Fits a problem, holds out what `options` asks for, and fills `report`, whose name and format are set; null where
/// there are too few rows, which a warning says if there are any. `models`: shapes that are left out together.
std::optional<Solution> fit_and_report(const FitProblem& problem, const std::vector<ShapeSet>& models,
                                       const CalibrationOptions& options, OperatorReport& report,
                                       std::vector<std::string>& warnings);

/// How far the fit is off: of rows that it has not seen where that was tried. None where nothing was predicted.
[[nodiscard]] std::optional<FormError> error_of(const OperatorReport& report);

}  // namespace kvsim::models
