// The settings of a test's scenario.
#pragma once

#include <string>
#include <vector>

namespace kvsim::testing {

/// Settings, as of --set.
using Sets = std::vector<std::string>;

}  // namespace kvsim::testing
