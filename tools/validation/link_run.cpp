#include "tools/validation/link_run.h"

#include <memory>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "sim/engine/link.h"

namespace kvsim::validation {

double bandwidth_of(const LinkRun& run) {
  const models::LinkSpec spec = models::Catalogue::built_in().link(run.link);
  engine::Simulator simulator;
  engine::LinkConfig config;
  config.bytes_per_s = (run.direction == Direction::read ? spec.read_bytes_per_s : spec.write_bytes_per_s).value;
  config.latency = engine::from_seconds(spec.latency_s.value);
  config.setup = engine::from_seconds(spec.setup_s.value);
  std::vector<std::unique_ptr<engine::Link>> links;
  for (std::int64_t i = 0; i < run.links; ++i) {
    config.name = run.link + " " + std::to_string(i);
    links.push_back(engine::make_link(simulator, config, nullptr));
  }
  for (const auto& link : links) {
    for (std::int64_t i = 0; i < run.transfers; ++i) link->submit({run.bytes / run.links});
  }
  simulator.run();
  return static_cast<double>(run.bytes) * static_cast<double>(run.transfers) / simulator.now().seconds();
}

}  // namespace kvsim::validation
