// The units themselves. Internal to the schema layer.
#pragma once

#include <span>
#include <string_view>

#include "models/schema/decimal.h"
#include "models/schema/units.h"

namespace kvsim::schema {

struct Unit {
  std::string_view text;  ///< as written after the number
  UnitFactor factor;
  bool shown = true;      ///< formatting may choose it
  bool attached = false;  ///< printed without a blank before it (0.5/s, 32k tokens)
};

struct DimensionInfo {
  std::string_view name;
  std::string_view example;
  bool integral = false;
  std::span<const Unit> units;  ///< the first one is the program's own; empty for bare numbers
};

const DimensionInfo& dimension_info(Dimension dimension);

/// The dimension that has this unit, for "64 ms is a time"; null where none has.
const DimensionInfo* dimension_of_unit(std::string_view unit);

}  // namespace kvsim::schema
