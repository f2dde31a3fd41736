#include "models/placement/quality_table.h"

#include <algorithm>
#include <stdexcept>

namespace kvsim::models {

CurveIndex QualityTable::add(std::span<const float> by_option) {
  if (by_option.size() != options_) throw std::invalid_argument("a quality curve needs one score for each option");
  const auto index = static_cast<CurveIndex>(curves());
  values_.insert(values_.end(), by_option.begin(), by_option.end());
  return index;
}

void QualityTable::replace(CurveIndex curve, std::span<const float> by_option) {
  if (by_option.size() != options_) throw std::invalid_argument("a quality curve needs one score for each option");
  std::copy(by_option.begin(), by_option.end(), values_.begin() + static_cast<std::ptrdiff_t>(curve * options_));
}

}  // namespace kvsim::models
