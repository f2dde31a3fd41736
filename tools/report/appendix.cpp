// Definitions of the figures, and the scenarios with every default written out.
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/report/policy_words.h"
#include "tools/report/sections.h"
#include "tools/report/tables.h"

namespace kvsim::report {
namespace {

class Definitions {
 public:
  void add(const Json& definitions) {
    for (const auto& [word, sentence] : definitions.items()) {
      if (!sentence.is_string() || !seen_.insert(word).second) continue;
      table_.rows.push_back({words(word), words(sentence.get<std::string>())});
    }
  }
  [[nodiscard]] DataTable take() { return std::move(table_); }

 private:
  std::set<std::string> seen_;
  DataTable table_{"Definitions", {{"figure"}, {"what it is"}}, {}};
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

}  // namespace

Section appendix(const Inputs& inputs) {
  Section s{"appendix", "Definitions and scenarios", {}};
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
  if (DataTable t = definitions.take(); !t.rows.empty()) s.blocks.emplace_back(std::move(t));
  for (Verbatim& v : scenarios.take()) s.blocks.emplace_back(std::move(v));
  return s;
}

}  // namespace kvsim::report
