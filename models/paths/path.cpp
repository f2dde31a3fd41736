#include "models/paths/path.h"

#include <cstdint>
#include <string>

#include "models/schemas.h"

namespace kvsim::models {

const PathTraits& traits(Path path) {
  static constexpr std::array<PathTraits, kPaths> table{{
      {"B1", "local pool only", true, false, false, false, false},
      {"B2", "remote pool only, with the full KV", false, true, false, false, false},
      {"P1_cached", "remote drafts, local verifies and keeps the full KV meanwhile", true, true, true, true, false},
      {"P1_stateless", "remote drafts, local reads the full KV for each round", true, true, true, false, false},
      {"P2_cached", "as P1_cached until the full KV has reached the remote pool", true, true, true, true, true},
      {"P2_stateless", "as P1_stateless until the full KV has reached the remote pool", true, true, true, false, true},
  }};
  return table.at(index_of(path));
}

std::vector<schema::Word> path_words() {
  std::vector<schema::Word> words;
  for (const Path path : kAllPaths) {
    const PathTraits& t = traits(path);
    words.push_back({std::string(t.name), std::string(t.description), static_cast<std::int64_t>(path)});
  }
  return words;
}

}  // namespace kvsim::models
