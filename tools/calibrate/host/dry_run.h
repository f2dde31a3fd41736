// A list of what a run would measure, without a run.
#pragma once

#include <span>
#include <string>

#include "models/llm/llm_spec.h"
#include "tools/calibrate/host/arguments.h"

namespace kvsim::calibrate {

/// A line for each benchmark: how many cases, for how long at most, into which file; then what fit makes of them.
[[nodiscard]] std::string dry_run(const Arguments& arguments, std::span<const models::LlmSpec> models);

}  // namespace kvsim::calibrate
