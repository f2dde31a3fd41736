// What plans, sweeps and placements read beside a scenario, by the first byte: symbols (S), a problem of two paths (P),
// the points of a sweep (D), quality curves (Q). Read, or refused with an InputError.
#include "models/placement/quality_curves.h"
#include "models/schema/yaml.h"
#include "planner/closed_form/symbols.h"
#include "planner/paths/path_problem.h"
#include "planner/sweep/design.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  static const fuzz::Folder folder;
  std::string_view text = fuzz::text_of(data, size);
  const std::size_t which = fuzz::choice(text);
  fuzz::read_or_refused([&] {
    switch (which) {
      case 'S':
        static_cast<void>(planner::cycles_of(planner::read_symbols_text(text, "symbols.yaml")));
        return;
      case 'P':
        static_cast<void>(planner::path_problem_schema().parse(schema::read_yaml(text, "paths.yaml")));
        return;
      case 'D': {
        const auto design = planner::sweep::Design::list(folder.put("points.csv", text));
        for (std::size_t i = 0; i < design.size(); ++i) static_cast<void>(design.changes(i));
        return;
      }
      default:
        static_cast<void>(models::QualityFile::from_text("quality.csv", text));
    }
  });
  return 0;
}
