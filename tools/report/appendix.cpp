// At the end: documents without sections of their own (plans for pools, for stored KV, for chunks; validation) as
// tables; definitions of the figures; the scenarios with every default written out.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/report/words.h"

namespace kvsim::report {
namespace {

constexpr std::size_t kMostRows = 500, kMostColumns = 14, kDeepest = 4;

/// The scalars of an object, those of objects in it as "outer.inner".
void flatten(const Json& object, const std::string& before, std::size_t depth,
             std::vector<std::pair<std::string, const Json*>>& out) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = before.empty() ? key : before + "." + key;
    if (value.is_object() && depth > 0) {
      flatten(value, name, depth - 1, out);
    } else if (!value.is_structured()) {
      out.emplace_back(name, &value);
    }
  }
}

/// A number with the unit that its name tells, where it has one.
Cell cell_of(const std::string& name, const Json& value) {
  if (value.is_number_integer() && !name.ends_with("bytes")) return {scalar_text(value), value.get<double>()};
  if (!value.is_number()) return scalar_text(value);
  return {printed(name, value.get<double>()), value.get<double>()};
}

/// A row an element, a column a key that any of them has.
Table table_of(const Json& list, std::string caption) {
  Table t{std::move(caption), {}, {}};
  std::vector<std::vector<std::pair<std::string, const Json*>>> rows;
  std::vector<std::string> columns;
  for (const Json& element : list) {
    if (rows.size() == kMostRows) break;
    flatten(element, "", 1, rows.emplace_back());
    for (const auto& [name, value] : rows.back()) {
      if (columns.size() < kMostColumns && std::find(columns.begin(), columns.end(), name) == columns.end()) {
        columns.push_back(name);
      }
    }
  }
  for (const std::string& name : columns) t.add({name, false});
  for (const auto& row : rows) {
    std::vector<Cell> cells(columns.size(), "-");
    for (const auto& [name, value] : row) {
      const auto at = std::find(columns.begin(), columns.end(), name);
      if (at == columns.end()) continue;
      const auto i = static_cast<std::size_t>(at - columns.begin());
      cells[i] = cell_of(name, *value);
      if (value->is_number()) t.align[i] = Align::right;
    }
    t.rows.push_back(std::move(cells));
  }
  if (list.size() > kMostRows) t.title += fmt::format(" (the first {} of {})", kMostRows, list.size());
  return t;
}

void add(Section& s, const Json& object, const std::string& title, std::size_t depth) {
  Table scalars = table(title, {{"figure"}, {"value", true}});
  for (const auto& [key, value] : object.items()) {
    if (!value.is_structured()) scalars.rows.push_back({key, cell_of(key, value)});
  }
  s.add(std::move(scalars));
  for (const auto& [key, value] : object.items()) {
    const std::string name = title.empty() ? key : title + ": " + key;
    if (value.is_array() && !value.empty() && value.front().is_object()) {
      if (Table t = table_of(value, name); !t.align.empty()) s.add(std::move(t));
    } else if (value.is_array()) {
      std::vector<std::string> items;
      for (const Json& element : value) {
        if (!element.is_structured() && items.size() < kMostRows) items.push_back(scalar_text(element));
      }
      if (!items.empty()) s.add(List{name, std::move(items)});
    } else if (value.is_object() && depth > 0) {
      add(s, value, name, depth - 1);
    }
  }
}

class Definitions {
 public:
  void add(const Json& definitions) {
    for (const auto& [word, sentence] : definitions.items()) {
      if (!sentence.is_string() || !seen_.insert(word).second) continue;
      table_.rows.push_back({word, sentence.get<std::string>()});
    }
  }
  [[nodiscard]] Table take() { return std::move(table_); }

 private:
  std::set<std::string> seen_;
  Table table_ = table("Definitions", {{"figure"}, {"what it is"}});
};

class Scenarios {
 public:
  void add(const std::string& title, const std::string& yaml) {
    if (yaml.empty() || !seen_.insert(yaml).second) return;
    list_.push_back({title, yaml});
  }
  [[nodiscard]] std::vector<Verbatim> take() { return std::move(list_); }

 private:
  std::set<std::string> seen_;
  std::vector<Verbatim> list_;
};

/// Words that plans and policies are described with.
Table planning_words() {
  return table(
      "Words", {{"word"}, {"what it is"}},
      {{"x, draft length", "tokens that a request drafts before they are verified in one pass"},
       {"c, keep ratio", "share of the KV that is kept on the GPU to draft on"},
       {"B_c, offloaded", "requests at once whose full KV is in host memory; they draft on compressed KV"},
       {"B_g, resident", "requests at once whose full KV stays on the GPU"},
       {"l, reloads spread over", "iterations over which the full KV of one verification streams in"},
       {"open batch", "as many requests as fit, in place of a fixed B_c and B_g"},
       {"published, conserving, rings",
        "three models of the time that reloads take; rings, which counts both link and memory in windows of an "
        "iteration, is nearest to the simulator"},
       {"agreement", "probability that a drafted token is what the model itself would have written"},
       {"ADMIT, staggered",
        "verifications are given places in coming iterations so that their reloads fit the link and the memory"},
       {"stopped", "a candidate that was clearly behind after its first seeds, and not simulated further"},
       {"headroom", "GPU memory that is not reserved; of a fleet, what it sustains beyond the rate asked for"},
       {"fall-back", "a figure used outside of what it was measured on"},
       {"tensor parallel", "GPUs that share one replica's weights and KV"}});
}

}  // namespace

Section further(const Inputs& inputs) {
  Section s{"further", "Further results", {}};
  for (const Json& document : inputs.others) {
    const std::string name = scenario_of(document);
    add(s, document, name.empty() ? "Result" : name, kDeepest);
  }
  return s;
}

Section appendix(const Inputs& inputs) {
  Section s{"appendix", "Definitions and scenarios", {}};
  if (!inputs.plans.empty() || !inputs.compares.empty() || !inputs.capacities.empty()) {
    s.add(planning_words());
  }
  Definitions definitions;
  Scenarios scenarios;
  const auto add_run = [&](const Simulated& run) {
    if (const std::string said = policy_words(run.result); !said.empty()) {
      definitions.add(Json{{"policy " + run.policy, said}});
    }
    definitions.add(at(run.result, {"details", "definitions"}));
    scenarios.add(fmt::format("Scenario as simulated: {}", run.policy),
                  text(run.result, {"details", "resolved_scenario"}));
  };
  for (const Inputs::Compared& c : inputs.compares) {
    for (const Simulated& run : c.results) add_run(run);
  }
  for (const Simulated& run : inputs.runs) add_run(run);
  for (const Json& sweep : inputs.sweeps) {
    scenarios.add("Scenario that was swept", text(sweep, {"resolved_scenario"}));
  }
  for (const Json& plan : inputs.plans) scenarios.add("Scenario that was planned", text(plan, {"resolved_scenario"}));
  for (const Json& capacity : inputs.capacities) {
    Json sentences = Json::object();
    for (const auto& [word, sentence] : at(capacity, {"details"}).items()) {
      if (sentence.is_string()) sentences[word] = sentence;
    }
    definitions.add(sentences);
    scenarios.add("Scenario of the capacity search", text(capacity, {"resolved_scenario"}));
  }
  if (Table t = definitions.take(); !t.rows.empty()) s.add(std::move(t));
  for (Verbatim& v : scenarios.take()) s.add(std::move(v));
  return s;
}

}  // namespace kvsim::report
