#include "tools/validation/groups/published_scenarios.h"

#include <stdexcept>

#include "validation_scenarios.h"

namespace kvsim::validation {

scenario::Scenario carried_scenario(const std::string& path, const std::vector<std::string>& overrides) {
  for (const auto& [name, text] : embedded::validation_scenarios()) {
    if (name == path) return scenario::load_scenario_text(text, path, overrides);
  }
  throw std::logic_error("the binary does not carry " + path);
}

}  // namespace kvsim::validation
