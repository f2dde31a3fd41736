// kvsim validate: published and measured figures beside what the simulator makes of them.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "tools/cli/command.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/results/section.h"
#include "tools/validation/figures_page.h"
#include "tools/validation/group.h"
#include "tools/validation/measured_data.h"

namespace kvsim::cli {
namespace validate_internal {
namespace {

struct Options {
  std::vector<std::string> groups;
  std::string measured;
  bool json = false;
  bool markdown = false;
};

/// Those asked for, in the order of the table and each once; all of them where none was.
std::vector<const validation::Group*> chosen_groups(const std::vector<std::string>& names) {
  std::vector<const validation::Group*> asked;
  for (const std::string& name : names) asked.push_back(&validation::find_group(name));
  std::vector<const validation::Group*> chosen;
  for (const validation::Group& group : validation::groups()) {
    if (asked.empty() || std::find(asked.begin(), asked.end(), &group) != asked.end()) chosen.push_back(&group);
  }
  return chosen;
}

void print(Console& console, const Options& options, const std::vector<validation::Figure>& figures,
           const std::string& measured) {
  if (options.json) return console.print(results::json_text(validation::figures_document(figures, measured)));
  const results::Page page = validation::figures_page(figures, measured);
  if (options.markdown) return console.print(results::to_markdown(page));
  console.print(page);
}

void validate(Console& console, const Options& options) {
  if (options.json && options.markdown) throw schema::InputError("--json and --markdown: expected one of them");
  const std::vector<const validation::Group*> groups = chosen_groups(options.groups);
  validation::Inputs inputs{validation::measured_folder(options.measured, ".")};
  inputs.watch = [] {
    if (interrupted()) throw Interrupted();
  };
  std::vector<validation::Figure> figures;
  std::optional<StatusLine> line("simulating what is compared");
  for (const validation::Group* group : groups) {
    for (validation::Figure& f : group->figures(inputs)) figures.push_back(std::move(f));
    if (interrupted()) throw Interrupted();
  }
  line.reset();
  print(console, options, figures, inputs.measured);
  if (const std::size_t outside = validation::tally(figures).outside; outside > 0) {
    throw std::runtime_error(fmt::format("{} figure{} outside {} tolerance", outside, outside == 1 ? " is" : "s are",
                                         outside == 1 ? "its" : "their"));
  }
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  std::string names;
  for (const validation::Group& g : validation::groups()) names += (names.empty() ? "" : ", ") + std::string(g.name);
  app.add_option("--group", options->groups, fmt::format("Only this group; repeatable. One of\n{}", names))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--measured", options->measured,
                 "Folder of measured data; by default $KVSIM_MEASURED, else\n"
                 "shared/measured beside or above this folder. Without it the\n"
                 "figures that need it are skipped")
      ->type_name("DIR");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.add_flag("--markdown", options->markdown, "Print Markdown");
  return [options](Console& console) { validate(console, *options); };
}

}  // namespace
}  // namespace validate_internal

extern const Command validate_command;
const Command validate_command{"validate", "Compare published and measured figures with simulated ones",
                               "kvsim validate --group draft-verify --group links", validate_internal::declare};

}  // namespace kvsim::cli
