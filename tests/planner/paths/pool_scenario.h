// A scenario with two pools, made in code.
#pragma once

#include <string>
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
  serving::PoolsConfig pools;
  pools.local.nodes = 1;
  pools.local.link.read_bytes_per_s.value = 40e9;
  pools.remote.nodes = 3;
  pools.remote.link.read_bytes_per_s.value = 2e9;
  s.serving.cluster.pools = pools;
  return s;
}

}  // namespace kvsim::testing
