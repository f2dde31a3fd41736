// What a tiered store is made of: replicas, each with its links to host memory, and tiers from the fastest down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cache/store/tier_network.h"

namespace kvsim::cache {

enum class TierKind {
  gpu,    ///< a part of a replica's GPU memory: read by copying within it
  host,   ///< host memory: read and written over the replica's links
  device  ///< below host memory: crosses its own links and host memory
};

struct StoreTier {
  std::string name;
  TierKind kind = TierKind::host;
  std::optional<std::int64_t> capacity_bytes;  ///< of each; none: without end
  double read_bytes_per_s = 0;                 ///< device; gpu: of copies within it
  double write_bytes_per_s = 0;                ///< device
  double latency_s = 0;                        ///< device: of every read and write
  bool shared = false;                         ///< one for all replicas, else one each; below a shared tier all are
  std::vector<BandwidthChange> changes{};      ///< device: of its links
};

struct StoreConfig {
  std::size_t replicas = 1;
  double host_to_gpu_bytes_per_s = 0;  ///< of a replica
  double gpu_to_host_bytes_per_s = 0;
  double host_latency_s = 0;
  double host_setup_s = 0;
  bool serial_host_link = true;  ///< one transfer at a time in each tier's lane, else all at once
  std::vector<BandwidthChange> host_changes{};
  std::vector<StoreTier> tiers{};   ///< fastest first; only the last may be without end
  std::size_t workers = 1;          ///< that compress, for all replicas together
  double in_transit = 0.1;          ///< share of a tier's capacity kept for what is on its way out of it
  bool keeps_whole = false;         ///< what is stored is also kept whole in the last tier, which is without end
  bool observed_bandwidth = false;  ///< what the placement takes a tier's bandwidth to be: what loads got lately
};

}  // namespace kvsim::cache
