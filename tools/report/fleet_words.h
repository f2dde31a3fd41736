// What has to be said of a fleet beside its numbers.
#pragma once

#include <string>

#include "tools/report/view.h"

namespace kvsim::report {

/// Why a fleet serves more than its replicas would one by one, where it does. Begins a line of its own.
[[nodiscard]] std::string pooling(const Json& capacity, const Json& configuration);

/// A lower bound, rounded down: "99.97 %".
[[nodiscard]] std::string at_least(double share);

}  // namespace kvsim::report
