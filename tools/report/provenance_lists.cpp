#include "tools/report/provenance_lists.h"

#include <algorithm>

#include "tools/report/tables.h"

namespace kvsim::report {
namespace {

template <class T>
void add_once(std::vector<T>& list, const T& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

void add_once(std::vector<std::string>& list, const std::vector<std::string>& items) {
  for (const std::string& item : items) add_once(list, item);
}

template <class Use>
void for_each_run(const Inputs& inputs, Use use) {
  for (const Inputs::Compared& c : inputs.compares) {
    for (const Simulated& run : c.results) use(run.result);
  }
  for (const Simulated& run : inputs.runs) use(run.result);
}

}  // namespace

std::vector<Assumed> assumptions_of(const Inputs& inputs) {
  std::vector<Assumed> lists;
  const auto add = [&lists](const Json& document, const std::vector<std::string>& items) {
    if (items.empty()) return;
    const std::string scenario = scenario_of(document);
    auto own = std::find_if(lists.begin(), lists.end(), [&](const Assumed& a) { return a.scenario == scenario; });
    if (own == lists.end()) own = lists.insert(lists.end(), {scenario, {}});
    add_once(own->items, items);
  };
  for_each_run(inputs, [&add](const Json& r) { add(r, texts(r, {"details", "assumptions"})); });
  for (const Json& sweep : inputs.sweeps) add(sweep, texts(sweep, {"assumptions"}));
  for (const Json& plan : inputs.plans) add(plan, texts(plan, {"details", "assumptions"}));
  for (const Json& capacity : inputs.capacities) add(capacity, texts(capacity, {"details", "assumptions"}));
  return lists;
}

std::vector<std::string> fallbacks_of(const Inputs& inputs) {
  std::vector<std::string> list;
  for_each_run(inputs, [&list](const Json& r) { add_once(list, texts(r, {"details", "fallbacks"})); });
  for (const Json& sweep : inputs.sweeps) add_once(list, texts(sweep, {"fallbacks"}));
  for (const Json& plan : inputs.plans) add_once(list, texts(plan, {"details", "fallbacks"}));
  for (const Json& capacity : inputs.capacities) {
    for (const Json& c : at(capacity, {"configurations"})) add_once(list, texts(c, {"fallbacks"}));
  }
  return list;
}

std::vector<SourcedFigure> sources_of(const Inputs& inputs) {
  std::vector<SourcedFigure> list;
  for_each_run(inputs, [&list](const Json& r) {
    for (const Json& s : at(r, {"details", "sources"})) {
      add_once(list,
               SourcedFigure{text(s, {"figure"}), text(s, {"value"}), text(s, {"source"}), text(s, {"reference"})});
    }
  });
  return list;
}

std::vector<Json> prices_of(const Inputs& inputs) {
  std::vector<Json> list;
  const auto add = [&list](const Json& document) {
    for (const Json& price : at(document, {"prices"})) add_once(list, price);
  };
  for (const Json& capacity : inputs.capacities) add(capacity);
  for (const Inputs::Compared& c : inputs.compares) add(c.document);
  return list;
}

}  // namespace kvsim::report
