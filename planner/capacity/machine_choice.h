// Which machines are compared, and how many GPUs a replica of each has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::planner::capacity {

struct MachineRequest {
  std::string gpu;  ///< a name in the catalogue
  std::optional<std::int64_t> tensor_parallel;
};

/// "h100-sxm,h100-nvl:2". Throws schema::InputError for empty names, repeated machines and what is no whole number.
std::vector<MachineRequest> parse_machines(std::string_view list);

/// How the GPUs per replica were chosen.
enum class Placement {
  own,      ///< as in the scenario
  asked,    ///< as asked for
  smallest  ///< the smallest power of two with room for the model and a mean request
};
std::string_view words_of(Placement placement);

/// A scenario on a machine. Where it cannot run there, `problem` says why and the scenario must not be simulated.
struct PlacedScenario {
  scenario::Scenario scenario;
  Placement placement = Placement::own;
  std::string problem;  ///< empty: it can run
};

/// Puts the scenario on a machine. GPUs per replica: as asked for; else the scenario's own on the scenario's GPU; else
/// the smallest power of two, up to 64, at which the model fits with KV room for a mean request of the workload.
/// Throws schema::InputError for unknown names.
PlacedScenario place(const scenario::Scenario& scenario, const MachineRequest& machine);

}  // namespace kvsim::planner::capacity
