// The names of what has a row in the timeline: "replica 0/KV memory" is the row "KV memory" of the group "replica 0".
#pragma once

#include <string_view>

namespace kvsim::engine {

/// The row of a group's iterations, whose slices count requests; slices of other rows are transfers, and count bytes.
inline constexpr std::string_view kGpuRow = "GPU";

struct TraceName {
  std::string_view group;
  std::string_view row;
};

/// Both parts of `name`, which must outlive them; in `otherwise` where it names no group.
inline TraceName trace_name(std::string_view name, std::string_view otherwise) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {otherwise, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

}  // namespace kvsim::engine
