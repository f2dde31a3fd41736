#include "tools/cli/output_files.h"
#include "tools/cli/plan/modes.h"

namespace kvsim::cli {

void deliver_plan(Console& console, const PlanOptions& options, const results::Json& document,
                  const results::Page& page) {
  constexpr int indent = 2;
  const std::string text = document.dump(indent) + "\n";
  if (!options.out.empty()) {
    OutputFolder folder(options.out);
    folder.write({{"plan.json", text}, {"plan.md", results::to_markdown(page)}});
  }
  if (options.json) {
    console.print(text);
  } else {
    console.print(page);
  }
}

}  // namespace kvsim::cli
