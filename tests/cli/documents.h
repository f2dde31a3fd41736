// JSON documents against what `kvsim schema --results` says of their kind.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/support/json_schema.h"

namespace kvsim::test {

/// Expects the documents to be of that kind; returns the numbers of its schema that none of them has.
inline std::set<std::string> numbers_missing(const std::string& kind,
                                             const std::vector<nlohmann::ordered_json>& documents) {
  using kvsim::testing::SchemaWalk;
  static const auto schema = nlohmann::ordered_json::parse(kvsim({"schema", "--results"}).out);
  const auto& own = schema["$defs"][kind];
  SchemaWalk walk(schema);
  for (const auto& document : documents) walk.compare(own, document, kind);
  for (const std::string& violation : walk.found.violations) ADD_FAILURE() << violation;
  std::set<std::string> missing = SchemaWalk::numbers_of(own);
  for (const std::string& number : walk.found.numbers) missing.erase(number);
  return missing;
}

}  // namespace kvsim::test
