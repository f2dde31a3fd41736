#include "tools/results/section.h"

#include <cmath>

namespace kvsim::results {

Section& Section::number(std::string_view key, double value, std::string_view reason) {
  if (!std::isfinite(value)) return missing(key, reason);
  return set(key, value);
}

Section& Section::ratio(std::string_view key, double numerator, double denominator, std::string_view reason) {
  return denominator == 0 ? missing(key, reason) : number(key, numerator / denominator, reason);
}

Section& Section::missing(std::string_view key, std::string_view reason) {
  (*reasons_)[join(key)] = reason;
  return set(key, nullptr);
}

Section& Section::set(std::string_view key, Json value) {
  object_[std::string(key)] = std::move(value);
  return *this;
}

}  // namespace kvsim::results
