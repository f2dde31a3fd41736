// Chains of block hashes that share prefixes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace kvsim::testing {

using Chain = std::vector<std::uint64_t>;

/// The chain that follows this path in a tree of prompts: equal beginnings of paths have equal hashes, all others
/// differ. Steps are 0 to 9.
inline Chain chain_of(const std::vector<int>& path) {
  Chain chain;
  std::uint64_t hash = 1;
  for (const int step : path) chain.push_back(hash = hash * 10 + static_cast<std::uint64_t>(step));
  return chain;
}
inline Chain chain_of(std::initializer_list<int> path) {
  return chain_of(std::vector<int>(path));
}

}  // namespace kvsim::testing
