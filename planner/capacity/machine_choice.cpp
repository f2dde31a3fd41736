#include "planner/capacity/machine_choice.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "planner/capacity/run_length.h"
#include "sim/reuse/prompt_assembly.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner::capacity {
namespace {

constexpr std::int64_t kMostGpus = 64;

std::int64_t parse_gpus(std::string_view text, std::string_view list) {
  try {
    const std::int64_t gpus = schema::parse_integer(text);
    if (gpus >= 1 && gpus <= 1024) return gpus;
  } catch (const schema::UnitError&) {  // said below
  }
  throw schema::InputError(fmt::format(
      "--machines {}: found \"{}\" after the colon, expected GPUs per replica such as h100-nvl:2", list, text));
}

/// scenario::on_machine, whose complaints are about --machines.
scenario::Scenario moved_to(const scenario::Scenario& scenario, const std::string& gpu, std::int64_t gpus) {
  try {
    return scenario::on_machine(scenario, gpu, gpus);
  } catch (const schema::InputError& e) {
    throw schema::InputError(fmt::format("--machines: {}", e.what()));
  }
}

/// Why the scenario as it stands cannot run; empty if it can.
std::string problem_with(const scenario::Scenario& s) {
  try {
    scenario::check_configuration(s.serving);
    const MeanRequest mean = mean_request(s);
    const double need = mean.prompt_tokens + mean.output_tokens;
    const std::int64_t room = serving::kv_capacity(s.serving).tokens;
    if (static_cast<double>(room) < need) {
      return fmt::format("KV room for {} tokens, a mean request has {:.0f}", room, need);
    }
    const auto& floor = s.serving.slo.quality_floor;
    if (const double score =
            reuse::mean_relative_score(s.serving, s.serving.chunks ? s.serving.chunks->per_request : 0);
        floor && score < *floor) {
      return fmt::format(
          "its answers score {:.3f} of those to prompts computed whole, in the mean; slo.quality_floor is "
          "{:g}",
          score, *floor);
    }
    return {};
  } catch (const serving::ConfigurationError& e) {
    return e.what();
  }
}

}  // namespace

std::string_view words_of(Placement placement) {
  switch (placement) {
    case Placement::own:
      return "as in the scenario";
    case Placement::asked:
      return "as asked for";
    case Placement::smallest:
      return "the smallest power of two with room for the model and a mean request";
  }
  return "";
}

std::vector<MachineRequest> parse_machines(std::string_view list) {
  std::vector<MachineRequest> machines;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view item = list.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = item.find(':');
    MachineRequest machine{std::string(item.substr(0, colon)), std::nullopt};
    if (machine.gpu.empty()) {
      throw schema::InputError(
          fmt::format("--machines {}: a name is empty, expected a list such as h100-sxm,h100-nvl:2", list));
    }
    if (colon != std::string_view::npos) machine.tensor_parallel = parse_gpus(item.substr(colon + 1), list);
    const bool twice = std::any_of(machines.begin(), machines.end(), [&](const MachineRequest& m) {
      return m.gpu == machine.gpu && m.tensor_parallel == machine.tensor_parallel;
    });
    if (twice) throw schema::InputError(fmt::format("--machines: {} is there twice", item));
    machines.push_back(std::move(machine));
  }
  return machines;
}

PlacedScenario place(const scenario::Scenario& scenario, const MachineRequest& machine) {
  const serving::ClusterConfig& own = scenario.serving.cluster;
  const auto with = [&](std::int64_t gpus, Placement placement) {
    PlacedScenario placed{moved_to(scenario, machine.gpu, gpus), placement, {}};
    placed.problem = problem_with(placed.scenario);
    return placed;
  };
  if (machine.tensor_parallel) return with(*machine.tensor_parallel, Placement::asked);
  if (machine.gpu == own.gpu.name) return with(own.tensor_parallel, Placement::own);
  PlacedScenario placed = with(1, Placement::smallest);
  for (std::int64_t gpus = 2; gpus <= kMostGpus && !placed.problem.empty(); gpus *= 2) {
    PlacedScenario larger = with(gpus, Placement::smallest);
    if (larger.problem.empty()) return larger;
  }
  return placed;
}

}  // namespace kvsim::planner::capacity
