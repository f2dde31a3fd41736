// Options of `kvsim capacity` on the command line, read.
#pragma once

#include <string>
#include <vector>

#include "models/schema/overrides.h"
#include "planner/capacity/machine_choice.h"

namespace kvsim::cli {

/// Change of a scenario by `--slo ttft_p99=2s`. Throws schema::InputError for unknown names (with the nearest) and
/// for times that are none.
schema::Assignment objective_from_user(const std::string& assignment);

/// The names that it knows.
std::vector<std::string> objective_names();

/// A rate such as "100/s". Throws schema::InputError.
double rate_from_user(const std::string& option, const std::string& text);

/// A share in (0, 1) such as "0.99". Throws schema::InputError.
double share_from_user(const std::string& option, const std::string& text);

/// Sizes "40GB,80GB" of the tier that is called so in the scenario. `option` is what the user wrote before them. Throws
/// schema::InputError for what is no size in bytes above 0, and for repeated ones.
planner::capacity::TierSizes sizes_from_user(const std::string& option, const std::string& tier,
                                             const std::string& list);

/// Sizes of "ssd=400GB,800GB".
planner::capacity::TierSizes storage_from_user(const std::string& option, const std::string& assignment);

/// The names of a list "a,b". Throws schema::InputError for empty and repeated ones.
std::vector<std::string> names_from_user(const std::string& option, const std::string& list);

}  // namespace kvsim::cli
