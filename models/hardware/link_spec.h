// Links and storage devices: what moves bytes between memories, and how fast in practice.
#pragma once

#include <string>

#include "models/schema/sourced.h"

namespace kvsim::models {

using schema::Sourced;

enum class LinkKind { host, peer, network, storage };

struct LinkSpec {
  std::string name;
  std::string description;
  LinkKind kind = LinkKind::host;
  Sourced<double> read_bytes_per_s;   ///< towards the GPU (host to device, storage read), large transfers, effective
  Sourced<double> write_bytes_per_s;  ///< away from the GPU (device to host, storage write), effective
  Sourced<double> latency_s;          ///< from the last byte sent to its arrival
  Sourced<double> setup_s;            ///< of each transfer (descriptor, request), while the one before it moves
};

}  // namespace kvsim::models
