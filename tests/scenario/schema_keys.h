// Every key that a scenario may have, from the field table that parses it.
#pragma once

#include <string>
#include <vector>

namespace kvsim::testing {

struct ScenarioKey {
  std::string path;          ///< dotted; a list is written "values[]"
  std::string default_text;  ///< as documented; empty: none
  bool of_an_entry = false;  ///< part of a catalogue entry
};

/// All scalar leaves, those inside catalogue entries included.
std::vector<ScenarioKey> scenario_keys();

}  // namespace kvsim::testing
