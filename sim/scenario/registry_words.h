// The words of a registry for a field of a table. Internal to the scenario's field tables.
#pragma once

#include <string>
#include <vector>

#include "models/schema/scalar_spec.h"

namespace kvsim::scenario {

/// The words of a registry whose entries have a name and a description.
template <class Registry>
std::vector<schema::Word> words_of(const Registry& registry) {
  std::vector<schema::Word> words;
  for (const auto& entry : registry) words.push_back({std::string(entry.name), std::string(entry.description), 0});
  return words;
}

}  // namespace kvsim::scenario
