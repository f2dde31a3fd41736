// Links and storage devices: what moves bytes between memories, and how fast in practice.
#pragma once

#include <string>
#include <vector>

#include "models/schema/sourced.h"

namespace kvsim::models {

using schema::Sourced;

enum class LinkKind { host, peer, network, storage };

/// One way to copy scattered rows over a link: a row takes max(per_row_s, its bytes / bytes_per_s). A rate above the
/// link's read is held to it rather than refused, so that `read` can be varied alone.
struct GatherMethod {
  std::string name;             ///< for example batched_copies
  Sourced<double> per_row_s;    ///< least time of a row: its descriptor or requests
  Sourced<double> bytes_per_s;  ///< what long rows reach, at most the link's read; 0: that
};

struct LinkSpec {
  std::string name;
  std::string description;
  LinkKind kind = LinkKind::host;
  Sourced<double> read_bytes_per_s;   ///< towards the GPU (host to device, storage read), large transfers, effective
  Sourced<double> write_bytes_per_s;  ///< away from the GPU (device to host, storage write), effective
  Sourced<double> latency_s;          ///< from the last byte sent to its arrival
  Sourced<double> setup_s;            ///< of each transfer (descriptor, request), while the one before it moves
  std::vector<GatherMethod> gathers;  ///< of rows towards the GPU; none: not known
};

}  // namespace kvsim::models
