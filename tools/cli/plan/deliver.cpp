#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/cli/output_files.h"
#include "tools/cli/plan/modes.h"
#include "tools/results/json_text.h"

namespace kvsim::cli {

void refuse_verification_options(const PlanOptions& options, const std::string& why) {
  const auto refuse = [&](const char* name, bool given) {
    if (!given) return;
    throw schema::InputError(
        fmt::format("{}: belongs to plans that draft and verify, and {}: leave it out", name, why));
  };
  refuse("--model", !options.model.empty());
  refuse("--draft-length", !options.draft_length.empty());
  refuse("--keep-ratio", !options.keep_ratio.empty());
  refuse("--without", !options.without.empty());
  refuse("--simulate", options.simulate);
  refuse("--explain", options.explain);
  refuse("--pareto", options.pareto);
  refuse("--export", !options.engines.empty());
  refuse("--timing", options.timing);
}

void deliver_plan(Console& console, const PlanOptions& options, const results::Json& document,
                  const std::vector<results::Page>& pages, const std::vector<PlanFile>& exported) {
  const std::string text = results::json_text(document);
  if (!options.out.empty()) {
    std::string markdown;
    for (const results::Page& page : pages) markdown += (markdown.empty() ? "" : "\n") + results::to_markdown(page);
    std::vector<PlanFile> files{{"plan.json", text}, {"plan.md", markdown}};
    files.insert(files.end(), exported.begin(), exported.end());
    OutputFolder folder(options.out);
    folder.write(files);
  } else if (!exported.empty()) {
    for (const PlanFile& file : exported) console.print(file.second);
    return;
  }
  if (options.json) {
    console.print(text);
    return;
  }
  bool first = true;
  for (const results::Page& page : pages) {
    if (!first) console.print("\n");
    first = false;
    console.print(page);
  }
}

}  // namespace kvsim::cli
