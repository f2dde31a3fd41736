// A plan as the configuration of a serving engine. An engine is a file in engines/ and a line in the table of
// engine_export.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "planner/plan/scenario_plan.h"
#include "planner/simulated/simulated_search.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// The plan that an engine is configured by.
struct ExportedPlan {
  OperatingPoint point;
  bool open_batch = false;                ///< as many requests as fit, in place of the point's batch
  std::optional<OperatingPoint> full_kv;  ///< none: not even one full KV fits
  std::string found;                      ///< "18.61 tokens/s by the closed forms (rings)"
  std::string full_kv_found;              ///< the same of the full-KV baseline; empty: none fits

  /// "80 requests", "as many requests as fit".
  [[nodiscard]] std::string requests() const;
};

/// The plan that won by simulation where there is one, else the optimum of the closed forms.
[[nodiscard]] ExportedPlan exported_plan(const ScenarioPlan& plan, const std::optional<SimulatedPlan>& simulated);

struct EngineExport {
  std::string_view name;         ///< as asked for: "vllm"
  std::string_view file;         ///< of the configuration: "vllm.sh"
  std::string_view description;  ///< one line
  /// The file's text. Every value in it says where it comes from, and what the engine cannot express is said in
  /// comments, with what it would need. Values are rounded to the safe side: memory and requests down.
  std::string (*write)(const scenario::Scenario& scenario, const ExportedPlan& plan);
};

[[nodiscard]] std::span<const EngineExport* const> engine_exports();

/// Null where there is none.
[[nodiscard]] const EngineExport* find_engine_export(std::string_view name);

/// The text of one engine. Throws schema::InputError for an unknown one.
[[nodiscard]] std::string export_plan(const scenario::Scenario& scenario, const ExportedPlan& plan,
                                      std::string_view engine);

// Comments that every engine's file has of a plan, and the figures that several of them need.

/// `text` as "# " comment lines of at most 100 columns; control characters become blanks, so that nothing of it can
/// end the comment. `indent` goes before every line.
[[nodiscard]] std::string comment(std::string_view text, std::string_view indent = "");

/// Heading of the file: its kind, scenario and plan, and `checked`: against what its options were checked.
[[nodiscard]] std::string heading(const scenario::Scenario& scenario, const ExportedPlan& plan, std::string_view engine,
                                  std::string_view checked);

/// Parts of this plan that engines cannot express, and what each would need.
[[nodiscard]] std::string left_out(const scenario::Scenario& scenario, const ExportedPlan& plan);

/// Requests at once that an engine without compressed KV can hold: the plan's own batch where it decodes with the full
/// KV, else that of the full-KV baseline; at least 1.
[[nodiscard]] std::int64_t full_kv_requests(const ExportedPlan& plan);

/// Whether KV lives in host memory: prompts are stored there, or the plan offloads.
[[nodiscard]] bool uses_host_memory(const scenario::Scenario& scenario, const ExportedPlan& plan);

/// The longest prompt and output that the workload has, in tokens; the model's own limit where it has none.
[[nodiscard]] std::int64_t longest_request(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
