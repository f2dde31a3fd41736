#include "tools/report/report.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tools/report/parts.h"

namespace kvsim::report {
namespace {

struct About {
  std::vector<std::string> scenarios;  ///< each once, in order
  std::set<std::string> versions, seeds;

  void add(const Json& document) {
    const std::string name = scenario_of(document);
    if (!name.empty() && std::find(scenarios.begin(), scenarios.end(), name) == scenarios.end()) {
      scenarios.push_back(name);
    }
    if (const std::string version = text(document, {"kvsim_version"}); !version.empty()) versions.insert(version);
    if (const auto seed = number(document, {"seed"})) seeds.insert(plain(*seed));
  }
};

std::string joined(const std::set<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all;
}

About about(const Inputs& inputs) {
  About a;
  for (const Inputs::Compared& c : inputs.compares) a.add(c.document);
  for (const Simulated& run : inputs.runs) a.add(run.result);
  for (const auto* list : {&inputs.plans, &inputs.sweeps, &inputs.capacities, &inputs.others}) {
    for (const Json& document : *list) a.add(document);
  }
  return a;
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string made_of(const Inputs& inputs) {
  std::string said;
  const auto add = [&said](std::size_t count, const char* what) {
    if (count > 0) said += (said.empty() ? "" : ", ") + counted(count, what);
  };
  add(inputs.compares.size(), "comparison");
  add(inputs.runs.size(), "run");
  add(inputs.plans.size(), "plan");
  add(inputs.sweeps.size(), "sweep");
  add(inputs.capacities.size(), "capacity search");
  for (std::size_t at = said.find("searchs"); at != std::string::npos; at = said.find("searchs")) {
    said.replace(at, 7, "searches");
  }
  add(inputs.others.size(), "further result");
  return said;
}

}  // namespace

Page make_report(const Inputs& inputs) {
  const About a = about(inputs);
  Page report;
  report.title = a.scenarios.empty() ? "kvsim results" : a.scenarios.front();
  if (a.scenarios.size() > 1) {
    std::string names;
    for (std::size_t i = 1; i < a.scenarios.size(); ++i) names += (names.empty() ? "" : "; ") + a.scenarios[i];
    report.subtitle.push_back("And: " + names);
  }
  report.subtitle.push_back(fmt::format("Results of kvsim {}{}: {}.", joined(a.versions),
                                        a.seeds.empty() ? "" : ", seed " + joined(a.seeds), made_of(inputs)));
  for (Section (*const make)(const Inputs&) :
       {decision, headline, trade_off, rates, maps, memory, over_time, distributions, binding, alternatives, costs,
        further, provenance, appendix}) {
    report.add(make(inputs));
  }
  return report;
}

}  // namespace kvsim::report
