#pragma once

#include <memory>
#include <string>

#include "sim/transport/fabric.h"

namespace kvsim::transport {

struct LinkConfig {
  std::string name;
  double bytes_per_s = 0;
  engine::Duration latency{};
  engine::Duration setup{};
  Queueing queueing = Queueing::serialised;

  [[nodiscard]] LaneConfig lane(std::vector<LinkId> route = {}) const {
    return {"links", name, std::move(route), latency, setup, queueing};
  }
};

struct OwnNetwork {
  OwnNetwork(engine::Simulator& simulator, const LinkConfig& config)
      : network(simulator), link(network.add_link(config.name, config.bytes_per_s)) {}
  Network network;
  LinkId link;
};

/// A lane over a link that nobody else uses.
class OwnLink final : private OwnNetwork, public Lane {
 public:
  OwnLink(engine::Simulator& simulator, const LinkConfig& config, engine::TraceSink* trace)
      : OwnNetwork(simulator, config), Lane(simulator, network, trace, config.lane({link})) {}

  void set_bandwidth(double bytes_per_s) { network.set_bandwidth(link, bytes_per_s); }
  void check_conservation() const override {
    Lane::check_conservation();
    network.check_conservation();
  }
};

inline std::unique_ptr<OwnLink> make_link(engine::Simulator& simulator, const LinkConfig& config,
                                          engine::TraceSink* trace = nullptr) {
  return std::make_unique<OwnLink>(simulator, config, trace);
}

}  // namespace kvsim::transport
