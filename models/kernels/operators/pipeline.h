// Stages of a pipeline, which send activations on and wait for the slowest of them.
#pragma once

#include <algorithm>
#include <array>

#include "models/kernels/operators/collectives.h"

namespace kvsim::models {

class Pipeline {
 public:
  explicit Pipeline(const StepSetup& s) {
    double between = 0;
    if (s.links.nodes_of(s.parallel.gpus()) > 1) {
      const std::int64_t in_one = std::max<std::int64_t>(1, s.links.node_gpus / s.parallel.expert_gpus());
      between = static_cast<double>((s.parallel.pipeline + in_one - 1) / in_one - 1);
      const LinkSpec& link = *s.links.between_nodes;
      borders_[1] = {between, link.latency_s.value, link.read_bytes_per_s.value};
    }
    const LinkSpec& peer = s.links.peer;
    borders_[0] = {static_cast<double>(s.parallel.pipeline - 1) - between, peer.latency_s.value,
                   peer.read_bytes_per_s.value};
  }

  /// Seconds that a pass of so many tokens is sent: from each stage to the next, all of them, and the slowest.
  struct Sent {
    double all_s = 0, slowest_s = 0;
  };
  [[nodiscard]] Sent sent(const StepSetup& s, double tokens, const Faster& faster) const {
    const double bytes = tokens * static_cast<double>(s.model.hidden) * kCarriedBytes;
    Sent sent;
    for (const Borders& b : borders_) {
      if (b.number <= 0) continue;
      // Every GPU of a stage sends its part.
      const double send_s = (b.latency_s + bytes / s.gpus / b.bytes_per_s) / faster.collectives;
      sent.all_s += b.number * send_s;
      sent.slowest_s = std::max(sent.slowest_s, send_s);
    }
    return sent;
  }

 private:
  /// Borders of stages that a kind of link crosses.
  struct Borders {
    double number = 0;
    double latency_s = 0, bytes_per_s = 0;
  };
  std::array<Borders, 2> borders_;  // within nodes, between nodes
};

}  // namespace kvsim::models
