#include "models/paths/path_schema.h"

#include <cstdint>
#include <string>

#include "models/paths/path.h"

namespace kvsim::models {

std::vector<schema::Word> path_words() {
  std::vector<schema::Word> words;
  for (const Path path : kAllPaths) {
    const PathTraits& t = traits(path);
    words.push_back({std::string(t.name), std::string(t.description), static_cast<std::int64_t>(path)});
  }
  return words;
}

}  // namespace kvsim::models
