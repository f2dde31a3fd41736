// What is said of a word in --policies that nobody knows.
#pragma once

#include <string>
#include <vector>

namespace kvsim::planner {

/// Throws schema::InputError that names the nearest of `names`, and all of them. `where` follows the word: "", or such
/// as " between pools".
[[noreturn]] void unknown_policy(const std::string& kind, const std::string& name, const std::string& where,
                                 const std::vector<std::string>& names);

}  // namespace kvsim::planner
