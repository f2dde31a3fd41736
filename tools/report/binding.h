// Names of what a plan depends on.
#pragma once

#include <string>
#include <string_view>

namespace kvsim::report {

/// "hbm_capacity" as people say it.
[[nodiscard]] std::string factor_name(std::string_view key);

}  // namespace kvsim::report
