// Dispatcher weighted, with weights that are planned before the run (planner/paths).
#include "sim/pools/dispatcher.h"

namespace kvsim::pools {

DispatcherEntry dispatcher_planned() {
  return {.name = "planned",
          .description = "weighted, with the weights that the path LP finds for this scenario",
          .place = 3,
          .needs_weights = true,
          .make = [](const serving::ServingConfig& config, std::span<const models::Path> paths) {
            return find_dispatcher("weighted")->make(config, paths);
          }};
}

}  // namespace kvsim::pools
