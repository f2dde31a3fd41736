// The figures of a group, simulated once for all tests that look at them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/validation/group.h"

namespace kvsim::testing {

/// Without measured data. Not for several threads.
inline const std::vector<validation::Figure>& figures_once(std::string_view group) {
  static std::map<std::string, std::vector<validation::Figure>, std::less<>> known;
  const auto found = known.find(group);
  if (found != known.end()) return found->second;
  return known.emplace(group, validation::find_group(group).figures({})).first->second;
}

}  // namespace kvsim::testing
