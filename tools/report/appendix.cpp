// Definitions of the figures, and the scenarios with every default written out.
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/report/policy_words.h"
#include "tools/report/report.h"
#include "tools/report/tables.h"

namespace kvsim::report {
namespace {

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

Section appendix(const Inputs& inputs) {
  Section s{"appendix", "Definitions and scenarios", {}};
  if (!inputs.plans.empty() || !inputs.compares.empty() || !inputs.capacities.empty()) {
    s.blocks.emplace_back(planning_words());
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
  if (Table t = definitions.take(); !t.rows.empty()) s.blocks.emplace_back(std::move(t));
  for (Verbatim& v : scenarios.take()) s.blocks.emplace_back(std::move(v));
  return s;
}

}  // namespace kvsim::report
