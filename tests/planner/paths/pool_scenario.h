// A scenario with two pools, made in code.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "tests/support/small_scenario.h"

namespace kvsim::testing {

/// The small scenario's contexts and machine as one local and three remote nodes on links of 40 and 2 GB/s without
/// latency, KIVI 4 bit, x = 20, agreement 0.95.
inline scenario::Scenario pool_scenario(const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> sets{
      "decode={policy: draft_verify, compressor: kivi-4bit, draft_length: 20, "
      "acceptance: {model: constant, agreement: 0.95}}"};
  sets.insert(sets.end(), overrides.begin(), overrides.end());
  scenario::Scenario s = small_scenario(sets);
  auto& groups = s.serving.cluster.groups;
  groups.push_back(groups.front());
  for (auto [name, nodes, read] : {std::tuple{"local", 1, 40e9}, std::tuple{"remote", 3, 2e9}}) {
    serving::GroupConfig& group = name == std::string("local") ? groups.front() : groups.back();
    group.name = name;
    (&group == &groups.front() ? group.roles.draft : group.roles.verify) = false;
    group.count = nodes;
    group.storage_link.read_bytes_per_s.value = read;
  }
  s.serving.cluster.pools.emplace();
  return s;
}

}  // namespace kvsim::testing
