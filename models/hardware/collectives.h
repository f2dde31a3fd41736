// Collective messages of the GPUs of a group: all-reduce and its kin, from measured times of the link between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/hardware/link_spec.h"

namespace kvsim::models {

/// The times of one collective in one group.
class CollectiveTimes {
 public:
  /// Takes no time.
  CollectiveTimes() = default;

  /// For `gpus` > 1 GPUs joined by `link`. Tables of `library` come before those of others. A group size that none of
  /// them has lies between (or beyond) two that are there, linear in log(gpus). Beside a single one, what its shortest
  /// message takes grows with the steps and the rest with the share of the message that crosses the link. Without
  /// tables there are n - 1 steps (all-reduce: twice that, all-to-all: one) of a latency each, and n - 1 parts of n of
  /// the message (all-reduce: twice) cross at the link's bandwidth (R. Thakur et al., IJHPCA 19(1), 2005).
  CollectiveTimes(const LinkSpec& link, Collective operation, const std::string& library, std::int64_t gpus);

  /// For a group that may lie on k nodes, with g of its GPUs on each: one after the other within the nodes, and between
  /// nodes over the link of each GPU, which carries its g-th part of the message (all-to-all: all of it, and a k-th
  /// within nodes). The ways of a 2D torus (H. Mikami et al., arXiv 1811.05233, 2018), without overlap of the two.
  CollectiveTimes(const Interconnect& links, Collective operation, const std::string& library, std::int64_t gpus);

  /// Time of a message of so many bytes.
  [[nodiscard]] double seconds(double bytes) const;

  /// The table that has this group's times, as they were measured; none: estimated.
  [[nodiscard]] const schema::Source* source() const { return measured_ ? &source_ : nullptr; }
  /// How the times were estimated, in words; empty where a table has them.
  [[nodiscard]] const std::string& estimate() const { return estimate_; }

 private:
  std::vector<CollectivePoint> curve_;
  schema::Source source_;
  bool measured_ = false;
  std::string estimate_;
};

}  // namespace kvsim::models
