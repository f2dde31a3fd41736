// Names of what a plan depends on.
#pragma once

#include <string>
#include <string_view>

#include "tools/report/view.h"

namespace kvsim::report {

/// Where memory binds although the GPUs' time goes to something else: why that is no contradiction. Begins with a
/// line of its own.
[[nodiscard]] std::string time_and_memory(const Json& explanation);

/// Which plan an explanation is of, and its tokens/s: it is that of the closed forms. Begins a line of its own.
[[nodiscard]] std::string explained_plan(const Json& explanation);

/// "hbm_capacity" as people say it.
[[nodiscard]] std::string factor_name(std::string_view key);

}  // namespace kvsim::report
