// What the figures rest on: assumptions, fall-backs, and the source of every figure of the machines and models.
#include <fmt/format.h>

#include "tools/report/provenance_lists.h"
#include "tools/report/report.h"
#include "tools/report/tables.h"

namespace kvsim::report {

Section provenance(const Inputs& inputs) {
  Section s{"provenance", "What the figures rest on", {}};
  std::vector<Assumed> assumed = assumptions_of(inputs);
  for (Assumed& a : assumed) {
    std::string title = "Assumptions";
    if (assumed.size() > 1) title += ": " + a.scenario;
    s.blocks.emplace_back(List{std::move(title), std::move(a.items)});
  }
  if (auto list = fallbacks_of(inputs); !list.empty()) {
    s.blocks.emplace_back(List{"Fall-backs: figures used outside what they were measured on", std::move(list)});
  }
  Table t = table("Sources of the figures", {{"figure"}, {"value"}, {"source"}, {"reference"}});
  for (const SourcedFigure& f : sources_of(inputs)) {
    t.rows.push_back({f.figure, f.value, f.source, f.reference});
  }
  if (!t.rows.empty()) s.blocks.emplace_back(std::move(t));
  return s;
}

}  // namespace kvsim::report
