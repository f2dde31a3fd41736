// Links and storage devices: what moves bytes between memories, and how fast in practice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

enum class Collective {
  all_reduce,      ///< everybody gets the sum of everybody's message
  all_gather,      ///< everybody gets everybody's part of the message
  reduce_scatter,  ///< everybody gets his part of the sum of everybody's message
  all_to_all,      ///< everybody sends everybody else a part of his message
};

/// As files and reports write it.
[[nodiscard]] const char* word(Collective operation);

/// No collective takes less: its GPUs have to hear of each other.
inline constexpr double kShortestCollective_s = 1e-6;

struct CollectivePoint {
  double bytes = 0;
  double seconds = 0;
};

/// Measured times of one collective in groups of one size. Bytes are those of the whole message, which each GPU has
/// before (all-reduce, reduce-scatter, all-to-all) or after (all-gather), as nccl-tests count them.
struct CollectiveTable {
  Collective operation = Collective::all_reduce;
  std::string library = "nccl";  ///< whose: nccl; vllm: its own kernel where that applies, else NCCL
  int gpus = 2;
  std::vector<CollectivePoint> points;  ///< ascending in bytes; linear in between, by the last slope beyond
  schema::Source source;
};

struct LinkSpec {
  std::string name;
  std::string description;
  LinkKind kind = LinkKind::host;
  Sourced<double> read_bytes_per_s;   ///< towards the GPU (host to device, storage read), large transfers, effective
  Sourced<double> write_bytes_per_s;  ///< away from the GPU (device to host, storage write), effective
  Sourced<double> both_ways_bytes_per_s;  ///< what both ways reach together while both carry something; 0: each its own
  Sourced<double> latency_s;              ///< from the last byte sent to its arrival
  Sourced<double> setup_s;                ///< of each transfer (descriptor, request), while the one before it moves
  std::vector<GatherMethod> gathers;      ///< of rows towards the GPU; none: not known
  std::vector<CollectiveTable> collectives;  ///< of GPUs that it joins; none: estimated from the figures above
};

/// Links that join the GPUs of a group.
struct Interconnect {
  Interconnect() = default;
  /// Not explicit: a link alone joins all GPUs of a group.
  Interconnect(LinkSpec link) : peer(std::move(link)) {}  // NOLINT(google-explicit-constructor)

  LinkSpec peer;  ///< within a node
  /// Link of each GPU to those of other nodes; none: peer, as if they were one node.
  std::optional<LinkSpec> between_nodes;
  std::int64_t node_gpus = 0;  ///< of a node; 0: as many as a group has

  /// Nodes that so many GPUs lie on; 1 where nothing says what joins nodes.
  [[nodiscard]] std::int64_t nodes_of(std::int64_t gpus) const {
    return between_nodes && node_gpus > 0 ? (gpus + node_gpus - 1) / node_gpus : 1;
  }
};

// How long scattered rows take over a link, by each way of copying them.

/// Seconds that `rows` rows of `row_bytes` each occupy the link: rows max(per_row, row_bytes / rate). The link's setup
/// and latency, once for all of them, come on top.
[[nodiscard]] double gather_s(const LinkSpec& link, const GatherMethod& method, double rows, double row_bytes);
/// As above, over a link that reads so many bytes a second.
[[nodiscard]] double gather_s(double read_bytes_per_s, const GatherMethod& method, double rows, double row_bytes);

/// Bytes per second at which rows of this size cross the link.
[[nodiscard]] double gathered_bytes_per_s(const LinkSpec& link, const GatherMethod& method, double row_bytes);

/// The method of this name; "best": the fastest for rows of this size, the first of several. Null where the link has
/// none such.
[[nodiscard]] const GatherMethod* find_gather(const LinkSpec& link, std::string_view name, double row_bytes);

}  // namespace kvsim::models
