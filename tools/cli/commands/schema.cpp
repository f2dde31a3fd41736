// kvsim schema: what a scenario may say, for editors and people.
#include "models/schema/json_schema.h"
#include "sim/scenario/scenario.h"
#include "tools/cli/command.h"
#include "tools/cli/schema_page.h"
#include "tools/results/json_text.h"

namespace kvsim::cli {
namespace schema_internal {
namespace {

std::function<void(Console&)> declare(CLI::App& app) {
  auto markdown = std::make_shared<bool>(false);
  app.add_flag("--markdown", *markdown, "The reference page instead");
  return [markdown](Console& console) {
    const auto& schema = scenario::scenario_schema();
    console.print(*markdown ? schema_page() : results::json_text(schema::make_json_schema(schema.info())));
  };
}

}  // namespace
}  // namespace schema_internal

extern const Command schema_command;
const Command schema_command{"schema", "Print the JSON Schema of scenarios", "kvsim schema > scenario.schema.json",
                             schema_internal::declare};

}  // namespace kvsim::cli
