// What users get wrong, and what kvsim says to it.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kvsim::test {

struct BadInput {
  const char* name;                                        ///< of the test
  std::vector<std::pair<std::string, std::string>> edits;  ///< of the small scenario, which becomes s.yaml
  std::string message;                                     ///< all of stderr after "kvsim: "
  std::vector<std::string> arguments{"run", "s.yaml"};
  std::vector<std::pair<std::string, std::string>> files{};  ///< {name, text} beside it
};

/// How test runners show a case.
inline void PrintTo(const BadInput& bad, std::ostream* out) {
  *out << bad.name;
}

/// Scenarios that are not what their format says.
std::vector<BadInput> malformed_scenarios();
/// Scenarios that are well-formed and make no sense.
std::vector<BadInput> senseless_scenarios();
/// Quantities that no machine and no model has: slips of a digit or of a unit's prefix.
std::vector<BadInput> implausible_scenarios();
/// Files that a scenario names.
std::vector<BadInput> bad_files();
/// Command lines.
std::vector<BadInput> bad_command_lines();

}  // namespace kvsim::test
