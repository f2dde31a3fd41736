// Numeric ranges with units, in decimal arithmetic: 0.1:0.5:0.1 is 0.1, 0.2, 0.3, 0.4, 0.5. Internal to the axes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/schema/units.h"

namespace kvsim::planner::sweep {

/// Whether this is a range at all: two or three parts with colons between, the first of them a number.
bool is_range(std::string_view text);

/// The parts of a range, without blanks at either end.
std::vector<std::string> range_parts(std::string_view text);

/// The values of `low:high:step` or `low:high:*factor`, written in the unit of `low`, or the smallest unit of the
/// three where they differ. Throws std::invalid_argument that says what is wrong.
std::vector<std::string> range_values(std::string_view low, std::string_view high, std::string_view step);

/// What the unit of this quantity measures; no value where it is a bare number or the unit unknown.
std::optional<schema::Dimension> dimension_of(std::string_view quantity);

}  // namespace kvsim::planner::sweep
