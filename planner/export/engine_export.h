// A plan as the configuration of a serving engine. An engine is a file in engines/ and a line in the table of
// engine_export.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "planner/plan/scenario_plan.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

struct EngineExport {
  std::string_view name;         ///< as asked for: "vllm"
  std::string_view file;         ///< of the configuration: "vllm.sh"
  std::string_view description;  ///< one line
  /// The file's text. Every value in it says where it comes from, and what the engine cannot express is said in
  /// comments, with what it would need. Values are rounded to the safe side: memory and requests down.
  std::string (*write)(const scenario::Scenario& scenario, const ScenarioPlan& plan);
};

[[nodiscard]] std::span<const EngineExport* const> engine_exports();

/// Null where there is none.
[[nodiscard]] const EngineExport* find_engine_export(std::string_view name);

/// The text of one engine. Throws schema::InputError for an unknown one.
[[nodiscard]] std::string export_plan(const scenario::Scenario& scenario, const ScenarioPlan& plan,
                                      std::string_view engine);

}  // namespace kvsim::planner
