#include "models/placement/option_pool.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace kvsim::models {

OptionPool::OptionPool() {
  StorageOption full;
  full.name = "full";
  options_.push_back(std::move(full));
}

OptionIndex OptionPool::add(StorageOption option) {
  if (!(option.bytes_ratio() > 0 && option.bytes_ratio() < 1)) {
    throw std::invalid_argument("option " + option.name + " must have fewer bytes than the whole object, and some");
  }
  if (options_.size() > UINT16_MAX) throw std::invalid_argument("too many options");
  options_.push_back(std::move(option));
  return static_cast<OptionIndex>(options_.size() - 1);
}

std::int64_t OptionPool::bytes(OptionIndex i, std::int64_t full_bytes) const {
  if (i == 0 || full_bytes <= 0) return full_bytes;
  return std::max<std::int64_t>(std::llround(static_cast<double>(full_bytes) * options_[i].bytes_ratio()), 1);
}

bool OptionPool::follows(OptionIndex from, OptionIndex to) const {
  const StorageOption& a = options_[from];
  const StorageOption& b = options_[to];
  if (b.bytes_ratio() >= a.bytes_ratio()) return false;
  if (b.keep > a.keep || b.element_ratio > a.element_ratio) return false;
  // What is quantised already is not quantised by another method.
  return a.quantiser.empty() || a.quantiser == b.quantiser;
}

}  // namespace kvsim::models
