// The topology of a cluster: where its instances are, over which links KV comes to them, which memory keeps prompts
// beside them, and who chooses where a request goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/hardware/link_spec.h"

namespace kvsim::serving {

struct DispatchConfig;
struct GroupConfig;

/// A link between instances and the memory that keeps prompts.
struct NamedLink {
  const models::LinkSpec& spec;
  std::string_view key;     ///< of a scenario
  std::string_view figure;  ///< of results
};

/// A group of instances, and the link of each to the memory that keeps prompts.
struct InstancePool {
  const GroupConfig& group;
  NamedLink link;  ///< of a replica's GPU, or of a node
};

/// Memory beside the instances in which prompts' KV is kept.
struct PromptMemory {
  std::string_view name;                       ///< of its tier, and as the end of links: "host", "storage"
  std::optional<std::int64_t> capacity_bytes;  ///< of a replica, or of the storage node; none: all KV is kept
  std::optional<double> read_bytes_per_s;      ///< bandwidth that all instances share; none: no such limit
  bool shared = false;                         ///< all instances use one, and one of each tier below it
  bool over_network = false;                   ///< on a storage node; else in the GPUs' host
  bool keeps_blocks = false;                   ///< prompts are found block by block; else each as a whole
};

/// A view of a cluster, which outlives it.
struct Topology {
  std::string_view key;                 ///< of a scenario
  std::string_view instance;            ///< "replica", "node"
  std::vector<InstancePool> instances;  ///< the nearest to `memory` first; some may be empty
  PromptMemory memory;
  /// The dispatcher gives each request a path through several instances; none: a router gives it one replica.
  const DispatchConfig* dispatcher = nullptr;
  double message_latency_s = 0;      ///< between the instances of a path, one way
  bool drafts_while_waiting = true;  ///< a round drafts more than its length while its verification waits

  /// Whether an instance serves its requests alone, so that figures of one hold for each.
  [[nodiscard]] bool independent() const { return dispatcher == nullptr; }
};

}  // namespace kvsim::serving
