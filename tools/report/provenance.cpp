// What the figures rest on: assumptions, fall-backs, and the source of every figure of the machines and models.
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/report/sections.h"
#include "tools/report/tables.h"

namespace kvsim::report {
namespace {

/// Texts in the order in which they come up, each once.
class Distinct {
 public:
  void add(const std::vector<std::string>& texts) {
    for (const std::string& t : texts) {
      if (seen_.insert(t).second) list_.push_back(t);
    }
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(list_); }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> list_;
};

template <class Use>
void for_each_run(const Inputs& inputs, Use use) {
  for (const Inputs::Compared& c : inputs.compares) {
    for (const Simulated& run : c.results) use(run);
  }
  for (const Simulated& run : inputs.runs) use(run);
}

std::vector<std::string> assumptions(const Inputs& inputs) {
  Distinct list;
  for_each_run(inputs, [&list](const Simulated& run) { list.add(texts(run.result, {"details", "assumptions"})); });
  for (const Json& sweep : inputs.sweeps) list.add(texts(sweep, {"assumptions"}));
  for (const Json& plan : inputs.plans) list.add(texts(plan, {"details", "assumptions"}));
  for (const Json& capacity : inputs.capacities) list.add(texts(capacity, {"details", "assumptions"}));
  return list.take();
}

std::vector<std::string> fallbacks(const Inputs& inputs) {
  Distinct list;
  for_each_run(inputs, [&list](const Simulated& run) {
    std::vector<std::string> own;
    for (const std::string& said : texts(run.result, {"details", "fallbacks"})) own.push_back(said);
    list.add(own);
  });
  for (const Json& sweep : inputs.sweeps) list.add(texts(sweep, {"fallbacks"}));
  for (const Json& plan : inputs.plans) list.add(texts(plan, {"details", "fallbacks"}));
  for (const Json& capacity : inputs.capacities) {
    for (const Json& c : at(capacity, {"configurations"})) list.add(texts(c, {"fallbacks"}));
  }
  return list.take();
}

DataTable sources(const Inputs& inputs) {
  DataTable t{"Sources of the figures", {{"figure"}, {"value"}, {"source"}, {"reference"}}, {}};
  std::set<std::string> seen;
  for_each_run(inputs, [&](const Simulated& run) {
    for (const Json& s : at(run.result, {"details", "sources"})) {
      if (!seen.insert(s.dump()).second) continue;
      t.rows.push_back({words(text(s, {"figure"})), words(text(s, {"value"})), words(text(s, {"source"})),
                        words(text(s, {"reference"}))});
    }
  });
  return t;
}

}  // namespace

Section provenance(const Inputs& inputs) {
  Section s{"provenance", "What the figures rest on", {}};
  if (auto list = assumptions(inputs); !list.empty()) s.blocks.emplace_back(Bullets{"Assumptions", std::move(list)});
  if (auto list = fallbacks(inputs); !list.empty()) {
    s.blocks.emplace_back(Bullets{"Fall-backs: figures used outside what they were measured on", std::move(list)});
  }
  if (DataTable t = sources(inputs); !t.rows.empty()) s.blocks.emplace_back(std::move(t));
  return s;
}

}  // namespace kvsim::report
