#include "planner/export/engine_export.h"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/error.h"

// One line per engine.
#define KVSIM_ENGINES(X) \
  X(vllm)                \
  X(lmcache)

namespace kvsim::planner {

#define X(name) extern const EngineExport name##_export;
KVSIM_ENGINES(X)
#undef X

std::span<const EngineExport* const> engine_exports() {
#define X(name) &name##_export,
  static constexpr std::array kAll{KVSIM_ENGINES(X)};
#undef X
  return kAll;
}

const EngineExport* find_engine_export(std::string_view name) {
  for (const EngineExport* engine : engine_exports()) {
    if (engine->name == name) return engine;
  }
  return nullptr;
}

std::string export_plan(const scenario::Scenario& scenario, const ScenarioPlan& plan, std::string_view engine) {
  if (const EngineExport* found = find_engine_export(engine)) return found->write(scenario, plan);
  std::vector<std::string_view> names;
  for (const EngineExport* each : engine_exports()) names.push_back(each->name);
  throw schema::InputError(fmt::format("--export {}: unknown engine, expected {}", engine, fmt::join(names, " or ")));
}

}  // namespace kvsim::planner
