// Keys of a scenario that a command does not read, whatever the scenario: it chooses them itself, or they are about
// something that it does not do. Files are shared between commands, so that such keys are refused on a command line
// alone.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/scenario/keys_without_effect.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// Keys that a command does not read, for one reason.
struct CommandKeys {
  std::string_view command;       ///< as it is asked: "plan", "capacity --machines"
  std::vector<const char*> keys;  ///< dotted; everything below them is meant, too
  const char* why;                ///< with the option, key or command that has the effect
  scenario::WithinMap within = scenario::WithinMap::refused;
};

/// The rows of all commands.
[[nodiscard]] std::span<const CommandKeys> command_keys();

/// Refuses the keys of a command line that this command does not read. Throws schema::InputError, and
/// std::logic_error for a command without rows.
void refuse_unread_by(std::string_view command, const scenario::Scenario& scenario);

}  // namespace kvsim::planner
